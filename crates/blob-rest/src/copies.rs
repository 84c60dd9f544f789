//! Copy Blob, Copy Blob From URL, Put Blob From URL, Abort Copy Blob.

use access::need::Service;
use blob::{
    copy::{AbortCopy, Copied, CopiedCrc64, CopyBlob, CopyMode},
    errors::BlobError,
};
use http::{HeaderName, StatusCode};
use rest::{
    Caller, Request, Response, ServiceError,
    checksum::{self, Declared, Md5Bytes},
    headers,
};
use transfer::{Local, Place, Source, SourceUse, Wanted, states};
use types::limits;

use crate::{
    BlobService, answers, conditions, errors, from_url,
    header_names::{BLOB_TYPE, COPY_SOURCE_BLOB_PROPERTIES, COPY_SOURCE_TAG_OPTION, SEAL_BLOB, SOURCE_CONTENT_MD5},
    metadata, names, pending, put_blob, sources, tags, tier,
    upload::no_body,
};

/// Copy Blob: a source here is there at once, one elsewhere comes in the background.
pub(crate) async fn copy_blob(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let source = service.source(request, SourceUse::Later)?;
    let wanted = destination(service, caller, request, &source, CopyMode::CopyBlob)?;
    let copied = match &source.place {
        Place::Here(local) if local.service == Service::Blob => {
            let copied = here(service, caller, request, wanted, &source, local).await?;
            copied.ok_or_else(ServiceError::internal)? // it is pending instead
        }
        Place::Here(_) => by_bytes(service, caller, request, wanted, &source, None).await?,
        Place::Elsewhere => {
            let asked = caller.ask(wanted);
            // Nothing is asked of others for somebody who may not copy here.
            service.blobs.admit(&asked).await.map_err(errors::of)?;
            let found = service.transfers.sources.look(&source, request).await?;
            let found = sources::foreign(found, source.secret_url());
            let begun = service.blobs.begin_pending_copy(&asked, &found).await;
            let (copied, pending) = begun.map_err(errors::of)?;
            service.transfers.tell(pending::pending(&service.blobs, pending));
            copied
        }
    };
    Ok(answer(caller, Response::new(StatusCode::ACCEPTED), &copied))
}

/// Copy Blob From URL: done when it is answered.
pub(crate) async fn copy_blob_from_url(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let source = service.source(request, SourceUse::Whole)?;
    let (copied, md5) = at_once(service, caller, request, &source, CopyMode::CopyBlobFromUrl).await?;
    let response = answer(caller, Response::new(StatusCode::ACCEPTED), &copied);
    Ok(checked(service, response, &copied, md5).await)
}

/// Put Blob From URL: makes a block blob of whatever the source is.
pub(crate) async fn put_blob_from_url(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    no_body(request)?;
    match headers::required(&request.headers, &BLOB_TYPE)? {
        "BlockBlob" => {}
        // Nothing makes another kind of blob at once, and a block blob is not what was asked for.
        other => return Err(ServiceError::invalid_header(BLOB_TYPE.as_str(), other)),
    }
    let source = service.source(request, SourceUse::Whole)?;
    let (copied, md5) = at_once(service, caller, request, &source, CopyMode::PutBlobFromUrl).await?;
    let response = answers::written(Response::new(StatusCode::CREATED), caller.version, copied.written);
    Ok(checked(service, answers::not_encrypted(response), &copied, md5).await)
}

/// The CRC-64 of what was copied, and its MD5 where the client sent one.
async fn checked(service: &BlobService, mut response: Response, copied: &Copied, md5: Option<Md5Bytes>) -> Response {
    let crc64 = match copied.crc64 {
        CopiedCrc64::Known(crc64) => Some(crc64),
        CopiedCrc64::Blocks(list) => match service.blobs.block_checksums(list).await {
            Ok(blocks) => {
                let join = |whole, (crc64, length)| checksum::joined_crc64(whole, crc64, length);
                Some(blocks.into_iter().fold(0, join))
            }
            // The blob was overwritten before its copy was answered.
            Err(_) => None,
        },
        CopiedCrc64::Unknown => None,
    };
    if let Some(crc64) = crc64 {
        response = response.text_header(headers::X_MS_CONTENT_CRC64, &checksum::format_crc64(crc64));
    }
    match md5 {
        Some(md5) => response.text_header(headers::CONTENT_MD5, &checksum::format_md5(&md5)),
        None => response,
    }
}

async fn at_once(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
    source: &Source<'_>,
    mode: CopyMode,
) -> Result<(Copied, Option<Md5Bytes>), ServiceError> {
    let wanted = destination(service, caller, request, source, mode)?;
    let declared = match headers::text(&request.headers, &SOURCE_CONTENT_MD5)? {
        Some(text) => Some(checksum::parse_md5(&SOURCE_CONTENT_MD5, text)?),
        None => None,
    };
    // What the client says about the bytes can only be checked by reading them.
    if let (Some(local), None) = (source.here(Service::Blob), declared)
        && let Some(copied) = here(service, caller, request, wanted.clone(), source, local).await?
    {
        return Ok((copied, None));
    }
    Ok((by_bytes(service, caller, request, wanted, source, declared).await?, declared))
}

