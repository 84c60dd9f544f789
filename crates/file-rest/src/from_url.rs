//! Put Range From URL: the bytes come from a source instead of the body.

use bytes::Bytes;
use concurrency::source_crc64::SourceCrc64Conditions;
use file::{
    body::{Begun, Body, BodyWriter},
    ranges::PutRange,
};
use http::HeaderName;
use rest::{
    Caller, Headers, Request, Response, ServiceError,
    checksum::{self, Computed, Declared},
    headers,
    upload::no_body,
};
use transfer::{
    Found, Opened, Sink, SourceUse, Wanted,
    header_names::{SOURCE_CONTENT_CRC64, SOURCE_RANGE},
};
use types::{ErrorCode, limits};

use crate::{
    FileService,
    header_names::{FILE_LAST_WRITE_TIME, SOURCE_IF_MATCH_CRC64, SOURCE_IF_NONE_MATCH_CRC64, WRITE},
    names, preconditions,
    ranges::{answered, written_range},
    smb_headers::{self, For},
    waiting,
};

pub(crate) async fn put_range(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    no_body(request)?;
    let sent = &request.headers;
    let write = headers::required(sent, &WRITE)?;
    if !write.eq_ignore_ascii_case("update") {
        return Err(ServiceError::invalid_header(WRITE.as_str(), write));
    }
    let (start, end) = written_range(sent)?;
    if end - start > limits::PUT_RANGE_MAX_BYTES {
        return Err(ServiceError::body_too_large(limits::PUT_RANGE_MAX_BYTES));
    }
    let source_range = headers::required(sent, &SOURCE_RANGE)?;
    let range = transfer::range(request)?;
    if range.is_some_and(|range| range.1 - range.0 != end - start) {
        return Err(ServiceError::invalid_header(SOURCE_RANGE.as_str(), source_range));
    }
    let asked = caller.ask(PutRange {
        address: names::written_path(caller, request)?,
        preconditions: preconditions::of_path(caller, sent)?,
        start,
        end,
        written: smb_headers::time(sent, &FILE_LAST_WRITE_TIME, For::Existing)?,
    });
    let (declared, wanted) = (Declared { md5: None, crc64: crc64(sent, &SOURCE_CONTENT_CRC64)? }, conditions(sent)?);
    let begun = waiting::done(request, || service.files.begin_put_range(&asked, None)).await?;
    let source = service.source(request, SourceUse::Part)?;
    let wanted_bytes = Wanted { range, limit: limits::PUT_RANGE_MAX_BYTES };
    let opened = service.open(&source, caller, request, wanted_bytes).await?;
    let (body, _) = bring(begun, opened, false).await?;
    declared.verify(&Computed { md5: None, crc64: Some(body.crc64()) })?;
    wanted.check(body.crc64()).map_err(|_| {
        let message = "The source condition specified using HTTP conditional header(s) is not met.";
        ServiceError::new(ErrorCode::SourceConditionNotMet, message)
    })?;
    let written = waiting::done(request, || service.files.put_range(&asked, &body)).await?;
    let crc64 = checksum::format_crc64(body.crc64());
    Ok(answered(caller.version, written).text_header(headers::X_MS_CONTENT_CRC64, &crc64))
}

fn conditions(sent: &Headers) -> Result<SourceCrc64Conditions, ServiceError> {
    Ok(SourceCrc64Conditions {
        if_match: crc64(sent, &SOURCE_IF_MATCH_CRC64)?,
        if_none_match: crc64(sent, &SOURCE_IF_NONE_MATCH_CRC64)?,
    })
}

fn crc64(sent: &Headers, name: &HeaderName) -> Result<Option<u64>, ServiceError> {
    headers::text(sent, name)?.map(|text| checksum::parse_crc64(name, text)).transpose()
}

/// Brings the bytes of an open source into a body, and what it says about itself. Its MD5 is that of the bytes, if it is wanted.
pub(crate) async fn bring(begun: Begun<'_>, opened: Opened, md5: bool) -> Result<(Body, Found), ServiceError> {
    let Opened { found, mut bytes } = opened;
    let mut taking = Taking(begun.writer(found.length)?);
    let computed = transfer::bring(&mut *bytes, &mut taking, found.length, md5).await?;
    Ok((taking.0.finish().await?, Found { content_md5: computed.md5, ..found }))
}

/// A body that takes what is brought.
struct Taking(BodyWriter);

impl Sink for Taking {
    async fn write(&mut self, bytes: Bytes) -> Result<(), ServiceError> {
        Ok(self.0.write(bytes).await?)
    }
}
