//! Signatures of the official libraries and of the documentation: what is accepted, and that nothing changed is.

use std::{net::IpAddr, sync::Arc};

use proptest::prelude::*;

use super::*;
use crate::{
    account::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY},
    grant::served_for_tests,
    need::{Action, Part, Rule},
};

/// 2026-11-15T00:00:00Z
const NOW: Timestamp = Timestamp::from_seconds(1_794_700_800);
const EXPIRY: &str = "2026-11-16T00:00:00Z";
const LOOPBACK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

type Pairs<'a> = Vec<(&'a str, &'a str)>;

struct Door {
    accounts: Accounts,
    account: Arc<Account>,
}

impl Door {
    fn new() -> Self {
        let (accounts, account) = served_for_tests(DEVELOPMENT_ACCOUNT, &["AQI=", DEVELOPMENT_KEY]);
        Self { accounts, account }
    }

    fn verify(&self, target: &SignedTarget<'_>) -> Result<Grant, SasRefusal> {
        let fields = Fields::find(target.query)?.expect("a signature");
        verify(&self.accounts, &self.account, target, &fields, None, NOW)
    }
}

fn target<'a>(
    service: Service,
    container: &'a str,
    path: &'a str,
    query: &'a [(&'a str, &'a str)],
) -> SignedTarget<'a> {
    SignedTarget {
        service,
        account: DEVELOPMENT_ACCOUNT,
        container: Some(container),
        path: (!path.is_empty()).then_some(path),
        query,
        headers: &[("x-ms-one", "1"), ("x-ms-two", "2")],
        peer: LOOPBACK,
        secure: false,
    }
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let hex: String = rest.by_ref().take(2).map(char::from).collect();
            bytes.push(u8::from_str_radix(&hex, 16).unwrap());
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).unwrap()
}

struct Vector {
    line: &'static str,
    kind: &'static str,
    service: Service,
    container: &'static str,
    path: &'static str,
    query: Vec<(String, String)>,
}

fn vectors() -> Vec<Vector> {
    let lines = include_str!("../../testdata/sas-vectors.tsv").lines().filter(|line| !line.starts_with('#'));
    let vector = |line: &'static str| {
        let columns: Vec<&str> = line.split('\t').collect();
        let [kind, service, container, path, extra, token] = *columns else { panic!("{line}") };
        let service = match service {
            "b" => Service::Blob,
            "q" => Service::Queue,
            "t" => Service::Table,
            _ => Service::File,
        };
        let mut pairs: Vec<&str> = extra.split('&').chain(token.split('&')).filter(|pair| !pair.is_empty()).collect();
        if kind == "delegation bound" {
            pairs.extend(["comp=page", "one=a b"]);
        }
        let pair = |pair: &str| pair.split_once('=').map(|(name, value)| (name.to_owned(), decode(value))).unwrap();
        Vector { line, kind, service, container, path, query: pairs.into_iter().map(pair).collect() }
    };
    lines.map(vector).collect()
}

fn borrowed(query: &[(String, String)]) -> Vec<(&str, &str)> {
    query.iter().map(|(name, value)| (&**name, &**value)).collect()
}

#[test]
fn what_the_official_libraries_sign_is_accepted() {
    let door = Door::new();
    let vectors = vectors();
    assert!(vectors.len() > 50);
    for vector in vectors {
        let query = borrowed(&vector.query);
        let found = door.verify(&target(vector.service, vector.container, vector.path, &query));
        if vector.kind == "delegation user" {
            assert_eq!(found.err(), Some(SasRefusal::DelegatedUser), "{}", vector.line);
        } else {
            assert!(found.is_ok(), "{:?}: {}", found.err(), vector.line);
        }
    }
}

