//! Put Range: update and clear; List Ranges, and what differs from a snapshot of the share.

use file::{
    list_ranges::{ListRanges, Ranges},
    ranges::{PutRange, RangeWritten},
};
use http::{HeaderName, StatusCode, header};
use rest::{
    ByteRange, Caller, Headers, Request, Response, ServiceError, headers, stamps,
    upload::{self, Upload},
    xml::XmlWriter,
};
use types::{ErrorCode, ServiceVersion, Switch, limits};

use crate::{
    FileService,
    header_names::{CONTENT_LENGTH, FILE_LAST_WRITE_TIME, FILE_SUPPORT_RENAME, WRITE},
    names, preconditions,
    smb_headers::{self, For},
    waiting,
};

/// Ranges of one page of answers.
const RANGES_DEFAULT: usize = 10_000;
/// Ranges of one answer to a client that does not know of pages of answers.
const RANGES_AT_ONCE: usize = 200_000;

pub(crate) async fn put(service: &FileService, caller: &Caller, request: Request) -> Result<Response, ServiceError> {
    let write = headers::required(&request.headers, &WRITE)?;
    if write.eq_ignore_ascii_case("update") {
        update(service, caller, request).await
    } else if write.eq_ignore_ascii_case("clear") {
        clear(service, caller, &request).await
    } else {
        Err(ServiceError::invalid_header(WRITE.as_str(), write))
    }
}

async fn update(service: &FileService, caller: &Caller, mut request: Request) -> Result<Response, ServiceError> {
    let upload = Upload::new(&mut request, limits::PUT_RANGE_MAX_BYTES)?;
    let address = names::written_path(caller, &request)?;
    let sent = std::mem::take(&mut request.headers);
    let (start, end) = written_range(&sent)?;
    if upload.length != end - start {
        return Err(ServiceError::invalid_header(header::CONTENT_LENGTH.as_str(), &upload.length.to_string()));
    }
    let asked = caller.ask(PutRange {
        address,
        preconditions: preconditions::of_path(caller, &sent)?,
        start,
        end,
        written: smb_headers::time(&sent, &FILE_LAST_WRITE_TIME, For::Existing)?,
    });
    let begun = waiting::done(&request, || service.files.begin_put_range(&asked, Some(upload.length))).await?;
    // The service tells the MD5 of every range.
    let received = upload.receive_to_tell(begun, &mut request).await?;
    let written = waiting::done(&request, || service.files.put_range(&asked, &received.body)).await?;
    Ok(upload.acknowledged(answered(caller.version, written), &received.told().await))
}

async fn clear(service: &FileService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    upload::no_body(request)?;
    let sent = &request.headers;
    let (start, end) = written_range(sent)?;
    let asked = caller.ask(PutRange {
        address: names::written_path(caller, request)?,
        preconditions: preconditions::of_path(caller, sent)?,
        start,
        end,
        written: smb_headers::time(sent, &FILE_LAST_WRITE_TIME, For::Existing)?,
    });
    let written = waiting::done(request, || service.files.clear_range(&asked)).await?;
    Ok(answered(caller.version, written))
}

