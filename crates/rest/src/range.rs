//! Byte ranges: `Range` and `x-ms-range`, of which the latter wins.

use std::ops;

use http::{HeaderName, HeaderValue, header};
use types::ErrorCode;

use crate::{Headers, ServiceError, headers};

/// A range as asked for: from `start` to `end`, both included, or to the end of the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// The first byte.
    pub start: u64,
    /// The last byte; `None` for all that follow.
    pub end: Option<u64>,
}

impl ByteRange {
    /// The range that a request asks for, with the header that says so.
    ///
    /// # Errors
    /// The header is not `bytes=a-b` or `bytes=a-`. Other units than bytes in `Range` are ignored, as HTTP says, and so
    /// is a negative end, by which some clients ask for all of what may be empty; an empty header is none.
    pub fn from_headers(headers: &Headers) -> Result<Option<Self>, ServiceError> {
        let read = |name: &HeaderName| -> Result<Option<Self>, ServiceError> {
            let Some(text) = headers::text(headers, name)? else { return Ok(None) };
            if (*name == header::RANGE && !text.starts_with("bytes")) || has_negative_end(text) {
                return Ok(None);
            }
            Self::parse(text).map(Some).ok_or_else(|| ServiceError::invalid_header(name.as_str(), text))
        };
        let ours = headers::text(headers, &headers::X_MS_RANGE)?.is_some();
        if ours { read(&headers::X_MS_RANGE) } else { read(&header::RANGE) }
    }

    /// Reads `bytes=a-b` or `bytes=a-`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (start, end) = text.strip_prefix("bytes=")?.split_once('-')?;
        let start = number(start)?;
        let end = if end.is_empty() { None } else { Some(number(end)?) };
        end.is_none_or(|end| end >= start).then_some(Self { start, end })
    }

    /// The bytes of a content of this length that the range covers.
    ///
    /// # Errors
    /// It begins behind the end: 416.
    pub fn within(self, length: u64) -> Result<ops::Range<u64>, ServiceError> {
        if self.start >= length {
            let error = ServiceError::new(
                ErrorCode::InvalidRange,
                "The range specified is invalid for the current size of the resource.",
            );
            let whole = HeaderValue::from_str(&format!("bytes */{length}")).ok();
            return Err(match whole {
                Some(whole) => error.with_header(header::CONTENT_RANGE, whole),
                None => error,
            });
        }
        let end = self.end.map_or(length, |end| end.saturating_add(1).min(length));
        Ok(self.start..end)
    }

    /// The bytes that it names, when it has an end.
    #[must_use]
    pub const fn length(self) -> Option<u64> {
        match self.end {
            Some(end) => Some((end - self.start).saturating_add(1)),
            None => None,
        }
    }
}

/// `bytes a-b/length`, for the answer. The range is not empty.
#[must_use]
pub fn content_range(range: &ops::Range<u64>, length: u64) -> String {
    format!("bytes {}-{}/{length}", range.start, range.end.saturating_sub(1))
}

/// `bytes=0--1`
fn has_negative_end(text: &str) -> bool {
    let ends = text.strip_prefix("bytes=").and_then(|range| range.split_once("--"));
    ends.is_some_and(|(start, end)| number(start).is_some() && number(end).is_some())
}

fn number(text: &str) -> Option<u64> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_two_forms() {
        let table = [
            ("bytes=0-0", Some((0, Some(0)))),
            ("bytes=5-", Some((5, None))),
            ("bytes=5-9", Some((5, Some(9)))),
            ("bytes=0-18446744073709551615", Some((0, Some(u64::MAX)))),
            ("bytes=9-5", None),
            ("bytes=-5", None),
            ("bytes=-", None),
            ("bytes=0-1,3-4", None),
            ("bytes= 0-1", None),
            ("bytes=+1-2", None),
            ("bytes=0-18446744073709551616", None),
            ("0-1", None),
        ];
        for (text, expected) in table {
            let expected = expected.map(|(start, end)| ByteRange { start, end });
            assert_eq!(ByteRange::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn the_service_header_wins() {
        let mut headers = Headers::new();
        assert_eq!(ByteRange::from_headers(&headers).unwrap(), None);
        headers.insert(header::RANGE, "lines=1-2");
        assert_eq!(ByteRange::from_headers(&headers).unwrap(), None);
        headers.insert(header::RANGE, "bytes=1-2");
        assert_eq!(ByteRange::from_headers(&headers).unwrap(), ByteRange::parse("bytes=1-2"));
        headers.insert(headers::X_MS_RANGE, "bytes=3-");
        assert_eq!(ByteRange::from_headers(&headers).unwrap(), ByteRange::parse("bytes=3-"));
        for (ours, expected) in [("", "bytes=1-2"), ("bytes=3-", "bytes=3-")] {
            headers.insert(headers::X_MS_RANGE, ours);
            assert_eq!(ByteRange::from_headers(&headers).unwrap(), ByteRange::parse(expected), "{ours}");
        }
        headers.insert(headers::X_MS_RANGE, "bytes=0--1");
        assert_eq!(ByteRange::from_headers(&headers).unwrap(), None, "a negative end is ignored");
        headers.insert(headers::X_MS_RANGE, "bytes=x");
        assert_eq!(ByteRange::from_headers(&headers).unwrap_err().code, ErrorCode::InvalidHeaderValue);
    }

    #[test]
    fn is_cut_to_the_content() {
        let table = [
            ("bytes=0-", 10, Some(0..10)),
            ("bytes=2-3", 10, Some(2..4)),
            ("bytes=2-99", 10, Some(2..10)),
            ("bytes=9-18446744073709551615", 10, Some(9..10)),
            ("bytes=10-", 10, None),
            ("bytes=0-", 0, None),
        ];
        for (text, length, expected) in table {
            assert_eq!(ByteRange::parse(text).unwrap().within(length).ok(), expected, "{text} of {length}");
        }
        assert_eq!(content_range(&(2..4), 10), "bytes 2-3/10");
    }
}