#[test]
fn a_signature_for_a_user_needs_the_token_of_that_user() {
    let door = Door::new();
    let vector = vectors().into_iter().find(|vector| vector.kind == "delegation user").unwrap();
    let query = borrowed(&vector.query);
    let target = target(vector.service, vector.container, vector.path, &query);
    let fields = Fields::find(&query).unwrap().unwrap();
    for (object, fine) in [("user-1", true), ("user-2", false)] {
        let identity = Identity {
            object: object.to_owned(),
            tenant: "any".to_owned(),
            roles: crate::bearer::Roles::default(),
            not_before: None,
            expiry: Timestamp::NEVER,
            audiences: Vec::new(),
        };
        let found = verify(&door.accounts, &door.account, &target, &fields, Some(&identity), NOW);
        assert_eq!(found.is_ok(), fine, "{object}");
    }
}

/// Layouts that no library of today makes, written down line by line.
#[test]
fn old_layouts_are_as_documented() {
    let door = Door::new();
    let overrides = "no-cache\ninline\ngzip\nde\ntext/plain";
    let rsc = [("rscc", "no-cache"), ("rscd", "inline"), ("rsce", "gzip"), ("rscl", "de"), ("rsct", "text/plain")];
    let base = [("sp", "r"), ("se", EXPIRY)];
    let account = DEVELOPMENT_ACCOUNT;
    let table: Vec<(&str, Service, &str, &str, Pairs<'_>, String)> = vec![
        ("no version", Service::Blob, "c", "b", vec![("sr", "b")], format!("r\n\n{EXPIRY}\n/{account}/c/b\n")),
        ("no version", Service::Blob, "c", "b", vec![("sr", "c")], format!("r\n\n{EXPIRY}\n/{account}/c\n")),
        (
            "2012-02-12",
            Service::Blob,
            "c",
            "b",
            vec![("sr", "b"), ("sv", "2012-02-12")],
            format!("r\n\n{EXPIRY}\n/{account}/c/b\n\n2012-02-12"),
        ),
        (
            "2013-08-15",
            Service::Blob,
            "c",
            "b",
            [&[("sr", "b"), ("sv", "2013-08-15")], &rsc[..]].concat(),
            format!("r\n\n{EXPIRY}\n/{account}/c/b\n\n2013-08-15\n{overrides}"),
        ),
        (
            "2014-02-14, root",
            Service::Blob,
            "$root",
            "b",
            vec![("sr", "b"), ("sv", "2014-02-14")],
            format!("r\n\n{EXPIRY}\n/{account}/$root/b\n\n2014-02-14\n\n\n\n\n"),
        ),
        (
            "2015-02-21",
            Service::Blob,
            "c",
            "b",
            [&[("sr", "b"), ("sv", "2015-02-21")], &rsc[..]].concat(),
            format!("r\n\n{EXPIRY}\n/blob/{account}/c/b\n\n2015-02-21\n{overrides}"),
        ),
        (
            "2015-02-21, file",
            Service::File,
            "s",
            "d/f",
            [&[("sr", "f"), ("sv", "2015-02-21")], &rsc[..]].concat(),
            format!("r\n\n{EXPIRY}\n/file/{account}/s/d/f\n\n2015-02-21\n{overrides}"),
        ),
        (
            "2012-02-12, queue",
            Service::Queue,
            "q",
            "messages",
            vec![("sv", "2012-02-12")],
            format!("r\n\n{EXPIRY}\n/{account}/q\n\n2012-02-12"),
        ),
        (
            "2012-02-12, table",
            Service::Table,
            "T()",
            "",
            vec![("sv", "2012-02-12"), ("tn", "T"), ("spk", "a"), ("srk", "b")],
            format!("r\n\n{EXPIRY}\n/{account}/t\n\n2012-02-12\na\nb\n\n"),
        ),
        (
            "2015-04-05, delegation does not exist",
            Service::Blob,
            "c",
            "b",
            vec![("sr", "b"), ("sv", "2015-04-05"), ("spr", "https,http")],
            format!("r\n\n{EXPIRY}\n/blob/{account}/c/b\n\n\nhttps,http\n2015-04-05\n\n\n\n\n"),
        ),
    ];
    let key = AccountKey::parse(DEVELOPMENT_KEY).unwrap();
    for (name, service, container, path, more, text) in table {
        let signature = key.sign_base64(&text);
        let query = [&base[..], &more, &[("sig", &*signature)]].concat();
        let found = door.verify(&target(service, container, path, &query));
        assert!(found.is_ok(), "{name}: {:?}", found.err());
    }
}

