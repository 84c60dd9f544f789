//! Shares: properties, metadata, leases, policies, snapshots, soft delete, permissions, listings, credentials.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use support::{Refusal, done, refused, service, with_file};

#[tokio::test]
async fn a_share_is_created_set_and_deleted() {
    let files = service().await;
    let sent = [("x-ms-share-quota", "7"), ("x-ms-access-tier", "Hot"), ("x-ms-meta-A", "1")];
    let made = done(&files, "PUT", "/abc?restype=share", &sent, b"", 201).await;
    assert!(made.has("etag") && made.has("last-modified"));
    for method in ["GET", "HEAD"] {
        let found = done(&files, method, "/abc?restype=share", &[], b"", 200).await;
        let names =
            ["x-ms-share-quota", "x-ms-access-tier", "x-ms-enabled-protocols", "x-ms-lease-state", "x-ms-meta-a"];
        assert_eq!(names.map(|name| found.header(name)), ["7", "Hot", "SMB", "available", "1"]);
    }
    let set = done(&files, "PUT", "/abc?restype=share&comp=properties", &[("x-ms-share-quota", "9")], b"", 200).await;
    assert_ne!(set.header("etag"), made.header("etag"));
    done(&files, "PUT", "/abc?restype=share&comp=metadata", &[("x-ms-meta-b", "2")], b"", 200).await;
    let found = done(&files, "GET", "/abc?restype=share&comp=metadata", &[], b"", 200).await;
    assert_eq!((found.has("x-ms-meta-a"), found.header("x-ms-meta-b")), (false, "2"));
    let stats = done(&files, "GET", "/abc?restype=share&comp=stats", &[], b"", 200).await;
    assert_eq!(stats.element("ShareUsageBytes").as_deref(), Some("0"));
    let table: [Refusal<'_>; 6] = [
        ("PUT", "/abc?restype=share", &[], b"", (409, "ShareAlreadyExists")),
        ("PUT", "/Abc?restype=share", &[], b"", (400, "InvalidResourceName")),
        ("PUT", "/ab?restype=share", &[], b"", (400, "OutOfRangeInput")),
        ("PUT", "/other?restype=share", &[("x-ms-share-quota", "0")], b"", (400, "InvalidHeaderValue")),
        ("GET", "/other?restype=share", &[], b"", (404, "ShareNotFound")),
        ("DELETE", "/abc?restype=share", &[("x-ms-delete-snapshots", "only")], b"", (400, "InvalidHeaderValue")),
    ];
    refused(&files, &table).await;
    done(&files, "DELETE", "/abc?restype=share", &[], b"", 202).await;
    refused(&files, &[("GET", "/abc?restype=share", &[], b"", (404, "ShareNotFound"))]).await;
}

#[tokio::test]
async fn a_snapshot_is_read_only_and_goes_with_the_share_when_asked() {
    let files = with_file().await;
    let taken = done(&files, "PUT", "/abc?restype=share&comp=snapshot", &[("x-ms-meta-s", "1")], b"", 201).await;
    let snapshot = taken.header("x-ms-snapshot").to_owned();
    let at = |target: &str| format!("{target}{}sharesnapshot={snapshot}", if target.contains('?') { "&" } else { "?" });
    let found = done(&files, "GET", &at("/abc?restype=share"), &[], b"", 200).await;
    assert_eq!(found.header("x-ms-meta-s"), "1");
    done(&files, "DELETE", "/abc/d/f", &[], b"", 202).await;
    assert_eq!(&done(&files, "GET", &at("/abc/d/f"), &[], b"", 200).await.body[..], b"0123456789");
    let list = done(&files, "GET", &at("/abc/d?restype=directory&comp=list"), &[], b"", 200).await.text();
    assert!(list.contains(&format!("ShareSnapshot=\"{snapshot}\"")) && list.contains("<Name>f</Name>"), "{list}");
    let listed = done(&files, "GET", "/?comp=list&include=snapshots,metadata", &[], b"", 200).await.text();
    assert!(listed.contains(&format!("<Snapshot>{snapshot}</Snapshot>")), "{listed}");
    let not_for_snapshots = (400, "ShareSnapshotOperationNotSupported");
    let (metadata, directory) = (at("/abc?restype=share&comp=metadata"), at("/abc/x?restype=directory"));
    let both = at("/abc?restype=share");
    let include = [("x-ms-delete-snapshots", "include")];
    let table: [Refusal<'_>; 4] = [
        ("PUT", &metadata, &[], b"", not_for_snapshots),
        ("PUT", &directory, &[], b"", not_for_snapshots),
        ("DELETE", "/abc?restype=share", &[], b"", (409, "ShareHasSnapshots")),
        ("DELETE", &both, &include, b"", (400, "InvalidHeaderValue")),
    ];
    refused(&files, &table).await;
    done(&files, "DELETE", "/abc?restype=share", &include, b"", 202).await;
}

