//! The headers of a request or an answer: every line in the order and the letter case in which it was sent, found by
//! name without regard to case. Also the names that every service uses, and reading values with the documented errors.
//!
//! Invariant: no value holds a line break or a NUL, so nothing that is written as a header can become another one.

use std::fmt;

use bytes::{BufMut, BytesMut};
use http::HeaderName;

use crate::ServiceError;

macro_rules! names {
    ($($name:ident: $text:literal;)*) => {
        $(#[doc = concat!("`", $text, "`")] pub const $name: HeaderName = HeaderName::from_static($text);)*
    };
}

names! {
    X_MS_VERSION: "x-ms-version";
    X_MS_DATE: "x-ms-date";
    X_MS_REQUEST_ID: "x-ms-request-id";
    X_MS_CLIENT_REQUEST_ID: "x-ms-client-request-id";
    X_MS_ERROR_CODE: "x-ms-error-code";
    X_MS_RANGE: "x-ms-range";
    X_MS_CONTENT_CRC64: "x-ms-content-crc64";
    X_MS_CONTENT_MD5: "x-ms-content-md5";
    X_MS_STRUCTURED_BODY: "x-ms-structured-body";
    X_MS_STRUCTURED_CONTENT_LENGTH: "x-ms-structured-content-length";
    X_MS_LEASE_ACTION: "x-ms-lease-action";
    X_MS_LEASE_BREAK_PERIOD: "x-ms-lease-break-period";
    X_MS_LEASE_DURATION: "x-ms-lease-duration";
    X_MS_LEASE_ID: "x-ms-lease-id";
    X_MS_LEASE_STATE: "x-ms-lease-state";
    X_MS_LEASE_STATUS: "x-ms-lease-status";
    X_MS_LEASE_TIME: "x-ms-lease-time";
    X_MS_PROPOSED_LEASE_ID: "x-ms-proposed-lease-id";
    X_MS_RANGE_GET_CONTENT_CRC64: "x-ms-range-get-content-crc64";
    X_MS_RANGE_GET_CONTENT_MD5: "x-ms-range-get-content-md5";
    X_MS_REQUEST_SERVER_ENCRYPTED: "x-ms-request-server-encrypted";
    CONTENT_MD5: "content-md5";
}

/// Lines of a request or an answer.
///
/// One piece of text holds them all, names in lower case; a name that was sent otherwise is kept beside it. So a
/// request's headers are the head as it was read, and nothing is copied or allocated for a line.
#[derive(Clone, Default)]
pub struct Headers {
    text: BytesMut,
    as_sent: Vec<u8>,
    lines: Vec<Line>,
}

#[derive(Clone, Copy)]
pub(crate) struct Line {
    pub(crate) name: Span,
    value: Span,
    /// Where the name stands as it was sent, when that is another case.
    as_sent: Option<Span>,
}

impl Line {
    /// A line with name and value at these places.
    pub(crate) const fn at(name: Span, value: Span) -> Self {
        Self { name, value, as_sent: None }
    }
}

/// A place in a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Span {
    fn of(self, text: &[u8]) -> &[u8] {
        text.get(self.start..self.end).unwrap_or_default()
    }
}

/// The value of a header.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Value<'a>(&'a [u8]);

/// A value holds something else than visible ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the value holds something else than visible ASCII")]
pub struct NotText;

impl<'a> Value<'a> {
    /// The value as text.
    ///
    /// # Errors
    /// It holds something else than visible ASCII, spaces and tabs.
    pub fn to_str(self) -> Result<&'a str, NotText> {
        if self.0.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t')) {
            std::str::from_utf8(self.0).map_err(|_| NotText)
        } else {
            Err(NotText)
        }
    }

    /// As it was sent, also where that is no text.
    #[must_use]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self.0))
    }
}