/// A signed query for tests of everything but the signature.
fn signed<'a>(service: Service, container: &'a str, path: &'a str, fields: &Fields<'a>) -> Vec<(String, String)> {
    let key = AccountKey::parse(DEVELOPMENT_KEY).unwrap();
    let path = (!path.is_empty()).then_some(path);
    let made = sign::sign(&key, service, DEVELOPMENT_ACCOUNT, Some(container), path, fields).unwrap();
    made.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

const BLOB: Fields<'_> =
    Fields { version: Some("2026-10-06"), resource: Some("b"), permissions: Some("r"), expiry: Some(EXPIRY), ..EMPTY };
const ACCOUNT: Fields<'_> = Fields { services: Some("b"), resource_types: Some("o"), resource: None, ..BLOB };
const EMPTY: Fields<'_> = Fields {
    version: None,
    services: None,
    resource_types: None,
    permissions: None,
    start: None,
    expiry: None,
    resource: None,
    directory_depth: None,
    table: None,
    policy: None,
    addresses: None,
    protocols: None,
    encryption_scope: None,
    start_partition: None,
    start_row: None,
    end_partition: None,
    end_row: None,
    cache_control: None,
    content_disposition: None,
    content_encoding: None,
    content_language: None,
    content_type: None,
    key_object: None,
    key_tenant: None,
    key_start: None,
    key_expiry: None,
    key_service: None,
    key_version: None,
    authorized_object: None,
    unauthorized_object: None,
    correlation: None,
    delegated_tenant: None,
    delegated_object: None,
    request_headers: None,
    request_parameters: None,
    signature: None,
};

