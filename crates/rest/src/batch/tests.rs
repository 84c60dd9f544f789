//! Bodies as official clients send them, what is refused, and how answers look.

use super::{BatchError::TooMany, *};
use proptest::prelude::*;

const BATCH: &str = "multipart/mixed; boundary=batch_dc0cc9ee";

/// What azure-storage-blob 12 sends for `delete_blobs`.
const DELETE_BLOBS: &str = "--batch_dc0cc9ee\r\n\
Content-Type: application/http\r\n\
Content-ID: 0\r\n\
Content-Transfer-Encoding: binary\r\n\
\r\n\
DELETE /devstoreaccount1/cont/a? HTTP/1.1\r\n\
x-ms-delete-snapshots: include\r\n\
x-ms-date: Sun, 15 Nov 2026 12:19:52 GMT\r\n\
Authorization: SharedKey devstoreaccount1:Y/OWtoPin6Yra3bxR/rCP72OgD+KfDiey3CwoG+PA2o=\r\n\
Content-Length: 0\r\n\
\r\n\
\r\n\
--batch_dc0cc9ee\r\n\
Content-Type: application/http\r\n\
Content-ID: 1\r\n\
Content-Transfer-Encoding: binary\r\n\
\r\n\
DELETE /devstoreaccount1/cont/dir/b%20c? HTTP/1.1\r\n\
x-ms-delete-snapshots: include\r\n\
Content-Length: 0\r\n\
\r\n\
\r\n\
--batch_dc0cc9ee--\r\n";

/// What azure-data-tables 12 sends for `submit_transaction`.
const TRANSACTION: &str = "--batch_dc0cc9ee\r\n\
Content-Type: multipart/mixed; boundary=changeset_2b011c13\r\n\
\r\n\
--changeset_2b011c13\r\n\
Content-Type: application/http\r\n\
Content-Transfer-Encoding: binary\r\n\
Content-ID: 0\r\n\
\r\n\
POST http://127.0.0.1:43901/devstoreaccount1/mytable HTTP/1.1\r\n\
Content-Type: application/json\r\n\
Content-Length: 36\r\n\
DataServiceVersion: 3.0\r\n\
\r\n\
{\"PartitionKey\": \"p\", \"RowKey\": \"1\"}\r\n\
--changeset_2b011c13\r\n\
Content-Type: application/http\r\n\
Content-Transfer-Encoding: binary\r\n\
Content-ID: 1\r\n\
\r\n\
DELETE http://127.0.0.1:43901/devstoreaccount1/mytable(PartitionKey='p',RowKey='3') HTTP/1.1\r\n\
If-Match: *\r\n\
\r\n\
\r\n\
--changeset_2b011c13--\r\n\
\r\n\
--batch_dc0cc9ee--\r\n";

fn read(body: &str) -> Result<Vec<Piece>, ErrorCode> {
    parse(BATCH, &Bytes::copy_from_slice(body.as_bytes()), 256).map_err(|error| ServiceError::from(error).code)
}

fn shown(request: &EmbeddedRequest) -> String {
    let id = request.content_id.as_deref().unwrap_or("-");
    let body = String::from_utf8_lossy(&request.body);
    format!("{id} {} {} [{}] {body}", request.method, request.target, request.headers.len())
}

#[test]
fn reads_what_clients_send() {
    for body in [DELETE_BLOBS.to_owned(), DELETE_BLOBS.replace("\r\n", "\n"), format!("preamble\r\n{DELETE_BLOBS}end")]
    {
        let pieces = read(&body).unwrap();
        let found: Vec<_> = pieces
            .iter()
            .map(|piece| match piece {
                Piece::Request(request) => shown(request),
                Piece::ChangeSet(_) => panic!("there is no change set"),
            })
            .collect();
        assert_eq!(
            found,
            ["0 DELETE /devstoreaccount1/cont/a? [4] ", "1 DELETE /devstoreaccount1/cont/dir/b%20c? [2] "]
        );
    }
    for body in [TRANSACTION.to_owned(), TRANSACTION.replace("\r\n", "\n")] {
        let [Piece::ChangeSet(requests)] = &read(&body).unwrap()[..] else { panic!("not one change set") };
        let found: Vec<_> = requests.iter().map(shown).collect();
        let host = "http://127.0.0.1:43901/devstoreaccount1/mytable";
        assert_eq!(
            found,
            [
                format!("0 POST {host} [3] {{\"PartitionKey\": \"p\", \"RowKey\": \"1\"}}"),
                format!("1 DELETE {host}(PartitionKey='p',RowKey='3') [1] ")
            ]
        );
    }
}

