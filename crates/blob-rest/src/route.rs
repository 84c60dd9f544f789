//! The operation table: method, resource, `restype` and `comp` tell the operations apart.

use access::need::Service;
use http::Method;
use rest::{Outcome, Request, Response, ServiceError, caller, service_properties};
use types::ErrorCode;

use crate::{BlobService, acl, blobs, containers, listing, unsupported};

/// What a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Account,
    Container,
    Blob,
}

/// The operations that are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    GetBlobServiceProperties,
    SetBlobServiceProperties,
    GetBlobServiceStats,
    GetAccountInformation,
    GetUserDelegationKey,
    ListContainers,
    CreateContainer,
    GetContainerProperties,
    DeleteContainer,
    GetContainerAcl,
    SetContainerAcl,
    ListBlobs,
    PutBlob,
    GetBlob,
    GetBlobProperties,
    DeleteBlob,
}

/// One row an operation: where, method, `restype`, `comp`.
const TABLE: &[(Level, Method, &str, &str, Operation)] = &[
    (Level::Account, Method::GET, "service", "properties", Operation::GetBlobServiceProperties),
    (Level::Account, Method::PUT, "service", "properties", Operation::SetBlobServiceProperties),
    (Level::Account, Method::GET, "service", "stats", Operation::GetBlobServiceStats),
    (Level::Account, Method::GET, "account", "properties", Operation::GetAccountInformation),
    (Level::Account, Method::HEAD, "account", "properties", Operation::GetAccountInformation),
    (Level::Container, Method::GET, "account", "properties", Operation::GetAccountInformation),
    (Level::Container, Method::HEAD, "account", "properties", Operation::GetAccountInformation),
    (Level::Blob, Method::GET, "account", "properties", Operation::GetAccountInformation),
    (Level::Blob, Method::HEAD, "account", "properties", Operation::GetAccountInformation),
    (Level::Account, Method::POST, "service", "userdelegationkey", Operation::GetUserDelegationKey),
    (Level::Account, Method::GET, "", "list", Operation::ListContainers),
    (Level::Container, Method::PUT, "container", "", Operation::CreateContainer),
    (Level::Container, Method::GET, "container", "", Operation::GetContainerProperties),
    (Level::Container, Method::HEAD, "container", "", Operation::GetContainerProperties),
    (Level::Container, Method::DELETE, "container", "", Operation::DeleteContainer),
    (Level::Container, Method::GET, "container", "acl", Operation::GetContainerAcl),
    (Level::Container, Method::HEAD, "container", "acl", Operation::GetContainerAcl),
    (Level::Container, Method::PUT, "container", "acl", Operation::SetContainerAcl),
    (Level::Container, Method::GET, "container", "list", Operation::ListBlobs),
    (Level::Blob, Method::PUT, "", "", Operation::PutBlob),
    (Level::Blob, Method::GET, "", "", Operation::GetBlob),
    (Level::Blob, Method::HEAD, "", "", Operation::GetBlobProperties),
    (Level::Blob, Method::DELETE, "", "", Operation::DeleteBlob),
];

impl Operation {
    const fn name(self) -> &'static str {
        match self {
            Self::GetBlobServiceProperties => "GetBlobServiceProperties",
            Self::SetBlobServiceProperties => "SetBlobServiceProperties",
            Self::GetBlobServiceStats => "GetBlobServiceStats",
            Self::GetAccountInformation => "GetAccountInformation",
            Self::GetUserDelegationKey => "GetUserDelegationKey",
            Self::GetContainerAcl => "GetContainerAcl",
            Self::SetContainerAcl => "SetContainerAcl",
            Self::ListContainers => "ListContainers",
            Self::CreateContainer => "CreateContainer",
            Self::GetContainerProperties => "GetContainerProperties",
            Self::DeleteContainer => "DeleteContainer",
            Self::ListBlobs => "ListBlobs",
            Self::PutBlob => "PutBlob",
            Self::GetBlob => "GetBlob",
            Self::GetBlobProperties => "GetBlobProperties",
            Self::DeleteBlob => "DeleteBlob",
        }
    }
}

