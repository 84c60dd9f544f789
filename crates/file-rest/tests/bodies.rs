//! Structured messages: content with checksums of its parts, on Put Range and Get File.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use bytes::Bytes;
use rest::structured::{Decoder, Encoder, Step};
use support::{create, done, refused, with_file};

const KIND: (&str, &str) = ("x-ms-structured-body", "XSM/1.0; properties=crc64");

fn encoded(content: &[u8]) -> Vec<u8> {
    let mut encoder = Encoder::new(u64::try_from(content.len()).unwrap());
    encoder.push(Bytes::copy_from_slice(content));
    std::iter::from_fn(|| encoder.piece()).flatten().collect()
}

fn decoded(message: &Bytes, length: usize) -> Vec<u8> {
    let declared = u64::try_from(message.len()).unwrap();
    let mut decoder = Decoder::new(Some(declared), u64::try_from(length).unwrap());
    decoder.feed(message.clone());
    let mut content = Vec::new();
    loop {
        match decoder.step().unwrap() {
            Step::Content(bytes) => content.extend_from_slice(&bytes),
            Step::More => unreachable!("the message ends too early"),
            Step::End => return content,
        }
    }
}

#[tokio::test]
async fn a_range_is_written_and_read_as_a_structured_message() {
    let files = with_file().await;
    let content: Vec<u8> = (0..100_000_u32).map(|place| u8::try_from(place % 251).unwrap()).collect();
    create(&files, "/abc/g", 200_000).await;
    let message = encoded(&content);
    let sent = [
        ("x-ms-version", "2025-01-05"),
        ("x-ms-write", "update"),
        ("x-ms-range", "bytes=1000-100999"),
        KIND,
        ("x-ms-structured-content-length", "100000"),
    ];
    let written = done(&files, "PUT", "/abc/g?comp=range", &sent, &message, 201).await;
    assert_eq!(written.header("x-ms-structured-body"), KIND.1, "{written:?}");
    let asks = [("x-ms-version", "2025-01-05"), ("x-ms-range", "bytes=1000-100999"), KIND];
    let read = done(&files, "GET", "/abc/g", &asks, b"", 206).await;
    assert_eq!(read.header("x-ms-structured-body"), KIND.1);
    assert_eq!(read.header("x-ms-structured-content-length"), "100000");
    assert!(decoded(&read.body, 100_000) == content);
    let whole = done(&files, "GET", "/abc/d/f", &[("x-ms-version", "2025-01-05"), KIND], b"", 200).await;
    assert_eq!(decoded(&whole.body, 10), b"0123456789");

    // One bit: nothing of it is written.
    let mut torn = encoded(b"abc");
    *torn.get_mut(23).unwrap() ^= 1;
    let sent = [sent[0], sent[1], ("x-ms-range", "bytes=0-2"), KIND, ("x-ms-structured-content-length", "3")];
    refused(&files, &[("PUT", "/abc/d/f?comp=range", &sent, &torn, (400, "Crc64Mismatch"))]).await;
    let other = [sent[0], sent[1], sent[2], ("x-ms-structured-body", "XSM/2.0"), sent[4]];
    refused(&files, &[("PUT", "/abc/d/f?comp=range", &other, &encoded(b"abc"), (400, "InvalidHeaderValue"))]).await;
    refused(&files, &[("PUT", "/abc/d/f?comp=range", &sent[..4], &encoded(b"abc"), (400, "MissingRequiredHeader"))])
        .await;
    assert_eq!(&done(&files, "GET", "/abc/d/f", &[], b"", 200).await.body[..], b"0123456789");
}
