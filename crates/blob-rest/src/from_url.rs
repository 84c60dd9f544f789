//! Put Block From URL, Append Block From URL, Put Page From URL: the bytes come from a source instead of the body.

use blob::{
    append_blob::{self, AppendBlock},
    blocks::{self, PutBlock},
    body::{Begun, Body, BodyWriter},
    copy::ForeignSource,
    page_blob::PutPages,
};
use bytes::Bytes;
use http::StatusCode;
use rest::{
    Caller, Request, Response, ServiceError,
    checksum::{self, Computed, Declared},
    headers,
};
use transfer::{Opened, Sink, SourceUse, Wanted};
use types::limits;

use crate::{
    BlobService, answers, append, blocks as block_requests, conditions, errors,
    header_names::{SOURCE_CONTENT_CRC64, SOURCE_CONTENT_MD5, SOURCE_RANGE},
    names, pages, sources,
    upload::no_body,
};

/// What was brought from a source.
pub(crate) struct Brought {
    pub(crate) body: Body,
    pub(crate) found: Computed,
    pub(crate) source: ForeignSource,
}

/// Brings the bytes that a request names, and checks what it says about them.
async fn bring(
    (service, begun): (&BlobService, Begun<'_>),
    caller: &Caller,
    request: &Request,
    limit: u64,
) -> Result<Brought, ServiceError> {
    let source = service.source(request, SourceUse::Part)?;
    let range = transfer::range(request)?;
    if let Some((start, end)) = range
        && end - start > limit
    {
        return Err(ServiceError::body_too_large(limit));
    }
    let declared = declared(request)?;
    let opened = service.open(&source, caller, request, Wanted { range, limit }).await?;
    let brought = bring_all(begun, opened, declared.md5.is_some()).await?;
    declared.verify(&brought.found)?;
    Ok(brought)
}

fn declared(request: &Request) -> Result<Declared, ServiceError> {
    let md5 = match headers::text(&request.headers, &SOURCE_CONTENT_MD5)? {
        Some(text) => Some(checksum::parse_md5(&SOURCE_CONTENT_MD5, text)?),
        None => None,
    };
    let crc64 = match headers::text(&request.headers, &SOURCE_CONTENT_CRC64)? {
        Some(text) => Some(checksum::parse_crc64(&SOURCE_CONTENT_CRC64, text)?),
        None => None,
    };
    Ok(Declared { md5, crc64 })
}

/// Brings the bytes of an open source into a body.
pub(crate) async fn bring_all(begun: Begun<'_>, opened: Opened, md5: bool) -> Result<Brought, ServiceError> {
    let Opened { found, mut bytes } = opened;
    let mut taking = Taking(begun.writer(found.length)?);
    let computed = transfer::bring(&mut *bytes, &mut taking, found.length, md5).await?;
    let body = taking.0.finish().await?;
    let computed = Computed { crc64: Some(body.crc64()), ..computed };
    Ok(Brought { body, found: computed, source: sources::foreign(found, "") })
}

/// A body that takes what is brought.
struct Taking(BodyWriter);

impl Sink for Taking {
    async fn write(&mut self, bytes: Bytes) -> Result<(), ServiceError> {
        Ok(self.0.write(bytes).await?)
    }
}

fn checked(mut response: Response, brought: &Brought) -> Response {
    if let Some(md5) = &brought.found.md5 {
        response = response.text_header(headers::CONTENT_MD5, &checksum::format_md5(md5));
    }
    let crc64 = checksum::format_crc64(brought.body.crc64());
    answers::not_encrypted(response.text_header(headers::X_MS_CONTENT_CRC64, &crc64))
}

/// Put Block From URL.
pub(crate) async fn put_block(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    no_body(request)?;
    let asked = caller.ask(PutBlock {
        address: names::base(caller.unit(), request)?,
        version: caller.version,
        lease_id: conditions::lease_id(&request.headers)?,
        block_id: block_requests::block_id(request)?,
    });
    let begun = service.blobs.begin_put_block(&asked, None).await.map_err(errors::of)?;
    let brought = bring((service, begun), caller, request, blocks::block_limit(caller.version)).await?;
    service.blobs.put_block(&asked, &brought.body).await.map_err(errors::of)?;
    Ok(checked(Response::new(StatusCode::CREATED), &brought))
}

/// Append Block From URL.
pub(crate) async fn append_block(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    no_body(request)?;
    let asked = caller.ask(AppendBlock {
        address: names::base(caller.unit(), request)?,
        preconditions: conditions::of_blob(caller, &request.headers, service.blobs.now())?,
        append: conditions::append(&request.headers)?,
    });
    let begun = service.blobs.begin_append_block(&asked, None).await.map_err(errors::of)?;
    let brought = bring((service, begun), caller, request, append_blob::block_limit(caller.version)).await?;
    let appended = service.blobs.append_block(&asked, &brought.body).await.map_err(errors::of)?;
    let response = append::answered(caller, Response::new(StatusCode::CREATED), appended);
    Ok(checked(response, &brought))
}

/// Put Page From URL.
pub(crate) async fn put_page(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    no_body(request)?;
    let sent = &request.headers;
    let (start, end) = pages::pages(sent)?;
    let source_range = headers::required(sent, &SOURCE_RANGE)?;
    if transfer::range(request)?.is_some_and(|range| range.1 - range.0 != end - start) {
        return Err(ServiceError::invalid_header(SOURCE_RANGE.as_str(), source_range));
    }
    let asked = caller.ask(PutPages {
        address: names::base(caller.unit(), request)?,
        preconditions: conditions::of_blob(caller, sent, service.blobs.now())?,
        sequence_number: conditions::sequence_numbers(sent)?,
        start,
        end,
    });
    let begun = service.blobs.begin_put_page(&asked, None).await.map_err(errors::of)?;
    let brought = bring((service, begun), caller, request, limits::PUT_PAGE_MAX_BYTES).await?;
    let done = service.blobs.put_page(&asked, &brought.body).await.map_err(errors::of)?;
    Ok(checked(pages::answered(caller, done), &brought))
}
