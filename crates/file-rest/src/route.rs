//! The operation table: method, resource, `restype` and `comp` tell the operations apart.

use std::future::ready;

use access::need::Service;
use http::Method;
use rest::{
    BoxFuture, Caller, Headers, Outcome, Request, Response, ServiceError, Target, caller, headers, route::Routes,
    service_properties,
};
use transfer::header_names::COPY_SOURCE;

use crate::{
    FileService, acl, copies, copy_headers, directories, files, from_url, handles,
    header_names::FILE_REQUEST_INTENT,
    leases, listing, permissions, preconditions, ranges, renames, shares,
    smb_headers::{self, For},
    unsupported,
};

/// What a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Account,
    /// The share, or its topmost directory.
    Share,
    /// A directory or a file below.
    Path,
}

rest::operations! {
    /// The operations that are told apart. Those of features that do not exist are refused by name.
    pub(crate) enum Operation {
        AbortCopyFile,
        CopyFile,
        CreateDirectory,
        CreateFile,
        CreateHardLink,
        CreatePermission,
        CreateShare,
        CreateSymbolicLink,
        DeleteDirectory,
        DeleteFile,
        DeleteShare,
        ForceCloseHandles,
        GetDirectoryMetadata,
        GetDirectoryProperties,
        GetFile,
        GetFileMetadata,
        GetFileProperties,
        GetFileServiceProperties,
        GetPermission,
        GetShareAcl,
        GetShareMetadata,
        GetShareProperties,
        GetShareStats,
        GetSymbolicLink,
        GetUserDelegationKey,
        LeaseFile,
        LeaseShare,
        ListDirectoriesAndFiles,
        ListHandles,
        ListRanges,
        ListShares,
        PutRange,
        PutRangeFromURL,
        RenameDirectory,
        RenameFile,
        RestoreShare,
        SetDirectoryMetadata,
        SetDirectoryProperties,
        SetFileMetadata,
        SetFileProperties,
        SetFileServiceProperties,
        SetShareAcl,
        SetShareMetadata,
        SetShareProperties,
        SnapshotShare,
    }
}

