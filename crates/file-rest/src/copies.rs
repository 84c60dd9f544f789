//! Copy File, Abort Copy File.

use access::need::Service;
use file::{
    FileError,
    copy::{AbortCopy, Copied, CopyFile, ForeignSource},
};
use http::StatusCode;
use rest::{
    Caller, Request, Response, ServiceError, headers, metadata, preconditions::lease_id, stamps, upload::no_body,
};
use transfer::{Found, Local, Place, Source, SourceUse, Wanted, header_names::COPY_SOURCE, states};
use types::{HttpHeaders, limits};

use crate::{
    FileService, copy_headers, errors, from_url,
    header_names::{FILE_COPY_IGNORE_READ_ONLY, FILE_COPY_IGNORE_READONLY},
    names, pending, preconditions, sources, waiting,
};

/// Copy File: a file here shares its bytes, a blob here is read at once, and what is elsewhere comes in the background.
pub(crate) async fn copy(service: &FileService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    no_body(request)?;
    let source = service.source(request, SourceUse::Later)?;
    let wanted = destination(caller, request, &source)?;
    let copied = match &source.place {
        Place::Here(local) if local.service == Service::File => {
            here(service, caller, request, wanted, &source, local).await?
        }
        Place::Here(_) => by_bytes(service, caller, request, wanted, &source).await?,
        Place::Elsewhere => elsewhere(service, caller, request, wanted, &source).await?,
    };
    let response = Response::new(StatusCode::ACCEPTED);
    let written = copied.written;
    let response = stamps::stamped(response, caller.version, written.etag, written.last_modified);
    Ok(states::begun(response, &copied.copy_id, copied.status))
}

/// A file of this server.
async fn here(
    service: &FileService,
    caller: &Caller,
    request: &Request,
    wanted: CopyFile<'_>,
    source: &Source<'_>,
    local: &Local,
) -> Result<Copied, ServiceError> {
    let asked = caller.ask(wanted);
    // Who may not copy here is told so, whatever is wrong with the credential of the source.
    service.files.admit(&asked).await.map_err(errors::of)?;
    let reader = source.reader(service.asking(caller, request), local)?;
    let at = (service.files.now(), None);
    let read = sources::source_file(&reader, &local.target, request, &source.shown(), at)?;
    let copied = waiting::tried(request, || service.files.copy_file(&asked, &read)).await;
    copied.map_err(|error| match error {
        FileError::Source(refusal) => sources::refused(&reader, source.usage, *refusal),
        error => errors::of(error),
    })
}

/// Something of another service of this server.
async fn by_bytes(
    service: &FileService,
    caller: &Caller,
    request: &Request,
    wanted: CopyFile<'_>,
    source: &Source<'_>,
) -> Result<Copied, ServiceError> {
    let asked = caller.ask(wanted);
    let begun = waiting::done(request, || service.files.begin_copy(&asked)).await?;
    let bytes = Wanted { range: None, limit: limits::PUT_BLOB_MAX_BYTES };
    let opened = service.open(source, caller, request, bytes).await?;
    let (body, found) = from_url::bring(begun, opened, true).await?;
    let found = foreign(found, "");
    waiting::done(request, || service.files.put_copied(&asked, &found, &body)).await
}

async fn elsewhere(
    service: &FileService,
    caller: &Caller,
    request: &Request,
    wanted: CopyFile<'_>,
    source: &Source<'_>,
) -> Result<Copied, ServiceError> {
    let asked = caller.ask(wanted);
    // Nothing is asked of others for somebody who may not copy here.
    waiting::done(request, || service.files.begin_copy(&asked)).await?;
    let found = service.transfers.sources.look(source, request).await?;
    let found = foreign(found, source.secret_url());
    let begun = waiting::tried(request, || service.files.begin_pending_copy(&asked, &found)).await;
    let (copied, pending) = begun.map_err(|error| match error {
        FileError::Source(refusal) => ServiceError::invalid_header(COPY_SOURCE.as_str(), &source.shown())
            .with_detail("Reason", format!("it cannot be a file: {refusal}")),
        error => errors::of(error),
    })?;
    service.transfers.tell(pending::pending(&service.files, pending));
    Ok(copied)
}

fn destination<'a>(caller: &Caller, request: &'a Request, source: &Source<'_>) -> Result<CopyFile<'a>, ServiceError> {
    let sent = &request.headers;
    // The second is how older clients write it.
    let ignores = [FILE_COPY_IGNORE_READONLY, FILE_COPY_IGNORE_READ_ONLY].map(|name| headers::boolean(sent, &name));
    let [ignores, as_before] = ignores;
    Ok(CopyFile {
        address: names::written_path(caller, request)?,
        preconditions: preconditions::of_path(caller, sent)?,
        source_url: source.shown(),
        copy_id: request.request_id.to_string(),
        metadata: metadata::is_sent(sent).then(|| metadata::from_headers(sent)).transpose()?,
        smb: copy_headers::read(sent, source.here(Service::File).is_some())?,
        ignores_read_only: ignores?.or(as_before?).unwrap_or_default(),
    })
}

/// What a copy makes of what a source says about itself.
fn foreign(found: Found, url: &str) -> ForeignSource {
    ForeignSource {
        url: url.to_owned(),
        etag: found.etag,
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
    }
}

/// Abort Copy File.
pub(crate) async fn abort(service: &FileService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    let asked = caller.ask(AbortCopy {
        address: names::written_path(caller, request)?,
        lease_id: lease_id(&request.headers)?,
        copy_id: states::aborted(request)?.to_owned(),
    });
    waiting::done(request, || service.files.abort_copy_file(&asked)).await?;
    Ok(Response::new(StatusCode::NO_CONTENT))
}
