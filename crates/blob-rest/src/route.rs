//! The operation table: method, resource, `restype` and `comp` tell the operations apart.

use std::future::ready;

use access::need::Service;
use blob::container::system;
use concurrency::conditions::Taken;
use http::Method;
use rest::{
    BoxFuture, Caller, Headers, Outcome, Request, Response, ServiceError, caller, route::Routes, service_properties,
};
use types::names::ContainerName;

use crate::{
    BlobService, acl, append, batch, blobs, blocks, conditions, containers, copies, errors, find as find_blobs,
    from_url,
    header_names::{BLOB_TYPE, COPY_SOURCE, REQUIRES_SYNC},
    leases, listing, page_ranges, pages, properties, put_blob, snapshots, tags, tier, unsupported,
};

/// What a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Account,
    Container,
    Blob,
}

rest::operations! {
    /// The operations that are told apart. Those of features that do not exist are refused by name.
    pub(crate) enum Operation {
        AbortCopyBlob,
        AppendBlobSeal,
        AppendBlock,
        AppendBlockFromURL,
        BlobBatch,
        ContainerBlobBatch,
        CopyBlob,
        CopyBlobFromURL,
        CreateContainer,
        DeleteBlob,
        DeleteBlobImmutabilityPolicy,
        DeleteContainer,
        FindBlobsByTags,
        FindBlobsByTagsInContainer,
        GetAccountInformation,
        GetBlob,
        GetBlobMetadata,
        GetBlobProperties,
        GetBlobServiceProperties,
        GetBlobServiceStats,
        GetBlobTags,
        GetBlockList,
        GetContainerAcl,
        GetContainerMetadata,
        GetContainerProperties,
        GetPageRanges,
        GetUserDelegationKey,
        IncrementalCopyBlob,
        LeaseBlob,
        LeaseContainer,
        ListBlobs,
        ListContainers,
        PutBlob,
        PutBlobFromURL,
        PutBlock,
        PutBlockFromURL,
        PutBlockList,
        PutPage,
        PutPageFromURL,
        QueryBlobContents,
        RenameContainer,
        RestoreContainer,
        SetBlobExpiry,
        SetBlobImmutabilityPolicy,
        SetBlobLegalHold,
        SetBlobMetadata,
        SetBlobProperties,
        SetBlobServiceProperties,
        SetBlobTags,
        SetBlobTier,
        SetContainerAcl,
        SetContainerMetadata,
        SnapshotBlob,
        UndeleteBlob,
    }
}

impl Operation {
    /// The same operation, with its content from a source instead of its body. Headers tell them apart.
    fn with_source(self, sent: &Headers) -> Self {
        if !sent.contains_key(COPY_SOURCE) {
            return self;
        }
        let synchronous =
            || sent.get(REQUIRES_SYNC).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"true"));
        match self {
            Self::PutBlob if sent.contains_key(BLOB_TYPE) => Self::PutBlobFromURL,
            Self::PutBlob if synchronous() => Self::CopyBlobFromURL,
            Self::PutBlob => Self::CopyBlob,
            Self::PutBlock => Self::PutBlockFromURL,
            Self::AppendBlock => Self::AppendBlockFromURL,
            Self::PutPage => Self::PutPageFromURL,
            other => other,
        }
    }

    const fn has_source(self) -> bool {
        matches!(
            self,
            Self::CopyBlob
                | Self::CopyBlobFromURL
                | Self::PutBlobFromURL
                | Self::PutBlockFromURL
                | Self::AppendBlockFromURL
                | Self::PutPageFromURL
        )
    }
}