/// One row an operation: where, method, `restype`, `comp`.
#[rustfmt::skip]
const TABLE: Routes<Level, Method, Operation> = Routes(&[
    (Level::Account, Method::GET, "service", "properties", Operation::GetFileServiceProperties),
    (Level::Account, Method::PUT, "service", "properties", Operation::SetFileServiceProperties),
    (Level::Account, Method::POST, "service", "userdelegationkey", Operation::GetUserDelegationKey),
    (Level::Account, Method::GET, "", "list", Operation::ListShares),
    (Level::Share, Method::PUT, "share", "", Operation::CreateShare),
    (Level::Share, Method::GET, "share", "", Operation::GetShareProperties),
    (Level::Share, Method::HEAD, "share", "", Operation::GetShareProperties),
    (Level::Share, Method::DELETE, "share", "", Operation::DeleteShare),
    (Level::Share, Method::PUT, "share", "lease", Operation::LeaseShare),
    (Level::Share, Method::PUT, "share", "snapshot", Operation::SnapshotShare),
    (Level::Share, Method::PUT, "share", "filepermission", Operation::CreatePermission),
    (Level::Share, Method::GET, "share", "filepermission", Operation::GetPermission),
    (Level::Share, Method::PUT, "share", "properties", Operation::SetShareProperties),
    (Level::Share, Method::GET, "share", "metadata", Operation::GetShareMetadata),
    (Level::Share, Method::HEAD, "share", "metadata", Operation::GetShareMetadata),
    (Level::Share, Method::PUT, "share", "metadata", Operation::SetShareMetadata),
    (Level::Share, Method::GET, "share", "acl", Operation::GetShareAcl),
    (Level::Share, Method::HEAD, "share", "acl", Operation::GetShareAcl),
    (Level::Share, Method::PUT, "share", "acl", Operation::SetShareAcl),
    (Level::Share, Method::GET, "share", "stats", Operation::GetShareStats),
    (Level::Share, Method::PUT, "share", "undelete", Operation::RestoreShare),
    // The topmost directory.
    (Level::Share, Method::PUT, "directory", "", Operation::CreateDirectory),
    (Level::Share, Method::GET, "directory", "", Operation::GetDirectoryProperties),
    (Level::Share, Method::HEAD, "directory", "", Operation::GetDirectoryProperties),
    (Level::Share, Method::DELETE, "directory", "", Operation::DeleteDirectory),
    (Level::Share, Method::PUT, "directory", "properties", Operation::SetDirectoryProperties),
    (Level::Share, Method::GET, "directory", "metadata", Operation::GetDirectoryMetadata),
    (Level::Share, Method::HEAD, "directory", "metadata", Operation::GetDirectoryMetadata),
    (Level::Share, Method::PUT, "directory", "metadata", Operation::SetDirectoryMetadata),
    (Level::Share, Method::GET, "directory", "list", Operation::ListDirectoriesAndFiles),
    (Level::Share, Method::GET, "", "listhandles", Operation::ListHandles),
    (Level::Share, Method::PUT, "", "forceclosehandles", Operation::ForceCloseHandles),
    (Level::Path, Method::PUT, "directory", "", Operation::CreateDirectory),
    (Level::Path, Method::GET, "directory", "", Operation::GetDirectoryProperties),
    (Level::Path, Method::HEAD, "directory", "", Operation::GetDirectoryProperties),
    (Level::Path, Method::DELETE, "directory", "", Operation::DeleteDirectory),
    (Level::Path, Method::PUT, "directory", "properties", Operation::SetDirectoryProperties),
    (Level::Path, Method::GET, "directory", "metadata", Operation::GetDirectoryMetadata),
    (Level::Path, Method::HEAD, "directory", "metadata", Operation::GetDirectoryMetadata),
    (Level::Path, Method::PUT, "directory", "metadata", Operation::SetDirectoryMetadata),
    (Level::Path, Method::GET, "directory", "list", Operation::ListDirectoriesAndFiles),
    (Level::Path, Method::PUT, "directory", "rename", Operation::RenameDirectory),
    (Level::Path, Method::PUT, "", "", Operation::CreateFile),
    (Level::Path, Method::GET, "", "", Operation::GetFile),
    (Level::Path, Method::HEAD, "", "", Operation::GetFileProperties),
    (Level::Path, Method::DELETE, "", "", Operation::DeleteFile),
    (Level::Path, Method::PUT, "", "properties", Operation::SetFileProperties),
    (Level::Path, Method::GET, "", "metadata", Operation::GetFileMetadata),
    (Level::Path, Method::HEAD, "", "metadata", Operation::GetFileMetadata),
    (Level::Path, Method::PUT, "", "metadata", Operation::SetFileMetadata),
    (Level::Path, Method::PUT, "", "lease", Operation::LeaseFile),
    (Level::Path, Method::PUT, "", "range", Operation::PutRange),
    (Level::Path, Method::GET, "", "rangelist", Operation::ListRanges),
    (Level::Path, Method::PUT, "", "copy", Operation::AbortCopyFile),
    (Level::Path, Method::GET, "", "listhandles", Operation::ListHandles),
    (Level::Path, Method::PUT, "", "forceclosehandles", Operation::ForceCloseHandles),
    (Level::Path, Method::PUT, "", "rename", Operation::RenameFile),
    (Level::Path, Method::PUT, "symboliclink", "", Operation::CreateSymbolicLink),
    (Level::Path, Method::GET, "symboliclink", "", Operation::GetSymbolicLink),
    (Level::Path, Method::PUT, "hardlink", "", Operation::CreateHardLink),
]);

