//! Incarnations one after another on one engine: each sees everything, and what is left of those before is refused.

use access::{AccountChangeError, Asked};
use blob::{
    Preconditions,
    download::GetBlob,
    errors::BlobError,
    lease::LeaseBlob,
    object::{Address, ReadBlob},
    part::NamedPart,
};
use bytes::Bytes;
use concurrency::{
    conditions::Conditions,
    lease::{LeaseDuration, LeaseId, LeaseOperation},
};
use store_embedded::{EmbeddedEngine, Options};
use store_memory::MemoryEngine;
use testkit::{ACCOUNT, RestService};
use types::names::{BlobName, ContainerName};

use super::*;
use crate::everything::{self, Services, owner, put_blob, surroundings};

/// One of each, and where the second lives.
fn engines() -> [(Arc<dyn Engine>, Option<tempfile::TempDir>); 2] {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { reserve_bytes: 0, ..Options::default() };
    let embedded = EmbeddedEngine::open(directory.path(), options).unwrap();
    [(Arc::new(MemoryEngine::default()), None), (Arc::new(embedded), Some(directory))]
}

async fn open(engine: &Arc<dyn Engine>) -> Incarnation {
    Incarnation::open(Arc::clone(engine), surroundings()).await.unwrap()
}

#[tokio::test]
async fn the_next_incarnation_sees_everything() {
    for (engine, _directory) in engines() {
        let first = open(&engine).await;
        everything::write_first(&first).await;
        first.end().await;
        let second = open(&engine).await;
        everything::write_second(&second).await;
        let transcript = everything::transcript(&second).await;
        drop(second);
        let third = open(&engine).await;
        let again = everything::transcript(&third).await;
        for (now, before) in again.lines().zip(transcript.lines()) {
            assert_eq!(now, before);
        }
        assert_eq!(again.len(), transcript.len());
    }
}

/// The container `box` with a blob of one chunk and a blob of two blocks.
async fn prepare(blobs: &RestService) {
    let kind = [("x-ms-blob-type", "BlockBlob")];
    let list = b"<BlockList><Latest>MDE=</Latest><Latest>MDI=</Latest></BlockList>";
    let table: [(&str, &[u8]); 5] = [
        ("/box?restype=container", b""),
        ("/box/chunk", b"all of it"),
        ("/box/blocks?comp=block&blockid=MDE%3D", b"first"),
        ("/box/blocks?comp=block&blockid=MDI%3D", b"second"),
        ("/box/blocks?comp=blocklist", list),
    ];
    for (target, body) in table {
        assert_eq!(blobs.call("PUT", target, &kind, body).await.verdict(), (201, ""), "{target}");
    }
}

fn address(of: &Incarnation, blob: &str) -> Address {
    let account = of.accounts.get(ACCOUNT).unwrap().unit;
    Address { account, container: ContainerName::parse("box").unwrap(), blob: BlobName::parse(blob).unwrap() }
}

fn is_closed<T>(outcome: &Result<T, BlobError>) -> bool {
    matches!(outcome, Err(BlobError::Store(StoreError::Closed)))
}

/// Get Blob, asked for by somebody who may.
fn get_blob<'a>(of: &Incarnation, blob: &str) -> Asked<GetBlob<'a>> {
    let read = ReadBlob { address: address(of, blob), part: NamedPart::Base, preconditions: Preconditions::default() };
    owner(of, ACCOUNT).ask(GetBlob { read, range: None, if_range: None })
}

#[tokio::test]
async fn an_upload_that_was_begun_before_the_end_is_refused() {
    for (engine, _directory) in engines() {
        let first = open(&engine).await;
        prepare(&Services::of(&first).await.blobs).await;
        let (blobs, request) = (first.blobs.clone(), &put_blob(&first, ACCOUNT, "box", "late"));
        let begun = blobs.begin_put_blob(request, None).await.unwrap();
        let mut body = begun.writer(9).unwrap();
        body.write(Bytes::from_static(b"half")).await.unwrap();
        first.end().await;

        let second = open(&engine).await;
        body.write(Bytes::from_static(b" more")).await.unwrap();
        let body = body.finish().await.unwrap();
        assert!(is_closed(&blobs.put_blob(request, &body, None).await));
        assert!(begun.writer(9).is_err() && is_closed(&blobs.begin_put_blob(request, None).await.map(|_| ())));
        let services = Services::of(&second).await;
        assert_eq!(services.blobs.call("GET", "/box/late", &[], b"").await.verdict(), (404, "BlobNotFound"));
    }
}