#[test]
fn times_addresses_and_protocols_are_kept() {
    let door = Door::new();
    let time = |found: &Result<(), SasRefusal>| matches!(found, Err(SasRefusal::Time { .. }));
    type Check = fn(&Result<(), SasRefusal>) -> bool;
    let table: [(&str, Fields<'_>, Check); 11] = [
        ("expired", Fields { expiry: Some("2026-11-15T00:00:00Z"), ..BLOB }, time),
        ("expires by day", Fields { expiry: Some("2026-11-16"), ..BLOB }, Result::is_ok),
        ("with an offset", Fields { expiry: Some("2026-11-15T01:30+02:00"), ..BLOB }, time),
        ("not yet", Fields { start: Some("2026-11-15T00:00:01Z"), ..BLOB }, time),
        ("from now", Fields { start: Some("2026-11-15T00:00:00Z"), ..BLOB }, Result::is_ok),
        ("this address", Fields { addresses: Some("127.0.0.1"), ..BLOB }, Result::is_ok),
        ("another address", Fields { addresses: Some("127.0.0.2-127.0.0.9"), ..BLOB }, |found| {
            *found == Err(SasRefusal::SourceAddress(LOOPBACK))
        }),
        ("https only", Fields { protocols: Some("https"), ..BLOB }, |found| *found == Err(SasRefusal::Protocol)),
        ("https or http", Fields { protocols: Some("https,http"), ..BLOB }, Result::is_ok),
        ("http only", Fields { protocols: Some("http"), ..BLOB }, |found| *found == Err(SasRefusal::Field("spr"))),
        ("unknown permission", Fields { permissions: Some("r!"), ..BLOB }, |found| {
            *found == Err(SasRefusal::Field("sp"))
        }),
    ];
    for (name, fields, expected) in table {
        let query = signed(Service::Blob, "c", "b", &fields);
        let found = door.verify(&target(Service::Blob, "c", "b", &borrowed(&query))).map(|_| ());
        assert!(expected(&found), "{name}: {found:?}");
    }
}

/// A depth beside any resource but a directory was ignored, so a signature could be changed there and still be accepted.
#[test]
fn a_depth_without_a_directory_is_refused() {
    let door = Door::new();
    let directory = Fields { resource: Some("d"), directory_depth: Some("1"), ..BLOB };
    let query = signed(Service::Blob, "c", "a/b", &directory);
    assert!(door.verify(&target(Service::Blob, "c", "a/b", &borrowed(&query))).is_ok());

    let refused = Some(SasRefusal::Unsigned("sdd"));
    for resource in ["b", "c"] {
        let mut query = signed(Service::Blob, "c", "a/b", &Fields { resource: Some(resource), ..BLOB });
        query.push(("sdd".to_owned(), "1".to_owned()));
        let found = door.verify(&target(Service::Blob, "c", "a/b", &borrowed(&query)));
        assert_eq!(found.err(), refused, "{resource}");
    }
}

#[test]
fn malformed_signatures_are_refused_for_the_right_reason() {
    let door = Door::new();
    let table: [(&str, Pairs<'_>, SasRefusal); 7] = [
        ("not base64", vec![("sig", "!"), ("sr", "b"), ("sv", "2020-12-06")], SasRefusal::Field("sig")),
        ("no version", vec![("sig", "AQI="), ("sr", "b"), ("sv", "x")], SasRefusal::Version("x".into())),
        ("too old", vec![("sig", "AQI="), ("sr", "b"), ("sv", "2011-08-18")], SasRefusal::Version("2011-08-18".into())),
        ("no resource", vec![("sig", "AQI="), ("sv", "2020-12-06")], SasRefusal::Field("sr")),
        ("unknown", vec![("sig", "AQI="), ("sr", "x"), ("sv", "2020-12-06")], SasRefusal::Field("sr")),
        (
            "unsigned",
            vec![("sig", "AQI="), ("sr", "b"), ("sv", "2013-08-15"), ("sip", "1.1.1.1")],
            SasRefusal::Unsigned("sip"),
        ),
        (
            "both kinds",
            vec![("sig", "AQI="), ("sr", "b"), ("ss", "b"), ("srt", "o"), ("sv", "2020-12-06")],
            SasRefusal::Unsigned("sr"),
        ),
    ];
    for (name, query, expected) in table {
        let found = door.verify(&target(Service::Blob, "c", "b", &query)).err();
        assert_eq!(found, Some(expected), "{name}");
    }
}

fn need<'a>(account: &Account, service: Service, place: Place<'a>, rule: Rule) -> Need<'a> {
    Need { account: account.unit, service, place, rule }
}

fn sas(door: &Door, service: Service, container: &str, path: &str, fields: &Fields<'_>) -> Sas {
    let query = signed(service, container, path, fields);
    let query = borrowed(&query);
    let target = target(service, container, path, &query);
    let found = Fields::find(&query).unwrap().unwrap();
    let signature = STANDARD.decode(found.signature.unwrap()).unwrap();
    let (key, reach) = authenticate(&door.account, &target, &found, &signature).unwrap();
    Sas {
        key,
        reach,
        permissions: fields.permissions.and_then(Permissions::parse),
        start: None,
        expiry: Some(Timestamp::NEVER),
        policy: None,
        overrides: Overrides::default(),
        entities: EntityRange::default(),
        encryption_scope: None,
    }
}

