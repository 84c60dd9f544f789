//! Reading the body of a batch: parts between boundaries, each a request of its own.
//!
//! A plain function over bytes. Invariant: the number of parts and of their header lines is bounded, nothing is copied,
//! and a body of any content is read or refused.

use types::limits::ENTITY_BATCH_MAX;

/// Header lines of one part.
const HEADERS_MAX: usize = 64;
/// Longest boundary, as RFC 2046 has it.
const BOUNDARY_MAX: usize = 70;

/// Why a body is no batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MultipartError {
    /// The type has no boundary.
    #[error("the content type is not multipart/mixed with a boundary")]
    NoBoundary,
    /// The boundary does not stand where it should.
    #[error("the body does not begin and end with its boundary")]
    Boundary,
    /// A part is not well-formed.
    #[error("a part of the batch is not well-formed: {0}")]
    Part(&'static str),
    /// There is more than one change set, or more than one query, or both.
    #[error("a batch has exactly one change set, or one query")]
    NotOne,
    /// There are more changes than a change set may have.
    #[error("the batch has more than 100 changes")]
    TooMany,
}

/// One request in a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// The verb.
    pub method: &'a str,
    /// The address, absolute or not.
    pub url: &'a str,
    /// The client's own number for it.
    pub content_id: Option<&'a str>,
    headers: Vec<(&'a str, &'a str)>,
    /// The body.
    pub body: &'a [u8],
}

impl Part<'_> {
    /// The value of a header, found without regard to case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }
}

/// What a batch asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Batch<'a> {
    /// One query.
    Query(Part<'a>),
    /// One change set.
    Changes(Vec<Part<'a>>),
}

/// Reads a batch.
///
/// # Errors
/// [`MultipartError`].
pub fn read<'a>(content_type: &str, body: &'a [u8]) -> Result<Batch<'a>, MultipartError> {
    let boundary = boundary(content_type).ok_or(MultipartError::NoBoundary)?;
    let outer = sections(body, boundary, 2)?;
    let [section] = *outer.as_slice() else { return Err(MultipartError::NotOne) };
    let (headers, content) = split_head(section)?;
    match find(&headers, "content-type") {
        Some(kind) if is_multipart(kind) => {
            let boundary = self::boundary(kind).ok_or(MultipartError::NoBoundary)?;
            let changes = sections(content, boundary, ENTITY_BATCH_MAX + 1)?;
            if changes.len() > ENTITY_BATCH_MAX {
                return Err(MultipartError::TooMany);
            }
            changes.into_iter().map(request).collect::<Result<_, _>>().map(Batch::Changes)
        }
        _ => request(section).map(Batch::Query),
    }
}

fn is_multipart(content_type: &str) -> bool {
    content_type.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("multipart/mixed"))
}

/// The boundary of a `multipart/mixed`.
fn boundary(content_type: &str) -> Option<&str> {
    if !is_multipart(content_type) {
        return None;
    }
    let parameter = content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then_some(value.trim().trim_matches('"'))
    });
    parameter.filter(|boundary| !boundary.is_empty() && boundary.len() <= BOUNDARY_MAX)
}

/// What stands between the boundaries; at most `limit` sections, the rest is not looked at.
fn sections<'a>(body: &'a [u8], boundary: &str, limit: usize) -> Result<Vec<&'a [u8]>, MultipartError> {
    let mut found = Vec::new();
    let mut begun: Option<usize> = None;
    let mut at = 0;
    while at < body.len() {
        let rest = body.get(at..).unwrap_or_default();
        let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        let line = rest.get(..length).unwrap_or_default().trim_ascii_end();
        let after = line.strip_prefix(b"--").and_then(|line| line.strip_prefix(boundary.as_bytes()));
        if let Some(after @ (b"" | b"--")) = after {
            if let Some(start) = begun {
                // The line break before a boundary belongs to the boundary.
                let section = body.get(start..at).unwrap_or_default();
                let section = section.strip_suffix(b"\n").unwrap_or(section);
                found.push(section.strip_suffix(b"\r").unwrap_or(section));
            }
            begun = Some(at + length);
            if after == b"--" {
                return Ok(found);
            }
            if found.len() == limit {
                return Ok(found);
            }
        }
        at += length;
    }
    Err(MultipartError::Boundary)
}

type Headers<'a> = Vec<(&'a str, &'a str)>;

/// Header lines up to an empty line, and what is behind it.
fn split_head(section: &[u8]) -> Result<(Headers<'_>, &[u8]), MultipartError> {
    let mut headers = Vec::new();
    let mut rest = section;
    loop {
        let (line, after) = take_line(rest)?;
        rest = after;
        if line.is_empty() {
            return Ok((headers, rest));
        }
        if headers.len() == HEADERS_MAX {
            return Err(MultipartError::Part("it has too many header lines"));
        }
        let (name, value) = line.split_once(':').ok_or(MultipartError::Part("a header line has no colon"))?;
        headers.push((name.trim(), value.trim()));
        if rest.is_empty() {
            return Ok((headers, rest));
        }
    }
}

fn take_line(bytes: &[u8]) -> Result<(&str, &[u8]), MultipartError> {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let (line, rest) = match end {
        Some(end) => (bytes.get(..end).unwrap_or_default(), bytes.get(end + 1..).unwrap_or_default()),
        None => (bytes, &[][..]),
    };
    let line = std::str::from_utf8(line).map_err(|_| MultipartError::Part("its head is not text"))?;
    Ok((line.strip_suffix('\r').unwrap_or(line), rest))
}

