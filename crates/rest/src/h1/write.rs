//! How an answer looks on the wire: status line and headers in one buffer, and how its body is framed.

use std::io::Write as _;

use http::StatusCode;
use types::Timestamp;

use crate::{answer::Ready, dates, response::Kind};

/// How the body of an answer is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// There is none.
    Bare,
    /// As long as declared.
    Sized,
    Chunked,
    /// Until the connection is closed: for HTTP/1.0.
    UntilClose,
}

impl Framing {
    pub(super) fn of(ready: &Ready, modern: bool) -> Self {
        if ready.bare || ready.status == StatusCode::NO_CONTENT || ready.status == StatusCode::NOT_MODIFIED {
            return Self::Bare;
        }
        match (&ready.body.0, ready.body.remaining()) {
            (Kind::Empty | Kind::Bytes(_), _) | (_, Some(_)) => Self::Sized,
            _ if modern => Self::Chunked,
            _ => Self::UntilClose,
        }
    }
}

/// The `Date` line, made once a second.
#[derive(Default)]
pub(super) struct DateLine {
    second: Option<u64>,
    text: String,
}

impl DateLine {
    fn at(&mut self, now: Timestamp) -> &str {
        if self.second != Some(now.seconds()) {
            self.second = Some(now.seconds());
            self.text = dates::rfc1123(now);
        }
        &self.text
    }
}

/// Writes the head of an answer.
pub(super) fn head(out: &mut Vec<u8>, ready: &Ready, framing: Framing, keep_alive: Option<bool>, date: &mut DateLine) {
    out.clear();
    status_line(out, ready.status);
    for (name, value) in ready.headers.wire() {
        // The length that an answer has is the one of its body.
        if framing != Framing::Bare && name.eq_ignore_ascii_case(b"content-length") {
            continue;
        }
        line(out, name, value);
    }
    match framing {
        Framing::Sized => length(out, ready.body.remaining().unwrap_or_default()),
        Framing::Chunked => line(out, b"transfer-encoding", b"chunked"),
        Framing::Bare => bare_length(out, ready),
        Framing::UntilClose => {}
    }
    line(out, b"date", date.at(ready.common.now).as_bytes());
    ready.common.each(|name, value| line(out, name.as_bytes(), value));
    match keep_alive {
        Some(true) => line(out, b"connection", b"keep-alive"),
        Some(false) => line(out, b"connection", b"close"),
        None => {}
    }
    out.extend_from_slice(b"\r\n");
}

/// The answer to HEAD says how long the answer to GET would be; 204 and 304 say nothing.
fn bare_length(out: &mut Vec<u8>, ready: &Ready) {
    let silent = matches!(ready.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if !silent && !ready.headers.contains_key("content-length") {
        length(out, ready.body.remaining().unwrap_or_default());
    }
}

fn status_line(out: &mut Vec<u8>, status: StatusCode) {
    let usual: &[u8] = match status.as_u16() {
        200 => b"HTTP/1.1 200 OK\r\n",
        201 => b"HTTP/1.1 201 Created\r\n",
        202 => b"HTTP/1.1 202 Accepted\r\n",
        206 => b"HTTP/1.1 206 Partial Content\r\n",
        404 => b"HTTP/1.1 404 Not Found\r\n",
        _ => b"",
    };
    out.extend_from_slice(usual);
    if usual.is_empty() {
        let reason = status.canonical_reason().unwrap_or("Status");
        let _infallible = write!(out, "HTTP/1.1 {} {reason}\r\n", status.as_u16());
    }
}

fn length(out: &mut Vec<u8>, length: u64) {
    let _infallible = write!(out, "content-length: {length}\r\n");
}

fn line(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}
