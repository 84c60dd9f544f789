//! Create Directory, Get and Set Directory Properties, Get and Set Directory Metadata, Delete Directory.

use file::{
    create::CreateDirectory,
    delete::Delete,
    object::{Address, NodeProperties},
    properties::{GetProperties, SetMetadata, SetProperties},
};
use http::StatusCode;
use rest::{Caller, Request, Response, ServiceError, metadata, stamps};

use crate::{
    FileService, described, names, preconditions,
    smb_headers::{self, For},
    waiting,
};

pub(crate) async fn create(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let sent = &request.headers;
    let asked = caller.ask(CreateDirectory {
        address: names::written_path(caller, request)?,
        metadata: metadata::from_headers(sent)?,
        smb: smb_headers::read(sent, caller.version, For::NewDirectory)?,
    });
    let made = waiting::done(request, || service.files.create_directory(&asked)).await?;
    Ok(described::written(Response::new(StatusCode::CREATED), caller.version, &asked.address, &made))
}

pub(crate) async fn properties(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let (address, found) = read(service, caller, request).await?;
    Ok(described::read(Response::new(StatusCode::OK), caller.version, &address, &found))
}

pub(crate) async fn get_metadata(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let (_, found) = read(service, caller, request).await?;
    let response = Response::new(StatusCode::OK);
    let response = stamps::stamped(response, caller.version, found.etag, found.last_modified);
    Ok(metadata::to_headers(response, &found.metadata))
}

async fn read(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<(Address, NodeProperties), ServiceError> {
    let address = names::path(caller, request)?;
    let asked = caller.ask(GetProperties {
        address: address.clone(),
        preconditions: preconditions::of_path(caller, &request.headers)?,
        is_directory: true,
    });
    Ok((address, waiting::done(request, || service.files.get_properties(&asked)).await?))
}

pub(crate) async fn set_properties(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let sent = &request.headers;
    let asked = caller.ask(SetProperties {
        address: names::written_path(caller, request)?,
        preconditions: preconditions::of_path(caller, sent)?,
        is_directory: true,
        smb: smb_headers::read(sent, caller.version, For::Existing)?,
        headers: None,
        length: None,
    });
    let set = waiting::done(request, || service.files.set_properties(&asked)).await?;
    Ok(described::written(Response::new(StatusCode::OK), caller.version, &asked.address, &set))
}

pub(crate) async fn set_metadata(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    write_metadata(service, caller, request, true).await
}

/// Set Directory Metadata and Set File Metadata.
pub(crate) async fn write_metadata(
    service: &FileService,
    caller: &Caller,
    request: &Request,
    is_directory: bool,
) -> Result<Response, ServiceError> {
    let sent = &request.headers;
    let asked = caller.ask(SetMetadata {
        address: names::written_path(caller, request)?,
        preconditions: preconditions::of_path(caller, sent)?,
        is_directory,
        metadata: metadata::from_headers(sent)?,
    });
    let set = waiting::done(request, || service.files.set_metadata(&asked)).await?;
    let response = stamps::stamped(Response::new(StatusCode::OK), caller.version, set.etag, set.last_modified);
    Ok(stamps::not_encrypted(response))
}

pub(crate) async fn delete(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    remove(service, caller, request, true).await
}

/// Delete Directory and Delete File.
pub(crate) async fn remove(
    service: &FileService,
    caller: &Caller,
    request: &Request,
    is_directory: bool,
) -> Result<Response, ServiceError> {
    let asked = caller.ask(Delete {
        address: names::written_path(caller, request)?,
        preconditions: preconditions::of_path(caller, &request.headers)?,
        is_directory,
    });
    waiting::done(request, || service.files.delete(&asked)).await?;
    Ok(Response::new(StatusCode::ACCEPTED))
}
