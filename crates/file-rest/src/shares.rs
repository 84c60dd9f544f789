//! Create Share, Get and Set Share Properties, Get and Set Share Metadata, Snapshot Share, Get Share Stats, Delete Share,
//! Restore Share.

use file::{
    share::{CreateShare, ShareProperties},
    share_delete::{DeleteShare, DeleteShareSnapshots, RestoreShare},
    share_properties::{GetShareProperties, SetShareMetadata, SetShareProperties, ShareWritten},
    share_snapshot::SnapshotShare,
    usage::GetShareStats,
};
use http::StatusCode;
use rest::{
    Caller, Headers, Request, Response, ServiceError, dates, headers, leases, metadata, preconditions::lease_id,
    stamps, xml::XmlWriter,
};
use types::{Switch, names::ShareName};

use crate::{
    FileService, errors,
    header_names::{DELETE_SNAPSHOTS, DELETED_SHARE_NAME, DELETED_SHARE_VERSION, SHARE_QUOTA, SNAPSHOT},
    names, preconditions, share_settings,
};

pub(crate) async fn create(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let share = names::written_share(caller, request)?;
    let asked = caller.ask(CreateShare {
        account: share.account,
        name: share.name,
        metadata: metadata::from_headers(&request.headers)?,
        settings: share_settings::of_new(&request.headers)?,
    });
    let made = service.files.create_share(&asked).await.map_err(errors::of)?;
    Ok(stamped(Response::new(StatusCode::CREATED), caller, &made))
}

pub(crate) async fn properties(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let found = read(service, caller, request).await?;
    let mut response = stamped(Response::new(StatusCode::OK), caller, &found);
    response = share_settings::described(response, caller.version, &found);
    if caller.version.has(Switch::ShareLeases) {
        response = leases::described(response, found.lease);
    }
    Ok(metadata::to_headers(response, &found.metadata))
}

pub(crate) async fn get_metadata(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let found = read(service, caller, request).await?;
    Ok(metadata::to_headers(stamped(Response::new(StatusCode::OK), caller, &found), &found.metadata))
}

async fn read(service: &FileService, caller: &Caller, request: &Request) -> Result<ShareProperties, ServiceError> {
    let asked = caller.ask(GetShareProperties {
        share: names::share(caller, request)?,
        preconditions: preconditions::of_share(caller, &request.headers)?,
    });
    service.files.get_share_properties(&asked).await.map_err(errors::of)
}

pub(crate) async fn set_properties(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let asked = caller.ask(SetShareProperties {
        share: names::written_share(caller, request)?,
        preconditions: preconditions::of_share(caller, &request.headers)?,
        change: share_settings::change(&request.headers)?,
    });
    let done = service.files.set_share_properties(&asked).await.map_err(errors::of)?;
    Ok(written(StatusCode::OK, caller, done).number_header(SHARE_QUOTA, u64::from(done.quota_gib)))
}

pub(crate) async fn set_metadata(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let asked = caller.ask(SetShareMetadata {
        share: names::written_share(caller, request)?,
        preconditions: preconditions::of_share(caller, &request.headers)?,
        metadata: metadata::from_headers(&request.headers)?,
    });
    let done = service.files.set_share_metadata(&asked).await.map_err(errors::of)?;
    Ok(written(StatusCode::OK, caller, done))
}

pub(crate) async fn snapshot(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let sent = &request.headers;
    let asked = caller.ask(SnapshotShare {
        share: names::written_share(caller, request)?,
        // Without any, the snapshot has that of the share.
        metadata: metadata::is_sent(sent).then(|| metadata::from_headers(sent)).transpose()?,
    });
    let taken = service.files.snapshot_share(&asked).await.map_err(errors::of)?;
    let response = written(StatusCode::CREATED, caller, taken.written);
    Ok(response.text_header(SNAPSHOT, &dates::iso8601(taken.snapshot)))
}

pub(crate) async fn stats(service: &FileService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    let asked = caller
        .ask(GetShareStats { share: names::written_share(caller, request)?, lease_id: lease_id(&request.headers)? });
    let found = service.files.get_share_stats(&asked).await.map_err(errors::of)?;
    let mut xml = XmlWriter::document();
    xml.open("ShareStats");
    xml.element("ShareUsageBytes", &found.usage_bytes.to_string());
    xml.close("ShareStats");
    let response = Response::new(StatusCode::OK).xml(xml.finish());
    Ok(stamps::stamped(response, caller.version, found.etag, found.last_modified))
}

