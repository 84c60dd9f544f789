//! The names in a target, checked: the share, the path, and the snapshot of the share that is meant.

use file::{FileError, object::Address, share::ShareAddress};
use http::HeaderName;
use rest::{Caller, Headers, Request, ServiceError, dates, headers};
use types::{FilePath, Timestamp, names::ShareName};

use crate::{errors, header_names::ALLOW_TRAILING_DOT, path};

/// The parameter that names a snapshot.
const SHARE_SNAPSHOT: &str = "sharesnapshot";

pub(crate) fn share_name(request: &Request) -> Result<ShareName, ServiceError> {
    let name = request.target.container.as_deref().unwrap_or_default();
    ShareName::parse(name).map_err(|error| ServiceError::invalid_name(&error))
}

/// The share, or the snapshot of it that is named.
pub(crate) fn share(caller: &Caller, request: &Request) -> Result<ShareAddress, ServiceError> {
    let text = request.target.query.get(SHARE_SNAPSHOT).filter(|text| !text.is_empty());
    let snapshot = text.map(|text| snapshot_time(SHARE_SNAPSHOT, text)).transpose()?;
    Ok(ShareAddress { account: caller.unit(), name: share_name(request)?, snapshot })
}

/// The share itself, for operations that snapshots do not take. Whoever sends an empty parameter did not mean the share.
pub(crate) fn written_share(caller: &Caller, request: &Request) -> Result<ShareAddress, ServiceError> {
    match request.target.query.get(SHARE_SNAPSHOT) {
        None => share(caller, request),
        Some(text) => Err(errors::of(FileError::ShareSnapshotOperationNotSupported)
            .with_detail("QueryParameterName", SHARE_SNAPSHOT)
            .with_detail("QueryParameterValue", text)),
    }
}

/// The directory or file, or its state in a snapshot.
pub(crate) fn path(caller: &Caller, request: &Request) -> Result<Address, ServiceError> {
    Ok(Address::new(share(caller, request)?, target_path(request)?))
}

/// The same for operations that snapshots do not take.
pub(crate) fn written_path(caller: &Caller, request: &Request) -> Result<Address, ServiceError> {
    Ok(Address::new(written_share(caller, request)?, target_path(request)?))
}

fn target_path(request: &Request) -> Result<Option<FilePath>, ServiceError> {
    let Some(rest) = request.target.rest.as_deref() else { return Ok(None) };
    path::parse(rest, keeps_dots(&request.headers, &ALLOW_TRAILING_DOT)?).map(Some)
}

/// Whether dots at the end of names are part of them.
pub(crate) fn keeps_dots(sent: &Headers, name: &HeaderName) -> Result<bool, ServiceError> {
    Ok(headers::boolean(sent, name)?.unwrap_or(false))
}

/// The time that names a snapshot.
pub(crate) fn snapshot_time(parameter: &str, text: &str) -> Result<Timestamp, ServiceError> {
    let wrong = || ServiceError::invalid_query(parameter, text, "it is not the time of a snapshot");
    dates::parse_iso8601(text).filter(|_| text.contains('T')).ok_or_else(wrong)
}