/// The range of a write: with an end.
pub(crate) fn written_range(sent: &Headers) -> Result<(u64, u64), ServiceError> {
    let range = ByteRange::from_headers(sent)?;
    let range = range.ok_or_else(|| ServiceError::missing_header(headers::X_MS_RANGE.as_str()))?;
    range.end.and_then(|last| last.checked_add(1)).map(|end| (range.start, end)).ok_or_else(|| {
        let name: HeaderName = if sent.contains_key(headers::X_MS_RANGE) { headers::X_MS_RANGE } else { header::RANGE };
        let value = sent.get(&name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        ServiceError::invalid_header(name.as_str(), value)
    })
}

pub(crate) fn answered(version: ServiceVersion, done: RangeWritten) -> Response {
    let written = done.written;
    let response = stamps::stamped(Response::new(StatusCode::CREATED), version, written.etag, written.last_modified);
    let response = stamps::not_encrypted(response);
    if version.has(Switch::OptionalSmbHeaders) {
        return response.text_header(FILE_LAST_WRITE_TIME, &done.last_write.to_string());
    }
    response
}

pub(crate) async fn list(service: &FileService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    let (query, sent) = (&request.target.query, &request.headers);
    let range = ByteRange::from_headers(sent)?;
    let previous = query.get("prevsharesnapshot").map(|text| names::snapshot_time("prevsharesnapshot", text));
    // Pages of answers are known from 2026-10-06 on; before, an answer is all there is.
    let paged = caller.version.has(Switch::ArrowListings);
    let most = if paged { RANGES_DEFAULT } else { RANGES_AT_ONCE };
    let wanted = query.number("maxresults", 1, u64::from(u32::MAX))?.filter(|_| paged);
    let limit = wanted.and_then(|number| usize::try_from(number).ok()).map_or(most, |number| number.min(most));
    let asked = caller.ask(ListRanges {
        address: names::path(caller, request)?,
        preconditions: preconditions::of_path(caller, sent)?,
        range: range.map(|range| (range.start, range.end.map_or(u64::MAX, |end| end.saturating_add(1)))),
        previous: previous.transpose()?,
        follows_renames: headers::boolean(sent, &FILE_SUPPORT_RENAME)?.unwrap_or(false),
        marker: marker(query.get("marker").filter(|_| paged))?,
        limit,
        at_once: !paged,
    });
    let found = waiting::done(request, || service.files.list_ranges(&asked)).await?;
    if !paged && found.next.is_some() {
        return Err(too_many());
    }
    Ok(listed(caller.version, &found, paged))
}

fn marker(text: Option<&str>) -> Result<Option<u64>, ServiceError> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let place = text.parse().ok().filter(|_| text.bytes().all(|digit| digit.is_ascii_digit()));
    place.map(Some).ok_or_else(|| rest::listing::not_given_out(text))
}

fn too_many() -> ServiceError {
    ServiceError::new(ErrorCode::OperationTimedOut, "The operation could not be completed within the permitted time.")
        .with_detail("Reason", "the file has too many ranges for an answer; version 2026-10-06 gives them in pages")
}

fn listed(version: ServiceVersion, found: &Ranges, paged: bool) -> Response {
    let written = found.written;
    let response = stamps::stamped(Response::new(StatusCode::OK), version, written.etag, written.last_modified)
        .number_header(CONTENT_LENGTH, found.length);
    let mut xml = XmlWriter::document();
    xml.open("Ranges");
    for range in &found.ranges {
        let name = if range.written { "Range" } else { "ClearRange" };
        xml.open(name);
        xml.element("Start", &range.start.to_string());
        xml.element("End", &range.end.saturating_sub(1).to_string());
        xml.close(name);
    }
    if paged {
        xml.element("NextMarker", &found.next.map(|next| next.to_string()).unwrap_or_default());
    }
    xml.close("Ranges");
    response.xml(xml.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_range_has_an_end() {
        type Case<'a> = (&'a [(&'a str, &'a str)], Result<(u64, u64), ErrorCode>);
        let table: [Case<'_>; 6] = [
            (&[], Err(ErrorCode::MissingRequiredHeader)),
            (&[("range", "bytes=0-4")], Ok((0, 5))),
            (&[("x-ms-range", "bytes=7-7"), ("range", "bytes=0-511")], Ok((7, 8))),
            (&[("range", "bytes=0-")], Err(ErrorCode::InvalidHeaderValue)),
            (&[("x-ms-range", "bytes=5-4")], Err(ErrorCode::InvalidHeaderValue)),
            (&[("x-ms-range", "bytes=0-18446744073709551615")], Err(ErrorCode::InvalidHeaderValue)),
        ];
        for (lines, expected) in table {
            let sent: Headers = lines.iter().copied().collect();
            assert_eq!(written_range(&sent).map_err(|error| error.code), expected, "{lines:?}");
        }
    }

    #[test]
    fn markers_are_places() {
        let table = [(None, Ok(None)), (Some(""), Ok(None)), (Some("17"), Ok(Some(17))), (Some("+1"), Err(()))];
        for (text, expected) in table {
            assert_eq!(marker(text).map_err(drop), expected, "{text:?}");
        }
    }
}
