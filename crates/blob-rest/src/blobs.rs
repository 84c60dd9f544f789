//! Get Blob, Get Blob Properties, Delete Blob.

use blob::{
    BlobProperties,
    download::{Download, GetBlob, WantedRange},
    object::{DeleteBlob, DeleteSnapshots, ReadBlob},
    reader::BlobReader,
};
use http::{StatusCode, header};
use rest::{
    ByteRange, Caller, Headers, Request, Response, ResponseBody, ServiceError, StreamError,
    checksum::{self, Checksums},
    headers,
    range::content_range,
    range_checks::RangeChecks,
    structured,
};
use types::{ErrorCode, Switch};

use crate::{
    BlobService, conditions, described, errors,
    header_names::{
        ACCESS_TIER_IF_MODIFIED_SINCE, ACCESS_TIER_IF_UNMODIFIED_SINCE, BLOB_CONTENT_MD5, DELETE_SNAPSHOTS,
        DELETE_TYPE_PERMANENT,
    },
    metadata, names,
};

/// Answers up to this are collected before they begin.
const SMALL_BYTES: u64 = 64 * 1024;

pub(crate) async fn get(service: &BlobService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    let range = ByteRange::from_headers(&request.headers)?;
    let message = structured::requested(&request.headers)?;
    let asked = caller.ask(GetBlob {
        read: read_blob(service, caller, request)?,
        range: range.map(|range| WantedRange { start: range.start, end: range.end.map(|end| end.saturating_add(1)) }),
        if_range: conditions::if_range(&request.headers, service.blobs.now()),
    });
    let download = service.blobs.get_blob(&asked).await.map_err(errors::of)?;
    let Download { properties: mut found, mut reader, range: wanted, is_range: ranged } = download;
    metadata::override_headers(&mut found.headers, caller);
    let bytes = wanted.end - wanted.start;
    // A range that `If-Range` took away has no checksum.
    let checks = if ranged == range.is_some() { RangeChecks::of(&request.headers, ranged, bytes)? } else { None };

    let status = if ranged { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
    let mut response = described::blob(Response::new(status), caller.version, &found);
    if let Some(tier) = found.tier.as_ref().filter(|_| caller.version.has(Switch::TierOfDownloads)) {
        response = described::tier(response, tier);
    }
    let whole_md5 = found.headers.content_md5.as_ref().map(metadata::md5_text);
    if ranged {
        response = response.text_header(header::CONTENT_RANGE, &content_range(&wanted, found.length));
    }
    if let Some(md5) = whole_md5 {
        // `Content-MD5` is of the bytes in the answer; that of the whole blob has a name of its own then.
        let name = if ranged { BLOB_CONTENT_MD5 } else { headers::CONTENT_MD5 };
        response = response.text_header(name, &md5);
    }
    if let Some(checks) = checks {
        let part = reader.collect(wanted).await.map_err(errors::of)?;
        let computed = Checksums::new(checks.md5, checks.crc64).take(part.clone()).await.finish();
        if let Some(md5) = computed.md5 {
            response = response.text_header(headers::CONTENT_MD5, &checksum::format_md5(&md5));
        }
        if let Some(crc64) = computed.crc64 {
            response = response.text_header(headers::X_MS_CONTENT_CRC64, &checksum::format_crc64(crc64));
        }
        return Ok(response.content(ResponseBody::bytes(part)));
    }
    // A small one is here as a whole: it leaves in one write with its head.
    let body = if bytes <= SMALL_BYTES {
        ResponseBody::bytes(reader.collect(wanted).await.map_err(errors::of)?)
    } else {
        stream(reader, wanted.start, bytes)
    };
    if message {
        return Ok(response
            .text_header(headers::X_MS_STRUCTURED_BODY, structured::KIND)
            .number_header(headers::X_MS_STRUCTURED_CONTENT_LENGTH, bytes)
            .content(body.structured()));
    }
    Ok(response.content(body))
}

fn stream(reader: BlobReader, start: u64, bytes: u64) -> ResponseBody {
    ResponseBody::pieces(reader, start, bytes, |mut reader, place, wanted| async move {
        let piece = reader.read(place, wanted).await.map_err(|error| StreamError(error.to_string()))?;
        Ok((reader, piece))
    })
}

pub(crate) async fn properties(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let found = read(service, caller, request).await?;
    let mut response = described::blob(Response::new(StatusCode::OK), caller.version, &found)
        .number_header(header::CONTENT_LENGTH, found.length);
    if let Some(md5) = &found.headers.content_md5 {
        response = response.text_header(headers::CONTENT_MD5, &metadata::md5_text(md5));
    }
    Ok(described::more(response, &found))
}

/// The properties of a blob or of one of its snapshots.
pub(crate) async fn read(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<BlobProperties, ServiceError> {
    let asked = caller.ask(read_blob(service, caller, request)?);
    let mut found = service.blobs.get_blob_properties(&asked).await.map_err(errors::of)?;
    metadata::override_headers(&mut found.headers, caller);
    Ok(found)
}

fn read_blob<'a>(service: &BlobService, caller: &Caller, request: &'a Request) -> Result<ReadBlob<'a>, ServiceError> {
    let (address, part) = names::read_part(caller.unit(), request)?;
    let preconditions = conditions::of_blob(caller, &request.headers, service.blobs.now())?;
    Ok(ReadBlob { address, part, preconditions })
}

