//! Batches: many requests in one body of `multipart/mixed`, and their answers in another. Blob Batch is a flat list, an
//! entity group transaction of Table a change set inside a batch.
//!
//! Plain functions over bytes. They read what the official clients send, old ones too: lines may end in a bare line
//! feed, because nothing that could be smuggled stands behind a batch. What a part means is for the service to say.
//! Invariant: the number of parts and of their header lines is bounded, and no body is copied.

use bytes::{BufMut, Bytes, BytesMut};
use http::{Method, StatusCode};
use types::ErrorCode;

use crate::{
    Body, ErrorFormat, Headers, Request, RequestId, Response, ServiceError, headers,
    limits::{BATCH_MAX_BYTES, HEADERS_MAX},
    request,
    response::Kind,
};

use BatchError::Malformed;

/// Longest boundary, by RFC 2046.
const BOUNDARY_MAX: usize = 70;

/// One request inside a batch.
#[derive(Clone, Debug)]
pub struct EmbeddedRequest {
    /// `Content-ID`, from around the request or from among its headers.
    pub content_id: Option<String>,
    /// Its HTTP verb.
    pub method: Method,
    /// The target as sent: a path with its query, or a whole URL.
    pub target: String,
    /// Its own headers.
    pub headers: Headers,
    /// What stands behind its headers; often nothing.
    pub body: Bytes,
}

/// What stands in a batch.
#[derive(Clone, Debug)]
pub enum Piece {
    /// A request, to be answered like one that came alone.
    Request(EmbeddedRequest),
    /// Requests that belong together.
    ChangeSet(Vec<EmbeddedRequest>),
}

/// Why a body is no batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// It has more bytes than any batch may have.
    #[error("the batch has more than {BATCH_MAX_BYTES} bytes")]
    TooLarge,
    /// It has more requests than were allowed.
    #[error("the batch has too many requests")]
    TooMany,
    /// It cannot be read.
    #[error("{0}")]
    Malformed(&'static str),
}

impl From<BatchError> for ServiceError {
    fn from(error: BatchError) -> Self {
        match error {
            BatchError::TooLarge => Self::body_too_large(u64::try_from(BATCH_MAX_BYTES).unwrap_or(u64::MAX)),
            BatchError::TooMany | BatchError::Malformed(_) => {
                Self::new(ErrorCode::InvalidInput, "One of the request inputs is not valid.")
                    .with_detail("Reason", error.to_string())
            }
        }
    }
}

/// Reads a batch of at most so many requests.
///
/// # Errors
/// It is empty, too large, nested too deeply, or cannot be read.
pub fn parse(content_type: &str, body: &Bytes, requests_max: usize) -> Result<Vec<Piece>, BatchError> {
    if body.len() > BATCH_MAX_BYTES {
        return Err(BatchError::TooLarge);
    }
    let boundary = boundary(content_type).ok_or(Malformed("the body is not multipart/mixed with a boundary"))?;
    let mut left = requests_max;
    let mut pieces = Vec::new();
    let (parts, closed) = split(body, boundary, left)?;
    for part in parts {
        let (around, content) = lines(part)?;
        if let Some(inner) = around.get("content-type").and_then(|kind| kind.to_str().ok()).and_then(self::boundary) {
            let (inner, closed) = split(&content, inner, left)?;
            if !closed {
                return Err(UNCLOSED);
            }
            let requests: Result<_, _> = inner.into_iter().map(|part| request(lines(part)?, &mut left)).collect();
            pieces.push(Piece::ChangeSet(requests?));
        } else {
            pieces.push(Piece::Request(request((around, content), &mut left)?));
        }
    }
    // azure_data_tables for Rust does not close the batch. Nothing can be missing behind a change set that is closed;
    // behind a request there could have been another.
    if !closed && !matches!(pieces.as_slice(), [Piece::ChangeSet(_)]) {
        return Err(UNCLOSED);
    }
    if left == requests_max {
        return Err(Malformed("the batch is empty"));
    }
    Ok(pieces)
}

const UNCLOSED: BatchError = Malformed("the last boundary is missing");

