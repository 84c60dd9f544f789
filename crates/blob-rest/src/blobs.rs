//! Put Blob, Get Blob, Get Blob Properties, Delete Blob.

use blob::{
    block_blob::{self, PutBlob},
    object::{self, BlobProperties, DeleteBlob, FoundBlob, ReadBlob},
};
use bytes::{Bytes, BytesMut};
use http::{HeaderName, HeaderValue, StatusCode, header};
use rest::{
    ByteRange, Caller, Request, Response, ResponseBody, ServiceError, StreamError,
    checksum::{self, Checksums, Computed, Declared},
    dates, headers,
    range::content_range,
    structured,
};
use store::{PendingChunk, Scope, chunk::ChunkSource, content::Holdings};
use types::{ErrorCode, limits};

use crate::{
    BlobService, conditions,
    containers::{leased, stamped},
    errors,
    metadata::{self, BLOB_CONTENT_MD5},
    names,
};

macro_rules! names {
    ($($name:ident: $text:literal;)*) => {
        $(const $name: HeaderName = HeaderName::from_static($text);)*
    };
}

names! {
    BLOB_TYPE: "x-ms-blob-type";
    CREATION_TIME: "x-ms-creation-time";
    SERVER_ENCRYPTED: "x-ms-server-encrypted";
    REQUEST_SERVER_ENCRYPTED: "x-ms-request-server-encrypted";
    RANGE_GET_CONTENT_MD5: "x-ms-range-get-content-md5";
    RANGE_GET_CONTENT_CRC64: "x-ms-range-get-content-crc64";
    DELETE_TYPE_PERMANENT: "x-ms-delete-type-permanent";
}

/// Bodies up to this are read before anything is decided; longer ones are decided on first.
const SMALL_BYTES: u64 = 64 * 1024;
/// A piece of an answer.
const PIECE_BYTES: usize = 64 * 1024;

pub(crate) async fn put(
    service: &BlobService,
    caller: &Caller,
    mut request: Request,
) -> Result<Response, ServiceError> {
    match headers::required(&request.headers, &BLOB_TYPE)? {
        "BlockBlob" => {}
        other => return Err(ServiceError::invalid_header(BLOB_TYPE.as_str(), other)),
    }
    let declared = Declared::from_headers(&request.headers)?;
    let message = structured::content_length(&request.headers)?;
    if let Some(content_length) = message {
        request.body.decode(content_length);
    }
    let length = request.body.declared_length().ok_or_else(ServiceError::missing_content_length)?;
    let limit = put_blob_limit(caller);
    if length > limit {
        return Err(ServiceError::body_too_large(limit));
    }
    let sent = std::mem::take(&mut request.headers);
    let operation = caller
        .authorize(
            &service.store.snapshot(),
            PutBlob {
                address: names::address(caller.unit(), &request)?,
                version: caller.version,
                lease_id: conditions::lease_id(&sent)?,
                conditions: conditions::conditions(&sent, service.store.now())?,
                headers: metadata::http_headers(&sent)?,
                metadata: metadata::from_headers(&sent)?,
            },
        )
        .await?;
    if length > SMALL_BYTES {
        let early = block_blob::begin(&service.store.snapshot(), &operation, service.store.now()).await;
        early.map_err(errors::of)?;
    }
    let (body, found) = receive(service, &mut request, length).await?;
    declared.verify(&found)?;
    let latch = operation.address.latch();
    let (operation, body, md5) = (&operation, &body, found.md5);
    let written = service
        .store
        .transact(Scope::unit(caller.unit()).object(&latch), |txn| async move {
            block_blob::finish(&txn, operation, body, md5).await
        })
        .await
        .map_err(errors::of)?;
    let mut response = stamped(Response::new(StatusCode::CREATED), written.etag, written.last_modified)
        .text_header(REQUEST_SERVER_ENCRYPTED, "false")
        .text_header(headers::X_MS_CONTENT_CRC64, &checksum::format_crc64(body.reference().crc64));
    if let Some(md5) = md5 {
        response = response.text_header(headers::CONTENT_MD5, &checksum::format_md5(&md5));
    }
    if message.is_some() {
        response = response.text_header(headers::X_MS_STRUCTURED_BODY, structured::KIND);
    }
    Ok(response)
}

const fn put_blob_limit(_: &Caller) -> u64 {
    limits::PUT_BLOB_MAX_BYTES
}

