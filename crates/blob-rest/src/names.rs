//! The names in a target, checked: the container, the blob, and the part of the blob that is meant.

use blob::{
    errors::BlobError,
    object::Address,
    part::{NamedPart, NamedTime},
};
use rest::{Query, Request, ServiceError, dates};
use types::{
    Timestamp, UnitId,
    names::{BlobName, ContainerName},
};

use crate::errors;

pub(crate) fn container(request: &Request) -> Result<ContainerName, ServiceError> {
    ContainerName::parse(request.target.container.as_deref().unwrap_or_default())
        .map_err(|error| ServiceError::invalid_name(&error))
}

/// The blob itself, for operations that snapshots and versions do not take.
pub(crate) fn base(account: UnitId, request: &Request) -> Result<Address, ServiceError> {
    for name in ["snapshot", "versionid"] {
        if request.target.query.has(name) {
            return Err(errors::of(BlobError::NotForSnapshots).with_detail("QueryParameterName", name));
        }
    }
    address(account, request)
}

/// The blob or one of its snapshots, to be read. Nothing has versions: asking for one finds nothing, never the blob. An empty
/// parameter counts as absent.
pub(crate) fn read_part(account: UnitId, request: &Request) -> Result<(Address, NamedPart), ServiceError> {
    let address = address(account, request)?;
    if request.target.query.get("versionid").is_some_and(|text| !text.is_empty()) {
        return Err(errors::of(BlobError::BlobNotFound));
    }
    Ok((address, part(&request.target.query)?))
}

/// The same, to be changed or deleted: whoever sends an empty parameter did not mean the blob itself.
pub(crate) fn written_part(account: UnitId, request: &Request) -> Result<(Address, NamedPart), ServiceError> {
    for name in ["snapshot", "versionid"] {
        if request.target.query.get(name).is_some_and(str::is_empty) {
            return Err(ServiceError::invalid_query(name, "", "it is empty"));
        }
    }
    read_part(account, request)
}

/// The blob itself, or the snapshot that is named.
pub(crate) fn part(query: &Query) -> Result<NamedPart, ServiceError> {
    match query.get("snapshot").filter(|text| !text.is_empty()) {
        None => Ok(NamedPart::Base),
        Some(text) => {
            Ok(NamedPart::Snapshot(NamedTime { time: snapshot_time("snapshot", text)?, text: text.to_owned() }))
        }
    }
}

/// The time that names a snapshot.
pub(crate) fn snapshot_time(parameter: &str, text: &str) -> Result<Timestamp, ServiceError> {
    let wrong = || ServiceError::invalid_query(parameter, text, "it is not the time of a snapshot");
    dates::parse_iso8601(text).filter(|_| text.contains('T')).ok_or_else(wrong)
}

fn address(account: UnitId, request: &Request) -> Result<Address, ServiceError> {
    let blob = BlobName::parse(request.target.rest.as_deref().unwrap_or_default())
        .map_err(|error| ServiceError::invalid_name(&error))?;
    Ok(Address { account, container: container(request)?, blob })
}