impl Headers {
    /// No lines.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// No lines yet, and room for the usual number of them.
    pub(crate) fn with_room() -> Self {
        Self { text: BytesMut::with_capacity(768), as_sent: Vec::new(), lines: Vec::with_capacity(20) }
    }

    /// The lines that stand at these places in the head of a request.
    pub(crate) fn of_head(mut text: BytesMut, mut lines: Vec<Line>) -> Self {
        let mut as_sent = Vec::new();
        for line in &mut lines {
            let letters = text.get_mut(line.name.start..line.name.end).unwrap_or_default();
            line.as_sent = keep(letters, &mut as_sent);
            letters.make_ascii_lowercase();
        }
        Self { text, as_sent, lines }
    }

    /// Adds a line behind the others. False, and nothing added, when name or value is none that a header can have.
    pub fn append(&mut self, name: impl AsRef<str>, value: impl AsRef<[u8]>) -> bool {
        let (name, value) = (name.as_ref().as_bytes(), value.as_ref());
        if !is_name(name) || !is_value(value) {
            return false;
        }
        let as_sent = keep(name, &mut self.as_sent);
        let start = self.text.len();
        let end = start + name.len();
        self.text.reserve(name.len() + value.len());
        for letter in name {
            self.text.put_u8(letter.to_ascii_lowercase());
        }
        self.text.put_slice(value);
        let value = Span { start: end, end: end + value.len() };
        self.lines.push(Line { name: Span { start, end }, value, as_sent });
        true
    }

    /// Puts a line in the place of all with its name. Nothing changes when no header can be like that.
    pub fn insert(&mut self, name: impl AsRef<str>, value: impl AsRef<[u8]>) -> bool {
        let before = self.lines.len();
        if !self.append(name.as_ref(), value) {
            return false;
        }
        let text = &self.text;
        let mut position = 0;
        self.lines.retain(|line| {
            position += 1;
            position > before || !line.name.of(text).eq_ignore_ascii_case(name.as_ref().as_bytes())
        });
        true
    }

    /// Takes all lines of this name away.
    pub fn remove(&mut self, name: impl AsRef<str>) {
        let text = &self.text;
        self.lines.retain(|line| !line.name.of(text).eq_ignore_ascii_case(name.as_ref().as_bytes()));
    }

    /// The value of a header; of a repeated one, the first.
    #[must_use]
    pub fn get(&self, name: impl AsRef<str>) -> Option<Value<'_>> {
        self.find(name.as_ref()).map(|line| Value(line.value.of(&self.text)))
    }

    /// Every value of a header, in order.
    pub fn get_all<'a, 'n>(&'a self, name: &'n str) -> impl Iterator<Item = Value<'a>> + use<'a, 'n> {
        let of_name = move |line: &&Line| line.name.of(&self.text).eq_ignore_ascii_case(name.as_bytes());
        self.lines.iter().filter(of_name).map(|line| Value(line.value.of(&self.text)))
    }

    /// True when a header was sent.
    #[must_use]
    pub fn contains_key(&self, name: impl AsRef<str>) -> bool {
        self.find(name.as_ref()).is_some()
    }

    fn find(&self, name: &str) -> Option<&Line> {
        self.lines.iter().find(|line| line.name.of(&self.text).eq_ignore_ascii_case(name.as_bytes()))
    }

    /// Names in lower case and values, in the order they were sent.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        Iter { headers: self, lines: self.lines.iter(), as_sent: false }
    }

    /// The same with names as they were sent: for what keeps their case, such as metadata.
    #[must_use]
    pub fn iter_as_sent(&self) -> Iter<'_> {
        Iter { headers: self, lines: self.lines.iter(), as_sent: true }
    }

    /// Names as they were sent and values, as they are written.
    pub(crate) fn wire(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.lines.iter().map(|line| {
            let name = line.as_sent.map_or_else(|| line.name.of(&self.text), |span| span.of(&self.as_sent));
            (name, line.value.of(&self.text))
        })
    }

    /// The number of lines.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.lines.len()
    }

    /// True without lines.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