#[test]
fn a_single_query_is_a_batch_too() {
    let body =
        "--batch_dc0cc9ee\nContent-Type: application/http\n\nGET /a/t() HTTP/1.1\nAccept: x\n\n\n--batch_dc0cc9ee--";
    let [Piece::Request(request)] = &read(body).unwrap()[..] else { panic!("not one request") };
    assert_eq!(shown(request), "- GET /a/t() [1] ");
}

#[test]
fn refuses_what_is_not_a_batch() {
    let part = "--batch_dc0cc9ee\r\nContent-Type: application/http\r\n\r\n";
    let end = "\r\n--batch_dc0cc9ee--\r\n";
    let table = [
        String::new(),
        "--batch_dc0cc9ee--\r\n".into(),
        DELETE_BLOBS.replace("--batch_dc0cc9ee--", ""),
        DELETE_BLOBS.replace("--batch_dc0cc9ee--", "--batch_dc0cc9ee"),
        TRANSACTION.replace("--batch_dc0cc9ee--", ""),
        TRANSACTION.replace("--changeset_2b011c13--", ""),
        TRANSACTION.replace("--changeset_2b011c13--", "--changeset_2b011c13"),
        TRANSACTION.replace("If-Match: *", "If-Match"),
        DELETE_BLOBS.replace("application/http", "text/plain"),
        format!("{part}DELETE /a{end}"),
        format!("{part}DELETE /a HTTP/3{end}"),
        format!("{part}DELETE /a HTTP/1.1\r\nno colon\r\n\r\n{end}"),
        format!("{part}DELETE /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nabc{end}"),
        format!("{part}DELETE /a HTTP/1.1\r\nContent-Length: x\r\n\r\nabc{end}"),
        format!("{part}D\u{1}L /a HTTP/1.1\r\n\r\n{end}"),
        format!("{part}DELETE  HTTP/1.1\r\n\r\n{end}"),
        format!("{part}DELETE /a b HTTP/1.1\r\n\r\n{end}"),
        format!("{part}DELETE /a HTTP/1.1\r\n{}\r\n{end}", "a: b\r\n".repeat(HEADERS_MAX + 1)),
    ];
    for body in &table {
        assert_eq!(read(body).err(), Some(ErrorCode::InvalidInput), "{body:?}");
    }
    let nested = TRANSACTION.replace(
        "--changeset_2b011c13\r\nContent-Type: application/http",
        "--changeset_2b011c13\r\nContent-Type: multipart/mixed; boundary=deeper",
    );
    assert_eq!(read(&nested).err(), Some(ErrorCode::InvalidInput), "nested too deeply");
}

/// The address of a part could hold a carriage return or any other control character.
#[test]
fn a_request_line_has_no_control_characters() {
    for control in ["\r", "\t", "\0", "\u{7f}"] {
        for body in [DELETE_BLOBS, TRANSACTION] {
            let body = body.replace("/devstoreaccount1/", &format!("/devstore{control}account1/"));
            assert_eq!(read(&body).err(), Some(ErrorCode::InvalidInput), "{control:?}");
        }
    }
}

