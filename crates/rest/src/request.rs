//! One parsed request, before anybody knows who sent it or what it means.

use std::{fmt, net::SocketAddr, sync::Arc, time::Duration};

use http::{HeaderName, Method};
use types::{ServiceVersion, Timestamp, limits::CLIENT_REQUEST_ID_MAX};

use crate::{Body, Headers, ServiceError, Target, headers, slot::Slot, version};

/// The id of a request, written as a GUID. Fresh for each request; the host draws it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId(u128);

impl RequestId {
    /// The id with these bits.
    #[must_use]
    pub const fn new(bits: u128) -> Self {
        Self(bits)
    }

    /// `01234567-89ab-cdef-0123-456789abcdef`.
    #[must_use]
    pub fn text(self) -> [u8; 36] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [b'-'; 36];
        let mut bits = self.0;
        // From the last digit to the first, around the dashes.
        for (place, letter) in text.iter_mut().enumerate().rev() {
            if !matches!(place, 8 | 13 | 18 | 23) {
                let digit = usize::try_from(bits & 0xf).unwrap_or_default();
                *letter = DIGITS.get(digit).copied().unwrap_or_default();
                bits >>= 4;
            }
        }
        text
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.text()).unwrap_or_default())
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestId({self})")
    }
}

/// One request.
#[derive(Debug)]
pub struct Request {
    /// The verb.
    pub method: Method,
    /// What it is about.
    pub target: Target,
    /// `x-ms-version`, well-formed; `None` when it was not sent. What a request means without one is the service's rule.
    pub version: Option<ServiceVersion>,
    /// What the service's properties say for a request without a version; looked up only for those.
    pub default_version: Option<ServiceVersion>,
    /// All headers as sent.
    pub headers: Headers,
    /// The other end of the connection.
    pub peer: SocketAddr,
    /// The id that the answer and the log carry.
    pub request_id: RequestId,
    /// When its head had arrived, by the wall clock: credentials are measured by it.
    pub received_at: Timestamp,
    /// The body, streamed.
    pub body: Body,
    /// True on a connection with TLS.
    pub secure: bool,
    /// Its place among the requests in work.
    pub(crate) slot: Arc<Slot>,
}

impl Request {
    /// The value of a header as text.
    ///
    /// # Errors
    /// It holds something else than visible ASCII.
    pub fn header(&self, name: &HeaderName) -> Result<Option<&str>, ServiceError> {
        headers::text(&self.headers, name)
    }

    /// The `timeout` that was asked for, at most the longest there is.
    ///
    /// # Errors
    /// It is no whole number of seconds from 1 on.
    pub(crate) fn timeout(&self, longest: Duration) -> Result<Option<Duration>, ServiceError> {
        let Some(text) = self.target.query.get("timeout") else { return Ok(None) };
        let all_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse::<u64>() {
            Ok(0) => Err(ServiceError::invalid_query("timeout", text, "it is not at least one second")),
            Ok(seconds) if all_digits => Ok(Some(Duration::from_secs(seconds).min(longest))),
            Err(_) if all_digits => Ok(Some(longest)),
            _ => Err(ServiceError::invalid_query("timeout", text, "it is not a whole number of seconds")),
        }
    }
}

/// The version that was asked for. `now` is wall time: what is far in the future is no version.
pub(crate) fn version(headers: &Headers, now: Timestamp) -> Result<Option<ServiceVersion>, ServiceError> {
    let Some(text) = headers::text(headers, &headers::X_MS_VERSION)? else { return Ok(None) };
    match ServiceVersion::parse(text) {
        Some(version) if version::is_far_ahead(version, now) => {
            Err(ServiceError::invalid_header(headers::X_MS_VERSION.as_str(), text).of_no_version())
        }
        Some(version) if version >= ServiceVersion::OLDEST => Ok(Some(version)),
        _ => Err(ServiceError::invalid_header(headers::X_MS_VERSION.as_str(), text)),
    }
}

/// The client's own id, when it is one that is echoed.
pub(crate) fn client_request_id(headers: &Headers) -> Option<&[u8]> {
    let value = headers.get(headers::X_MS_CLIENT_REQUEST_ID)?.as_bytes();
    let visible = value.iter().all(|byte| (b' '..=b'~').contains(byte));
    (value.len() <= CLIENT_REQUEST_ID_MAX && visible).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_written_as_a_guid() {
        let id = RequestId::new(0x0123_4567_89ab_cdef_0011_2233_4455_6677);
        assert_eq!(id.to_string(), "01234567-89ab-cdef-0011-223344556677");
    }

    #[test]
    fn versions_are_dates_from_the_oldest_on() {
        let table = [
            (None, Some(None)),
            (Some("2021-12-02"), Some(Some(ServiceVersion::new(2021, 12, 2)))),
            (Some("2080-01-01"), Some(Some(ServiceVersion::new(2080, 1, 1)))),
            (Some("2080-01-02"), None),
            (Some("2099-11-05"), None),
            (Some("2009-09-18"), None),
            (Some("newest"), None),
            (Some(""), Some(None)),
        ];
        let now = Timestamp::from_seconds(39_812 * 86_400);
        assert_eq!(ServiceVersion::of(now), ServiceVersion::new(2079, 1, 1));
        for (sent, expected) in table {
            let headers: Headers = sent.map(|sent| (headers::X_MS_VERSION, sent)).into_iter().collect();
            assert_eq!(version(&headers, now).ok(), expected, "{sent:?}");
        }
    }

    #[test]
    fn only_short_visible_client_ids_are_echoed() {
        let long = "x".repeat(CLIENT_REQUEST_ID_MAX + 1);
        for (sent, echoed) in [("abc-1", true), (&long[1..], true), (&long, false), ("t\tab", false), ("ä", false)] {
            let headers: Headers = [(headers::X_MS_CLIENT_REQUEST_ID, sent)].into_iter().collect();
            assert_eq!(client_request_id(&headers).is_some(), echoed, "{sent}");
        }
    }
}
