//! Put Page: update and clear.

use blob::page_blob::{PagesWritten, PutPages};
use http::{HeaderName, StatusCode, header};
use rest::{ByteRange, Caller, Headers, Request, Response, ServiceError, headers};
use types::limits;

use crate::{
    BlobService, answers, conditions, errors,
    header_names::{BLOB_SEQUENCE_NUMBER, PAGE_WRITE},
    names,
    upload::{self, Upload},
};

pub(crate) async fn put(service: &BlobService, caller: &Caller, request: Request) -> Result<Response, ServiceError> {
    let write = headers::required(&request.headers, &PAGE_WRITE)?;
    if write.eq_ignore_ascii_case("update") {
        update(service, caller, request).await
    } else if write.eq_ignore_ascii_case("clear") {
        clear(service, caller, &request).await
    } else {
        Err(ServiceError::invalid_header(PAGE_WRITE.as_str(), write))
    }
}

async fn update(service: &BlobService, caller: &Caller, mut request: Request) -> Result<Response, ServiceError> {
    let upload = Upload::new(&mut request, limits::PUT_PAGE_MAX_BYTES)?;
    let sent = std::mem::take(&mut request.headers);
    let (start, end) = pages(&sent)?;
    if upload.length != end - start {
        return Err(ServiceError::invalid_header(header::CONTENT_LENGTH.as_str(), &upload.length.to_string()));
    }
    let asked = caller.ask(PutPages {
        address: names::base(caller.unit(), &request)?,
        preconditions: conditions::of_blob(caller, &sent, service.blobs.now())?,
        sequence_number: conditions::sequence_numbers(&sent)?,
        start,
        end,
    });
    let begun = service.blobs.begin_put_page(&asked, Some(upload.length)).await.map_err(errors::of)?;
    let received = upload.receive(begun, &mut request, false).await?;
    let written = service.blobs.put_page(&asked, &received.body).await.map_err(errors::of)?;
    Ok(upload.acknowledged(answered(caller, written), &received))
}

async fn clear(service: &BlobService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    upload::no_body(request)?;
    let sent = &request.headers;
    let (start, end) = pages(sent)?;
    let asked = caller.ask(PutPages {
        address: names::base(caller.unit(), request)?,
        preconditions: conditions::of_blob(caller, sent, service.blobs.now())?,
        sequence_number: conditions::sequence_numbers(sent)?,
        start,
        end,
    });
    let written = service.blobs.clear_page(&asked).await.map_err(errors::of)?;
    Ok(answered(caller, written))
}

/// The range of pages of a write: with an end, and whole pages.
pub(crate) fn pages(sent: &Headers) -> Result<(u64, u64), ServiceError> {
    let range = ByteRange::from_headers(sent)?;
    let range = range.ok_or_else(|| ServiceError::missing_header(headers::X_MS_RANGE.as_str()))?;
    let whole = range
        .end
        .and_then(|last| last.checked_add(1))
        .filter(|end| range.start.is_multiple_of(limits::PAGE_BYTES) && end.is_multiple_of(limits::PAGE_BYTES));
    whole.map(|end| (range.start, end)).ok_or_else(|| {
        let name: HeaderName = if sent.contains_key(headers::X_MS_RANGE) { headers::X_MS_RANGE } else { header::RANGE };
        let value = sent.get(&name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        ServiceError::invalid_header(name.as_str(), value)
    })
}

pub(crate) fn answered(caller: &Caller, pages: PagesWritten) -> Response {
    let response = answers::written(Response::new(StatusCode::CREATED), caller.version, pages.written);
    answers::not_encrypted(response).number_header(BLOB_SEQUENCE_NUMBER, pages.sequence_number.value())
}

#[cfg(test)]
mod tests {
    use types::ErrorCode;

    use super::*;

    type Lines<'a> = &'a [(&'a str, &'a str)];
    type Pages = Result<(u64, u64), ErrorCode>;

    #[test]
    fn writes_are_of_whole_pages() {
        let table: [(Lines<'_>, Pages); 8] = [
            (&[], Err(ErrorCode::MissingRequiredHeader)),
            (&[("range", "bytes=0-511")], Ok((0, 512))),
            (&[("x-ms-range", "bytes=512-1535"), ("range", "bytes=0-511")], Ok((512, 1536))),
            (&[("range", "bytes=0-")], Err(ErrorCode::InvalidHeaderValue)),
            (&[("range", "bytes=1-512")], Err(ErrorCode::InvalidHeaderValue)),
            (&[("range", "bytes=0-512")], Err(ErrorCode::InvalidHeaderValue)),
            (&[("range", "bytes=512-0")], Err(ErrorCode::InvalidHeaderValue)),
            (&[("x-ms-range", "bytes=0-18446744073709551615")], Err(ErrorCode::InvalidHeaderValue)),
        ];
        for (lines, expected) in table {
            let sent: Headers = lines.iter().copied().collect();
            assert_eq!(pages(&sent).map_err(|error| error.code), expected, "{lines:?}");
        }
    }
}
