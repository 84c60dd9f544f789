//! The readers of bytes that strangers send, each as a function that fails when an invariant is broken.
//!
//! `cargo xtask fuzz` lets libFuzzer drive them (`libfuzzer/`, outside the workspace: it needs a nightly compiler); the
//! test of this crate replays what was kept in `corpus/` with the stable one. A target never asserts that input is refused,
//! only that what is accepted has one meaning.

#![expect(clippy::panic, clippy::expect_used, reason = "a broken invariant is what the fuzzer looks for")]

mod credentials;
mod files;
mod smb;
mod tables;

use bytes::{Bytes, BytesMut};
use rest::{
    ByteRange, Headers, Query, RawTarget, Target, batch, dates,
    h1::{chunked, framing, head},
    headers, structured, xml,
};
use types::Timestamp;

/// A target: its name, which is also that of its corpus, and the function.
pub type FuzzTarget = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: &[FuzzTarget] = &[
    ("head", request_head),
    ("chunks", chunks),
    ("target", target),
    ("range", range),
    ("date", date),
    ("xml", document),
    ("structured", message),
    ("batch", multipart),
    ("shared_key", credentials::shared_key),
    ("sas", credentials::sas),
    ("bearer", credentials::bearer),
    ("file_path", files::path),
    ("file_route", files::operation),
    ("smb_frame", smb::frame),
    ("smb_negotiate", smb::negotiate),
    ("smb_spnego", smb::spnego),
    ("smb_ntlm", smb::ntlm),
    ("smb_create_contexts", smb::create_contexts),
    ("smb_ndr", smb::ndr),
    ("table_address", tables::address),
    ("table_filter", tables::filter),
    ("table_batch", tables::batch),
    ("table_json", tables::json),
    ("table_atom", tables::atom),
];

/// Heads of requests, and how they are framed.
///
/// # Panics
/// An invariant is broken.
pub fn request_head(data: &[u8]) {
    let mut buffer = BytesMut::from(data);
    let before = buffer.len();
    let Ok(Some(head)) = head::parse(&mut buffer) else { return };
    assert!(buffer.len() < before, "a head takes bytes");
    let lower = head.headers.iter().map(|(name, _)| name.to_owned());
    let sent = head.headers.iter_as_sent().map(|(name, _)| name.to_ascii_lowercase());
    assert!(lower.eq(sent), "both names are one name");
    for (name, value) in &head.headers {
        assert!(Headers::new().append(name, value.as_bytes()), "what was read can be written");
        assert!(head.headers.get(name).is_some());
    }
    if let Ok(framing) = framing::of(&head.method, head.modern, &head.headers) {
        let both = head.headers.contains_key("content-length") && head.headers.contains_key("transfer-encoding");
        assert!(!both, "two lengths are none");
        assert!(framing.declared || framing.length == framing::Length::Exactly(0));
    }
    // Whatever came in one piece is the same in two.
    let mut halves = BytesMut::from(data.get(..data.len() / 2).unwrap_or_default());
    if !matches!(head::parse(&mut halves), Ok(Some(_))) {
        halves.extend_from_slice(data.get(data.len() / 2..).unwrap_or_default());
        assert!(matches!(head::parse(&mut halves), Ok(Some(_))), "a head does not depend on how it comes");
    }
}

/// Chunked bodies: whole and byte by byte they are the same.
///
/// # Panics
/// An invariant is broken.
pub fn chunks(data: &[u8]) {
    let decode = |piece: usize| {
        let (mut decoder, mut buffer, mut body) = (chunked::Decoder::default(), BytesMut::new(), Vec::new());
        let mut pieces = data.chunks(piece);
        loop {
            match decoder.step(&mut buffer) {
                Ok(chunked::Step::Data(bytes)) => body.extend_from_slice(&bytes),
                Ok(chunked::Step::End) => {
                    let left = buffer.len() + pieces.map(<[u8]>::len).sum::<usize>();
                    return Ok(Some((body, left)));
                }
                Ok(chunked::Step::More) => match pieces.next() {
                    Some(bytes) => buffer.extend_from_slice(bytes),
                    None => return Ok(None),
                },
                Err(malformed) => return Err(malformed),
            }
        }
    };
    assert_eq!(decode(1), decode(data.len().max(1)), "chunks do not depend on how they come");
}