/// Keeps a name that is not in lower case.
fn keep(name: &[u8], as_sent: &mut Vec<u8>) -> Option<Span> {
    if !name.iter().any(u8::is_ascii_uppercase) {
        return None;
    }
    let start = as_sent.len();
    as_sent.extend_from_slice(name);
    Some(Span { start, end: as_sent.len() })
}

/// RFC 9110: a token.
fn is_name(name: &[u8]) -> bool {
    let token = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-' || b"!#$%&'*+.^_`|~".contains(byte);
    !name.is_empty() && name.iter().all(token)
}

/// RFC 9110: no control characters but the tab.
fn is_value(value: &[u8]) -> bool {
    value.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | 0x80..))
}

/// The lines of [`Headers`].
pub struct Iter<'a> {
    headers: &'a Headers,
    lines: std::slice::Iter<'a, Line>,
    as_sent: bool,
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a str, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.lines.next()?;
        let name = match line.as_sent.filter(|_| self.as_sent) {
            Some(span) => span.of(&self.headers.as_sent),
            None => line.name.of(&self.headers.text),
        };
        Some((std::str::from_utf8(name).unwrap_or_default(), Value(line.value.of(&self.headers.text))))
    }
}

impl<'a> IntoIterator for &'a Headers {
    type Item = (&'a str, Value<'a>);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Lines that no header can be are left out.
impl<N: AsRef<str>, V: AsRef<[u8]>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(lines: I) -> Self {
        let mut headers = Self::default();
        for (name, value) in lines {
            headers.append(name, value);
        }
        headers
    }
}

/// Shows names only: values may be secret.
impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|(name, _)| name)).finish()
    }
}

/// The headers that are conditions on an ETag: a condition that is dropped is a lost update, so an empty one is there.
const NEVER_ABSENT: [&str; 4] = ["if-match", "if-none-match", "x-ms-source-if-match", "x-ms-source-if-none-match"];

/// The value of a header as text. Of a repeated header, the first. One without a value counts as absent: some clients
/// send every header that an operation could have. Those that are conditions on an ETag are never absent when sent.
///
/// # Errors
/// It holds something else than visible ASCII.
pub fn text<'a>(headers: &'a Headers, name: &HeaderName) -> Result<Option<&'a str>, ServiceError> {
    match headers.get(name) {
        None => Ok(None),
        Some(value) if value.as_bytes().trim_ascii().is_empty() && !NEVER_ABSENT.contains(&name.as_str()) => Ok(None),
        Some(value) => value
            .to_str()
            .map(Some)
            .map_err(|_| ServiceError::invalid_header(name.as_str(), &String::from_utf8_lossy(value.as_bytes()))),
    }
}

/// The value of a header that must be there.
///
/// # Errors
/// It is missing, or holds something else than visible ASCII.
pub fn required<'a>(headers: &'a Headers, name: &HeaderName) -> Result<&'a str, ServiceError> {
    text(headers, name)?.ok_or_else(|| ServiceError::missing_header(name.as_str()))
}

/// The value of a header that is `true` or `false`.
///
/// # Errors
/// It is neither.
pub fn boolean(headers: &Headers, name: &HeaderName) -> Result<Option<bool>, ServiceError> {
    match text(headers, name)? {
        None => Ok(None),
        Some(text) if text.eq_ignore_ascii_case("true") => Ok(Some(true)),
        Some(text) if text.eq_ignore_ascii_case("false") => Ok(Some(false)),
        Some(text) => Err(ServiceError::invalid_header(name.as_str(), text)),
    }
}

/// The value of a header as a whole number; empty counts as absent.
///
/// # Errors
/// It is no whole number below 2^64.
pub fn number(headers: &Headers, name: &HeaderName) -> Result<Option<u64>, ServiceError> {
    let Some(text) = text(headers, name)? else { return Ok(None) };
    match digits(text.as_bytes()) {
        Some(number) => Ok(Some(number)),
        None => Err(ServiceError::invalid_header(name.as_str(), text)),
    }
}

/// Digits and nothing else, below 2^64.
pub(crate) fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_and_case_and_finds_without_case() {
        let mut headers: Headers =
            [("Content-Length", "5"), ("x-ms-meta-MyName", "a"), ("x-ms-meta-myname", "b"), ("accept", "*/*")]
                .into_iter()
                .collect();
        assert_eq!(headers.get("CONTENT-length").unwrap().as_bytes(), b"5");
        assert_eq!(headers.get_all("x-ms-meta-MYNAME").count(), 2);
        let lower: Vec<_> = headers.iter().map(|(name, _)| name.to_owned()).collect();
        assert_eq!(lower, ["content-length", "x-ms-meta-myname", "x-ms-meta-myname", "accept"]);
        let sent: Vec<_> = headers.iter_as_sent().map(|(name, _)| name.to_owned()).collect();
        assert_eq!(sent, ["Content-Length", "x-ms-meta-MyName", "x-ms-meta-myname", "accept"]);
        assert!(headers.insert("Accept", "text/plain") && headers.insert("X-Ms-Meta-MyName", "c"));
        let all: Vec<_> = headers.iter_as_sent().map(|(name, value)| (name, value.to_str().unwrap())).collect();
        assert_eq!(all, [("Content-Length", "5"), ("Accept", "text/plain"), ("X-Ms-Meta-MyName", "c")]);
        headers.remove("accept");
        assert_eq!((headers.len(), headers.contains_key("Accept")), (2, false));
    }

    #[test]
    fn nothing_can_become_a_second_line() {
        let table = [
            ("a", "b", true),
            ("a", "b\tc ä", true),
            ("a", "b\r\nc: d", false),
            ("a", "b\nc", false),
            ("a", "\0", false),
            ("a", "\x7f", false),
            ("a b", "c", false),
            ("a:", "c", false),
            ("", "c", false),
            ("ä", "c", false),
        ];
        for (name, value, possible) in table {
            let mut headers = Headers::new();
            assert_eq!(headers.insert(name, value), possible, "{name:?} {value:?}");
            assert_eq!(headers.len(), usize::from(possible));
        }
    }

    #[test]
    fn values_are_not_shown() {
        let headers: Headers = [("authorization", "SharedKey a:secret")].into_iter().collect();
        assert_eq!(format!("{headers:?}"), "[\"authorization\"]");
    }

    #[test]
    fn empty_counts_as_absent() {
        let sent: Headers = [("x-ms-range", ""), ("x-ms-date", " "), ("x-ms-version", "a")].into_iter().collect();
        for (name, expected) in [(X_MS_RANGE, None), (X_MS_DATE, None), (X_MS_VERSION, Some("a")), (CONTENT_MD5, None)]
        {
            assert_eq!(text(&sent, &name).unwrap(), expected, "{name}");
        }
        assert_eq!(number(&sent, &X_MS_RANGE).unwrap(), None);
    }

    #[test]
    fn numbers_are_digits() {
        let table = [("5", Some(5)), ("", None), ("+5", None), (" 5", None), ("18446744073709551616", None)];
        for (sent, expected) in table {
            assert_eq!(digits(sent.as_bytes()), expected, "{sent}");
        }
    }

    #[test]
    fn a_header_without_a_value_counts_as_absent_unless_it_is_a_condition_on_an_etag() {
        for (name, absent) in [
            ("x-ms-proposed-lease-id", true),
            ("x-ms-version", true),
            ("if-modified-since", true),
            ("If-Match", false),
            ("if-none-match", false),
            ("x-ms-source-if-match", false),
        ] {
            let headers: Headers = [(name, "")].into_iter().collect();
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            assert_eq!(text(&headers, &name).unwrap().is_none(), absent, "{name}");
        }
    }
}