/// One row an operation: where, method, `restype`, `comp`.
#[rustfmt::skip]
const TABLE: Routes<Level, Method, Operation> = Routes(&[
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
    (Level::Account, Method::GET, "", "blobs", Operation::FindBlobsByTags),
    (Level::Account, Method::POST, "", "batch", Operation::BlobBatch),
    // The JavaScript SDK takes the account of a path-style address for a container.
    (Level::Account, Method::POST, "container", "batch", Operation::BlobBatch),
    (Level::Container, Method::PUT, "container", "", Operation::CreateContainer),
    (Level::Container, Method::GET, "container", "", Operation::GetContainerProperties),
    (Level::Container, Method::HEAD, "container", "", Operation::GetContainerProperties),
    (Level::Container, Method::DELETE, "container", "", Operation::DeleteContainer),
    (Level::Container, Method::GET, "container", "metadata", Operation::GetContainerMetadata),
    (Level::Container, Method::HEAD, "container", "metadata", Operation::GetContainerMetadata),
    (Level::Container, Method::PUT, "container", "metadata", Operation::SetContainerMetadata),
    (Level::Container, Method::GET, "container", "acl", Operation::GetContainerAcl),
    (Level::Container, Method::HEAD, "container", "acl", Operation::GetContainerAcl),
    (Level::Container, Method::PUT, "container", "acl", Operation::SetContainerAcl),
    (Level::Container, Method::PUT, "container", "lease", Operation::LeaseContainer),
    (Level::Container, Method::GET, "container", "list", Operation::ListBlobs),
    (Level::Container, Method::GET, "container", "blobs", Operation::FindBlobsByTagsInContainer),
    (Level::Container, Method::POST, "container", "batch", Operation::ContainerBlobBatch),
    (Level::Container, Method::PUT, "container", "undelete", Operation::RestoreContainer),
    (Level::Container, Method::PUT, "container", "rename", Operation::RenameContainer),
    (Level::Blob, Method::PUT, "", "", Operation::PutBlob),
    (Level::Blob, Method::GET, "", "", Operation::GetBlob),
    (Level::Blob, Method::HEAD, "", "", Operation::GetBlobProperties),
    (Level::Blob, Method::DELETE, "", "", Operation::DeleteBlob),
    (Level::Blob, Method::PUT, "", "properties", Operation::SetBlobProperties),
    (Level::Blob, Method::GET, "", "metadata", Operation::GetBlobMetadata),
    (Level::Blob, Method::HEAD, "", "metadata", Operation::GetBlobMetadata),
    (Level::Blob, Method::PUT, "", "metadata", Operation::SetBlobMetadata),
    (Level::Blob, Method::PUT, "", "expiry", Operation::SetBlobExpiry),
    (Level::Blob, Method::PUT, "", "lease", Operation::LeaseBlob),
    (Level::Blob, Method::PUT, "", "copy", Operation::AbortCopyBlob),
    (Level::Blob, Method::PUT, "", "snapshot", Operation::SnapshotBlob),
    (Level::Blob, Method::PUT, "", "tier", Operation::SetBlobTier),
    (Level::Blob, Method::GET, "", "tags", Operation::GetBlobTags),
    (Level::Blob, Method::PUT, "", "tags", Operation::SetBlobTags),
    (Level::Blob, Method::PUT, "", "block", Operation::PutBlock),
    (Level::Blob, Method::PUT, "", "blocklist", Operation::PutBlockList),
    (Level::Blob, Method::GET, "", "blocklist", Operation::GetBlockList),
    (Level::Blob, Method::PUT, "", "page", Operation::PutPage),
    (Level::Blob, Method::GET, "", "pagelist", Operation::GetPageRanges),
    (Level::Blob, Method::PUT, "", "appendblock", Operation::AppendBlock),
    (Level::Blob, Method::PUT, "", "seal", Operation::AppendBlobSeal),
    (Level::Blob, Method::PUT, "", "undelete", Operation::UndeleteBlob),
    (Level::Blob, Method::PUT, "", "immutabilityPolicies", Operation::SetBlobImmutabilityPolicy),
    (Level::Blob, Method::DELETE, "", "immutabilityPolicies", Operation::DeleteBlobImmutabilityPolicy),
    (Level::Blob, Method::PUT, "", "legalhold", Operation::SetBlobLegalHold),
    (Level::Blob, Method::PUT, "", "incrementalcopy", Operation::IncrementalCopyBlob),
    (Level::Blob, Method::POST, "", "query", Operation::QueryBlobContents),
]);

