//! Files of this server as sources of copies, also into other services.
//!
//! **Invariant.** A source here is a read of its own, by its own credential, decided in the view that reads it.

use access::Asked;
use bytes::Bytes;
use concurrency::conditions::WriteRefusal;
use file::{
    FileError, Files, Preconditions,
    download::{Download, FileReader, GetFile},
    object::Address,
    share::ShareAddress,
};
use rest::{BoxFuture, Caller, Request, ServiceError, Target, preconditions::conditions_named};
use transfer::{
    Arriving, Found, Opened, Read, Readable, SourceUse,
    header_names::{
        COPY_SOURCE, SOURCE_IF_MATCH, SOURCE_IF_MODIFIED_SINCE, SOURCE_IF_NONE_MATCH, SOURCE_IF_TAGS,
        SOURCE_IF_UNMODIFIED_SINCE,
    },
    refusals::{answered, condition},
};
use types::{CopyStatus, HttpHeaders, Timestamp, names::ShareName};

use crate::{errors, header_names::SOURCE_ALLOW_TRAILING_DOT, names, path, route, waiting};

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
            let range = read.wanted.range.map(|(start, end)| (start, Some(end)));
            let asked = source_file(&read.reader, read.target, read.request, &read.shown, (self.0.now(), range))?;
            let opened = waiting::tried(read.request, || self.0.get_file(&asked)).await;
            let opened = opened.map_err(|error| refused(&read.reader, read.usage, error))?;
            let Download { properties, reader, range } = opened;
            let length = range.end - range.start;
            if length > read.wanted.limit {
                return Err(ServiceError::body_too_large(read.wanted.limit));
            }
            let file = properties.file.ok_or_else(ServiceError::internal)?;
            // It is empty until its copy has ended, and not what anybody wants to read.
            if file.copy.is_some_and(|copy| copy.status == CopyStatus::Pending) {
                return Err(errors::of(FileError::PendingCopyOperation));
            }
            let served = file.headers;
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

/// What is answered when a file of this server cannot be read from.
pub(crate) fn refused(reader: &Caller, usage: SourceUse, error: FileError) -> ServiceError {
    match error {
        FileError::Condition(WriteRefusal::ConditionNotMet(header)) => condition(usage, header),
        FileError::PendingCopyOperation | FileError::Store(_) => errors::of(error),
        error => answered(&reader.explain(errors::of(error))),
    }
}

/// The read of a file of this server, asked for by its own reader under the conditions that the request has for it. Files
/// have no tags.
pub(crate) fn source_file<'r>(
    reader: &Caller,
    target: &Target,
    request: &'r Request,
    shown: &str,
    (now, range): (Timestamp, Option<(u64, Option<u64>)>),
) -> Result<Asked<GetFile<'r>>, ServiceError> {
    route::intent(request, Some(reader)).map_err(|error| answered(&error))?;
    let sent = &request.headers;
    if sent.contains_key(SOURCE_IF_TAGS) {
        return Err(ServiceError::unsupported_header(SOURCE_IF_TAGS.as_str(), "REDACTED"));
    }
    let names = [SOURCE_IF_MATCH, SOURCE_IF_NONE_MATCH, SOURCE_IF_MODIFIED_SINCE, SOURCE_IF_UNMODIFIED_SINCE];
    let preconditions = Preconditions { conditions: conditions_named(sent, now, &names)?, ..Preconditions::default() };
    Ok(reader.ask(GetFile { address: address(reader, target, request, shown)?, preconditions, range }))
}

/// What the URL of a source names.
fn address(reader: &Caller, target: &Target, request: &Request, shown: &str) -> Result<Address, ServiceError> {
    let refused = || ServiceError::invalid_header(COPY_SOURCE.as_str(), shown);
    let name = ShareName::parse(target.container.as_deref().unwrap_or_default()).map_err(|_| refused())?;
    let keeps_dots = names::keeps_dots(&request.headers, &SOURCE_ALLOW_TRAILING_DOT)?;
    let file = path::parse(target.rest.as_deref().unwrap_or_default(), keeps_dots).map_err(|_| refused())?;
    let snapshot = target.query.get("sharesnapshot").map(|text| names::snapshot_time("sharesnapshot", text));
    let share = ShareAddress { account: reader.unit(), name, snapshot: snapshot.transpose().map_err(|_| refused())? };
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