#[tokio::test]
async fn leases_of_shares_have_the_codes_of_containers() {
    let files = with_file().await;
    let id = "00000000-0000-0000-0000-00000000000a";
    let other = [("x-ms-lease-id", "00000000-0000-0000-0000-00000000000b")];
    let acquire = [("x-ms-lease-action", "acquire"), ("x-ms-lease-duration", "15"), ("x-ms-proposed-lease-id", id)];
    let table: [Refusal<'_>; 1] =
        [("GET", "/abc?restype=share", &other, b"", (412, "LeaseNotPresentWithContainerOperation"))];
    refused(&files, &table).await;
    done(&files, "PUT", "/abc?restype=share&comp=lease", &acquire, b"", 201).await;
    let table: [Refusal<'_>; 5] = [
        ("DELETE", "/abc?restype=share", &[], b"", (412, "LeaseIdMissing")),
        ("PUT", "/abc?restype=share&comp=metadata", &[], b"", (412, "LeaseIdMissing")),
        ("PUT", "/abc?restype=share&comp=properties", &other, b"", (412, "LeaseIdMismatchWithContainerOperation")),
        ("GET", "/abc?restype=share&comp=stats", &other, b"", (412, "LeaseIdMismatchWithContainerOperation")),
        ("PUT", "/abc?restype=share&comp=lease", &[("x-ms-lease-action", "go")], b"", (400, "InvalidHeaderValue")),
    ];
    refused(&files, &table).await;
    let found = done(&files, "GET", "/abc?restype=share", &[], b"", 200).await;
    assert_eq!((found.header("x-ms-lease-state"), found.header("x-ms-lease-duration")), ("leased", "fixed"));
    for (action, status) in [("renew", 200), ("release", 200)] {
        let sent = [("x-ms-lease-action", action), ("x-ms-lease-id", id)];
        done(&files, "PUT", "/abc?restype=share&comp=lease", &sent, b"", status).await;
    }
    done(&files, "DELETE", "/abc?restype=share", &[], b"", 202).await;
}

#[tokio::test]
async fn stored_policies_come_back() {
    let files = with_file().await;
    let document =
        b"<SignedIdentifiers><SignedIdentifier><Id>one</Id><AccessPolicy><Expiry>2099-01-01T00:00:00Z</Expiry>\
        <Permission>rwd</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>";
    done(&files, "PUT", "/abc?restype=share&comp=acl", &[], document, 200).await;
    let found = done(&files, "GET", "/abc?restype=share&comp=acl", &[], b"", 200).await;
    assert_eq!((found.element("Id").as_deref(), found.element("Permission").as_deref()), (Some("one"), Some("rwd")));
    refused(&files, &[("PUT", "/abc?restype=share&comp=acl", &[], b"<Other/>", (400, "InvalidXmlDocument"))]).await;
}

#[tokio::test]
async fn a_deleted_share_is_listed_and_restored_while_it_is_kept() {
    let files = with_file().await;
    let policy = b"<StorageServiceProperties><ShareDeleteRetentionPolicy><Enabled>true</Enabled><Days>3</Days>\
        </ShareDeleteRetentionPolicy></StorageServiceProperties>";
    done(&files, "PUT", "/?restype=service&comp=properties", &[], policy, 202).await;
    let found = done(&files, "GET", "/?restype=service&comp=properties", &[], b"", 200).await.text();
    assert!(found.contains("<ShareDeleteRetentionPolicy><Enabled>true</Enabled><Days>3</Days>"), "{found}");
    done(&files, "DELETE", "/abc?restype=share", &[], b"", 202).await;
    let listed = done(&files, "GET", "/?comp=list&include=deleted", &[], b"", 200).await;
    let version = listed.element("Version").unwrap();
    assert!(listed.text().contains("<Deleted>true</Deleted>"), "{listed:?}");
    let sent = [("x-ms-deleted-share-name", "abc"), ("x-ms-deleted-share-version", version.as_str())];
    refused(&files, &[("PUT", "/abc?restype=share&comp=undelete", &sent[..1], b"", (400, "MissingRequiredHeader"))])
        .await;
    done(&files, "PUT", "/abc?restype=share&comp=undelete", &sent, b"", 201).await;
    assert_eq!(&done(&files, "GET", "/abc/d/f", &[], b"", 200).await.body[..], b"0123456789");
}

#[tokio::test]
async fn shares_are_listed_in_pages() {
    let files = service().await;
    for name in ["beta", "alpha", "gamma", "alps"] {
        done(&files, "PUT", &format!("/{name}?restype=share"), &[], b"", 201).await;
    }
    let page = done(&files, "GET", "/?comp=list&maxresults=2", &[], b"", 200).await;
    let text = page.text();
    assert!(text.contains("<Name>alpha</Name>") && text.contains("<Name>alps</Name>"), "{text}");
    assert!(text.contains("<Quota>102400</Quota>") && !text.contains("<Metadata>"), "{text}");
    let target = format!("/?comp=list&maxresults=2&marker={}", page.element("NextMarker").unwrap());
    let rest = done(&files, "GET", &target, &[], b"", 200).await.text();
    assert!(rest.contains("<Name>beta</Name>") && rest.contains("<Name>gamma</Name>"), "{rest}");
    let some = done(&files, "GET", "/?comp=list&prefix=al", &[], b"", 200).await.text();
    assert_eq!(some.matches("<Share>").count(), 2, "{some}");
    refused(&files, &[("GET", "/?comp=list&include=system", &[], b"", (400, "InvalidQueryParameterValue"))]).await;
}

#[tokio::test]
async fn permissions_are_kept_by_key_and_set_on_files() {
    let files = with_file().await;
    let sddl = "O:S-1-5-21-2127521184-1604012920-1887927527-21560751G:S-1-5-21-2127521184-1604012920-1887927527-513D:AI\
                (A;;FA;;;SY)(A;;FA;;;BA)S:NO_ACCESS_CONTROL";
    let document = format!("{{\"permission\":\"{sddl}\"}}");
    let target = "/abc?restype=share&comp=filepermission";
    let made = done(&files, "PUT", target, &[], document.as_bytes(), 201).await;
    let key = made.header("x-ms-file-permission-key").to_owned();
    let by_key = [("x-ms-file-permission-key", key.as_str())];
    let found = done(&files, "GET", target, &by_key, b"", 200).await;
    assert_eq!(found.header("content-type"), "application/json");
    assert_eq!(found.text(), document);
    let format = [by_key[0], ("x-ms-file-permission-format", "binary")];
    let binary = done(&files, "GET", target, &format, b"", 200).await.text();
    let again = done(&files, "PUT", target, &[], binary.as_bytes(), 201).await;
    assert_eq!(again.header("x-ms-file-permission-key"), key);

    let set = done(&files, "PUT", "/abc/d/f?comp=properties", &[("x-ms-file-permission", sddl)], b"", 200).await;
    assert_eq!(set.header("x-ms-file-permission-key"), key);
    let made = done(&files, "PUT", "/abc/e?restype=directory", &by_key, b"", 201).await;
    assert_eq!(made.header("x-ms-file-permission-key"), key);
    let unknown = [("x-ms-file-permission-key", "1*2")];
    let both = [by_key[0], ("x-ms-file-permission", "inherit")];
    let table: [Refusal<'_>; 6] = [
        ("GET", target, &unknown, b"", (404, "ResourceNotFound")),
        ("PUT", "/abc/x?restype=directory", &unknown, b"", (404, "ResourceNotFound")),
        ("PUT", "/abc/x?restype=directory", &both, b"", (400, "InvalidHeaderValue")),
        ("PUT", "/abc/x?restype=directory", &[("x-ms-file-permission", "O:?")], b"", (400, "FileInvalidPermission")),
        ("PUT", target, &[], b"{}", (400, "InvalidInput")),
        ("GET", target, &[], b"", (400, "MissingRequiredHeader")),
    ];
    refused(&files, &table).await;
}

#[tokio::test]
async fn nobody_unknown_is_served_and_an_intent_is_one_that_there_is() {
    let files = with_file().await;
    let anonymous = files.unsigned("GET", "/abc/d/f", &[], b"").await;
    assert_eq!(anonymous.verdict(), (401, "NoAuthenticationInformation"));
    let table: [Refusal<'_>; 2] = [
        ("GET", "/abc/d/f", &[("x-ms-file-request-intent", "restore")], b"", (400, "InvalidHeaderValue")),
        ("GET", "/abc/d/x", &[("x-ms-file-request-intent", "backup")], b"", (404, "ResourceNotFound")),
    ];
    refused(&files, &table).await;
}
