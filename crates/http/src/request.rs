//! One parsed request, before anybody knows who sent it or what it means.

use std::{fmt, net::SocketAddr};

use http::{HeaderMap, HeaderName, Method};
use types::{ServiceVersion, Timestamp, limits::CLIENT_REQUEST_ID_MAX};

use crate::{Body, ServiceError, Target, headers};

/// The id of a request, written as a GUID. Fresh for each request; the host draws it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId(u128);

impl RequestId {
    /// The id with these bits.
    #[must_use]
    pub const fn new(bits: u128) -> Self {
        Self(bits)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.0;
        let part = |shift: u32, digits: u32| (bits >> shift) & ((1 << (4 * digits)) - 1);
        write!(
            f,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            part(96, 8),
            part(80, 4),
            part(64, 4),
            part(48, 4),
            part(0, 12)
        )
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
    /// All headers as sent.
    pub headers: HeaderMap,
    /// The other end of the connection.
    pub peer: SocketAddr,
    /// The id that the answer and the log carry.
    pub request_id: RequestId,
    /// When its head had arrived.
    pub received_at: Timestamp,
    /// The body, streamed.
    pub body: Body,
    /// True on a connection with TLS.
    pub secure: bool,
}

impl Request {
    /// The value of a header as text.
    ///
    /// # Errors
    /// It holds something else than visible ASCII.
    pub fn header(&self, name: &HeaderName) -> Result<Option<&str>, ServiceError> {
        headers::text(&self.headers, name)
    }
}

/// The version that was asked for.
pub(crate) fn version(headers: &HeaderMap) -> Result<Option<ServiceVersion>, ServiceError> {
    let Some(text) = headers::text(headers, &headers::X_MS_VERSION)? else { return Ok(None) };
    match ServiceVersion::parse(text) {
        Some(version) if version >= ServiceVersion::OLDEST => Ok(Some(version)),
        _ => Err(ServiceError::invalid_header(headers::X_MS_VERSION.as_str(), text)),
    }
}

/// The client's own id, when it is one that is echoed.
pub(crate) fn client_request_id(headers: &HeaderMap) -> Option<&http::HeaderValue> {
    let value = headers.get(headers::X_MS_CLIENT_REQUEST_ID)?;
    let visible = value.as_bytes().iter().all(|byte| (b' '..=b'~').contains(byte));
    (value.len() <= CLIENT_REQUEST_ID_MAX && visible).then_some(value)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

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
            (Some("2099-01-01"), Some(Some(ServiceVersion::new(2099, 1, 1)))),
            (Some("2009-09-18"), None),
            (Some("newest"), None),
            (Some(""), None),
        ];
        for (sent, expected) in table {
            let mut headers = HeaderMap::new();
            if let Some(sent) = sent {
                headers.insert(headers::X_MS_VERSION, HeaderValue::from_static(sent));
            }
            assert_eq!(version(&headers).ok(), expected, "{sent:?}");
        }
    }

    #[test]
    fn only_short_visible_client_ids_are_echoed() {
        let long = "x".repeat(CLIENT_REQUEST_ID_MAX + 1);
        for (sent, echoed) in [("abc-1", true), (&long[1..], true), (&long, false), ("t\tab", false), ("ä", false)] {
            let mut headers = HeaderMap::new();
            headers.insert(headers::X_MS_CLIENT_REQUEST_ID, HeaderValue::from_bytes(sent.as_bytes()).unwrap());
            assert_eq!(client_request_id(&headers).is_some(), echoed, "{sent}");
        }
    }
}