/// azure_data_tables for Rust ends a batch with one more line of its boundary, and was refused.
#[test]
fn a_batch_ends_with_its_change_set() {
    for end in ["--batch_dc0cc9ee\n", "--batch_dc0cc9ee", "--batch_dc0cc9ee\r\n\r\n"] {
        let body = TRANSACTION.replace("--batch_dc0cc9ee--\r\n", end);
        assert!(matches!(&read(&body).unwrap()[..], [Piece::ChangeSet(requests)] if requests.len() == 2), "{end:?}");
    }
    let more = TRANSACTION.replace("--batch_dc0cc9ee--", "--batch_dc0cc9ee\r\nContent-Type: application/http");
    assert_eq!(read(&more).err(), Some(ErrorCode::InvalidInput));
}

#[test]
fn batches_have_limits() {
    let part = "--batch_dc0cc9ee\r\nContent-Type: application/http\r\n\r\nDELETE /a/c/b HTTP/1.1\r\n\r\n\r\n";
    let many = |count: usize| format!("{}--batch_dc0cc9ee--\r\n", part.repeat(count));
    assert_eq!(read(&many(256)).unwrap().len(), 256);
    assert_eq!(read(&many(257)).err(), Some(ErrorCode::InvalidInput));
    let one = |body: &str| parse(BATCH, &Bytes::copy_from_slice(body.as_bytes()), 1).err();
    assert_eq!([one(TRANSACTION), one(&many(2)), one(&many(1))], [Some(TooMany), Some(TooMany), None]);
    let large = format!("{}{}", "x".repeat(BATCH_MAX_BYTES), DELETE_BLOBS);
    assert_eq!(read(&large).err(), Some(ErrorCode::RequestBodyTooLarge));
}

#[test]
fn boundaries_are_found() {
    let table = [
        ("multipart/mixed; boundary=abc", Some("abc")),
        ("Multipart/Mixed;charset=x; Boundary=\"a b\"", Some("a b")),
        ("multipart/mixed", None),
        ("multipart/mixed; boundary=", None),
        ("multipart/form-data; boundary=abc", None),
        ("text/plain; boundary=abc", None),
    ];
    for (content_type, expected) in table {
        assert_eq!(boundary(content_type), expected, "{content_type}");
    }
}

#[test]
fn answers_are_written() {
    let ok = Response::new(StatusCode::ACCEPTED).text_header("x-ms-delete-type-permanent", "true");
    let failed = Response::from(ServiceError::new(ErrorCode::BlobNotFound, "No."));
    let now = types::Timestamp::from_seconds(1);
    let answers = [
        EmbeddedResponse::new(Some("0".into()), ok, ErrorFormat::Xml, RequestId::new(1), now),
        EmbeddedResponse::new(None, failed, ErrorFormat::Xml, RequestId::new(2), now),
    ];
    let text = |bytes: Bytes| String::from_utf8(bytes.to_vec()).unwrap().replace("\r\n", "\n");
    expect_test::expect![[r#"
        --b
        Content-Type: application/http
        Content-Transfer-Encoding: binary
        Content-ID: 0

        HTTP/1.1 202 Accepted
        x-ms-delete-type-permanent: true
        x-ms-request-id: 00000000-0000-0000-0000-000000000001


        --b
        Content-Type: application/http
        Content-Transfer-Encoding: binary

        HTTP/1.1 404 Not Found
        x-ms-request-id: 00000000-0000-0000-0000-000000000002
        x-ms-error-code: BlobNotFound
        content-type: application/xml
        Content-Length: 181

        <?xml version="1.0" encoding="utf-8"?><Error><Code>BlobNotFound</Code><Message>No.
        RequestId:00000000-0000-0000-0000-000000000002
        Time:1970-01-01T00:00:01.0000000Z</Message></Error>
        --b--
    "#]]
    .assert_eq(&text(write(&answers, "b")));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _either_way = parse("multipart/mixed; boundary=b", &Bytes::from(body), 100);
    }

    #[test]
    fn any_batch_is_read_or_refused(body in "(--b(--)?|\r?\n|Content-Type: (application/http|multipart/mixed;boundary=c)|--c(--)?|GET / HTTP/1.1|a:b){0,20}") {
        let _either_way = parse("multipart/mixed; boundary=b", &Bytes::from(body), 100);
    }
}