pub(crate) async fn delete(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let share = names::share(caller, request)?;
    if request.target.query.get("sharesnapshot").is_some_and(str::is_empty) {
        return Err(ServiceError::invalid_query("sharesnapshot", "", "it is empty"));
    }
    let snapshots = delete_snapshots(&request.headers)?;
    if share.snapshot.is_some()
        && let Some(text) = headers::text(&request.headers, &DELETE_SNAPSHOTS)?
    {
        return Err(ServiceError::invalid_header(DELETE_SNAPSHOTS.as_str(), text));
    }
    let asked =
        caller.ask(DeleteShare { share, preconditions: preconditions::of_share(caller, &request.headers)?, snapshots });
    service.files.delete_share(&asked).await.map_err(errors::of)?;
    Ok(Response::new(StatusCode::ACCEPTED))
}

fn delete_snapshots(sent: &Headers) -> Result<DeleteShareSnapshots, ServiceError> {
    match headers::text(sent, &DELETE_SNAPSHOTS)? {
        None => Ok(DeleteShareSnapshots::Refuse),
        Some(text) if text.eq_ignore_ascii_case("include") => Ok(DeleteShareSnapshots::Include),
        Some(text) if text.eq_ignore_ascii_case("include-leased") => Ok(DeleteShareSnapshots::IncludeLeased),
        Some(text) => Err(ServiceError::invalid_header(DELETE_SNAPSHOTS.as_str(), text)),
    }
}

pub(crate) async fn restore(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let sent = &request.headers;
    let share = names::written_share(caller, request)?;
    let deleted = headers::required(sent, &DELETED_SHARE_NAME)?;
    let version = headers::required(sent, &DELETED_SHARE_VERSION)?;
    let asked = caller.ask(RestoreShare {
        account: share.account,
        name: share.name,
        deleted_name: ShareName::parse(deleted).map_err(|error| ServiceError::invalid_name(&error))?,
        version: share_version(version)
            .ok_or_else(|| ServiceError::invalid_header(DELETED_SHARE_VERSION.as_str(), version))?,
    });
    let done = service.files.restore_share(&asked).await.map_err(errors::of)?;
    Ok(written(StatusCode::CREATED, caller, done).number_header(SHARE_QUOTA, u64::from(done.quota_gib)))
}

/// The version of a deleted share as listings show it: the ticks of its time in hexadecimal digits.
pub(crate) fn version_text(version: types::Timestamp) -> String {
    format!("{:016X}", version.ticks())
}

fn share_version(text: &str) -> Option<types::Timestamp> {
    let digits = text.len() <= 16 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    u64::from_str_radix(text, 16).ok().filter(|_| digits).map(types::Timestamp::from_ticks)
}

fn stamped(response: Response, caller: &Caller, found: &ShareProperties) -> Response {
    stamps::stamped(response, caller.version, found.etag, found.last_modified)
}

fn written(status: StatusCode, caller: &Caller, done: ShareWritten) -> Response {
    stamps::stamped(Response::new(status), caller.version, done.etag, done.last_modified)
}

#[cfg(test)]
mod tests {
    use types::Timestamp;

    use super::*;

    #[test]
    fn versions_of_deleted_shares_come_back() {
        let version = Timestamp::from_ticks(0x01D6_4EB9_8861_7F0B);
        assert_eq!(version_text(version), "01D64EB988617F0B");
        let table = [("01D64EB988617F0B", Some(version)), ("+1", None), ("", None), ("01D64EB988617F0B0", None)];
        for (text, expected) in table {
            assert_eq!(share_version(text), expected, "{text}");
        }
    }

    #[test]
    fn what_happens_to_snapshots() {
        let table = [
            (None, Some(DeleteShareSnapshots::Refuse)),
            (Some("include"), Some(DeleteShareSnapshots::Include)),
            (Some("Include-Leased"), Some(DeleteShareSnapshots::IncludeLeased)),
            (Some("only"), None),
        ];
        for (text, expected) in table {
            let sent: Headers = text.map(|text| ("x-ms-delete-snapshots", text)).into_iter().collect();
            assert_eq!(delete_snapshots(&sent).ok(), expected, "{text:?}");
        }
    }
}