#[tokio::test]
async fn a_download_ends_with_its_own_bytes_or_breaks_off() {
    for (engine, _directory) in engines() {
        let first = open(&engine).await;
        prepare(&Services::of(&first).await.blobs).await;
        let (blobs, again) = (first.blobs.clone(), get_blob(&first, "chunk"));
        let mut chunk = blobs.get_blob(&again).await.unwrap().reader;
        let mut blocks = blobs.get_blob(&get_blob(&first, "blocks")).await.unwrap().reader;
        assert_eq!(blocks.read(0, 5).await.unwrap(), "first");
        first.end().await;

        let second = open(&engine).await;
        let services = Services::of(&second).await.blobs;
        for blob in ["chunk", "blocks"] {
            let deleted = services.call("DELETE", &format!("/box/{blob}"), &[], b"").await;
            assert_eq!(deleted.verdict(), (202, ""));
        }
        // It knows nothing of downloads of before.
        while store::sweep::step(&second.store).await.unwrap().more {}
        assert_eq!(chunk.read(0, 100).await.unwrap(), "all of it", "what is open is read to its end");
        assert!(is_closed(&blocks.read(5, 6).await), "what is not open breaks off");
        assert!(is_closed(&blobs.get_blob(&again).await.map(|_| ())));
    }
}

#[tokio::test]
async fn whatever_is_asked_of_an_incarnation_that_has_ended_is_refused() {
    for (engine, _directory) in engines() {
        let first = open(&engine).await;
        let services = Services::of(&first).await;
        prepare(&services.blobs).await;
        let table: [(&RestService, &str, &str, &[u8]); 7] = [
            (&services.queues, "PUT", "/jobs", b""),
            (&services.queues, "POST", "/jobs/messages", b"<QueueMessage><MessageText>m</MessageText></QueueMessage>"),
            (&services.queues, "GET", "/jobs/messages?visibilitytimeout=1", b""),
            (&services.tables, "POST", "/Tables", br#"{"TableName":"people"}"#),
            (&services.tables, "GET", "/people", b""),
            (&services.blobs, "GET", "/box?restype=container&comp=list", b""),
            (&services.blobs, "GET", "/box/chunk", b""),
        ];
        let sent = [("Content-Type", "application/json")];
        for (service, method, target, body) in table {
            let answer = service.call(method, target, &sent, body).await;
            assert!(answer.status < 300, "{method} {target} {answer:?}");
        }
        let (blobs, accounts, store) = (first.blobs.clone(), Arc::clone(&first.accounts), first.store.clone());
        let id = LeaseId::from_u128(7);
        let lease = owner(&first, ACCOUNT).ask(LeaseBlob {
            address: address(&first, "chunk"),
            conditions: Conditions::default(),
            if_tags: None,
            operation: LeaseOperation::Acquire { proposed: None, fresh: id, duration: LeaseDuration::Infinite },
        });
        drop(first); // without an end

        let second = open(&engine).await;
        for (service, method, target, body) in table {
            let answer = service.call(method, target, &sent, body).await;
            assert_eq!(answer.verdict(), (503, "ServerBusy"), "{method} {target}");
        }
        assert!(is_closed(&blobs.lease_blob(&lease).await));
        let name = AccountName::parse("another").unwrap();
        let added = accounts.add(&store, &name, &[AccountKey::new(&[1; 64])]).await;
        assert!(matches!(added, Err(AccountChangeError::Store(StoreError::Closed))));
        assert!(matches!(store::sweep::step(&store).await, Err(StoreError::Closed)), "the background");
        second.blobs.lease_blob(&lease).await.unwrap();
        let services = Services::of(&second).await;
        let got = services.queues.call("GET", "/jobs?comp=metadata", &[], b"").await;
        assert_eq!(got.header("x-ms-approximate-messages-count"), "1", "nothing was put behind its back");
    }
}