impl Operation {
    /// The same operation, with its content from a source instead of its body. A header tells them apart.
    fn with_source(self, sent: &Headers) -> Self {
        match self {
            Self::CreateFile if sent.contains_key(COPY_SOURCE) => Self::CopyFile,
            Self::PutRange if sent.contains_key(COPY_SOURCE) => Self::PutRangeFromURL,
            other => other,
        }
    }
}

pub(crate) async fn answer(service: &FileService, mut request: Request) -> Outcome {
    match find(&request.method, &mut request.target, &request.headers) {
        Ok(operation) => Outcome::new(operation.name(), run(service, request, operation).await),
        Err(error) => Outcome::new("Unknown", Err(error)),
    }
}

async fn run(service: &FileService, mut request: Request, operation: Operation) -> Result<Response, ServiceError> {
    let caller = caller::authenticate(&service.accounts, Service::File, &request)?;
    // Nothing of a share is public, so nobody unknown is listened to any longer.
    caller.known()?;
    check_intent(&caller, &request, operation)?;
    unsupported::refuse(operation, &request.headers)?;
    preconditions::refuse(&request.headers)?;
    let caller = &caller;
    // Boxed: otherwise room for the largest of them would be moved around with every request.
    let answer: BoxFuture<'_, Result<Response, ServiceError>> = match operation {
        Operation::GetFileServiceProperties => {
            Box::pin(service_properties::get(&service.settings, Service::File, caller))
        }
        Operation::SetFileServiceProperties => {
            Box::pin(service_properties::set(&service.settings, Service::File, caller, &mut request))
        }
        Operation::GetUserDelegationKey => Box::pin(acl::user_delegation_key(service, caller, &mut request)),
        Operation::ListShares => Box::pin(listing::shares(service, caller, &request)),
        Operation::CreateShare => Box::pin(shares::create(service, caller, &request)),
        Operation::GetShareProperties => Box::pin(shares::properties(service, caller, &request)),
        Operation::GetShareMetadata => Box::pin(shares::get_metadata(service, caller, &request)),
        Operation::SetShareProperties => Box::pin(shares::set_properties(service, caller, &request)),
        Operation::SetShareMetadata => Box::pin(shares::set_metadata(service, caller, &request)),
        Operation::DeleteShare => Box::pin(shares::delete(service, caller, &request)),
        Operation::RestoreShare => Box::pin(shares::restore(service, caller, &request)),
        Operation::SnapshotShare => Box::pin(shares::snapshot(service, caller, &request)),
        Operation::GetShareStats => Box::pin(shares::stats(service, caller, &request)),
        Operation::LeaseShare => Box::pin(leases::of_share(service, caller, &request)),
        Operation::GetShareAcl => Box::pin(acl::get(service, caller, &request)),
        Operation::SetShareAcl => Box::pin(acl::set(service, caller, &mut request)),
        Operation::CreatePermission => Box::pin(permissions::create(service, caller, &mut request)),
        Operation::GetPermission => Box::pin(permissions::get(service, caller, &request)),
        Operation::CreateDirectory => Box::pin(directories::create(service, caller, &request)),
        Operation::GetDirectoryProperties => Box::pin(directories::properties(service, caller, &request)),
        Operation::GetDirectoryMetadata => Box::pin(directories::get_metadata(service, caller, &request)),
        Operation::SetDirectoryProperties => Box::pin(directories::set_properties(service, caller, &request)),
        Operation::SetDirectoryMetadata => Box::pin(directories::set_metadata(service, caller, &request)),
        Operation::DeleteDirectory => Box::pin(directories::delete(service, caller, &request)),
        Operation::ListDirectoriesAndFiles => Box::pin(listing::entries(service, caller, &request)),
        Operation::RenameDirectory => Box::pin(renames::directory(service, caller, &request)),
        Operation::RenameFile => Box::pin(renames::file(service, caller, &request)),
        Operation::CreateFile => Box::pin(files::create(service, caller, request)),
        Operation::GetFile => Box::pin(files::get(service, caller, &request)),
        Operation::GetFileProperties => Box::pin(files::properties(service, caller, &request)),
        Operation::GetFileMetadata => Box::pin(files::get_metadata(service, caller, &request)),
        Operation::SetFileProperties => Box::pin(files::set_properties(service, caller, &request)),
        Operation::SetFileMetadata => Box::pin(files::set_metadata(service, caller, &request)),
        Operation::DeleteFile => Box::pin(files::delete(service, caller, &request)),
        Operation::LeaseFile => Box::pin(leases::of_file(service, caller, &request)),
        Operation::PutRange => Box::pin(ranges::put(service, caller, request)),
        Operation::ListRanges => Box::pin(ranges::list(service, caller, &request)),
        Operation::ListHandles => Box::pin(handles::list(service, caller, &request)),
        Operation::ForceCloseHandles => Box::pin(handles::close(service, caller, &request)),
        Operation::PutRangeFromURL => Box::pin(from_url::put_range(service, caller, &request)),
        Operation::CopyFile => Box::pin(copies::copy(service, caller, &request)),
        Operation::AbortCopyFile => Box::pin(copies::abort(service, caller, &request)),
        Operation::CreateSymbolicLink | Operation::GetSymbolicLink | Operation::CreateHardLink => {
            Box::pin(ready(Err(unsupported::operation(operation))))
        }
    };
    // Only the caller knows what a refusal may say.
    answer.await.map_err(|error| caller.explain(error))
}