/// Targets of requests: raw and decoded parts belong together. The first line is the host.
///
/// # Panics
/// An invariant is broken.
pub fn target(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (host, text) = text.split_once('\n').unwrap_or(("", text));
    let Ok(raw) = RawTarget::split(text) else { return };
    let Ok(mut target) = Target::at(raw, host, "blob", &["example.com".into()]) else { return };
    assert!(!target.account.is_empty() && target.raw_path.starts_with('/'));
    assert!(target.raw_path.ends_with(target.raw_resource_path()));
    assert_eq!(Query::parse(&target.raw_query).ok().as_ref(), Some(&target.query));
    let again = target.sibling(text).expect("what was read once is read again");
    assert_eq!((&again.container, &again.rest), (&target.container, &target.rest));
    target.default_to_root();
    assert!(target.rest.is_none() || target.container.is_some() || target.raw_resource_path().starts_with("//"));
}

/// Byte ranges.
///
/// # Panics
/// An invariant is broken.
pub fn range(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let sent: Headers = [(headers::X_MS_RANGE, text)].into_iter().collect();
    let _either_way = ByteRange::from_headers(&sent);
    let Some(range) = ByteRange::parse(text) else { return };
    for length in [0, 1, 1000, u64::MAX] {
        if let Ok(bytes) = range.within(length) {
            assert!(bytes.start < bytes.end && bytes.end <= length);
        }
    }
}

/// Dates: what is read is written and read again.
///
/// # Panics
/// An invariant is broken.
pub fn date(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let now = Timestamp::from_seconds(1_790_000_000);
    if let Some(instant) = dates::parse_http(text, now) {
        assert_eq!(dates::parse_http(&dates::rfc1123(instant), now), Some(instant));
    }
    if let Some(instant) = dates::parse_iso8601(text) {
        assert_eq!(dates::parse_iso8601(&dates::iso8601(instant)), Some(instant));
    }
}

/// XML documents.
///
/// # Panics
/// An invariant is broken.
pub fn document(data: &[u8]) {
    if let Ok(root) = xml::parse(data) {
        assert!(!root.name.is_empty());
    }
}

/// Structured messages: the first byte is the length of the content. What is accepted carries its content and the right
/// checksums, however it comes.
///
/// # Panics
/// An invariant is broken.
pub fn message(data: &[u8]) {
    let Some((length, data)) = data.split_first() else { return };
    let decode = |data: &[u8], length: u64, piece: usize| {
        let mut decoder = structured::Decoder::new(u64::try_from(data.len()).ok(), length);
        let (mut content, mut pieces) = (Vec::new(), data.chunks(piece));
        loop {
            match decoder.step() {
                Ok(structured::Step::Content(bytes)) => content.extend_from_slice(&bytes),
                Ok(structured::Step::End) if pieces.len() == 0 => return Ok(Some(content)),
                Ok(structured::Step::More | structured::Step::End) => match pieces.next() {
                    Some(bytes) => decoder.feed(Bytes::copy_from_slice(bytes)),
                    None => return Ok(None),
                },
                Err(malformed) => return Err(malformed),
            }
        }
    };
    let whole = decode(data, u64::from(*length), data.len().max(1));
    assert_eq!(whole, decode(data, u64::from(*length), 1), "a message does not depend on how it comes");
    if let Ok(Some(content)) = &whole {
        assert_eq!(content.len(), usize::from(*length));
    }
    // And what we write, we read.
    let length = u64::try_from(data.len()).unwrap_or_default();
    let mut encoder = structured::Encoder::new(length);
    encoder.push(Bytes::copy_from_slice(data));
    let mut written = Vec::new();
    while let Some(bytes) = encoder.piece() {
        written.extend_from_slice(&bytes);
    }
    assert_eq!(decode(&written, length, 7), Ok(Some(data.to_vec())));
}

/// Batches.
///
/// # Panics
/// An invariant is broken.
pub fn multipart(data: &[u8]) {
    let Ok(pieces) = batch::parse("multipart/mixed; boundary=b", &Bytes::copy_from_slice(data), 256) else { return };
    let requests: usize = pieces
        .iter()
        .map(|piece| match piece {
            batch::Piece::Request(_) => 1,
            batch::Piece::ChangeSet(requests) => requests.len(),
        })
        .sum();
    assert!((1..=256).contains(&requests));
}

/// Runs one target on one input.
///
/// # Panics
/// There is no such target, or an invariant is broken.
pub fn run(name: &str, data: &[u8]) {
    let Some((_, target)) = TARGETS.iter().find(|(found, _)| *found == name) else { panic!("no target {name}") };
    target(data);
}