pub(crate) async fn delete(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    if let Some(kind) = request.target.query.get("deletetype") {
        let message = "One of the query parameters specified in the request URI is not supported.";
        return Err(ServiceError::new(ErrorCode::UnsupportedQueryParameter, message)
            .with_detail("QueryParameterName", "deletetype")
            .with_detail("QueryParameterValue", kind)
            .with_detail("Reason", "nothing is kept when it is deleted"));
    }
    let (sent, now) = (&request.headers, service.blobs.now());
    let (address, part) = names::written_part(caller.unit(), request)?;
    let snapshots = delete_snapshots(sent)?;
    if let (false, Some(text)) = (part.is_base(), headers::text(sent, &DELETE_SNAPSHOTS)?) {
        return Err(ServiceError::invalid_header(DELETE_SNAPSHOTS.as_str(), text));
    }
    let asked = caller.ask(DeleteBlob {
        address,
        part,
        preconditions: conditions::of_blob(caller, sent, now)?,
        snapshots,
        tier_modified_since: conditions::date(sent, &ACCESS_TIER_IF_MODIFIED_SINCE, now)?,
        tier_unmodified_since: conditions::date(sent, &ACCESS_TIER_IF_UNMODIFIED_SINCE, now)?,
    });
    service.blobs.delete_blob(&asked).await.map_err(errors::of)?;
    Ok(Response::new(StatusCode::ACCEPTED).text_header(DELETE_TYPE_PERMANENT, "true"))
}

fn delete_snapshots(sent: &Headers) -> Result<Option<DeleteSnapshots>, ServiceError> {
    match headers::text(sent, &DELETE_SNAPSHOTS)? {
        None => Ok(None),
        Some(text) if text.eq_ignore_ascii_case("include") => Ok(Some(DeleteSnapshots::Include)),
        Some(text) if text.eq_ignore_ascii_case("only") => Ok(Some(DeleteSnapshots::Only)),
        Some(other) => Err(ServiceError::invalid_header(DELETE_SNAPSHOTS.as_str(), other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_to_snapshots() {
        let table =
            [("include", Some(DeleteSnapshots::Include)), ("ONLY", Some(DeleteSnapshots::Only)), ("some", None)];
        for (text, expected) in table {
            let sent: Headers = [("x-ms-delete-snapshots", text)].into_iter().collect();
            assert_eq!(delete_snapshots(&sent).ok().flatten(), expected, "{text}");
        }
    }
}