/// Streams the body into a chunk. The store computes the CRC-64 as it writes; the MD5 is computed here, once.
async fn receive(
    service: &BlobService,
    request: &mut Request,
    length: u64,
) -> Result<(PendingChunk, Computed), ServiceError> {
    let mut writer = service.store.write_chunk(Some(length)).map_err(|error| ServiceError::from_store(&error))?;
    let mut checksums = Checksums::new(true, false);
    while let Some(piece) = request.body.chunk().await? {
        checksums = checksums.take(piece.clone()).await;
        writer.write(piece).await.map_err(|error| ServiceError::from_store(&error))?;
    }
    let body = writer.finish().await.map_err(|error| ServiceError::from_store(&error))?;
    let found = Computed { crc64: Some(body.reference().crc64), ..checksums.finish() };
    Ok((body, found))
}

pub(crate) async fn get(service: &BlobService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    let range = ByteRange::from_headers(&request.headers)?;
    let message = structured::requested(&request.headers)?;
    // The snapshot is held until the chunk is open: until then nothing it refers to can go.
    let snapshot = service.store.snapshot();
    let operation = caller.authorize(&service.store.snapshot(), read_blob(service, caller, request)?).await?;
    let mut found = object::read(&snapshot, &operation, service.store.now()).await.map_err(errors::of)?;
    metadata::override_headers(&mut found.properties.headers, caller);
    let length = found.properties.length;
    let (status, wanted) = match range {
        Some(range) => (StatusCode::PARTIAL_CONTENT, range.within(length)?),
        None => (StatusCode::OK, 0..length),
    };
    let checks = range_checks(request, range.is_some(), wanted.end - wanted.start)?;
    let source = open(service, &found).await?;
    drop(snapshot);

    let mut response = described(Response::new(status), &found.properties);
    let stored_md5 = found.properties.headers.content_md5.as_ref().map(checksum::format_md5);
    if range.is_some() {
        response = response.text_header(header::CONTENT_RANGE, &content_range(&wanted, length));
        if let Some(md5) = &stored_md5 {
            response = response.text_header(BLOB_CONTENT_MD5, md5);
        }
    } else if let Some(md5) = &stored_md5 {
        response = response.text_header(headers::CONTENT_MD5, md5);
    }
    let bytes = wanted.end - wanted.start;
    if let Some((md5, crc64)) = checks {
        let whole = collect(&*source, wanted.start, bytes).await?;
        let computed = Checksums::new(md5, crc64).take(whole.clone()).await.finish();
        if let Some(md5) = computed.md5 {
            response = response.text_header(headers::CONTENT_MD5, &checksum::format_md5(&md5));
        }
        if let Some(crc64) = computed.crc64 {
            response = response.text_header(headers::X_MS_CONTENT_CRC64, &checksum::format_crc64(crc64));
        }
        return Ok(response.content(ResponseBody::bytes(whole)));
    }
    let body = if bytes <= SMALL_BYTES {
        ResponseBody::bytes(collect(&*source, wanted.start, bytes).await?)
    } else {
        stream(source, wanted.start, bytes)
    };
    if message {
        return Ok(response
            .text_header(headers::X_MS_STRUCTURED_BODY, structured::KIND)
            .number_header(headers::X_MS_STRUCTURED_CONTENT_LENGTH, bytes)
            .content(body.structured()));
    }
    Ok(response.content(body))
}

/// Whether the answer carries the MD5 or the CRC-64 of its range.
fn range_checks(request: &Request, ranged: bool, bytes: u64) -> Result<Option<(bool, bool)>, ServiceError> {
    let asked = |name: &HeaderName| -> Result<bool, ServiceError> {
        match headers::text(&request.headers, name)? {
            None => Ok(false),
            Some(text) if text.eq_ignore_ascii_case("true") => Ok(true),
            Some(text) if text.eq_ignore_ascii_case("false") => Ok(false),
            Some(text) => Err(ServiceError::invalid_header(name.as_str(), text)),
        }
    };
    let (md5, crc64) = (asked(&RANGE_GET_CONTENT_MD5)?, asked(&RANGE_GET_CONTENT_CRC64)?);
    if !md5 && !crc64 {
        return Ok(None);
    }
    let name = if md5 { RANGE_GET_CONTENT_MD5 } else { RANGE_GET_CONTENT_CRC64 };
    if !ranged {
        return Err(ServiceError::invalid_header(name.as_str(), "true"));
    }
    if bytes > limits::RANGE_CHECKSUM_MAX_BYTES {
        return Err(ServiceError::new(ErrorCode::OutOfRangeInput, "One of the request inputs is out of range.")
            .with_detail("HeaderName", name.as_str()));
    }
    Ok(Some((md5, crc64)))
}

