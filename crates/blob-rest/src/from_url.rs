//! Put Block From URL, Append Block From URL, Put Page From URL: the bytes come from a source instead of the body.

use blob::{
    HttpHeaders,
    append_blob::{self, AppendBlock},
    blocks::{self, PutBlock},
    body::{Begun, Body},
    copy::ForeignSource,
    download::Download,
    page_blob::PutPages,
};
use http::StatusCode;
use rest::{
    Caller, Request, Response, ServiceError,
    checksum::{self, Checksums, Computed, Declared},
    headers,
};
use types::limits;

use crate::{
    BlobService, answers, append, blocks as block_requests, conditions,
    errors::{self, sources::SourceUse},
    header_names::{SOURCE_CONTENT_CRC64, SOURCE_CONTENT_MD5, SOURCE_RANGE},
    names, pages,
    sources::{self, Named, Source},
    upload::no_body,
};

/// Bytes read at a time.
const PIECE_BYTES: usize = 256 * 1024;

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
    let source = Named::of(service, request, SourceUse::Part)?;
    let range = sources::range(request)?;
    if let Some((start, end)) = range
        && end - start > limit
    {
        return Err(ServiceError::body_too_large(limit));
    }
    let declared = declared(request)?;
    let md5 = declared.md5.is_some();
    let brought = match &source.place {
        Source::Here { target, secure } => {
            let read = source.read(service, caller, request, (target, *secure))?;
            let opened = service.blobs.open_source(&read, range, limit).await;
            let opened =
                opened.map_err(|error| errors::sources::of(|error| caller.explain(error), SourceUse::Part, error))?;
            bring_local(begun, opened, md5).await?
        }
        Source::Elsewhere => bring_foreign((service, begun), request, &source, range, (limit, md5)).await?,
    };
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

/// Brings the bytes of a blob of this server.
pub(crate) async fn bring_local(begun: Begun<'_>, opened: Download, md5: bool) -> Result<Brought, ServiceError> {
    let Download { properties, mut reader, range, .. } = opened;
    let mut writer = begun.writer(range.end - range.start)?;
    let mut checksums = Checksums::new(md5, false);
    let mut place = range.start;
    while place < range.end {
        let wanted = usize::try_from(range.end - place).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        let piece = reader.read(place, wanted).await.map_err(errors::of)?;
        if piece.is_empty() {
            return Err(ServiceError::internal());
        }
        place += u64::try_from(piece.len()).unwrap_or(u64::MAX);
        checksums = checksums.take(piece.clone()).await;
        writer.write(piece).await?;
    }
    let body = writer.finish().await?;
    let found = Computed { crc64: Some(body.crc64()), ..checksums.finish() };
    let source = ForeignSource {
        url: String::new(),
        etag: None,
        kind: properties.kind,
        length: range.end - range.start,
        headers: HttpHeaders { content_md5: None, ..properties.headers },
        metadata: properties.metadata,
        tags: properties.tags,
        sealed: properties.sealed,
    };
    Ok(Brought { body, found, source })
}

/// Brings the bytes of a source elsewhere.
pub(crate) async fn bring_foreign(
    (service, begun): (&BlobService, Begun<'_>),
    request: &Request,
    source: &Named<'_>,
    range: Option<(u64, u64)>,
    (limit, md5): (u64, bool),
) -> Result<Brought, ServiceError> {
    let mut fetched = source.fetch(service, request, false, range).await?;
    let mut described = source.described(&fetched)?;
    // The MD5 is that of the whole source, and of the bytes here only if it is computed.
    described.headers.content_md5 = None;
    let wanted = range.map_or(described.length, |(start, end)| described.length.min(end - start));
    if wanted > limit {
        return Err(ServiceError::body_too_large(limit));
    }
    let mut writer = begun.writer(wanted)?;
    let mut checksums = Checksums::new(md5, false);
    let mut left = wanted;
    while left > 0 {
        let piece = fetched.body.next().await.map_err(|error| errors::sources::unfetched(&error))?;
        let Some(piece) = piece else {
            return Err(errors::sources::unfetched(&rest::outgoing::FetchError::Unreachable(
                "the source ended early".into(),
            )));
        };
        let room = usize::try_from(left).unwrap_or(usize::MAX);
        let piece = piece.slice(..piece.len().min(room));
        left -= u64::try_from(piece.len()).unwrap_or(0);
        checksums = checksums.take(piece.clone()).await;
        writer.write(piece).await?;
    }
    let body = writer.finish().await?;
    let found = Computed { crc64: Some(body.crc64()), ..checksums.finish() };
    Ok(Brought { body, found, source: ForeignSource { length: wanted, ..described } })
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
    if sources::range(request)?.is_some_and(|range| range.1 - range.0 != end - start) {
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
