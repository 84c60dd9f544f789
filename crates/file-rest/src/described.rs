//! What answers say about a directory or a file, in headers.

use file::object::{Address, FileProperties, NodeProperties};
use http::{HeaderName, header};
use rest::{Response, leases, metadata, served, stamps};
use types::{FilePath, ServiceVersion, Switch};

use crate::{
    header_names::{
        CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE, FILE_ATTRIBUTES,
        FILE_CHANGE_TIME, FILE_CREATION_TIME, FILE_ID, FILE_LAST_WRITE_TIME, FILE_PARENT_ID, FILE_PERMISSION_KEY,
        SERVER_ENCRYPTED, TYPE,
    },
    smb_headers,
};

/// The headers that set the HTTP properties of a file.
pub(crate) const SERVED: served::Names = served::Names {
    content_type: CONTENT_TYPE,
    content_encoding: CONTENT_ENCODING,
    content_language: CONTENT_LANGUAGE,
    content_disposition: CONTENT_DISPOSITION,
    cache_control: CACHE_CONTROL,
    content_md5: rest::headers::X_MS_CONTENT_MD5,
};

/// The id of the topmost directory of every share.
pub(crate) const ROOT_ID: u64 = 0;

/// The ids of what a path leads to, and of the directory that it is in: those of the topmost directory are zero, as the service
/// has it.
fn ids(path: Option<&FilePath>, found: &NodeProperties) -> (u64, u64) {
    match path.map(|path| path.components().len()) {
        None | Some(0) => (ROOT_ID, ROOT_ID),
        Some(1) => (found.inode.number(), ROOT_ID),
        Some(_) => (found.inode.number(), found.parent.number()),
    }
}

/// Attributes, times, ids and the key of the security descriptor, from 2019-02-02 on.
fn smb(response: Response, version: ServiceVersion, address: &Address, found: &NodeProperties) -> Response {
    if !version.has(Switch::FileLeases) {
        return response;
    }
    let (id, parent) = ids(address.path.as_ref(), found);
    let smb = &found.smb;
    response
        .text_header(FILE_PERMISSION_KEY, &smb.permission.to_string())
        .text_header(FILE_ATTRIBUTES, &smb_headers::words(smb.attributes))
        .text_header(FILE_CREATION_TIME, &smb.created.to_string())
        .text_header(FILE_LAST_WRITE_TIME, &smb.written.to_string())
        .text_header(FILE_CHANGE_TIME, &smb.changed.to_string())
        .number_header(FILE_ID, id)
        .number_header(FILE_PARENT_ID, parent)
}

/// What was made, changed or moved.
pub(crate) fn written(
    response: Response,
    version: ServiceVersion,
    address: &Address,
    found: &NodeProperties,
) -> Response {
    let response = stamps::stamped(response, version, found.etag, found.last_modified);
    stamps::not_encrypted(smb(response, version, address, found))
}

/// What is read of a directory, and of a file besides what only files have.
pub(crate) fn read(response: Response, version: ServiceVersion, address: &Address, found: &NodeProperties) -> Response {
    let response =
        stamps::stamped(response, version, found.etag, found.last_modified).text_header(SERVER_ENCRYPTED, "false");
    metadata::to_headers(smb(response, version, address, found), &found.metadata)
}

/// What only a file says about itself, but for its length and its MD5.
pub(crate) fn file(response: Response, version: ServiceVersion, file: &FileProperties) -> Response {
    let mut response = served::http_headers_to(response.text_header(TYPE, "File"), &file.headers);
    if version.has(Switch::FileLeases) {
        response = leases::described(response, file.lease);
    }
    match &file.copy {
        Some(state) => transfer::states::described(response, state),
        None => response,
    }
}

/// The MD5 that somebody said the file has, under this name.
pub(crate) fn md5(response: Response, name: HeaderName, file: &FileProperties) -> Response {
    match &file.headers.content_md5 {
        Some(md5) => response.text_header(name, &served::md5_text(md5)),
        None => response,
    }
}

/// The length, for answers without a body.
pub(crate) fn length(response: Response, file: &FileProperties) -> Response {
    response.number_header(header::CONTENT_LENGTH, file.length)
}
