//! Files of this server as sources of copies, also into other services.
//!
//! **Invariant.** A source here is a read of its own, by its own credential, decided in the view that reads it.

use bytes::Bytes;
use concurrency::conditions::WriteRefusal;
use file::{
    FileError, Files, Preconditions,
    download::{Download, FileReader, GetFile},
    object::Address,
    share::ShareAddress,
};
use rest::{BoxFuture, ServiceError, Target, preconditions::conditions_named};
use transfer::{
    Arriving, Found, Opened, Read, Readable,
    header_names::{
        COPY_SOURCE, SOURCE_IF_MATCH, SOURCE_IF_MODIFIED_SINCE, SOURCE_IF_NONE_MATCH, SOURCE_IF_TAGS,
        SOURCE_IF_UNMODIFIED_SINCE,
    },
    refusals::{answered, condition},
};
use types::{HttpHeaders, Timestamp, names::ShareName};

use crate::{errors, header_names::SOURCE_ALLOW_TRAILING_DOT, names, path, waiting};

/// Bytes read at a time.
const PIECE_BYTES: usize = 256 * 1024;

/// The files of this server, to be read from.
pub(crate) struct ReadableFiles(pub(crate) Files);

impl Readable for ReadableFiles {
    fn prepare(&self, target: &mut Target) -> Result<(), ServiceError> {
        target.backslashes_are_slashes()
    }

    fn open<'a>(&'a self, read: Read<'a>) -> BoxFuture<'a, Result<Opened, ServiceError>> {
        Box::pin(async move {
            let asked = read.reader.ask(GetFile {
                address: address(&read)?,
                preconditions: preconditions(&read, self.0.now())?,
                range: read.wanted.range.map(|(start, end)| (start, Some(end))),
            });
            let opened = waiting::tried(read.request, || self.0.get_file(&asked)).await;
            let opened = opened.map_err(|error| match error {
                FileError::Condition(WriteRefusal::ConditionNotMet(header)) => condition(read.usage, header),
                error => answered(&read.reader.explain(errors::of(error))),
            })?;
            let Download { properties, reader, range } = opened;
            let length = range.end - range.start;
            if length > read.wanted.limit {
                return Err(ServiceError::body_too_large(read.wanted.limit));
            }
            let served = properties.file.map(|file| file.headers).unwrap_or_default();
            let HttpHeaders { content_type, content_encoding, content_language, .. } = served;
            let found = Found {
                length,
                content_type,
                content_encoding,
                content_language,
                content_disposition: served.content_disposition,
                cache_control: served.cache_control,
                metadata: properties.metadata,
                ..Found::default()
            };
            Ok(Opened { found, bytes: Box::new(Reading { reader, place: range.start, end: range.end }) })
        })
    }
}

/// The conditions that the request has for its source. Files have no tags.
fn preconditions<'r>(read: &Read<'r>, now: Timestamp) -> Result<Preconditions<'r>, ServiceError> {
    let sent = &read.request.headers;
    if sent.contains_key(SOURCE_IF_TAGS) {
        return Err(ServiceError::unsupported_header(SOURCE_IF_TAGS.as_str(), "REDACTED"));
    }
    let names = [SOURCE_IF_MATCH, SOURCE_IF_NONE_MATCH, SOURCE_IF_MODIFIED_SINCE, SOURCE_IF_UNMODIFIED_SINCE];
    Ok(Preconditions { conditions: conditions_named(sent, now, &names)?, ..Preconditions::default() })
}

/// What the URL of a source names.
fn address(read: &Read<'_>) -> Result<Address, ServiceError> {
    let refused = || ServiceError::invalid_header(COPY_SOURCE.as_str(), &read.shown);
    let target = read.target;
    let name = ShareName::parse(target.container.as_deref().unwrap_or_default()).map_err(|_| refused())?;
    let keeps_dots = names::keeps_dots(&read.request.headers, &SOURCE_ALLOW_TRAILING_DOT)?;
    let file = path::parse(target.rest.as_deref().unwrap_or_default(), keeps_dots).map_err(|_| refused())?;
    let snapshot = target.query.get("sharesnapshot").map(|text| names::snapshot_time("sharesnapshot", text));
    let share =
        ShareAddress { account: read.reader.unit(), name, snapshot: snapshot.transpose().map_err(|_| refused())? };
    Ok(Address::new(share, Some(file)))
}

/// The bytes of a file of this server.
struct Reading {
    reader: FileReader,
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
