//! Who may do what: tokens and their intent, delegation, signatures, the account in the host; and what browsers are told.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use access::sas::Fields;
use support::{Sent, create, done, refused, service, signed, token, with_file};
use testkit::{ACCOUNT, Answer, RestService};

/// A call with a token.
async fn by_token(files: &RestService, method: &str, target: &str, sent: Sent<'_>, body: &[u8]) -> Answer {
    let token = token();
    let sent = [sent, &[("Authorization", token.as_str())]].concat();
    files.unsigned(method, target, &sent, body).await
}

const BACKUP: (&str, &str) = ("x-ms-file-request-intent", "backup");

#[tokio::test]
async fn a_token_says_that_it_is_for_a_backup() {
    let files = with_file().await;
    let version = ("x-ms-version", "2024-11-04");
    let update = [("x-ms-write", "update"), ("x-ms-range", "bytes=0-0")];
    let file = [("x-ms-type", "file"), ("x-ms-content-length", "3")];
    let table: [(&str, &str, Sent<'_>, &[u8], u16); 9] = [
        ("GET", "/abc/d/f", &[], b"", 200),
        ("HEAD", "/abc/d/f", &[], b"", 200),
        ("PUT", "/abc/d/f?comp=range", &update, b"x", 201),
        ("GET", "/abc/d/f?comp=rangelist", &[], b"", 200),
        ("GET", "/abc/d?restype=directory&comp=list", &[], b"", 200),
        ("PUT", "/abc/e?restype=directory", &[], b"", 201),
        ("PUT", "/abc/e/g", &file, b"", 201),
        ("PUT", "/abc/e/g?comp=metadata", &[("x-ms-meta-a", "1")], b"", 200),
        ("DELETE", "/abc/e/g", &[], b"", 202),
    ];
    for (method, target, sent, body, status) in table {
        let without = by_token(&files, method, target, &[sent, &[version]].concat(), body).await;
        assert_eq!(without.verdict(), (400, "MissingRequiredHeader"), "{method} {target}: {without:?}");
        let other = [sent, &[version, ("x-ms-file-request-intent", "restore")]].concat();
        let other = by_token(&files, method, target, &other, body).await;
        assert_eq!(other.verdict(), (400, "InvalidHeaderValue"), "{method} {target}: {other:?}");
        let with = by_token(&files, method, target, &[sent, &[version, BACKUP]].concat(), body).await;
        assert_eq!(with.status, status, "{method} {target}: {with:?}");
    }
    let nonsense = [version, BACKUP, ("Authorization", "Bearer no.such.token")];
    let answer = files.unsigned("GET", "/abc/d/f", &nonsense, b"").await;
    assert_eq!(answer.verdict(), (401, "InvalidAuthenticationInfo"), "{answer:?}");
}

const KEY_INFO: &[u8] = b"<KeyInfo><Start>2024-01-01T00:00:00Z</Start><Expiry>2024-01-03T00:00:00Z</Expiry></KeyInfo>";

/// The conformance tests sign with it, by the official client.
#[tokio::test]
async fn a_delegation_key_of_the_file_service_is_for_tokens() {
    let files = with_file().await;
    let target = "/?restype=service&comp=userdelegationkey";
    let version = ("x-ms-version", "2026-02-06");
    let key = by_token(&files, "POST", target, &[version], KEY_INFO).await;
    assert_eq!(key.status, 200, "{key:?}");
    assert_eq!((key.element("SignedOid").as_deref(), key.element("SignedService").as_deref()), (Some("o"), Some("f")));
    assert!(key.element("Value").is_some_and(|value| !value.is_empty()), "{key:?}");
    let signed = files.call("POST", target, &[version], KEY_INFO).await;
    assert_eq!(signed.verdict(), (403, "AuthenticationFailed"), "{signed:?}");
    let long = b"<KeyInfo><Expiry>2034-01-01T00:00:00Z</Expiry></KeyInfo>";
    let long = by_token(&files, "POST", target, &[version], long).await;
    assert_eq!(long.status, 400, "{long:?}");
}

#[tokio::test]
async fn a_signature_of_the_destination_does_not_move_something_else() {
    let files = with_file().await;
    create(&files, "/abc/secret", 3).await;
    let fields = |resource| Fields {
        version: Some("2021-12-02"),
        permissions: Some("rcwd"),
        expiry: Some("2099-01-01"),
        resource: Some(resource),
        ..Fields::default()
    };
    let source = format!("http://127.0.0.1/{ACCOUNT}/abc/secret");
    let sent = [("x-ms-file-rename-source", source.as_str())];
    let of_file = signed(Some("mine"), &fields("f"));
    let moved = files.unsigned("PUT", &format!("/abc/mine?comp=rename&{of_file}"), &sent, b"").await;
    assert_eq!(moved.status, 403, "{moved:?}");
    done(&files, "HEAD", "/abc/secret", &[], b"", 200).await;
    // What the URL of the source is signed with says nothing.
    let with_own = format!("{source}?{}", signed(Some("secret"), &fields("f")));
    let sent_signed = [("x-ms-file-rename-source", with_own.as_str())];
    let moved = files.unsigned("PUT", &format!("/abc/mine?comp=rename&{of_file}"), &sent_signed, b"").await;
    assert_eq!(moved.status, 403, "{moved:?}");
    let of_share = signed(None, &fields("s"));
    let moved = files.unsigned("PUT", &format!("/abc/mine?comp=rename&{of_share}"), &sent, b"").await;
    assert_eq!(moved.status, 200, "{moved:?}");
    refused(&files, &[("HEAD", "/abc/secret", &[], b"", (404, "ResourceNotFound"))]).await;
}

#[tokio::test]
async fn the_account_stands_in_the_host() {
    let files = with_file().await;
    let host = format!("{ACCOUNT}.file.core.windows.net");
    let date = rest::dates::rfc1123(files.store.wall());
    let call = async |method: &str, target: &str, host: &str, more: Sent<'_>| {
        let mut headers: Vec<(String, String)> =
            [&[("x-ms-version", "2021-12-02"), ("x-ms-date", &date), ("Content-Length", "0"), ("Host", host)], more]
                .concat()
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect();
        let signature = testkit::authorization("file", method, target, &headers);
        headers.push(("Authorization".to_owned(), signature));
        files.raw(method, target, &headers, b"").await
    };
    let read = call("GET", "/abc/d/f", &host, &[]).await;
    assert_eq!((read.status, &read.body[..]), (200, &b"0123456789"[..]), "{read:?}");
    let local = format!("{ACCOUNT}.file.localhost:10003");
    assert_eq!(call("GET", "/abc/d?restype=directory&comp=list", &local, &[]).await.status, 200);
    let source = format!("https://{host}/abc/d/f");
    let moved = call("PUT", "/abc/d/g?comp=rename", &host, &[("x-ms-file-rename-source", &source)]).await;
    assert_eq!(moved.status, 200, "{moved:?}");
    // The host of another service says nothing here: the account is looked for in the path.
    let other = call("GET", "/abc/d/g", &format!("{ACCOUNT}.blob.core.windows.net"), &[]).await;
    assert_ne!(other.status, 200, "{other:?}");
}

