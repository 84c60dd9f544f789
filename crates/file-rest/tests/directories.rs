//! Directories: create, properties, delete, rename, listings, handles.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use support::{Refusal, create, done, refused, with_file};

const SOURCE: &str = "x-ms-file-rename-source";

fn url(path: &str) -> String {
    format!("http://127.0.0.1/devstoreaccount1/abc/{path}")
}

#[tokio::test]
async fn a_directory_is_created_read_changed_and_deleted() {
    let files = with_file().await;
    let made = done(&files, "PUT", "/abc/d/e?restype=directory", &[("x-ms-meta-a", "1")], b"", 201).await;
    assert_eq!(made.header("x-ms-file-attributes"), "Directory");
    let parent = done(&files, "GET", "/abc/d?restype=directory", &[], b"", 200).await;
    assert_eq!(made.header("x-ms-file-parent-id"), parent.header("x-ms-file-id"));
    assert_eq!((parent.header("x-ms-file-parent-id"), parent.body.len()), ("0", 0));
    let root = done(&files, "GET", "/abc?restype=directory", &[], b"", 200).await;
    assert_eq!((root.header("x-ms-file-id"), root.header("x-ms-file-parent-id")), ("0", "0"));
    let sent = [("x-ms-file-attributes", "Hidden"), ("x-ms-file-last-write-time", "preserve")];
    let set = done(&files, "PUT", "/abc/d/e?restype=directory&comp=properties", &sent, b"", 200).await;
    assert_eq!(set.header("x-ms-file-attributes"), "Hidden | Directory");
    let found = done(&files, "HEAD", "/abc/D/E?restype=directory", &[], b"", 200).await;
    assert_eq!((found.header("x-ms-meta-a"), found.header("x-ms-server-encrypted")), ("1", "false"));
    done(&files, "DELETE", "/abc/d/e?restype=directory", &[], b"", 202).await;
    let table: [Refusal<'_>; 9] = [
        ("GET", "/abc/d/e?restype=directory", &[], b"", (404, "ResourceNotFound")),
        ("GET", "/abc/d/f?restype=directory", &[], b"", (404, "ResourceNotFound")),
        ("PUT", "/abc/d?restype=directory", &[], b"", (409, "ResourceAlreadyExists")),
        ("PUT", "/abc/D?restype=directory", &[], b"", (409, "ResourceAlreadyExists")),
        ("PUT", "/abc/d/f?restype=directory", &[], b"", (409, "ResourceAlreadyExists")),
        ("PUT", "/abc?restype=directory", &[], b"", (409, "ResourceAlreadyExists")),
        ("PUT", "/abc/x/y?restype=directory", &[], b"", (404, "ParentNotFound")),
        ("DELETE", "/abc/d?restype=directory", &[], b"", (409, "DirectoryNotEmpty")),
        ("DELETE", "/abc/x?restype=directory", &[], b"", (404, "ResourceNotFound")),
    ];
    refused(&files, &table).await;
}

#[tokio::test]
async fn a_listing_is_as_the_service_writes_it() {
    let files = with_file().await;
    done(&files, "PUT", "/abc/d/Sub?restype=directory", &[], b"", 201).await;
    let plain = done(&files, "GET", "/abc/d?restype=directory&comp=list", &[], b"", 200).await.text();
    let id = async |target: &str| done(&files, "GET", target, &[], b"", 200).await.header("x-ms-file-id").to_owned();
    let (directory, sub) = (id("/abc/d?restype=directory").await, id("/abc/d/sub?restype=directory").await);
    let file = id("/abc/d/f").await;
    let expected = format!(
        "<EnumerationResults ServiceEndpoint=\"http://127.0.0.1/devstoreaccount1/\" ShareName=\"abc\" \
         DirectoryPath=\"d\"><DirectoryId>{directory}</DirectoryId><Entries><File><Name>f</Name><FileId>{file}</FileId>\
         <Properties><Content-Length>10</Content-Length></Properties></File><Directory><Name>Sub</Name>\
         <FileId>{sub}</FileId><Properties></Properties></Directory></Entries><NextMarker></NextMarker>\
         </EnumerationResults>"
    );
    assert!(plain.ends_with(&expected), "{plain}\n{expected}");

    let target = "/abc/d?restype=directory&comp=list&include=timestamps,Etag,Attributes,PermissionKey";
    let full = done(&files, "GET", target, &[], b"", 200).await;
    let found = done(&files, "HEAD", "/abc/d/f", &[], b"", 200).await;
    for (element, header) in [
        ("CreationTime", "x-ms-file-creation-time"),
        ("LastWriteTime", "x-ms-file-last-write-time"),
        ("ChangeTime", "x-ms-file-change-time"),
        ("Last-Modified", "last-modified"),
        ("Attributes", "x-ms-file-attributes"),
        ("PermissionKey", "x-ms-file-permission-key"),
    ] {
        assert_eq!(full.element(element).as_deref(), Some(found.header(header)), "{element}");
    }
    assert_eq!(full.element("Etag").unwrap().replace("&quot;", "\""), found.header("etag"));

    let old = [("x-ms-version", "2019-12-12")];
    let without = done(&files, "GET", "/abc/d?restype=directory&comp=list", &old, b"", 200).await.text();
    assert!(!without.contains("FileId") && !without.contains("DirectoryId"), "{without}");
    let extended = [old[0], ("x-ms-file-extended-info", "true")];
    let with = done(&files, "GET", "/abc/d?restype=directory&comp=list", &extended, b"", 200).await.text();
    assert!(with.contains("FileId") && with.contains("DirectoryId"), "{with}");
    let root = done(&files, "GET", "/abc?restype=directory&comp=list", &[], b"", 200).await;
    assert_eq!(root.element("DirectoryId").as_deref(), Some("0"));
    let table: [Refusal<'_>; 4] = [
        ("GET", "/abc/d?restype=directory&comp=list&include=metadata", &[], b"", (400, "InvalidQueryParameterValue")),
        ("GET", "/abc/d?restype=directory&comp=list&maxresults=0", &[], b"", (400, "OutOfRangeQueryParameterValue")),
        ("GET", "/abc/d?restype=directory&comp=list&marker=%21", &[], b"", (400, "InvalidQueryParameterValue")),
        ("GET", "/abc/x?restype=directory&comp=list", &[], b"", (404, "ResourceNotFound")),
    ];
    refused(&files, &table).await;
}