/// Copies the bytes of a source, from here or elsewhere, into one chunk.
async fn by_bytes(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
    wanted: CopyBlob<'_>,
    source: &Source<'_>,
    declared: Option<Md5Bytes>,
) -> Result<Copied, ServiceError> {
    let mode = wanted.mode;
    let refused = |error| errors::of_copy(|error| caller.explain(error), mode, error);
    let asked = caller.ask(wanted);
    let begun = service.blobs.begin_copy(&asked).await.map_err(refused)?;
    let limit = match mode {
        CopyMode::CopyBlobFromUrl => limits::COPY_BLOB_FROM_URL_MAX_BYTES,
        CopyMode::CopyBlob | CopyMode::PutBlobFromUrl => limits::PUT_BLOB_MAX_BYTES,
    };
    let opened = service.open(source, caller, request, Wanted { range: None, limit }).await?;
    let brought = from_url::bring_all(begun, opened, true).await?;
    Declared { md5: declared, crc64: None }.verify(&brought.found)?;
    let done = service.blobs.put_copied(&asked, &brought.source, &brought.body, brought.found.md5).await;
    done.map_err(refused)
}

/// Copies a blob of this server by sharing its bytes. Nothing when it has too many parts for that.
async fn here(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
    wanted: CopyBlob<'_>,
    source: &Source<'_>,
    local: &Local,
) -> Result<Option<Copied>, ServiceError> {
    let mode = wanted.mode;
    let asked = caller.ask(wanted);
    // Who may not copy here is told so, whatever is wrong with the credential of the source.
    service.blobs.admit(&asked).await.map_err(errors::of)?;
    let reader = source.reader(service.asking(caller, request), local)?;
    let read = sources::source_blob(&reader, &local.target, request, &source.shown(), service.blobs.now())?;
    match service.blobs.copy_blob(&asked, &read).await {
        Ok(copied) => Ok(Some(copied)),
        Err(BlobError::TooManyParts) => Ok(None),
        Err(error) => Err(errors::of_copy(|error| caller.explain(error), mode, error)),
    }
}

fn destination<'a>(
    service: &BlobService,
    caller: &Caller,
    request: &'a Request,
    source: &Source<'_>,
    mode: CopyMode,
) -> Result<CopyBlob<'a>, ServiceError> {
    let sent = &request.headers;
    let flag = |name: &HeaderName| match headers::text(sent, name)? {
        None => Ok(None),
        Some(text) if text.eq_ignore_ascii_case("true") => Ok(Some(true)),
        Some(text) if text.eq_ignore_ascii_case("false") => Ok(Some(false)),
        Some(text) => Err(ServiceError::invalid_header(name.as_str(), text)),
    };
    let copy_tags = sources::copies_tags(sent)?;
    if copy_tags && source.here(Service::Blob).is_none() {
        // They would have to be asked for on their own; a copy without them is not what was wanted.
        return Err(ServiceError::invalid_header(COPY_SOURCE_TAG_OPTION.as_str(), "COPY")
            .with_detail("Reason", "the tags of a source elsewhere cannot be copied"));
    }
    let metadata = metadata::from_headers(sent)?;
    // Only Put Blob From URL takes HTTP properties of its own.
    let of_source = flag(&COPY_SOURCE_BLOB_PROPERTIES)?.unwrap_or(true);
    let own = (mode == CopyMode::PutBlobFromUrl).then(|| metadata::changed_http_headers(sent)).transpose()?.flatten();
    let headers = match (mode, own) {
        (CopyMode::PutBlobFromUrl, None) if !of_source => Some(blob::HttpHeaders::default()),
        (_, own) => own,
    };
    Ok(CopyBlob {
        address: names::base(caller.unit(), request)?,
        preconditions: conditions::of_blob(caller, sent, service.blobs.now())?,
        mode,
        source_url: source.shown(),
        copy_id: request.request_id.to_string(),
        metadata: (!metadata.is_empty()).then_some(metadata),
        headers,
        tags: tags::from_header(sent)?,
        copy_tags,
        tier: put_blob::asked_tier(sent)?,
        priority: tier::priority(sent)?,
        rehydration: tier::rehydration(tier::priority(sent)?),
        seal: flag(&SEAL_BLOB)?,
    })
}

fn answer(caller: &Caller, response: Response, copied: &Copied) -> Response {
    let response = answers::written(response, caller.version, copied.written);
    states::begun(response, &copied.copy_id, copied.status)
}

/// Abort Copy Blob.
pub(crate) async fn abort(service: &BlobService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    let asked = caller.ask(AbortCopy {
        address: names::base(caller.unit(), request)?,
        lease_id: conditions::lease_id(&request.headers)?,
        copy_id: states::aborted(request)?.to_owned(),
    });
    service.blobs.abort_copy_blob(&asked).await.map_err(errors::of)?;
    Ok(Response::new(StatusCode::NO_CONTENT))
}