#[tokio::test]
async fn browsers_are_told_what_they_may() {
    let files = with_file().await;
    let rule = b"<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>http://a.contoso.com</AllowedOrigins>\
        <AllowedMethods>GET,PUT</AllowedMethods><AllowedHeaders>x-ms-*</AllowedHeaders>\
        <ExposedHeaders>x-ms-file-*</ExposedHeaders><MaxAgeInSeconds>5</MaxAgeInSeconds></CorsRule></Cors>\
        </StorageServiceProperties>";
    done(&files, "PUT", "/?restype=service&comp=properties", &[], rule, 202).await;
    let preflight = async |origin: &str, method: &str, headers: &str| {
        let sent = [
            ("Origin", origin),
            ("Access-Control-Request-Method", method),
            ("Access-Control-Request-Headers", headers),
        ];
        files.unsigned("OPTIONS", "/abc/d/f?comp=range", &sent, b"").await
    };
    let allowed = preflight("http://a.contoso.com", "PUT", "x-ms-range,x-ms-write").await;
    assert_eq!(allowed.status, 200, "{allowed:?}");
    for (name, value) in [
        ("access-control-allow-origin", "http://a.contoso.com"),
        ("access-control-allow-methods", "PUT"),
        ("access-control-max-age", "5"),
    ] {
        assert_eq!(allowed.header(name), value, "{name}: {allowed:?}");
    }
    for (origin, method, headers) in [
        ("http://b.contoso.com", "PUT", "x-ms-range"),
        ("http://a.contoso.com", "DELETE", "x-ms-range"),
        ("http://a.contoso.com", "PUT", "authorization"),
    ] {
        let refused = preflight(origin, method, headers).await;
        assert_eq!(refused.verdict(), (403, "CorsPreflightFailure"), "{origin} {method} {headers}");
    }
    let read = done(&files, "GET", "/abc/d/f", &[("Origin", "http://a.contoso.com")], b"", 200).await;
    assert_eq!(read.header("access-control-allow-origin"), "http://a.contoso.com");
    assert!(read.header("access-control-expose-headers").contains("x-ms-file-id"), "{read:?}");
    let missing = files.call("GET", "/abc/d/none", &[("Origin", "http://a.contoso.com")], b"").await;
    assert_eq!((missing.status, missing.header("access-control-allow-origin")), (404, "http://a.contoso.com"));
}

#[tokio::test]
async fn nobody_is_told_anything_about_an_account_that_there_is_not() {
    let files = service().await;
    let answer = files.raw("GET", "/nobody/abc/d/f", &[("Host".to_owned(), "127.0.0.1".to_owned())], b"").await;
    assert!((400..500).contains(&answer.status), "{answer:?}");
}