/// Whoever shows a token says that access control of the files themselves is passed over. Other credentials may say so too.
fn check_intent(caller: &Caller, request: &Request, operation: Operation) -> Result<(), ServiceError> {
    let is_needed = operation != Operation::GetUserDelegationKey;
    intent(request, is_needed.then_some(caller))
}

/// Refuses another intent than backup, and none of whoever shows a token.
pub(crate) fn intent(request: &Request, caller: Option<&Caller>) -> Result<(), ServiceError> {
    match headers::text(&request.headers, &FILE_REQUEST_INTENT)? {
        Some(text) if text.eq_ignore_ascii_case("backup") => Ok(()),
        Some(text) => Err(ServiceError::invalid_header(FILE_REQUEST_INTENT.as_str(), text)),
        None if caller.is_some_and(|caller| caller.identity().is_some()) => {
            Err(ServiceError::missing_header(FILE_REQUEST_INTENT.as_str()))
        }
        None => Ok(()),
    }
}

/// The name of the operation that a request asks for, when it asks for nothing that does not exist and what it says about
/// attributes, times and descriptors can be read: all that is read of strangers before their credential decides.
///
/// # Errors
/// It is none, or says something that is not understood.
pub fn named(method: &Method, target: &mut Target, sent: &Headers) -> Result<&'static str, ServiceError> {
    let operation = find(method, target, sent)?;
    unsupported::refuse(operation, sent)?;
    match operation {
        Operation::CopyFile => copy_headers::read(sent, true).map(drop)?,
        Operation::CreateFile => smb_headers::read_optional(sent, For::NewFile).map(drop)?,
        Operation::CreateDirectory => smb_headers::read_optional(sent, For::NewDirectory).map(drop)?,
        _ => smb_headers::read_optional(sent, For::Existing).map(drop)?,
    }
    Ok(operation.name())
}

fn find(method: &Method, target: &mut Target, sent: &Headers) -> Result<Operation, ServiceError> {
    target.backslashes_are_slashes()?;
    let level = match target.segments() {
        (None, None) => Level::Account,
        (Some(_), None) => Level::Share,
        (_, Some(_)) => Level::Path,
    };
    let restype = target.query.get("restype").unwrap_or_default();
    let comp = target.query.get("comp").unwrap_or_default();
    let operation = TABLE.find(level, method, restype, comp)?;
    Ok(operation.with_source(sent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_rows_are_the_same_place_and_method() {
        assert_eq!(TABLE.hidden(), None);
    }
}