#[test]
fn a_signature_allows_its_resource_and_its_permissions() {
    const READ: Rule = Rule::new(Action::Read, Permissions::READ);
    const LIST: Rule = Rule::new(Action::Read, Permissions::LIST);
    const WRITE: Rule = Rule::new(Action::Write, Permissions::WRITE.or(Permissions::CREATE));
    const DELETE_CONTAINER: Rule = Rule::new(Action::Delete, Permissions::DELETE).account_only();
    let door = Door::new();
    let object = |path, part| Place::Object { container: "c", path, part };
    let base = |path| object(path, Part::Base);
    let container = Fields { resource: Some("c"), permissions: Some("rwdl"), ..BLOB };
    let directory = Fields { resource: Some("d"), directory_depth: Some("1"), ..BLOB };
    let queue = Fields { resource: None, ..BLOB };
    let old = Fields { version: Some("2017-07-29"), ..BLOB };
    let (mismatch, not) = (Some("PermissionMismatch"), Some("NotAuthorized"));
    let table = [
        ("blob", Service::Blob, BLOB, base("d/b"), READ, None),
        ("blob", Service::Blob, BLOB, base("d/b"), WRITE, mismatch),
        ("blob", Service::Blob, BLOB, base("d/c"), READ, not),
        ("blob", Service::Blob, BLOB, object("d/b", Part::Snapshot("t")), READ, not),
        ("old blob", Service::Blob, old, object("d/b", Part::Snapshot("t")), READ, None),
        ("blob", Service::Blob, BLOB, Place::Container("c"), LIST, not),
        ("container", Service::Blob, container, base("x"), WRITE, None),
        ("container", Service::Blob, container, Place::Container("c"), LIST, None),
        ("container", Service::Blob, container, Place::Container("c"), DELETE_CONTAINER, not),
        ("container", Service::Blob, container, Place::Container("other"), LIST, not),
        ("container", Service::Blob, container, Place::Service, LIST, not),
        ("directory", Service::Blob, directory, base("d/x/y"), READ, None),
        ("directory", Service::Blob, directory, base("d"), READ, None),
        ("directory", Service::Blob, directory, base("dd/x"), READ, not),
        ("directory", Service::Blob, directory, base("e/x"), READ, not),
        ("queue", Service::Queue, queue, Place::Contents("c"), READ, None),
        ("queue", Service::Queue, queue, Place::Contents("d"), READ, not),
        ("account", Service::Blob, ACCOUNT, base("x"), READ, None),
        ("account", Service::Blob, ACCOUNT, Place::Container("c"), READ, Some("ResourceTypeMismatch")),
        ("account", Service::Blob, ACCOUNT, Place::Service, READ, Some("ResourceTypeMismatch")),
        ("account", Service::Blob, ACCOUNT, base("x"), LIST, mismatch),
        ("account", Service::Blob, ACCOUNT, base("x"), READ.also(Permissions::TAGS), mismatch),
    ];
    for (name, service, fields, place, rule, expected) in table {
        let path = if service == Service::Queue { "messages" } else { "d/b" };
        let sas = sas(&door, service, "c", path, &fields);
        let found = sas.allows(&need(&door.account, service, place, rule), None, NOW).err();
        let found = found.map(|denied| format!("{denied:?}"));
        assert_eq!(found.as_deref(), expected, "{name} {place:?} {rule:?}");
    }
    let other = need(&door.account, Service::Queue, Place::Contents("q"), READ);
    let account = sas(&door, Service::Blob, "c", "b", &ACCOUNT);
    assert!(matches!(account.allows(&other, None, NOW), Err(Denied::ServiceMismatch)));
}