async fn open(service: &BlobService, found: &FoundBlob) -> Result<Box<dyn ChunkSource>, ServiceError> {
    match found.holdings {
        Holdings::Chunk(chunk) => {
            service.store.open_chunk(chunk).await.map_err(|error| ServiceError::from_store(&error))
        }
        Holdings::Nothing => Ok(Box::new(Empty)),
        Holdings::Manifest { .. } | Holdings::Map => Err(ServiceError::internal()),
    }
}

/// A blob without bytes.
struct Empty;

impl ChunkSource for Empty {
    fn read(&self, _: u64, _: usize) -> store::Answer<'_, Result<Bytes, store::StoreError>> {
        store::Answer::now(Ok(Bytes::new()))
    }
}

/// A short range as a whole.
async fn collect(source: &dyn ChunkSource, start: u64, bytes: u64) -> Result<Bytes, ServiceError> {
    let length = usize::try_from(bytes).map_err(|_| ServiceError::internal())?;
    let failed = |error| ServiceError::from_store(&error);
    let first = source.read(start, length).await.map_err(failed)?;
    if first.len() == length {
        return Ok(first);
    }
    let mut whole = BytesMut::with_capacity(length);
    whole.extend_from_slice(&first);
    while whole.len() < length {
        let place = start + u64::try_from(whole.len()).unwrap_or(u64::MAX);
        let piece = source.read(place, length - whole.len()).await.map_err(failed)?;
        if piece.is_empty() {
            return Err(ServiceError::internal());
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole.freeze())
}

fn stream(source: Box<dyn ChunkSource>, start: u64, bytes: u64) -> ResponseBody {
    ResponseBody::stream(bytes, (source, start, bytes), |(source, place, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        let wanted = usize::try_from(left).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        let piece = source.read(place, wanted).await.map_err(StreamError::from)?;
        let count = u64::try_from(piece.len()).unwrap_or(u64::MAX);
        Ok((count > 0).then_some((piece, (source, place + count, left - count))))
    })
}

pub(crate) async fn properties(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let operation = caller.authorize(&service.store.snapshot(), read_blob(service, caller, request)?).await?;
    let mut found =
        object::read(&service.store.snapshot(), &operation, service.store.now()).await.map_err(errors::of)?;
    metadata::override_headers(&mut found.properties.headers, caller);
    let mut response = described(Response::new(StatusCode::OK), &found.properties)
        .number_header(header::CONTENT_LENGTH, found.properties.length);
    if let Some(md5) = &found.properties.headers.content_md5 {
        response = response.text_header(headers::CONTENT_MD5, &checksum::format_md5(md5));
    }
    Ok(response)
}

fn read_blob<'a>(service: &BlobService, caller: &Caller, request: &'a Request) -> Result<ReadBlob<'a>, ServiceError> {
    refuse_parts_that_do_not_exist(request)?;
    Ok(ReadBlob {
        address: names::address(caller.unit(), request)?,
        version: caller.version,
        lease_id: conditions::lease_id(&request.headers)?,
        conditions: conditions::conditions(&request.headers, service.store.now())?,
    })
}

/// No blob has snapshots or versions yet: asking for one finds nothing, never the base blob.
fn refuse_parts_that_do_not_exist(request: &Request) -> Result<(), ServiceError> {
    for name in ["snapshot", "versionid"] {
        if request.target.query.has(name) {
            return Err(ServiceError::new(ErrorCode::BlobNotFound, "The specified blob does not exist."));
        }
    }
    Ok(())
}

pub(crate) async fn delete(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    refuse_parts_that_do_not_exist(request)?;
    let operation = caller
        .authorize(
            &service.store.snapshot(),
            DeleteBlob {
                address: names::address(caller.unit(), request)?,
                version: caller.version,
                lease_id: conditions::lease_id(&request.headers)?,
                conditions: conditions::conditions(&request.headers, service.store.now())?,
            },
        )
        .await?;
    let latch = operation.address.latch();
    let operation = &operation;
    service
        .store
        .transact(Scope::unit(caller.unit()).object(&latch).reclaims(), |txn| async move {
            object::delete(&txn, operation).await
        })
        .await
        .map_err(errors::of)?;
    Ok(Response::new(StatusCode::ACCEPTED).text_header(DELETE_TYPE_PERMANENT, "true"))
}

/// The headers that Get Blob and Get Blob Properties share.
fn described(response: Response, found: &BlobProperties) -> Response {
    let mut response = stamped(response, found.etag, found.last_modified)
        .header(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"))
        .text_header(BLOB_TYPE, "BlockBlob")
        .text_header(SERVER_ENCRYPTED, "false")
        .text_header(CREATION_TIME, &dates::rfc1123(found.created));
    response = metadata::http_headers_to(response, &found.headers);
    response = leased(response, found.lease);
    metadata::to_headers(response, &found.metadata)
}