impl Operation {
    /// The feature that the operation would need, when it does not exist.
    const fn missing_feature(self) -> Option<&'static str> {
        match self {
            Self::RestoreContainer | Self::UndeleteBlob => Some("soft delete"),
            Self::RenameContainer => Some("renaming a container"),
            Self::SetBlobImmutabilityPolicy | Self::DeleteBlobImmutabilityPolicy => Some("immutability"),
            Self::SetBlobLegalHold => Some("a legal hold"),
            Self::IncrementalCopyBlob => Some("incremental copy"),
            Self::QueryBlobContents => Some("querying the content of blobs"),
            _ => None,
        }
    }
}

impl Operation {
    /// Which conditions it takes.
    const fn takes(self) -> Taken {
        match self {
            Self::CreateContainer
            | Self::PutBlock
            | Self::PutBlockFromURL
            | Self::AbortCopyBlob
            | Self::SetBlobServiceProperties => Taken::NONE,
            Self::SetContainerMetadata | Self::SetContainerAcl | Self::DeleteContainer | Self::LeaseContainer => {
                Taken::STANDARD
            }
            Self::SetBlobTier | Self::SetBlobExpiry => Taken::TAGS,
            Self::SetBlobTags => Taken::OF_TAGGED,
            Self::AppendBlobSeal
            | Self::AppendBlock
            | Self::AppendBlockFromURL
            | Self::CopyBlob
            | Self::CopyBlobFromURL
            | Self::DeleteBlob
            | Self::LeaseBlob
            | Self::PutBlob
            | Self::PutBlobFromURL
            | Self::PutBlockList
            | Self::PutPage
            | Self::PutPageFromURL
            | Self::SetBlobMetadata
            | Self::SetBlobProperties
            | Self::SnapshotBlob => Taken::STANDARD_AND_TAGS,
            Self::BlobBatch
            | Self::ContainerBlobBatch
            | Self::FindBlobsByTags
            | Self::FindBlobsByTagsInContainer
            | Self::GetAccountInformation
            | Self::GetBlob
            | Self::GetBlobMetadata
            | Self::GetBlobProperties
            | Self::GetBlobServiceProperties
            | Self::GetBlobServiceStats
            | Self::GetBlobTags
            | Self::GetBlockList
            | Self::GetContainerAcl
            | Self::GetContainerMetadata
            | Self::GetContainerProperties
            | Self::GetPageRanges
            | Self::GetUserDelegationKey
            | Self::ListBlobs
            | Self::ListContainers
            // What has no feature is answered before.
            | Self::DeleteBlobImmutabilityPolicy
            | Self::IncrementalCopyBlob
            | Self::QueryBlobContents
            | Self::RenameContainer
            | Self::RestoreContainer
            | Self::SetBlobImmutabilityPolicy
            | Self::SetBlobLegalHold
            | Self::UndeleteBlob => Taken::Read,
        }
    }
}

/// A container of the service is there when a user asks for it, and users do not write into it. To create it says so itself.
async fn system_container(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
    operation: Operation,
) -> Result<(), ServiceError> {
    let Some(name) = request.target.container.as_deref().filter(|name| name.starts_with('$')) else { return Ok(()) };
    let Ok(name) = ContainerName::parse(name) else { return Ok(()) };
    if !system::is_system(&name) || caller.is_anonymous() {
        return Ok(());
    }
    if operation.takes() != Taken::Read && !matches!(operation, Operation::DeleteBlob | Operation::CreateContainer) {
        system::admit_user_write(&name).map_err(errors::of)?;
    }
    service.blobs.ensure_system_containers(caller.unit()).await.map_err(errors::of)
}