fn request(section: &[u8]) -> Result<Part<'_>, MultipartError> {
    let (outer, content) = split_head(section)?;
    let (line, rest) = take_line(content)?;
    let mut words = line.split(' ');
    let (Some(method), Some(url), Some(version), None) = (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(MultipartError::Part("it has no request line"));
    };
    // A lone carriage return ends no line here, but it might for whoever reads the address.
    let control = line.contains(char::is_control);
    if control || !version.starts_with("HTTP/1.") || method.is_empty() || url.is_empty() {
        return Err(MultipartError::Part("it has no request line"));
    }
    let (headers, body) = if rest.is_empty() { (Vec::new(), rest) } else { split_head(rest)? };
    let body = match find(&headers, "content-length") {
        None => body,
        // What is behind the declared length is padding.
        Some(length) => match length.parse::<usize>().ok().and_then(|length| body.get(..length)) {
            Some(body) => body,
            None => return Err(MultipartError::Part("its body is shorter than declared")),
        },
    };
    let content_id = find(&headers, "content-id").or_else(|| find(&outer, "content-id"));
    Ok(Part { method, url, content_id, headers, body })
}

fn find<'a>(headers: &[(&'a str, &'a str)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TYPE: &str = "multipart/mixed; boundary=batch_1";

    fn batch(changes: usize) -> String {
        let mut body = String::from("--batch_1\r\nContent-Type: multipart/mixed; boundary=\"change_2\"\r\n\r\n");
        for number in 0..changes {
            body.push_str("--change_2\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n");
            body.push_str(&format!("Content-ID: {number}\r\n\r\nPOST http://host/account/table HTTP/1.1\r\n"));
            body.push_str("content-type: application/json\r\nIf-Match: *\r\n\r\n{\"a\":\r\n1}\r\n");
        }
        body.push_str("--change_2--\r\n--batch_1--\r\n");
        body
    }

    #[test]
    fn a_change_set_has_its_requests() {
        let body = batch(3);
        for body in [body.clone(), body.replace("\r\n", "\n")] {
            let Batch::Changes(parts) = read(TYPE, body.as_bytes()).unwrap() else { panic!("no change set") };
            assert_eq!(parts.len(), 3);
            let part = &parts[2];
            assert_eq!((part.method, part.url, part.content_id), ("POST", "http://host/account/table", Some("2")));
            assert_eq!((part.header("Content-Type"), part.header("if-match")), (Some("application/json"), Some("*")));
            assert_eq!(String::from_utf8_lossy(part.body).replace('\r', ""), "{\"a\":\n1}");
        }
    }

    #[test]
    fn a_query_stands_alone() {
        let body = "--batch_1\r\nContent-Type: application/http\r\n\r\nGET /t(PartitionKey='',RowKey='') HTTP/1.1\r\n\
                    Accept: application/json\r\n\r\n\r\n--batch_1--";
        let Batch::Query(part) = read(TYPE, body.as_bytes()).unwrap() else { panic!("no query") };
        assert_eq!((part.method, part.body), ("GET", &b""[..]));
        assert_eq!(part.header("accept"), Some("application/json"));
    }

    #[test]
    fn limits_and_wrong_bodies() {
        assert!(matches!(read(TYPE, batch(100).as_bytes()), Ok(Batch::Changes(parts)) if parts.len() == 100));
        assert_eq!(read(TYPE, batch(101).as_bytes()), Err(MultipartError::TooMany));
        let two = batch(1).replace(
            "--batch_1--",
            "--batch_1\r\nContent-Type: application/http\r\n\r\nGET / HTTP/1.1\r\n\r\n\r\n--batch_1--",
        );
        assert_eq!(read(TYPE, two.as_bytes()), Err(MultipartError::NotOne));
        let table = [
            ("application/json", batch(1)),
            ("multipart/mixed", batch(1)),
            (TYPE, String::new()),
            (TYPE, "--batch_1".into()),
            (TYPE, "--batch_1--".into()),
            (TYPE, batch(1).replace("--batch_1--", "")),
            (TYPE, batch(1).replace("--change_2--", "")),
            (TYPE, batch(1).replace(" HTTP/1.1", "")),
            (TYPE, batch(1).replace("POST ", "")),
            (TYPE, batch(1).replace("If-Match: *", "If-Match")),
            (TYPE, batch(1).replace("If-Match: *", "Content-Length: 1000")),
            (TYPE, batch(1).replace("If-Match: *", &"a: b\r\n".repeat(100))),
        ];
        for (kind, body) in table {
            assert!(read(kind, body.as_bytes()).is_err(), "{kind} {body}");
        }
    }

    /// The address of a part could hold a carriage return or any other control character.
    #[test]
    fn a_request_line_has_no_control_characters() {
        for control in ["\r", "\t", "\0", "\u{7f}"] {
            let body = batch(1).replace("/account/", &format!("/acc{control}ount/"));
            let refused = Err(MultipartError::Part("it has no request line"));
            assert_eq!(read(TYPE, body.as_bytes()), refused, "{control:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _read = read(TYPE, &body);
        }

        #[test]
        fn any_batch_is_read_or_refused(body in "(--batch_1(--)?|\r?\n|Content-Type: (application/http|multipart/mixed;boundary=c)|--c(--)?|GET / HTTP/1.1|a:b){0,20}") {
            let _read = read(TYPE, body.as_bytes());
        }
    }
}