pub(crate) async fn answer(service: &BlobService, mut request: Request) -> Outcome {
    if request.target.query.get("restype").is_none_or(str::is_empty) {
        request.target.default_to_root();
    }
    match find(&request) {
        Ok(operation) => Outcome::new(operation.name(), run(service, request, operation).await),
        Err(error) => Outcome::new("Unknown", Err(error)),
    }
}

async fn run(service: &BlobService, mut request: Request, operation: Operation) -> Result<Response, ServiceError> {
    let caller = caller::authenticate(&service.accounts, Service::Blob, &request, service.store.now())?;
    unsupported::refuse(&request.headers)?;
    unsupported::refuse_scope(&caller, &request)?;
    match operation {
        Operation::GetBlobServiceProperties => service_properties::get(&service.store, Service::Blob, &caller).await,
        Operation::SetBlobServiceProperties => {
            service_properties::set(&service.store, Service::Blob, &caller, &mut request).await
        }
        Operation::GetBlobServiceStats => {
            service_properties::stats(&service.store, Service::Blob, &caller, service.store.now()).await
        }
        // Any credential may ask for it.
        Operation::GetAccountInformation => caller.known().map(|()| service_properties::account_information()),
        Operation::GetUserDelegationKey => acl::user_delegation_key(service, &caller, &mut request).await,
        Operation::GetContainerAcl => acl::get(service, &caller, &request).await,
        Operation::SetContainerAcl => acl::set(service, &caller, &mut request).await,
        Operation::ListContainers => listing::containers(service, &caller, &request).await,
        Operation::CreateContainer => containers::create(service, &caller, &request).await,
        Operation::GetContainerProperties => containers::properties(service, &caller, &request).await,
        Operation::DeleteContainer => containers::delete(service, &caller, &request).await,
        Operation::ListBlobs => listing::blobs(service, &caller, &request).await,
        Operation::PutBlob => blobs::put(service, &caller, request).await,
        Operation::GetBlob => blobs::get(service, &caller, &request).await,
        Operation::GetBlobProperties => blobs::properties(service, &caller, &request).await,
        Operation::DeleteBlob => blobs::delete(service, &caller, &request).await,
    }
}

fn find(request: &Request) -> Result<Operation, ServiceError> {
    let level = match request.target.segments() {
        (None, None) => Level::Account,
        (Some(_), None) => Level::Container,
        (_, Some(_)) => Level::Blob,
    };
    let restype = request.target.query.get("restype").unwrap_or_default();
    let comp = request.target.query.get("comp").unwrap_or_default();
    let same_place = |row: &&(Level, Method, &str, &str, Operation)| {
        row.0 == level && row.2.eq_ignore_ascii_case(restype) && row.3.eq_ignore_ascii_case(comp)
    };
    if let Some(row) = TABLE.iter().filter(same_place).find(|row| row.1 == request.method) {
        return Ok(row.4);
    }
    if TABLE.iter().any(|row| same_place(&row)) {
        return Err(ServiceError::new(
            ErrorCode::UnsupportedHttpVerb,
            "The resource doesn't support the specified HTTP verb.",
        ));
    }
    // Operations of the service that are not built yet come here too: refused by name, never taken for another.
    let (name, value) = if comp.is_empty() { ("restype", restype) } else { ("comp", comp) };
    Err(ServiceError::invalid_query(name, value, "the operation is unknown or not supported"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_rows_are_the_same_place_and_method() {
        for (number, row) in TABLE.iter().enumerate() {
            let twin = TABLE[..number]
                .iter()
                .find(|other| (other.0, &other.1, other.2, other.3) == (row.0, &row.1, row.2, row.3));
            assert!(twin.is_none(), "{row:?}");
        }
    }
}