pub(crate) async fn answer(service: &BlobService, mut request: Request) -> Outcome {
    match find(&mut request) {
        Ok(Operation::BlobBatch) => Outcome::new("BlobBatch", run_batch(service, request, batch::Scope::Account).await),
        Ok(Operation::ContainerBlobBatch) => {
            Outcome::new("ContainerBlobBatch", run_batch(service, request, batch::Scope::Container).await)
        }
        Ok(operation) => Outcome::new(operation.name(), run(service, request, operation).await),
        Err(error) => Outcome::new("Unknown", Err(error)),
    }
}

/// Batches stand apart: their parts are run as other operations are.
async fn run_batch(service: &BlobService, request: Request, scope: batch::Scope) -> Result<Response, ServiceError> {
    // Its parts have credentials of their own; but who may not even ask is not listened to at length.
    let caller = caller::authenticate(&service.accounts, Service::Blob, &request)?;
    batch::submit(service, request, scope, caller.known()?).await
}

pub(crate) async fn run(
    service: &BlobService,
    mut request: Request,
    operation: Operation,
) -> Result<Response, ServiceError> {
    let caller = caller::authenticate(&service.accounts, Service::Blob, &request)?;
    if let Some(feature) = operation.missing_feature() {
        return Err(unsupported::operation(request.target.query.get("comp").unwrap_or_default(), feature));
    }
    unsupported::refuse(operation, &request.headers)?;
    conditions::refuse_untaken(operation.takes(), &request.headers)?;
    system_container(service, &caller, &request, operation).await?;
    unsupported::refuse_scope(&caller, &request)?;
    if !operation.has_source() {
        unsupported::refuse_source(&request.headers)?;
    }
    let caller = &caller;
    // Boxed: otherwise room for the largest of them would be moved around with every request.
    let answer: BoxFuture<'_, Result<Response, ServiceError>> = match operation {
        Operation::GetBlobServiceProperties => {
            Box::pin(service_properties::get(&service.settings, Service::Blob, caller))
        }
        Operation::SetBlobServiceProperties => {
            Box::pin(service_properties::set(&service.settings, Service::Blob, caller, &mut request))
        }
        Operation::GetBlobServiceStats => {
            Box::pin(service_properties::stats(&service.settings, Service::Blob, caller, &request))
        }
        // Any credential may ask for it.
        Operation::GetAccountInformation => {
            Box::pin(ready(caller.known().map(|_| service_properties::account_information())))
        }
        Operation::GetUserDelegationKey => Box::pin(acl::user_delegation_key(service, caller, &mut request)),
        Operation::GetContainerAcl => Box::pin(acl::get(service, caller, &request)),
        Operation::SetContainerAcl => Box::pin(acl::set(service, caller, &mut request)),
        Operation::CopyBlob => Box::pin(copies::copy_blob(service, caller, &request)),
        Operation::CopyBlobFromURL => Box::pin(copies::copy_blob_from_url(service, caller, &request)),
        Operation::PutBlobFromURL => Box::pin(copies::put_blob_from_url(service, caller, &request)),
        Operation::AbortCopyBlob => Box::pin(copies::abort(service, caller, &request)),
        Operation::PutBlockFromURL => Box::pin(from_url::put_block(service, caller, &request)),
        Operation::AppendBlockFromURL => Box::pin(from_url::append_block(service, caller, &request)),
        Operation::PutPageFromURL => Box::pin(from_url::put_page(service, caller, &request)),
        Operation::ListContainers => Box::pin(listing::containers(service, caller, &request)),
        Operation::FindBlobsByTags => Box::pin(find_blobs::in_account(service, caller, &request)),
        Operation::CreateContainer => Box::pin(containers::create(service, caller, &request)),
        Operation::GetContainerProperties => Box::pin(containers::properties(service, caller, &request)),
        Operation::GetContainerMetadata => Box::pin(containers::get_metadata(service, caller, &request)),
        Operation::SetContainerMetadata => Box::pin(containers::set_metadata(service, caller, &request)),
        Operation::DeleteContainer => Box::pin(containers::delete(service, caller, &request)),
        Operation::LeaseContainer => Box::pin(leases::of_container(service, caller, &request)),
        Operation::ListBlobs => Box::pin(listing::blobs(service, caller, &request)),
        Operation::FindBlobsByTagsInContainer => Box::pin(find_blobs::in_container(service, caller, &request)),
        Operation::PutBlob => Box::pin(put_blob::put(service, caller, request)),
        Operation::GetBlob => Box::pin(blobs::get(service, caller, &request)),
        Operation::GetBlobProperties => Box::pin(blobs::properties(service, caller, &request)),
        Operation::DeleteBlob => Box::pin(blobs::delete(service, caller, &request)),
        Operation::SetBlobProperties => Box::pin(properties::set(service, caller, &request)),
        Operation::GetBlobMetadata => Box::pin(properties::get_metadata(service, caller, &request)),
        Operation::SetBlobMetadata => Box::pin(properties::set_metadata(service, caller, &request)),
        Operation::SetBlobExpiry => Box::pin(properties::set_expiry(service, caller, &request)),
        Operation::LeaseBlob => Box::pin(leases::of_blob(service, caller, &request)),
        Operation::SnapshotBlob => Box::pin(snapshots::take(service, caller, &request)),
        Operation::SetBlobTier => Box::pin(tier::set(service, caller, &request)),
        Operation::GetBlobTags => Box::pin(tags::get(service, caller, &request)),
        Operation::SetBlobTags => Box::pin(tags::set(service, caller, request)),
        Operation::PutBlock => Box::pin(blocks::put(service, caller, request)),
        Operation::PutBlockList => Box::pin(blocks::put_list(service, caller, request)),
        Operation::GetBlockList => Box::pin(blocks::get_list(service, caller, &request)),
        Operation::PutPage => Box::pin(pages::put(service, caller, request)),
        Operation::GetPageRanges => Box::pin(page_ranges::get(service, caller, &request)),
        Operation::AppendBlock => Box::pin(append::block(service, caller, request)),
        Operation::AppendBlobSeal => Box::pin(append::seal(service, caller, &request)),
        // A batch is no part of a batch, and what has no feature was answered above.
        Operation::BlobBatch
        | Operation::ContainerBlobBatch
        | Operation::RestoreContainer
        | Operation::RenameContainer
        | Operation::UndeleteBlob
        | Operation::SetBlobImmutabilityPolicy
        | Operation::DeleteBlobImmutabilityPolicy
        | Operation::SetBlobLegalHold
        | Operation::IncrementalCopyBlob
        | Operation::QueryBlobContents => Box::pin(ready(Err(ServiceError::internal()))),
    };
    // Only the caller knows what a refusal may say.
    answer.await.map_err(|error| caller.explain(error))
}

/// The operation of a request. A single segment names a blob of the root container, unless it is said otherwise.
pub(crate) fn find(request: &mut Request) -> Result<Operation, ServiceError> {
    request.target.backslashes_are_slashes()?;
    if request.target.query.get("restype").is_none_or(str::is_empty) {
        request.target.default_to_root();
    }
    let level = match request.target.segments() {
        (None, None) => Level::Account,
        (Some(_), None) => Level::Container,
        (_, Some(_)) => Level::Blob,
    };
    let restype = request.target.query.get("restype").unwrap_or_default();
    let comp = request.target.query.get("comp").unwrap_or_default();
    let operation = TABLE.find(level, &request.method, restype, comp)?;
    Ok(operation.with_source(&request.headers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_rows_are_the_same_place_and_method() {
        assert_eq!(TABLE.hidden(), None);
    }
}
