//! Copies between the services of one incarnation, in process: a file is the source of everything that reads one into a blob,
//! a blob of everything that reads one into a file, each by the credentials that a source can have.

use std::sync::Arc;

use access::{
    account::AccountKey,
    bearer::{Bearer, BearerSettings},
    need::Service,
    sas::{Fields, sign::sign},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use rest::percent;
use store_memory::MemoryEngine;
use testkit::{ACCOUNT, Answer, KEY, RestService};
use transfer::Here;

use crate::{
    compose,
    everything::surroundings,
    incarnation::{Incarnation, Surroundings},
};

type Sent<'a> = &'a [(&'a str, &'a str)];

/// The two services, with 512 bytes in the blob `box/blob` and in the file `share/file`.
struct World {
    blobs: RestService,
    files: RestService,
    _incarnation: Incarnation,
}

const BLOB: &str = "http://127.0.0.1:10000/devstoreaccount1/box/blob";
const FILE: &str = "http://127.0.0.1:10004/devstoreaccount1/share/file";
const CONTENT: [u8; 512] = [7; 512];

async fn done(service: &RestService, method: &str, target: &str, sent: Sent<'_>, body: &[u8]) -> Answer {
    let answer = service.call(method, target, sent, body).await;
    assert!((200..300).contains(&answer.status), "{method} {target}: {answer:?}");
    answer
}

impl World {
    async fn new() -> Self {
        let listeners = [(Service::Blob, "127.0.0.1:10000"), (Service::File, "127.0.0.1:10004")];
        let listeners = listeners.map(|(service, address)| (service, address.parse().unwrap())).to_vec();
        let surroundings = Surroundings {
            here: Here { listeners, ..Here::default() },
            bearer: Arc::new(Bearer::new(BearerSettings { unsigned: true, ..BearerSettings::default() })),
            ..surroundings()
        };
        let incarnation = Incarnation::open(Arc::new(MemoryEngine::default()), surroundings).await.unwrap();
        let services = &incarnation;
        let of = |build: compose::Build| RestService::over(services.store.clone(), move |_| build(services));
        let (blobs, files) = (of(compose::blob).await.unwrap(), of(compose::file).await.unwrap());
        done(&blobs, "PUT", "/box?restype=container", &[], b"").await;
        let kind = [("x-ms-blob-type", "BlockBlob"), ("x-ms-blob-content-type", "text/blob"), ("x-ms-meta-of", "blob")];
        done(&blobs, "PUT", "/box/blob", &kind, &CONTENT).await;
        done(&blobs, "PUT", "/box/append", &[("x-ms-blob-type", "AppendBlob")], b"").await;
        let page = [("x-ms-blob-type", "PageBlob"), ("x-ms-blob-content-length", "512")];
        done(&blobs, "PUT", "/box/page", &page, b"").await;
        done(&files, "PUT", "/share?restype=share", &[], b"").await;
        for target in ["/share/file", "/share/ranges"] {
            let file = [
                ("x-ms-type", "file"),
                ("x-ms-content-length", "512"),
                ("x-ms-content-type", "text/file"),
                ("x-ms-meta-of", "file"),
            ];
            done(&files, "PUT", target, &file, b"").await;
        }
        let range = [("x-ms-write", "update"), ("x-ms-range", "bytes=0-511")];
        done(&files, "PUT", "/share/file?comp=range", &range, &CONTENT).await;
        Self { blobs, files, _incarnation: incarnation }
    }
}

/// The URL with a signature that may read it.
fn signed(service: Service, url: &str) -> String {
    let (container, path, resource) = match service {
        Service::File => ("share", "file", "f"),
        _ => ("box", "blob", "b"),
    };
    let fields = Fields {
        version: Some("2021-12-02"),
        permissions: Some("r"),
        expiry: Some("2099-01-01"),
        resource: Some(resource),
        ..Fields::default()
    };
    let key = AccountKey::parse(KEY).unwrap();
    let fields = sign(&key, service, ACCOUNT, Some(container), Some(path), &fields).unwrap();
    let pairs: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={}", percent::encode(value))).collect();
    format!("{url}?{}", pairs.join("&"))
}

/// A token that no issuer has signed.
fn token() -> String {
    let encode = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
    let claims = r#"{"aud":"https://storage.azure.com","iss":"i","oid":"o","tid":"t","nbf":0,"exp":99999999999}"#;
    format!("{}.{}.", encode(r#"{"alg":"none"}"#), encode(claims))
}

const PAGE: Sent<'static> =
    &[("x-ms-page-write", "update"), ("x-ms-range", "bytes=0-511"), ("x-ms-source-range", "bytes=0-511")];

/// What reads a source into a blob: the operation, its target, what else it needs, and where its bytes are then.
const INTO_BLOBS: [(&str, &str, Sent<'static>, &str); 6] = [
    ("Copy Blob", "/box/copy", &[], "/box/copy"),
    ("Copy Blob From URL", "/box/copy", &[("x-ms-requires-sync", "true")], "/box/copy"),
    ("Put Blob From URL", "/box/copy", &[("x-ms-blob-type", "BlockBlob")], "/box/copy"),
    ("Put Block From URL", "/box/list?comp=block&blockid=YQ==", &[], ""),
    ("Append Block From URL", "/box/append?comp=appendblock", &[], ""),
    ("Put Page From URL", "/box/page?comp=page", PAGE, "/box/page"),
];

/// The same into a file.
const INTO_FILES: [(&str, &str, Sent<'static>, &str); 2] = [
    ("Copy File", "/share/copy", &[], "/share/copy"),
    (
        "Put Range From URL",
        "/share/ranges?comp=range",
        &[("x-ms-write", "update"), ("x-ms-range", "bytes=0-511"), ("x-ms-source-range", "bytes=0-511")],
        "/share/ranges",
    ),
];

#[tokio::test]
async fn files_are_read_into_blobs_and_blobs_into_files_by_each_credential() {
    let world = World::new().await;
    let pairs = INTO_BLOBS.map(|row| (&world.blobs, Service::File, FILE, row)).into_iter();
    let pairs = pairs.chain(INTO_FILES.map(|row| (&world.files, Service::Blob, BLOB, row)));
    let pairs = pairs.chain(INTO_FILES.map(|row| (&world.files, Service::File, FILE, row)));
    for (service, of, source, (name, target, further, copy)) in pairs {
        let call = async |source: &str, more: Sent<'_>| {
            let sent = [&[("x-ms-copy-source", source)], further, more].concat();
            service.call("PUT", target, &sent, b"").await
        };
        let what = format!("{name} of {of:?}");
        let fine = async |answer: Answer, by: &str| {
            assert!(matches!(answer.status, 201 | 202), "{what} {by}: {answer:?}");
            if !copy.is_empty() {
                let found = done(service, "GET", copy, &[], b"").await;
                assert_eq!(&found.body[..], CONTENT, "{what} {by}");
            }
        };
        // The key of the account reads what is in it for copies that may go on by themselves, and for no others.
        let bare = call(source, &[]).await;
        if matches!(name, "Copy Blob" | "Copy File") {
            fine(bare, "by the caller").await;
        } else {
            assert_eq!(bare.verdict(), (401, "CannotVerifyCopySource"), "{what}");
        }
        fine(call(&signed(of, source), &[]).await, "by a signature").await;
        let bearer = format!("Bearer {}", token());
        let by_token = [("x-ms-copy-source-authorization", bearer.as_str()), ("x-ms-file-request-intent", "backup")];
        fine(call(source, &by_token).await, "by a token").await;
        let without_intent = call(source, &by_token[..1]).await;
        if of == Service::File {
            assert_eq!(without_intent.verdict(), (400, "CannotVerifyCopySource"), "{what}");
        } else {
            fine(without_intent, "by a token without an intent").await;
        }
        let forged = signed(of, source).replace("sig=", "sig=AAAA");
        assert_eq!(call(&forged, &[]).await.verdict(), (403, "CannotVerifyCopySource"), "{what}");
        let missing = signed(of, source).replace("/file?", "/none?").replace("/blob?", "/none?");
        assert_eq!(call(&missing, &[]).await.verdict(), (403, "CannotVerifyCopySource"), "{what}");
    }
}

#[tokio::test]
async fn a_copy_between_services_takes_properties_and_metadata() {
    let world = World::new().await;
    done(&world.blobs, "PUT", "/box/copy", &[("x-ms-copy-source", FILE)], b"").await;
    let copied = done(&world.files, "PUT", "/share/copy", &[("x-ms-copy-source", BLOB)], b"").await;
    assert_eq!(copied.header("x-ms-copy-status"), "success");
    for (service, target, kind, of) in
        [(&world.blobs, "/box/copy", "text/file", "file"), (&world.files, "/share/copy", "text/blob", "blob")]
    {
        let found = done(service, "HEAD", target, &[], b"").await;
        assert_eq!((found.header("content-type"), found.header("x-ms-meta-of")), (kind, of), "{target}");
        assert_eq!((found.header("x-ms-copy-status"), found.header("x-ms-copy-progress")), ("success", "512/512"));
    }
    let list = b"<BlockList><Latest>YQ==</Latest></BlockList>";
    let block = [("x-ms-copy-source", &*signed(Service::File, FILE)), ("x-ms-source-range", "bytes=0-9")];
    done(&world.blobs, "PUT", "/box/list?comp=block&blockid=YQ==", &block, b"").await;
    done(&world.blobs, "PUT", "/box/list?comp=blocklist", &[], list).await;
    assert_eq!(&done(&world.blobs, "GET", "/box/list", &[], b"").await.body[..], &CONTENT[..10]);
    let none = BLOB.replace("blob", "none");
    let missing = world.files.call("PUT", "/share/copy", &[("x-ms-copy-source", &none)], b"").await;
    assert_eq!(missing.verdict(), (404, "CannotVerifyCopySource"));
    let none = FILE.replace("/file", "/none");
    let missing = world.blobs.call("PUT", "/box/copy", &[("x-ms-copy-source", &none)], b"").await;
    assert_eq!(missing.verdict(), (404, "CannotVerifyCopySource"));
}
