//! One of everything that can be stored, written through the services of an incarnation; and what they say about it, as text.
//! For tests of what must still be there: in the next incarnation, in a data directory of an old format.
//!
//! Requests and answers are those of the protocol, so that nothing here depends on how the services are built.

mod shares;

use std::{
    fmt::Write as _,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use access::{
    Asked, Grant,
    account::AccountKey,
    bearer::Bearer,
    need::Service,
    sas::{self, Fields, SignedTarget, sign::sign},
};
use blob::{
    Preconditions, PublicAccess,
    block_blob::{NewBlob, PutBlob},
    container::CreateContainer,
    object::Address,
};
use bytes::Bytes;
use testkit::{ACCOUNT, Answer, KEY, Nowhere, RestService};
use transfer::Here;
use types::names::{AccountName, BlobName, ContainerName};

use crate::{
    compose,
    incarnation::{Incarnation, Surroundings},
};

/// Where copies find this server.
const HERE: &str = "127.0.0.1:10000";
/// A stored account, whose container can be read by everybody.
const STORED: &str = "kept";
const LEASE: &str = "00000000-0000-0000-0000-00000000cafe";

/// The surroundings of an incarnation that serves the account of all tests.
pub(crate) fn surroundings() -> Surroundings {
    let here: SocketAddr = HERE.parse().unwrap();
    Surroundings {
        accounts: vec![(AccountName::parse(ACCOUNT).unwrap(), vec![AccountKey::parse(KEY).unwrap()])],
        public_access: true,
        bearer: Arc::new(Bearer::disabled()),
        outgoing: Arc::new(Nowhere),
        here: Here { listeners: vec![(Service::Blob, here)], ..Here::default() },
    }
}

/// The services of an incarnation, called as functions.
pub(crate) struct Services {
    pub(crate) blobs: RestService,
    pub(crate) queues: RestService,
    pub(crate) tables: RestService,
    pub(crate) files: RestService,
}

impl Services {
    pub(crate) async fn of(incarnation: &Incarnation) -> Self {
        let service = |build: compose::Build| RestService::over(incarnation.store.clone(), move |_| build(incarnation));
        Self {
            blobs: service(compose::blob).await.unwrap(),
            queues: service(compose::queue).await.unwrap(),
            tables: service(compose::table).await.unwrap(),
            files: service(compose::file).await.unwrap(),
        }
    }
}

/// Headers of a request.
type Sent<'a> = &'a [(&'a str, &'a str)];

async fn done(service: &RestService, method: &str, target: &str, sent: Sent<'_>, body: &[u8]) -> Answer {
    let answer = service.call(method, target, sent, body).await;
    assert!((200..300).contains(&answer.status), "{method} {target}: {answer:?}");
    answer
}

/// Bytes that compress well and are nowhere the same.
fn bytes(length: u32) -> Vec<u8> {
    (0..length).map(|number| u8::try_from(number / 256 % 251).unwrap() ^ u8::try_from(number % 7).unwrap()).collect()
}

/// Writes the first half of everything, what is older.
pub(crate) async fn write_first(incarnation: &Incarnation) {
    let services = Services::of(incarnation).await;
    blocks(&services.blobs).await;
    queues(&services.queues).await;
    shares::write_first(&services.files).await;
    accounts(incarnation).await;
}

/// Writes the second half.
pub(crate) async fn write_second(incarnation: &Incarnation) {
    let services = Services::of(incarnation).await;
    pages_and_appends(&services.blobs).await;
    tables(&services.tables).await;
    shares::write_second(&services.files).await;
    settings(&services).await;
}

async fn blocks(blobs: &RestService) {
    done(blobs, "PUT", "/box?restype=container", &[("x-ms-blob-public-access", "blob")], b"").await;
    done(blobs, "PUT", "/leased?restype=container", &[("x-ms-meta-colour", "green")], b"").await;
    let lease = [("x-ms-lease-action", "acquire"), ("x-ms-lease-duration", "-1"), ("x-ms-proposed-lease-id", LEASE)];
    done(blobs, "PUT", "/leased?restype=container&comp=lease", &lease, b"").await;
    for target in ["/gone?restype=container", "/gone/blob"] {
        done(blobs, "PUT", target, &[("x-ms-blob-type", "BlockBlob")], b"").await;
    }
    done(blobs, "DELETE", "/gone?restype=container", &[], b"").await;

    let described = [
        ("x-ms-blob-type", "BlockBlob"),
        ("x-ms-blob-content-type", "text/plain"),
        ("x-ms-blob-content-encoding", "identity"),
        ("x-ms-blob-content-language", "de"),
        ("x-ms-blob-content-disposition", "inline"),
        ("x-ms-blob-cache-control", "no-store"),
        ("x-ms-meta-author", "nobody"),
        ("x-ms-tags", "kind=small&year=2024"),
        ("x-ms-access-tier", "Cool"),
    ];
    done(blobs, "PUT", "/box/small", &described, b"a small blob").await;
    done(blobs, "PUT", "/box/small?comp=snapshot", &[("x-ms-meta-author", "a snapshot")], b"").await;
    done(blobs, "PUT", "/box/small?comp=metadata", &[("x-ms-meta-author", "somebody")], b"").await;
    done(blobs, "PUT", "/box/small?comp=lease", &lease, b"").await;
    done(blobs, "PUT", "/box/empty", &described[..1], b"").await;
    done(blobs, "PUT", "/box/large", &described[..1], &bytes(100_000)).await;
    done(blobs, "PUT", "/box/expires", &described[..1], b"not for ever").await;
    let expiry = [("x-ms-expiry-option", "RelativeToNow"), ("x-ms-expiry-time", "9000000000")];
    done(blobs, "PUT", "/box/expires?comp=expiry", &expiry, b"").await;

    for (id, length) in [("MDE%3D", 5_000), ("MDI%3D", 700), ("MDM%3D", 66_000)] {
        done(blobs, "PUT", &format!("/box/blocks?comp=block&blockid={id}"), &[], &bytes(length)).await;
    }
    let list = b"<BlockList><Latest>MDM=</Latest><Latest>MDE=</Latest><Latest>MDE=</Latest></BlockList>";
    done(blobs, "PUT", "/box/blocks?comp=blocklist", &[("x-ms-blob-content-type", "a/b")], list).await;
    for target in ["/box/blocks?comp=block&blockid=MDQ%3D", "/box/staged?comp=block&blockid=MDE%3D"] {
        done(blobs, "PUT", target, &[], b"uncommitted").await;
    }
    for from in ["small", "blocks"] {
        let source = format!("http://{HERE}/{ACCOUNT}/box/{from}");
        done(blobs, "PUT", &format!("/box/copy-of-{from}"), &[("x-ms-copy-source", &source)], b"").await;
    }
}

async fn pages_and_appends(blobs: &RestService) {
    let create =
        [("x-ms-blob-type", "PageBlob"), ("x-ms-blob-content-length", "8192"), ("x-ms-blob-sequence-number", "7")];
    done(blobs, "PUT", "/box/pages", &create, b"").await;
    let write = |range| [("x-ms-page-write", "update"), ("x-ms-range", range)];
    done(blobs, "PUT", "/box/pages?comp=page", &write("bytes=0-2047"), &bytes(2048)).await;
    done(blobs, "PUT", "/box/pages?comp=page", &write("bytes=4096-4607"), &[7; 512]).await;
    done(blobs, "PUT", "/box/pages?comp=snapshot", &[], b"").await;
    done(blobs, "PUT", "/box/pages?comp=page", &write("bytes=1024-1535"), &[9; 512]).await;
    let clear = [("x-ms-page-write", "clear"), ("x-ms-range", "bytes=4096-4607")];
    done(blobs, "PUT", "/box/pages?comp=page", &clear, b"").await;

    for name in ["/box/appends", "/box/sealed"] {
        done(blobs, "PUT", name, &[("x-ms-blob-type", "AppendBlob")], b"").await;
        for text in ["one, ", "two"] {
            done(blobs, "PUT", &format!("{name}?comp=appendblock"), &[], text.as_bytes()).await;
        }
    }
    done(blobs, "PUT", "/box/sealed?comp=seal", &[], b"").await;
}

async fn queues(queues: &RestService) {
    done(queues, "PUT", "/jobs", &[("x-ms-meta-colour", "green")], b"").await;
    let message = |text: &str| format!("<QueueMessage><MessageText>{text}</MessageText></QueueMessage>");
    let long = "long ".repeat(500);
    for (text, how) in
        [("got", ""), ("short", "?messagettl=604800"), (&*long, "?messagettl=-1"), ("late", "?visibilitytimeout=3600")]
    {
        done(queues, "POST", &format!("/jobs/messages{how}"), &[], message(text).as_bytes()).await;
    }
    done(queues, "GET", "/jobs/messages?visibilitytimeout=60", &[], b"").await;
    done(queues, "PUT", "/cleared", &[], b"").await;
    done(queues, "POST", "/cleared/messages", &[], message("gone").as_bytes()).await;
    done(queues, "DELETE", "/cleared/messages", &[], b"").await;
}

async fn tables(tables: &RestService) {
    let json = [("Content-Type", "application/json"), ("Accept", "application/json;odata=nometadata")];
    for name in ["Everything", "gone"] {
        done(tables, "POST", "/Tables", &json, format!(r#"{{"TableName":"{name}"}}"#).as_bytes()).await;
    }
    let entity = r#"{"PartitionKey":"p","RowKey":"types","Text":"grün","Empty":"",
        "Bytes@odata.type":"Edm.Binary","Bytes":"AP8Q","Yes":true,"Born@odata.type":"Edm.DateTime",
        "Born":"2024-01-01T12:34:56.7890123Z","Double":1.5,"Infinite@odata.type":"Edm.Double","Infinite":"-Infinity",
        "Id@odata.type":"Edm.Guid","Id":"00112233-4455-6677-8899-aabbccddeeff","Small":-7,
        "Big@odata.type":"Edm.Int64","Big":"9223372036854775807"}"#;
    for body in [entity, r#"{"PartitionKey":"p","RowKey":"a b"}"#, r#"{"PartitionKey":"😀","RowKey":"","N":1}"#] {
        done(tables, "POST", "/Everything", &json, body.as_bytes()).await;
    }
    done(tables, "POST", "/gone", &json, br#"{"PartitionKey":"p","RowKey":"r"}"#).await;
    done(tables, "DELETE", "/Tables('gone')", &json, b"").await;
}

async fn settings(services: &Services) {
    let policies = "<SignedIdentifiers><SignedIdentifier><Id>policy</Id><AccessPolicy><Start>2024-01-01T00:00:00Z</Start>\
         <Expiry>2034-01-01T00:00:00Z</Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier>\
         <SignedIdentifier><Id>empty</Id></SignedIdentifier></SignedIdentifiers>";
    let acl = [("x-ms-blob-public-access", "container")];
    done(&services.blobs, "PUT", "/leased?restype=container&comp=acl", &acl, policies.as_bytes()).await;
    done(&services.queues, "PUT", "/jobs?comp=acl", &[], policies.as_bytes()).await;
    done(&services.tables, "PUT", "/Everything?comp=acl", &[], policies.as_bytes()).await;
    let metrics = "<Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>false</IncludeAPIs>\
         <RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy>";
    let properties = format!(
        "<StorageServiceProperties><Logging><Version>1.0</Version><Delete>true</Delete><Read>false</Read><Write>true</Write>\
         <RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></Logging><HourMetrics>{metrics}</HourMetrics><Cors>\
         <CorsRule><AllowedOrigins>http://a.example,*</AllowedOrigins><AllowedMethods>GET,PUT</AllowedMethods>\
         <AllowedHeaders>x-ms-meta-*</AllowedHeaders><ExposedHeaders>*</ExposedHeaders>\
         <MaxAgeInSeconds>60</MaxAgeInSeconds></CorsRule></Cors></StorageServiceProperties>"
    );
    for service in [&services.blobs, &services.queues, &services.tables] {
        done(service, "PUT", "/?restype=service&comp=properties", &[], properties.as_bytes()).await;
    }
}

/// Stored accounts: one that is served, with something in it, and one that was removed.
async fn accounts(incarnation: &Incarnation) {
    let Incarnation { store, accounts, blobs, .. } = incarnation;
    let name = |name: &str| AccountName::parse(name).unwrap();
    let keys = [AccountKey::new(&[1; 64]), AccountKey::new(&[2; 64])];
    for account in [STORED, "removed"] {
        accounts.add(store, &name(account), &keys).await.unwrap();
    }
    accounts.remove(store, &name("removed")).await.unwrap();
    let account = accounts.get(STORED).unwrap().unit;
    let container = ContainerName::parse("public").unwrap();
    let request = CreateContainer { account, name: container, public_access: PublicAccess::Blob, metadata: Vec::new() };
    blobs.create_container(&owner(incarnation, STORED).ask(request)).await.unwrap();
    let request = &put_blob(incarnation, STORED, "public", "blob");
    let mut writer = blobs.begin_put_blob(request, None).await.unwrap().writer(8).unwrap();
    writer.write(Bytes::from_static(b"everyone")).await.unwrap();
    blobs.put_blob(request, &writer.finish().await.unwrap(), None).await.unwrap();
}

/// A credential that allows everything in the Blob service of an account: a signature with one of its keys.
pub(crate) fn owner(incarnation: &Incarnation, name: &str) -> Grant {
    let account = incarnation.accounts.get(name).unwrap();
    let fields = Fields {
        version: Some("2021-12-02"),
        services: Some("b"),
        resource_types: Some("sco"),
        permissions: Some("rwdlacup"),
        expiry: Some("2999-01-01T00:00:00Z"),
        ..Fields::default()
    };
    let signed = sign(&account.keys[0], Service::Blob, name, None, None, &fields).unwrap();
    let query: Vec<_> = signed.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let target = SignedTarget {
        service: Service::Blob,
        account: name,
        container: None,
        path: None,
        query: &query,
        headers: &[],
        peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
        secure: true,
    };
    let fields = Fields::find(&query).unwrap().unwrap();
    sas::verify(&incarnation.accounts, &account, &target, &fields, None, incarnation.store.wall()).unwrap()
}

/// Put Blob, asked for by somebody who may.
pub(crate) fn put_blob<'a>(of: &Incarnation, account: &str, container: &str, blob: &str) -> Asked<PutBlob<'a>> {
    let address = Address {
        account: of.accounts.get(account).unwrap().unit,
        container: ContainerName::parse(container).unwrap(),
        blob: BlobName::parse(blob).unwrap(),
    };
    owner(of, account).ask(PutBlob { address, preconditions: Preconditions::default(), new: NewBlob::default() })
}

/// What the services say about all of it.
pub(crate) async fn transcript(incarnation: &Incarnation) -> String {
    let services = Services::of(incarnation).await;
    let mut text = String::new();
    for account in incarnation.accounts.list() {
        let keys: Vec<_> = account.keys.iter().map(|key| key.to_base64().chars().take(6).collect::<String>()).collect();
        writeln!(text, "account {} {} {keys:?}", account.name.as_str(), account.unit.number()).unwrap();
    }
    let anonymous = services.blobs.raw("GET", &format!("/{STORED}/public/blob"), &[], b"").await;
    describe(&mut text, &format!("GET /{STORED}/public/blob"), &anonymous);

    let blobs = &services.blobs;
    let list = "/box?restype=container&comp=list&include=snapshots,metadata,uncommittedblobs,copy,tags";
    let listing = read(&mut text, blobs, "GET", list).await;
    for target in [
        "/?comp=list&include=metadata",
        "/?restype=service&comp=properties",
        "/?comp=blobs&where=%22kind%22%3D%27small%27",
        "/leased?restype=container",
        "/leased?restype=container&comp=acl",
        "/box?restype=container&comp=acl",
        "/gone?restype=container",
        "/box/small?comp=tags",
        "/box/blocks?comp=blocklist&blocklisttype=all",
        "/box/staged?comp=blocklist&blocklisttype=all",
        "/box/pages?comp=pagelist",
    ] {
        read(&mut text, blobs, "GET", target).await;
    }
    let names = ["small", "empty", "large", "expires", "blocks", "staged", "copy-of-small", "copy-of-blocks"];
    for name in names.into_iter().chain(["pages", "appends", "sealed"]) {
        read(&mut text, blobs, "GET", &format!("/box/{name}")).await;
        read(&mut text, blobs, "HEAD", &format!("/box/{name}")).await;
    }
    let listing = listing.text();
    for (name, part) in snapshots(&listing) {
        read(&mut text, blobs, "GET", &format!("/box/{name}?snapshot={part}")).await;
        if name == "pages" {
            read(&mut text, blobs, "GET", &format!("/box/{name}?comp=pagelist&snapshot={part}")).await;
            read(&mut text, blobs, "GET", &format!("/box/{name}?comp=pagelist&prevsnapshot={part}")).await;
        }
    }
    for target in [
        "/?comp=list&include=metadata",
        "/?restype=service&comp=properties",
        "/jobs?comp=metadata",
        "/jobs?comp=acl",
        "/jobs/messages?peekonly=true&numofmessages=32",
        "/cleared?comp=metadata",
    ] {
        read(&mut text, &services.queues, "GET", target).await;
    }
    for target in [
        "/Tables",
        "/?restype=service&comp=properties",
        "/Everything?comp=acl",
        "/Everything",
        "/Everything?$filter=Big%20gt%205L",
        "/Everything(PartitionKey='p',RowKey='a%20b')",
        "/gone",
    ] {
        read(&mut text, &services.tables, "GET", target).await;
    }
    shares::transcript(&mut text, &services.files).await;
    text
}

/// What they say about messages that were hidden, once enough time has passed.
pub(crate) async fn transcript_of_hidden(incarnation: &Incarnation) -> String {
    let mut text = String::new();
    let queues = Services::of(incarnation).await.queues;
    read(&mut text, &queues, "GET", "/jobs/messages?peekonly=true&numofmessages=32").await;
    text
}

/// The snapshots that a listing names.
fn snapshots(listing: &str) -> Vec<(&str, &str)> {
    fn element<'a>(blob: &'a str, name: &str) -> Option<&'a str> {
        let (_, rest) = blob.split_once(&format!("<{name}>"))?;
        rest.split('<').next()
    }
    listing.split("<Blob>").filter_map(|blob| Some((element(blob, "Name")?, element(blob, "Snapshot")?))).collect()
}

async fn read(text: &mut String, service: &RestService, method: &str, target: &str) -> Answer {
    let sent: Sent<'_> = &[("Accept", "application/json;odata=fullmetadata")];
    let sent = if target.contains("restype=service") || target.contains("comp=acl") { &[] } else { sent };
    let answer = service.call(method, target, sent, b"").await;
    describe(text, &format!("{method} {target}"), &answer);
    answer
}

/// Headers that say something about what is stored begin like this.
const SAID: &[&str] = &["etag", "last-modified", "content-", "cache-control", "x-ms-"];
/// Others of them say something about the answer.
const UNSAID: &[&str] = &["x-ms-request-id", "x-ms-version", "x-ms-client-request-id"];
/// Longer bodies are told by their checksum.
const SHOWN_BYTES: usize = 16 * 1024;

fn describe(text: &mut String, request: &str, answer: &Answer) {
    writeln!(text, "\n{request}\n{}", answer.status).unwrap();
    let mut lines = Vec::new();
    for (name, value) in answer.headers.iter() {
        let name = name.to_string().to_lowercase();
        if SAID.iter().any(|said| name.starts_with(said)) && !UNSAID.contains(&&*name) {
            lines.push(format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())));
        }
    }
    lines.sort();
    for line in lines {
        writeln!(text, "{line}").unwrap();
    }
    match std::str::from_utf8(&answer.body) {
        // Its code is among the headers; the rest of it says when.
        _ if answer.status >= 400 => {}
        Ok(body) if body.len() <= SHOWN_BYTES && !body.contains('\0') => {
            // A line an element, so that a difference is a line.
            writeln!(text, "{}", body.replace("><", ">\n<").replace(",\"", ",\n\"").trim_end()).unwrap();
        }
        _ => {
            let sum = answer.body.iter().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
            writeln!(text, "{} bytes {sum:016x}", answer.body.len()).unwrap();
        }
    }
}
