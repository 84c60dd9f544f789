//! One parsed request, before anybody knows who sent it or what it means.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use http::{HeaderName, Method};
use net::Slot;
use types::{ServiceVersion, Timestamp, limits::CLIENT_REQUEST_ID_MAX};

use crate::{Body, Headers, RequestId, ServiceError, Target, headers, version};

/// One request.
#[derive(Debug)]
pub struct Request {
    /// The HTTP verb, as sent.
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