/// True for a Content-Type that a batch can have.
#[must_use]
pub fn is_batch(content_type: &str) -> bool {
    boundary(content_type).is_some()
}

/// The boundary of a `multipart/mixed`.
fn boundary(content_type: &str) -> Option<&str> {
    let (kind, parameters) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/mixed") {
        return None;
    }
    let boundary = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"'))
    })?;
    (1..=BOUNDARY_MAX).contains(&boundary.len()).then_some(boundary)
}

/// What stands between the lines of a boundary, and whether the last one of them says that it is the last. At most so
/// many parts: a line of a boundary is short, and each costs memory.
fn split(body: &Bytes, boundary: &str, parts_max: usize) -> Result<(Vec<Bytes>, bool), BatchError> {
    let mut parts = Vec::new();
    let mut begun = None;
    let mut position = 0;
    while position < body.len() {
        let rest = body.get(position..).unwrap_or_default();
        let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        let line = rest.get(..length).unwrap_or_default();
        let mark = line.strip_prefix(b"--").and_then(|line| line.strip_prefix(boundary.as_bytes()));
        if let Some(last) = mark.map(<[u8]>::trim_ascii_end).filter(|mark| mark.is_empty() || mark == b"--") {
            if let Some(start) = begun {
                if parts.len() == parts_max {
                    return Err(BatchError::TooMany);
                }
                // The line break before the boundary belongs to it.
                let part = body.get(start..position).unwrap_or_default();
                let part = part.strip_suffix(b"\n").unwrap_or(part);
                parts.push(body.slice_ref(part.strip_suffix(b"\r").unwrap_or(part)));
            }
            if last == b"--" {
                return Ok((parts, true));
            }
            begun = Some(position + length);
        }
        position += length;
    }
    match begun.and_then(|start| body.get(start..)) {
        Some(behind) if behind.trim_ascii().is_empty() => Ok((parts, false)),
        _ => Err(UNCLOSED),
    }
}

