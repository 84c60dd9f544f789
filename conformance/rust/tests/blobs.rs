//! `object_store` with its own integration tests, and the official `azure_storage_blob`, against the built server.

use azure_core::http::{RequestContent, StatusCode, Url};
use azure_storage_blob::{
    BlobServiceClient,
    models::{BlobClientAcquireLeaseResultHeaders, BlobClientGetPropertiesResultHeaders, BlobClientUploadOptions},
};
use futures::TryStreamExt;
use lazuli_conformance::{ACCOUNT, Server};
use object_store::{
    azure::{MicrosoftAzure, MicrosoftAzureBuilder},
    integration,
};

/// The official client takes no account keys: an account SAS stands for it.
fn service(server: &Server) -> BlobServiceClient {
    let url = format!("{}?{}", server.endpoint("Blob"), server.sas("b"));
    BlobServiceClient::new(Url::parse(&url).unwrap(), None, None).unwrap()
}

async fn store(server: &Server) -> MicrosoftAzure {
    service(server).blob_container_client("objects").create(None).await.unwrap();
    let builder = MicrosoftAzureBuilder::new().with_account(ACCOUNT).with_access_key(server.key());
    let builder = builder.with_endpoint(server.endpoint("Blob")).with_allow_http(true);
    builder.with_container_name("objects").build().unwrap()
}

macro_rules! argument {
    ($store:ident, store) => {
        &$store
    };
    ($store:ident, yes) => {
        true
    };
    ($store:ident, no) => {
        false
    };
}

/// One of the tests that `object_store` publishes for its stores, on a server of its own.
macro_rules! published {
    ($($name:ident($($argument:ident),*);)*) => {
        mod object_store_passes_its_own_tests {
            use super::*;

            $(#[tokio::test]
            async fn $name() {
                let server = Server::start();
                let store = store(&server).await;
                integration::$name(&store, $(argument!(store, $argument)),*).await;
            })*
        }
    };
}

published! {
    list_with_offset_exclusivity();
    get_opts();
    list_uses_directories_correctly();
    list_with_delimiter();
    rename_and_copy();
    copy_if_not_exists();
    copy_rename_nonexistent_object();
    stream_get();
    put_opts(yes);
    multipart(store);
    multipart_put_part_out_of_order(store);
    multipart_race_condition(no);
    multipart_out_of_order();
    list_paginated(store);
    put_get_attributes();
    put_get_delete_list();
}

#[tokio::test]
async fn the_official_client_works() {
    let server = Server::start();
    let container = service(&server).blob_container_client("official");
    container.create(None).await.unwrap();
    let blob = container.blob_client("dir/a b");
    let content = |text: &str| RequestContent::from(text.as_bytes().to_vec());
    blob.upload(content("one"), None).await.unwrap();
    let etag = blob.get_properties(None).await.unwrap().etag().unwrap().unwrap();

    // Of two writers with the same ETag, the second is refused.
    let guarded = || BlobClientUploadOptions { if_match: Some(etag.clone()), ..Default::default() };
    blob.upload(content("two"), Some(guarded())).await.unwrap();
    let refused = blob.upload(content("three"), Some(guarded())).await.unwrap_err();
    assert_eq!(refused.http_status(), Some(StatusCode::PreconditionFailed));

    // Up and down in parallel blocks.
    let large: Vec<u8> = (0..32 * 1024 * 1024_u32).map(|number| (number % 251) as u8).collect();
    let parts = container.blob_client("large");
    parts.upload(RequestContent::from(large.clone()), None).await.unwrap();
    let mut read = vec![0; large.len()];
    parts.download_into(&mut read, None).await.unwrap();
    assert!(read == large);

    let lease = blob.acquire_lease(15, None).await.unwrap().lease_id().unwrap();
    assert!(lease.is_some());
    let refused = blob.upload(content("four"), None).await.unwrap_err();
    assert_eq!(refused.http_status(), Some(StatusCode::PreconditionFailed));

    let listed: Vec<_> = container.list_blobs(None).unwrap().try_collect().await.unwrap();
    assert_eq!(listed.iter().map(|blob| blob.name.clone().unwrap()).collect::<Vec<_>>(), ["dir/a b", "large"]);
    assert!(!container.blob_client("none").exists().await.unwrap());
}
