//! Shares of everything: directories and files with a past, ranges, snapshots, leases, descriptors, a share that can be restored.

use testkit::RestService;

use super::{LEASE, Sent, bytes, describe, done, read, snapshots};

const SDDL: &str = "O:S-1-5-21-2127521184-1604012920-1887927527-21560751\
    G:S-1-5-21-2127521184-1604012920-1887927527-513D:AI(A;;FA;;;SY)(A;;FA;;;BA)S:NO_ACCESS_CONTROL";

async fn file(files: &RestService, target: &str, length: &str, more: Sent<'_>) {
    let sent = [&[("x-ms-type", "file"), ("x-ms-content-length", length)], more].concat();
    done(files, "PUT", target, &sent, b"").await;
}

async fn range(files: &RestService, target: &str, range: &str, content: &[u8]) {
    let sent = [("x-ms-write", if content.is_empty() { "clear" } else { "update" }), ("x-ms-range", range)];
    done(files, "PUT", &format!("{target}?comp=range"), &sent, content).await;
}

/// What is older: most of it, and a snapshot of it.
pub(super) async fn write_first(files: &RestService) {
    let share = [("x-ms-share-quota", "7"), ("x-ms-access-tier", "Hot"), ("x-ms-meta-colour", "green")];
    done(files, "PUT", "/docs?restype=share", &share, b"").await;
    let permission = format!(r#"{{"permission":"{SDDL}"}}"#);
    done(files, "PUT", "/docs?restype=share&comp=filepermission", &[], permission.as_bytes()).await;
    let attributes = [
        ("x-ms-file-attributes", "Hidden"),
        ("x-ms-file-creation-time", "2019-01-02T03:04:05.0678901Z"),
        ("x-ms-file-last-write-time", "2019-01-02T03:04:06Z"),
        ("x-ms-file-permission", SDDL),
        ("x-ms-meta-author", "nobody"),
    ];
    done(files, "PUT", "/docs/Dir?restype=directory", &attributes, b"").await;
    done(files, "PUT", "/docs/Dir/inner?restype=directory", &[], b"").await;
    let headers = [
        ("x-ms-content-type", "text/plain"),
        ("x-ms-content-encoding", "identity"),
        ("x-ms-content-language", "de"),
        ("x-ms-content-disposition", "inline"),
        ("x-ms-cache-control", "no-store"),
    ];
    file(files, "/docs/Dir/%C3%9Cn%C3%AFcode.TXT", "11", &[&headers[..], &attributes[..]].concat()).await;
    range(files, "/docs/Dir/%C3%9Cn%C3%AFcode.TXT", "bytes=0-10", b"a small one").await;
    file(files, "/docs/sparse", "1099511627776", &[]).await;
    range(files, "/docs/sparse", "bytes=0-99999", &bytes(100_000)).await;
    range(files, "/docs/sparse", "bytes=500000000000-500000004999", &bytes(5_000)).await;
    file(files, "/docs/changes", "10000", &[]).await;
    range(files, "/docs/changes", "bytes=0-9999", &bytes(10_000)).await;
    file(files, "/docs/goes", "3", &[]).await;
    range(files, "/docs/goes", "bytes=0-2", b"was").await;
    file(files, "/docs/moves", "5", &[]).await;
    done(files, "PUT", "/docs?restype=share&comp=snapshot", &[("x-ms-meta-colour", "a snapshot")], b"").await;
    done(files, "PUT", "/gone?restype=share", &[], b"").await;
    file(files, "/gone/f", "5", &[]).await;
    done(files, "DELETE", "/gone?restype=share", &[], b"").await;
}

/// What happened since then.
pub(super) async fn write_second(files: &RestService) {
    range(files, "/docs/changes", "bytes=100-199", &[7; 100]).await;
    range(files, "/docs/changes", "bytes=5000-5999", b"").await;
    done(files, "PUT", "/docs/changes?comp=properties", &[("x-ms-content-length", "9000")], b"").await;
    done(files, "DELETE", "/docs/goes", &[], b"").await;
    let source = format!("http://127.0.0.1/{}/docs/moves", testkit::ACCOUNT);
    done(files, "PUT", "/docs/Dir/moved?comp=rename", &[("x-ms-file-rename-source", &source)], b"").await;
    let taken = done(files, "PUT", "/docs?restype=share&comp=snapshot", &[], b"").await;
    let lease = [("x-ms-lease-action", "acquire"), ("x-ms-lease-duration", "-1"), ("x-ms-proposed-lease-id", LEASE)];
    let snapshot = format!("/docs?restype=share&comp=lease&sharesnapshot={}", taken.header("x-ms-snapshot"));
    for target in ["/docs/Dir/moved?comp=lease", "/docs?restype=share&comp=lease", &snapshot] {
        done(files, "PUT", target, &lease, b"").await;
    }
    file(files, "/docs/read-only", "0", &[("x-ms-file-attributes", "ReadOnly")]).await;
    let policies = "<SignedIdentifiers><SignedIdentifier><Id>policy</Id><AccessPolicy><Start>2024-01-01T00:00:00Z</Start>\
         <Expiry>2034-01-01T00:00:00Z</Expiry><Permission>rl</Permission></AccessPolicy></SignedIdentifier>\
         </SignedIdentifiers>";
    let held = [("x-ms-lease-id", LEASE)];
    done(files, "PUT", "/docs?restype=share&comp=acl", &held, policies.as_bytes()).await;
    let properties = "<StorageServiceProperties><HourMetrics><Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy>\
         <Enabled>false</Enabled></RetentionPolicy></HourMetrics><Cors><CorsRule><AllowedOrigins>*</AllowedOrigins>\
         <AllowedMethods>GET</AllowedMethods><AllowedHeaders>*</AllowedHeaders><ExposedHeaders>*</ExposedHeaders>\
         <MaxAgeInSeconds>60</MaxAgeInSeconds></CorsRule></Cors><ShareDeleteRetentionPolicy><Enabled>true</Enabled>\
         <Days>365</Days></ShareDeleteRetentionPolicy></StorageServiceProperties>";
    done(files, "PUT", "/?restype=service&comp=properties", &[], properties.as_bytes()).await;
    done(files, "PUT", "/restorable?restype=share", &[("x-ms-meta-a", "1")], b"").await;
    file(files, "/restorable/f", "4", &[]).await;
    range(files, "/restorable/f", "bytes=0-3", b"kept").await;
    done(files, "DELETE", "/restorable?restype=share", &[], b"").await;
}

/// What the service says about all of it. A data directory from before there were shares says nothing.
pub(super) async fn transcript(text: &mut String, files: &RestService) {
    let target = "/?comp=list&include=metadata,snapshots,deleted";
    let listing = files.call("GET", target, &[], b"").await;
    let listed = listing.text();
    if !listed.contains("<Share>") {
        return;
    }
    describe(text, &format!("file GET {target}"), &listing);
    for target in [
        "/?restype=service&comp=properties",
        "/docs?restype=share",
        "/docs?restype=share&comp=acl",
        "/docs?restype=share&comp=stats",
        "/gone?restype=share",
        "/restorable?restype=share",
        "/docs?restype=directory",
        "/docs/Dir?restype=directory",
        "/docs/goes",
        "/docs/sparse?comp=rangelist",
    ] {
        read(text, files, "GET", target).await;
    }
    let names = ["/docs/Dir/%C3%9Cn%C3%AFcode.TXT", "/docs/changes", "/docs/goes", "/docs/moves", "/docs/Dir/moved"];
    contents(text, files, &names, "").await;
    let head = read(text, files, "HEAD", "/docs/read-only").await;
    let key = [("x-ms-file-permission-key", head.header("x-ms-file-permission-key"))];
    let inherited = files.call("GET", "/docs?restype=share&comp=filepermission", &key, b"").await;
    describe(text, "GET the permission of /docs/read-only", &inherited);
    for wanted in ["bytes=99990-100009", "bytes=500000000000-500000000009"] {
        let part = files.call("GET", "/docs/sparse", &[("x-ms-range", wanted)], b"").await;
        describe(text, &format!("GET /docs/sparse {wanted}"), &part);
    }
    for (name, snapshot) in snapshots(&listed.replace("<Share>", "<Blob>")) {
        assert_eq!(name, "docs");
        read(text, files, "GET", &format!("/docs?restype=share&sharesnapshot={snapshot}")).await;
        contents(text, files, &names, &format!("&sharesnapshot={snapshot}")).await;
        read(text, files, "GET", &format!("/docs/changes?comp=rangelist&prevsharesnapshot={snapshot}")).await;
    }
}

/// Directories and files, now or in a snapshot.
async fn contents(text: &mut String, files: &RestService, names: &[&str], suffix: &str) {
    for directory in ["/docs", "/docs/Dir"] {
        let include = "include=Timestamps,ETag,Attributes,PermissionKey";
        let target = format!("{directory}?restype=directory&comp=list&{include}{suffix}");
        let sent = [("x-ms-file-extended-info", "true")];
        let listed = files.call("GET", &target, &sent, b"").await;
        describe(text, &format!("GET {target}"), &listed);
    }
    for name in names {
        let query = suffix.replace('&', "?");
        read(text, files, "GET", &format!("{name}{query}")).await;
        read(text, files, "HEAD", &format!("{name}{query}")).await;
        read(text, files, "GET", &format!("{name}?comp=rangelist{suffix}")).await;
    }
}