#[tokio::test]
async fn pages_follow_each_other_in_the_order_of_names() {
    let files = with_file().await;
    for name in ["b", "A", "c%EF%BF%BF", "aa"] {
        create(&files, &format!("/abc/{name}"), 0).await;
    }
    let (mut names, mut marker) = (Vec::new(), String::new());
    loop {
        let target = format!("/abc?restype=directory&comp=list&maxresults=1&marker={marker}");
        let page = done(&files, "GET", &target, &[], b"", 200).await;
        let text = page.text();
        names.push(text.split("<Name").nth(1).unwrap().split("</Name>").next().unwrap().to_owned());
        marker = page.element("NextMarker").unwrap();
        if marker.is_empty() {
            break;
        }
    }
    assert_eq!(names, [">A", ">aa", ">b", " Encoded=\"true\">c%EF%BF%BF", ">d"]);
    let some = done(&files, "GET", "/abc?restype=directory&comp=list&prefix=a", &[], b"", 200).await.text();
    assert!(some.contains("<Prefix>a</Prefix>") && some.matches("<File>").count() == 2, "{some}");
}

#[tokio::test]
async fn dots_at_the_end_of_a_name_are_kept_when_the_request_says_so() {
    let files = with_file().await;
    let keep = [("x-ms-allow-trailing-dot", "true")];
    done(&files, "PUT", "/abc/dots...?restype=directory", &[], b"", 201).await;
    done(&files, "GET", "/abc/dots?restype=directory", &keep, b"", 200).await;
    done(&files, "PUT", "/abc/dots..?restype=directory", &keep, b"", 201).await;
    let list = done(&files, "GET", "/abc?restype=directory&comp=list", &[], b"", 200).await.text();
    assert!(list.contains("<Name>dots</Name>") && list.contains("<Name>dots..</Name>"), "{list}");
}

