//! The head of a request: from bytes to method, target and headers, strictly.
//!
//! Refused: a line that ends in a bare line feed, folded lines, a space before the colon, control characters. Each of
//! them is read one way by some programs and another way by others, and a request must mean one thing.

use std::mem::MaybeUninit;

use bytes::BytesMut;
use http::Method;
use types::ErrorCode;

use crate::{
    Headers, ServiceError,
    headers::{Line, Span},
    limits::{HEAD_MAX_BYTES, HEADERS_MAX, HEADERS_MAX_BYTES},
};

/// No method is as long as this, and no client sends as many empty lines before it.
const METHOD_MAX_BYTES: usize = 32;

/// The head of one request.
#[derive(Debug)]
pub struct Head {
    /// The HTTP verb, as sent.
    pub method: Method,
    /// The target as sent: a path with its query, a whole URL, or `*`.
    pub target: String,
    /// True for HTTP/1.1, false for HTTP/1.0.
    pub modern: bool,
    /// The header lines.
    pub headers: Headers,
}

/// Reads a head from the front of the buffer and takes it out; `None` when it has not arrived yet.
///
/// # Errors
/// It is no head, or too large a one. The rest of the connection has no meaning then.
pub fn parse(buffer: &mut BytesMut) -> Result<Option<Head>, ServiceError> {
    let mut space = [const { MaybeUninit::uninit() }; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut []);
    let length = match parsed.parse_with_uninit_headers(buffer, &mut space) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if buffer.len() > HEAD_MAX_BYTES => return Err(too_large()),
        Ok(httparse::Status::Partial) if !begins_with_a_method(buffer) => {
            return Err(malformed("it does not begin with a method"));
        }
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(too_large()),
        Err(error) => return Err(malformed(&error.to_string())),
    };
    let (Some(method), Some(target), Some(minor)) = (parsed.method, parsed.path, parsed.version) else {
        return Err(malformed("the request line is not complete"));
    };
    let method = Method::from_bytes(method.as_bytes()).map_err(|_| malformed("the method is none"))?;
    let target = target.to_owned();
    let base = buffer.as_ptr().addr();
    let place = |part: &[u8]| {
        let start = part.as_ptr().addr().wrapping_sub(base);
        Span { start, end: start + part.len() }
    };
    let lines: Vec<Line> =
        parsed.headers.iter().map(|line| Line::at(place(line.name.as_bytes()), place(line.value))).collect();
    check_lines(buffer, length, &lines)?;
    let header_bytes = lines.first().map_or(0, |line| length.saturating_sub(line.name.start));
    if header_bytes > HEADERS_MAX_BYTES || length > HEAD_MAX_BYTES {
        return Err(too_large());
    }
    let headers = Headers::of_head(buffer.split_to(length), lines);
    Ok(Some(Head { method, target, modern: minor == 1, headers }))
}

/// False for letters or empty lines without an end, for which the parser would wait.
fn begins_with_a_method(buffer: &[u8]) -> bool {
    buffer.get(..METHOD_MAX_BYTES).is_none_or(|begin| begin.contains(&b' '))
}

/// The parser takes a bare line feed for the end of a line; we do not.
fn check_lines(buffer: &[u8], length: usize, lines: &[Line]) -> Result<(), ServiceError> {
    let ends = |end: usize, with: &[u8]| buffer.get(..end).is_some_and(|head| head.ends_with(with));
    if ends(length, b"\r\n\r\n") && lines.iter().all(|line| ends(line.name.start, b"\r\n")) {
        Ok(())
    } else {
        Err(malformed("a line does not end in CR LF"))
    }
}

fn malformed(reason: &str) -> ServiceError {
    ServiceError::new(ErrorCode::InvalidInput, "The request is not a well-formed HTTP request.")
        .with_detail("Reason", reason)
}

fn too_large() -> ServiceError {
    ServiceError::new(ErrorCode::InvalidHeaderValue, "The headers of the request are too large.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<Head>, String> {
        parse(&mut BytesMut::from(text)).map_err(|error| format!("{error:?}"))
    }

    #[test]
    fn a_head_keeps_case_and_order_and_leaves_the_rest() {
        let mut buffer = BytesMut::from("PUT /a/c?x=1 HTTP/1.1\r\nHost: h\r\nx-ms-meta-MyName:  v \r\n\r\nbody");
        let head = parse(&mut buffer).unwrap().unwrap();
        assert_eq!((head.method, &*head.target, head.modern), (Method::PUT, "/a/c?x=1", true));
        let lines: Vec<_> = head.headers.iter_as_sent().map(|(name, value)| (name, value.as_bytes())).collect();
        assert_eq!(lines, [("Host", &b"h"[..]), ("x-ms-meta-MyName", b"v")]);
        assert_eq!(&buffer[..], b"body");
        let old = read("GET / HTTP/1.0\r\n\r\n").unwrap().unwrap();
        assert!(!old.modern && old.headers.is_empty());
    }

    #[test]
    fn every_beginning_of_a_head_is_incomplete() {
        let whole = "GET /a HTTP/1.1\r\nHost: h\r\nA: b\r\n\r\n";
        for end in 0..whole.len() {
            assert!(read(&whole[..end]).unwrap().is_none(), "{end}");
        }
        assert!(read(whole).unwrap().is_some());
    }

    #[test]
    fn what_others_read_otherwise_is_refused() {
        let table = [
            "GET /a HTTP/1.1\nHost: h\n\n",
            "GET /a HTTP/1.1\r\nHost: h\nA: b\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: h\r\n\n",
            "GET /a HTTP/1.1\nHost: h\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost : h\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: h\r\n\tfolded\r\n\r\n",
            "GET /a HTTP/1.1\r\nA: b\rc\r\n\r\n",
            "GET /a HTTP/1.1\r\nA: b\0c\r\n\r\n",
            "GET /a HTTP/1.1\r\nA\0: b\r\n\r\n",
            "GET /a HTTP/1.1\r\n: b\r\n\r\n",
            "GET /a HTTP/1.1\r\nA b\r\n\r\n",
            "GET /a\0 HTTP/1.1\r\n\r\n",
            "GET  /a HTTP/1.1\r\n\r\n",
            "GET /a b HTTP/1.1\r\n\r\n",
            "GET /a HTTP/2.0\r\n\r\n",
            "GET /a\r\n\r\n",
            "G\u{e4}T /a HTTP/1.1\r\n\r\n",
            "\u{1}\u{2}\u{3}",
        ];
        for text in table {
            assert!(read(text).is_err(), "{text:?}");
        }
        for endless in ["A", "\r\n"] {
            assert!(read(&endless.repeat(8)).unwrap().is_none(), "{endless:?} may still become a request");
            assert!(read(&endless.repeat(8192)).is_err(), "{endless:?}");
        }
    }

    #[test]
    fn heads_have_a_largest_size() {
        let many = |count: usize| format!("GET /a HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(count));
        assert!(read(&many(HEADERS_MAX)).is_ok() && read(&many(HEADERS_MAX + 1)).is_err());
        let long = |length: usize| format!("GET /a HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(length));
        assert!(read(&long(HEADERS_MAX_BYTES - 7)).unwrap().is_some() && read(&long(HEADERS_MAX_BYTES)).is_err());
        assert!(read(&format!("GET /{}", "y".repeat(HEAD_MAX_BYTES))).is_err(), "without an end");
    }
}