#[test]
fn the_authority_of_a_delegation_key_limits_what_is_signed_with_it() {
    let door = Door::new();
    let request = DelegationKeyRequest {
        service: Service::Blob,
        object: "oid-1",
        tenant: "tid-1",
        start: "2026-11-14T00:00:00Z",
        expiry: EXPIRY,
        version: "2020-12-06",
        delegated_tenant: None,
    };
    let fields = Fields {
        permissions: Some("rw"),
        key_object: Some("oid-1"),
        key_tenant: Some("tid-1"),
        key_start: Some("2026-11-14T00:00:00Z"),
        key_expiry: Some(EXPIRY),
        key_service: Some("b"),
        key_version: Some("2020-12-06"),
        ..BLOB
    };
    let target = target(Service::Blob, "c", "b", &[]);
    let scope = Scope::of(&target, &fields).unwrap();
    let text = delegation::string_to_sign(&target, &fields, &scope).unwrap().joined();
    let reader = Actions::NONE.with(Action::Read).with(Action::Delegate);
    let key = AccountKey::parse(&request.key(&door.account, reader).unwrap()).unwrap();
    let signature = key.sign(text.as_bytes());
    let (_, authority) = delegation::verify(&door.account, &target, &fields, &text, &signature).unwrap();
    assert!(authority.allows(Action::Read) && !authority.allows(Action::Write), "a reader cannot hand on writing");
    let later = Fields { key_expiry: Some("2026-11-17T00:00:00Z"), ..fields };
    assert!(delegation::verify(&door.account, &target, &later, &text, &signature).is_err(), "another key");
    let queue = SignedTarget { service: Service::Queue, ..target };
    let refused = delegation::verify(&door.account, &queue, &fields, &text, &signature).err();
    assert_eq!(refused, Some(SasRefusal::KeyService));
    assert!(delegation::check_key_time(&fields, NOW).is_ok());
    assert!(delegation::check_key_time(&fields, Timestamp::NEVER).is_err());
}

/// What is signed is lines: a field with a line break must not be able to stand for the lines of a restriction.
#[test]
fn a_line_break_in_a_field_does_not_remove_a_signed_header_or_parameter() {
    let door = Door::new();
    let base: Pairs<'_> = vec![
        ("sv", "2026-10-06"),
        ("sr", "b"),
        ("sp", "r"),
        ("se", EXPIRY),
        ("skoid", "oid-1"),
        ("sktid", "tid-1"),
        ("skt", "2026-11-14T00:00:00Z"),
        ("ske", EXPIRY),
        ("sks", "b"),
        ("skv", "2020-12-06"),
    ];
    let request = DelegationKeyRequest {
        service: Service::Blob,
        object: "oid-1",
        tenant: "tid-1",
        start: "2026-11-14T00:00:00Z",
        expiry: EXPIRY,
        version: "2020-12-06",
        delegated_tenant: None,
    };
    let key = request.key(&door.account, Actions::NONE.with(Action::Read)).unwrap();
    let key = AccountKey::parse(&key).unwrap();
    // what was signed, and what somebody made of it
    let table: Vec<(Pairs<'_>, Pairs<'_>, &str)> = vec![
        (vec![("srh", "x-ms-one")], vec![("ses", "\nx-ms-one:1")], "ses"),
        (vec![("srq", "a,b"), ("a", "1"), ("b", "2")], vec![("srq", "a"), ("a", "1\nb:2")], "srq"),
        (vec![("srq", "a"), ("a", "1:2")], vec![("srq", "a:1"), ("a:1", "2")], "srq"),
    ];
    for (meant, made, field) in table {
        let meant = [&base[..], &meant[..]].concat();
        let unsigned = [&meant[..], &[("sig", "eA==")]].concat();
        let fields = Fields::find(&unsigned).unwrap().unwrap();
        let place = target(Service::Blob, "c", "b", &unsigned);
        let text = delegation::string_to_sign(&place, &fields, &Scope::of(&place, &fields).unwrap()).unwrap();
        let signature = key.sign_base64(&text.joined());
        let honest = [&meant[..], &[("sig", &*signature)]].concat();
        assert!(door.verify(&target(Service::Blob, "c", "b", &honest)).is_ok(), "{meant:?}");
        let forged = [&base[..], &made[..], &[("sig", &*signature)]].concat();
        let found = door.verify(&target(Service::Blob, "c", "b", &forged)).err();
        assert_eq!(found, Some(SasRefusal::Control(field)), "{made:?}");
    }
}

