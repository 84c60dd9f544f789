//! Rename Directory and Rename File. The request goes to the destination and names the source by its URL.

use file::{Preconditions, object::Address, properties::SetMetadata, rename::Rename};
use http::StatusCode;
use rest::{Caller, RawTarget, Request, Response, ServiceError, Target, headers, metadata, preconditions};

use crate::{
    FileService, described,
    header_names::{
        CONTENT_TYPE, DESTINATION_LEASE_ID, FILE_RENAME_IGNORE_READONLY, FILE_RENAME_REPLACE_IF_EXISTS,
        FILE_RENAME_SOURCE, SOURCE_ALLOW_TRAILING_DOT, SOURCE_LEASE_ID,
    },
    names, path,
    smb_headers::{self, For},
    waiting,
};

pub(crate) async fn directory(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    rename(service, caller, request, true).await
}

pub(crate) async fn file(service: &FileService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    rename(service, caller, request, false).await
}

async fn rename(
    service: &FileService,
    caller: &Caller,
    request: &Request,
    is_directory: bool,
) -> Result<Response, ServiceError> {
    let sent = &request.headers;
    let destination = names::written_path(caller, request)?;
    let flag = |name| headers::boolean(sent, name).map(Option::unwrap_or_default);
    let content_type = headers::text(sent, &CONTENT_TYPE)?.filter(|_| !is_directory);
    let asked = caller.ask(Rename {
        source: source(request, &destination)?,
        destination,
        is_directory,
        replaces: flag(&FILE_RENAME_REPLACE_IF_EXISTS)?,
        ignores_read_only: flag(&FILE_RENAME_IGNORE_READONLY)?,
        source_lease: preconditions::guid(sent, &SOURCE_LEASE_ID)?,
        destination_lease: preconditions::guid(sent, &DESTINATION_LEASE_ID)?,
        smb: smb_headers::read_optional(sent, For::Existing)?,
        metadata: metadata::is_sent(sent).then(|| metadata::from_headers(sent)).transpose()?,
        content_type: content_type.map(str::to_owned),
    });
    // Whoever may write the destination alone must not take something else away.
    let of_source = SetMetadata {
        address: asked.source.clone(),
        preconditions: Preconditions::default(),
        is_directory,
        metadata: Vec::new(),
    };
    let of_source = caller.ask(of_source);
    let moved = waiting::done(request, || service.files.rename(&asked, &of_source)).await?;
    Ok(described::written(Response::new(StatusCode::OK), caller.version, &asked.destination, &moved))
}

/// The source: something in the same share. What its URL is signed with says nothing: the request's own credential decides.
fn source(request: &Request, destination: &Address) -> Result<Address, ServiceError> {
    let url = headers::required(&request.headers, &FILE_RENAME_SOURCE)?;
    let wrong = |reason: &str| {
        ServiceError::invalid_header(FILE_RENAME_SOURCE.as_str(), "REDACTED").with_detail("Reason", reason)
    };
    let target = same_style(url, &request.target).ok_or_else(|| wrong("it is no URL"))?;
    if target.account != request.target.account || target.container != request.target.container {
        return Err(wrong("it is not in the share of the destination"));
    }
    if target.query.has("sharesnapshot") {
        return Err(wrong("it is in a share snapshot"));
    }
    let name = target.rest.as_deref().ok_or_else(|| wrong("it names no directory or file"))?;
    let keeps_dots = names::keeps_dots(&request.headers, &SOURCE_ALLOW_TRAILING_DOT)?;
    Ok(Address::new(destination.share.clone(), Some(path::parse(name, keeps_dots)?)))
}

/// The target in a URL, with the account where the request has it.
fn same_style(url: &str, request: &Target) -> Option<Target> {
    let RawTarget::Resource { host: Some(_), path, query } = RawTarget::split(url).ok()? else { return None };
    let mut target = if request.path_style {
        Target::parse(path, query).ok()?
    } else {
        Target::parse(&format!("/{}{path}", request.account), query).ok()?
    };
    target.backslashes_are_slashes().ok()?;
    Some(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_named_by_a_url() {
        let request = Target::parse("/acc/share/b", "comp=rename").unwrap();
        let table = [
            ("http://h/acc/share/a%20b?sv=1", Some(("acc", Some("share"), Some("a b")))),
            ("https://h/acc/share/d%5Ce", Some(("acc", Some("share"), Some("d/e")))),
            ("https://h/other/share/a", Some(("other", Some("share"), Some("a")))),
            ("/acc/share/a", None),
            ("a", None),
        ];
        for (url, expected) in table {
            let found = same_style(url, &request);
            let found = found.as_ref().map(|target| (&*target.account, target.segments().0, target.segments().1));
            assert_eq!(found, expected, "{url}");
        }
    }
}