/// Header lines up to an empty one, and what is behind it.
fn lines(part: Bytes) -> Result<(Headers, Bytes), BatchError> {
    let mut headers = Headers::new();
    let mut rest = part;
    while let Some(line) = next_line(&mut rest) {
        if line.is_empty() {
            break;
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or_default();
        let (name, value) = line.split_at_checked(colon).unwrap_or_default();
        let name = std::str::from_utf8(name).unwrap_or_default();
        let value = value.strip_prefix(b":").unwrap_or_default().trim_ascii();
        if headers.len() == HEADERS_MAX || !headers.append(name, value) {
            return Err(Malformed("a part has a header that cannot be read, or too many"));
        }
    }
    Ok((headers, rest))
}

/// Takes a line, without its end; `None` when there is none left.
fn next_line(rest: &mut Bytes) -> Option<Bytes> {
    if rest.is_empty() {
        return None;
    }
    let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
    let mut line = rest.split_to(length);
    let text = line.strip_suffix(b"\n").unwrap_or(&line);
    let length = text.strip_suffix(b"\r").unwrap_or(text).len();
    line.truncate(length);
    Some(line)
}

fn request((around, mut content): (Headers, Bytes), left: &mut usize) -> Result<EmbeddedRequest, BatchError> {
    *left = left.checked_sub(1).ok_or(BatchError::TooMany)?;
    let http = around.get("content-type").and_then(|kind| kind.to_str().ok());
    if !http.is_some_and(|kind| kind.trim().to_ascii_lowercase().starts_with("application/http")) {
        return Err(Malformed("a part is neither application/http nor multipart/mixed"));
    }
    let line = next_line(&mut content).unwrap_or_default();
    let line = std::str::from_utf8(&line).unwrap_or_default();
    let mut words = line.split(' ');
    let (Some(method), Some(target), Some("HTTP/1.1" | "HTTP/1.0"), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(Malformed("a part has no request line"));
    };
    // A lone carriage return ends no line here, but it might for whoever reads the target.
    if target.is_empty() || line.contains(char::is_control) {
        return Err(Malformed("a part has no request line"));
    }
    let method = Method::from_bytes(method.as_bytes()).map_err(|_| Malformed("a part has no method"))?;
    let target = target.to_owned();
    let (headers, mut body) = lines(content)?;
    if let Some(length) = headers.get("content-length") {
        let length = headers::digits(length.as_bytes()).and_then(|length| usize::try_from(length).ok());
        let length = length.filter(|length| *length <= body.len());
        body.truncate(length.ok_or(Malformed("a part is shorter than its Content-Length"))?);
    }
    let id = around.get("content-id").or_else(|| headers.get("content-id"));
    let content_id = id.and_then(|id| id.to_str().ok()).map(str::to_owned);
    Ok(EmbeddedRequest { content_id, method, target, headers, body })
}

impl EmbeddedRequest {
    /// The request as it would have come by itself, on the connection of the batch.
    ///
    /// # Errors
    /// Its target or its version cannot be read.
    pub fn into_request(self, batch: &Request) -> Result<Request, ServiceError> {
        Ok(Request {
            target: batch.target.sibling(&self.target)?,
            version: match request::version(&self.headers, batch.received_at)? {
                Some(version) => Some(version),
                None => batch.version,
            },
            default_version: batch.default_version,
            method: self.method,
            headers: self.headers,
            peer: batch.peer,
            request_id: batch.request_id,
            received_at: batch.received_at,
            body: Body::from_bytes(self.body),
            secure: batch.secure,
            slot: std::sync::Arc::clone(&batch.slot),
        })
    }
}

/// One answer inside a batch.
#[derive(Clone, Debug)]
pub struct EmbeddedResponse {
    /// `Content-ID` of the request that it answers.
    pub content_id: Option<String>,
    /// What became of this request; the batch itself is 202.
    pub status: StatusCode,
    /// Its own headers.
    pub headers: Headers,
    /// The document of this answer; empty where there is none.
    pub body: Bytes,
}

impl EmbeddedResponse {
    /// The answer as it would have gone by itself. Bodies that are still to be produced are no part of a batch.
    #[must_use]
    pub fn new(
        content_id: Option<String>,
        response: Response,
        format: ErrorFormat,
        request_id: RequestId,
        now: types::Timestamp,
    ) -> Self {
        let Response { status, mut headers, body, error_format } = response;
        headers.insert(headers::X_MS_REQUEST_ID, request_id.text());
        let body = match body.0 {
            Kind::Bytes(bytes) => bytes,
            Kind::Error(error) => {
                headers.insert(headers::X_MS_ERROR_CODE, error.code.as_str());
                let (kind, body) = error_format.unwrap_or(format).write(&error, request_id, now);
                headers.insert(http::header::CONTENT_TYPE, kind);
                body
            }
            Kind::Empty | Kind::Stream { .. } | Kind::Broken => Bytes::new(),
        };
        Self { content_id, status, headers, body }
    }
}

/// Writes the answers to a flat batch.
#[must_use]
pub fn write(answers: &[EmbeddedResponse], boundary: &str) -> Bytes {
    let mut bytes = BytesMut::with_capacity(answers.len() * 512);
    let out = &mut bytes;
    for answer in answers {
        put(out, &["--", boundary, "\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n"]);
        if let Some(id) = &answer.content_id {
            put(out, &["Content-ID: ", id, "\r\n"]);
        }
        let reason = answer.status.canonical_reason().unwrap_or("Status");
        put(out, &["\r\nHTTP/1.1 ", answer.status.as_str(), " ", reason, "\r\n"]);
        for (name, value) in answer.headers.iter_as_sent().filter(|(name, _)| *name != "content-length") {
            put(out, &[name, ": "]);
            out.put_slice(value.as_bytes());
            put(out, &["\r\n"]);
        }
        if !answer.body.is_empty() {
            put(out, &["Content-Length: ", &answer.body.len().to_string(), "\r\n"]);
        }
        put(out, &["\r\n"]);
        out.put_slice(&answer.body);
        put(out, &["\r\n"]);
    }
    put(out, &["--", boundary, "--\r\n"]);
    bytes.freeze()
}

fn put(out: &mut BytesMut, texts: &[&str]) {
    for text in texts {
        out.put_slice(text.as_bytes());
    }
}

#[cfg(test)]
mod tests;