#[test]
fn policy_and_signature_each_say_a_field_once() {
    let door = Door::new();
    let full = crate::acl::StoredAccessPolicy {
        id: "p".into(),
        start: None,
        expiry: Some(Timestamp::NEVER),
        permissions: Some("r".into()),
    };
    let rule = Rule::new(Action::Read, Permissions::READ);
    let place = Place::Object { container: "c", path: "b", part: Part::Base };
    let need = need(&door.account, Service::Blob, place, rule);
    let mut sas = sas(&door, Service::Blob, "c", "b", &BLOB);
    let check = |sas: &Sas, policy: &crate::acl::StoredAccessPolicy| {
        sas.allows(&need, Some(policy), NOW).err().map(|denied| format!("{denied:?}"))
    };
    assert_eq!(check(&sas, &full).as_deref(), Some("AlsoInPolicy(\"se\")"));
    sas.expiry = None;
    assert_eq!(check(&sas, &full).as_deref(), Some("AlsoInPolicy(\"sp\")"));
    sas.permissions = None;
    assert_eq!(check(&sas, &full), None);
    assert!(!sas.may_overwrite(Some(&full)));
    let expired = crate::acl::StoredAccessPolicy { expiry: Some(Timestamp::EPOCH), ..full.clone() };
    assert!(check(&sas, &expired).unwrap().contains("time frame"));
    let empty = crate::acl::StoredAccessPolicy { expiry: None, ..full.clone() };
    assert!(check(&sas, &empty).unwrap().contains("se is mandatory"));
    let nothing = crate::acl::StoredAccessPolicy { permissions: None, ..full };
    assert!(check(&sas, &nothing).unwrap().contains("sp is mandatory"));
}

proptest! {
    /// Flip any bit of any parameter of a signature, or of the resource that it is used on: never accepted.
    #[test]
    fn no_flipped_signature_is_accepted(pick in 0_usize..1000, which in 0_usize..40, place in 0_usize..200, bit in 0_u8..7) {
        let door = Door::new();
        let vectors = vectors();
        let vector = &vectors[pick % vectors.len()];
        let mut query = vector.query.clone();
        let (mut container, mut path) = (vector.container.to_owned(), vector.path.to_owned());
        let parts = query.len() * 2 + 2;
        let which = which % parts;
        let text = if which == 0 { &mut container } else if which == 1 { &mut path } else {
            let pair = &mut query[(which - 2) / 2];
            if which.is_multiple_of(2) { &mut pair.0 } else { &mut pair.1 }
        };
        prop_assume!(!text.is_empty());
        let mut bytes = text.clone().into_bytes();
        let at = place % bytes.len();
        bytes[at] ^= 1 << bit;
        let Ok(changed) = String::from_utf8(bytes) else { return Ok(()) };
        // Names of parameters have no case, and the place of a signature for everything is not signed.
        let is_name = which >= 2 && which.is_multiple_of(2);
        prop_assume!(!(is_name && changed.eq_ignore_ascii_case(text)));
        *text = changed;
        let query = borrowed(&query);
        let outside = which < 2 && (vector.kind.starts_with("account")
            || vector.kind.contains("container") && which == 1
            || matches!(vector.kind, "policy" | "share") && which == 1
            || matches!(vector.service, Service::Queue) && which == 1
            || matches!(vector.service, Service::Table)
            || vector.kind == "directory" && which == 1);
        prop_assume!(!outside);
        // A table's name is signed in lower case.
        prop_assume!(!(which >= 2 && vector.query[(which - 2) / 2].0 == "tn"));
        let target = target(vector.service, &container, &path, &query);
        let found = Fields::find(&query).map(|fields| fields.map(|fields| {
            verify(&door.accounts, &door.account, &target, &fields, None, NOW)
        }));
        let accepted = matches!(found, Ok(Some(Ok(_))));
        prop_assert!(!accepted, "{} with part {which} changed", vector.line);
    }
}
