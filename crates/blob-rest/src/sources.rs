//! Blobs of this server as sources of copies, also into other services, and what a copy makes of a source.
//!
//! **Invariant.** A source here is a read of its own, by its own credential, decided in the view that reads it.

use access::Asked;
use blob::{
    Blobs, HttpHeaders,
    copy::{ForeignSource, SourceBlob},
    download::Download,
    object::{self, BlobKind},
    reader::BlobReader,
};
use bytes::Bytes;
use http::StatusCode;
use rest::{BoxFuture, Caller, Headers, Request, ServiceError, Target, headers};
use transfer::{Arriving, Found, Opened, Read, Readable, Wanted, refusals::unverified};
use types::{
    Timestamp,
    names::{BlobName, ContainerName},
};

use crate::{
    conditions, described, errors,
    header_names::{COPY_SOURCE, COPY_SOURCE_TAG_OPTION},
    names,
};

/// Bytes read at a time.
const PIECE_BYTES: usize = 256 * 1024;

/// The blobs of this server, to be read from.
pub(crate) struct ReadableBlobs(pub(crate) Blobs);

impl Readable for ReadableBlobs {
    fn prepare(&self, target: &mut Target) -> Result<(), ServiceError> {
        target.backslashes_are_slashes()
    }

    fn open<'a>(&'a self, read: Read<'a>) -> BoxFuture<'a, Result<Opened, ServiceError>> {
        Box::pin(async move {
            let Wanted { range, limit } = read.wanted;
            let asked = source_blob(&read.reader, read.target, read.request, &read.shown, self.0.now())?;
            let explain = |error| read.reader.explain(error);
            let opened = self.0.open_source(&asked, range, limit).await;
            let opened = opened.map_err(|error| errors::sources::of(explain, read.usage, error))?;
            let Download { properties, reader, range, .. } = opened;
            let HttpHeaders {
                content_type,
                content_encoding,
                content_language,
                content_disposition,
                cache_control,
                content_md5: _,
            } = properties.headers;
            let found = Found {
                etag: None,
                length: range.end - range.start,
                content_type,
                content_encoding,
                content_language,
                content_disposition,
                cache_control,
                content_md5: None,
                metadata: properties.metadata,
                blob_type: Some(described::kind(properties.kind).to_owned()),
                sealed: properties.sealed,
                tags: properties.tags,
            };
            Ok(Opened { found, bytes: Box::new(Reading { reader, place: range.start, end: range.end }) })
        })
    }
}

/// The bytes of a blob of this server.
struct Reading {
    reader: BlobReader,
    place: u64,
    end: u64,
}

impl Arriving for Reading {
    fn next(&mut self) -> BoxFuture<'_, Result<Bytes, ServiceError>> {
        Box::pin(async {
            let wanted = usize::try_from(self.end - self.place).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
            let piece = self.reader.read(self.place, wanted).await.map_err(errors::of)?;
            if piece.is_empty() {
                return Err(ServiceError::internal());
            }
            self.place += u64::try_from(piece.len()).unwrap_or(u64::MAX);
            Ok(piece)
        })
    }
}

/// The read of a blob of this server, asked for by its own reader under the conditions that the request has for it.
pub(crate) fn source_blob<'r>(
    reader: &Caller,
    target: &Target,
    request: &'r Request,
    shown: &str,
    now: Timestamp,
) -> Result<Asked<SourceBlob<'r>>, ServiceError> {
    let refused = || ServiceError::invalid_header(COPY_SOURCE.as_str(), shown);
    let mut target = target.clone();
    target.default_to_root();
    let container = ContainerName::parse(target.container.as_deref().unwrap_or_default()).map_err(|_| refused())?;
    let blob = BlobName::parse(target.rest.as_deref().unwrap_or_default()).map_err(|_| refused())?;
    if target.query.has("versionid") {
        return Err(unverified(StatusCode::NOT_FOUND, "BlobNotFound", "The source has no versions."));
    }
    Ok(reader.ask(SourceBlob {
        address: object::Address { account: reader.unit(), container, blob },
        part: names::part(&target.query)?,
        conditions: conditions::of_source(&request.headers, now)?,
        if_tags: conditions::source_if_tags(&request.headers)?,
        tags: copies_tags(&request.headers)?,
    }))
}

/// What a copy makes of what a source says about itself.
pub(crate) fn foreign(found: Found, url: &str) -> ForeignSource {
    ForeignSource {
        url: url.to_owned(),
        etag: found.etag,
        kind: match found.blob_type.as_deref() {
            Some("PageBlob") => BlobKind::Page,
            Some("AppendBlob") => BlobKind::Append,
            _ => BlobKind::Block,
        },
        length: found.length,
        headers: HttpHeaders {
            content_type: found.content_type,
            content_encoding: found.content_encoding,
            content_language: found.content_language,
            content_disposition: found.content_disposition,
            cache_control: found.cache_control,
            content_md5: found.content_md5.map(Into::into),
        },
        metadata: found.metadata,
        tags: found.tags,
        sealed: found.sealed,
    }
}

/// Whether `x-ms-copy-source-tag-option` asks for the tags of the source.
pub(crate) fn copies_tags(sent: &Headers) -> Result<bool, ServiceError> {
    match headers::text(sent, &COPY_SOURCE_TAG_OPTION)? {
        None => Ok(false),
        Some(text) if text.eq_ignore_ascii_case("COPY") => Ok(true),
        Some(text) if text.eq_ignore_ascii_case("REPLACE") => Ok(false),
        Some(text) => Err(ServiceError::invalid_header(COPY_SOURCE_TAG_OPTION.as_str(), text)),
    }
}