#[tokio::test]
async fn what_is_moved_keeps_its_id_and_what_it_replaces_is_gone() {
    let files = with_file().await;
    let before = done(&files, "HEAD", "/abc/d/f", &[], b"", 200).await;
    let (f, d) = (url("d/f"), url("d"));
    let moved = done(&files, "PUT", "/abc/g?comp=rename", &[(SOURCE, &f)], b"", 200).await;
    assert_eq!(moved.header("x-ms-file-id"), before.header("x-ms-file-id"));
    assert_eq!((moved.header("x-ms-file-parent-id"), moved.header("x-ms-file-attributes")), ("0", "Archive"));
    assert_eq!(&done(&files, "GET", "/abc/g", &[], b"", 200).await.body[..], b"0123456789");
    create(&files, "/abc/h", 1).await;
    let (g, h) = (url("g"), url("h"));
    let elsewhere = "http://127.0.0.1/devstoreaccount1/other/g";
    let table: [Refusal<'_>; 7] = [
        ("PUT", "/abc/x?comp=rename", &[(SOURCE, &f)], b"", (404, "ResourceNotFound")),
        ("PUT", "/abc/x/y?comp=rename", &[(SOURCE, &g)], b"", (404, "ParentNotFound")),
        ("PUT", "/abc/h?comp=rename", &[(SOURCE, &g)], b"", (409, "ResourceAlreadyExists")),
        ("PUT", "/abc/x?comp=rename", &[], b"", (400, "MissingRequiredHeader")),
        ("PUT", "/abc/x?comp=rename", &[(SOURCE, elsewhere)], b"", (400, "InvalidHeaderValue")),
        ("PUT", "/abc/d/e?restype=directory&comp=rename", &[(SOURCE, &d)], b"", (400, "InvalidInput")),
        ("PUT", "/abc/x?restype=directory&comp=rename", &[(SOURCE, &g)], b"", (409, "ResourceTypeMismatch")),
    ];
    refused(&files, &table).await;
    let replace = ("x-ms-file-rename-replace-if-exists", "true");
    let sent = [(SOURCE, g.as_str()), replace, ("x-ms-content-type", "text/plain"), ("x-ms-meta-a", "1")];
    done(&files, "PUT", "/abc/h?comp=rename", &sent, b"", 200).await;
    let found = done(&files, "HEAD", "/abc/h", &[], b"", 200).await;
    let said = ["content-length", "content-type", "x-ms-meta-a"].map(|name| found.header(name));
    assert_eq!(said, ["10", "text/plain", "1"]);
    // A directory replaces a file, and its lease must be shown.
    let id = "00000000-0000-0000-0000-00000000000a";
    let acquire = [("x-ms-lease-action", "acquire"), ("x-ms-lease-duration", "-1"), ("x-ms-proposed-lease-id", id)];
    done(&files, "PUT", "/abc/h?comp=lease", &acquire, b"", 201).await;
    let target = "/abc/h?restype=directory&comp=rename";
    refused(&files, &[("PUT", target, &[(SOURCE, &d), replace], b"", (412, "LeaseIdMissing"))]).await;
    let sent = [(SOURCE, d.as_str()), replace, ("x-ms-destination-lease-id", id)];
    done(&files, "PUT", target, &sent, b"", 200).await;
    done(&files, "GET", "/abc/h?restype=directory", &[], b"", 200).await;
    let to_directory = [(SOURCE, h.as_str()), replace];
    create(&files, "/abc/i", 0).await;
    let i = url("i");
    let table: [Refusal<'_>; 1] =
        [("PUT", "/abc/h?comp=rename", &[(SOURCE, &i), replace], b"", (409, "ResourceTypeMismatch"))];
    refused(&files, &table).await;
    done(&files, "PUT", "/abc/i?restype=directory&comp=rename", &to_directory, b"", 200).await;
}

#[tokio::test]
async fn a_read_only_file_is_replaced_only_when_the_request_says_so() {
    let files = with_file().await;
    create(&files, "/abc/g", 0).await;
    let read_only = [("x-ms-file-attributes", "ReadOnly")];
    done(&files, "PUT", "/abc/g?comp=properties", &read_only, b"", 200).await;
    let f = url("d/f");
    let sent = [
        (SOURCE, f.as_str()),
        ("x-ms-file-rename-replace-if-exists", "true"),
        ("x-ms-file-rename-ignore-readonly", "true"),
    ];
    refused(&files, &[("PUT", "/abc/g?comp=rename", &sent[..2], b"", (409, "ReadOnlyAttribute"))]).await;
    done(&files, "PUT", "/abc/g?comp=rename", &sent, b"", 200).await;
}

#[tokio::test]
async fn nothing_is_open_while_smb_is_not_served() {
    let files = with_file().await;
    for target in ["/abc", "/abc/d", "/abc/d/f"] {
        let found = done(&files, "GET", &format!("{target}?comp=listhandles"), &[], b"", 200).await.text();
        assert!(found.contains("<Entries></Entries><NextMarker></NextMarker>"), "{found}");
        let closed =
            done(&files, "PUT", &format!("{target}?comp=forceclosehandles"), &[("x-ms-handle-id", "*")], b"", 200)
                .await;
        let counts = ["x-ms-number-of-handles-closed", "x-ms-number-of-handles-failed"].map(|name| closed.header(name));
        assert_eq!(counts, ["0", "0"]);
    }
    let table: [Refusal<'_>; 4] = [
        ("GET", "/abc/x?comp=listhandles", &[], b"", (404, "ResourceNotFound")),
        ("GET", "/abc/d/f?comp=listhandles", &[("x-ms-recursive", "true")], b"", (400, "InvalidHeaderValue")),
        ("PUT", "/abc/d/f?comp=forceclosehandles", &[], b"", (400, "MissingRequiredHeader")),
        ("PUT", "/abc/d/f?comp=forceclosehandles", &[("x-ms-handle-id", "a")], b"", (400, "InvalidHeaderValue")),
    ];
    refused(&files, &table).await;
}
