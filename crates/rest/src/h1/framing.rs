//! Where the body of a request ends, and whether the connection lives on: decided once, from the headers.
//!
//! Every doubt is a refusal, because a second reading of the same bytes is how requests are smuggled.

use http::{Method, StatusCode};
use types::ErrorCode;

use crate::{Headers, ServiceError, headers};

/// How long the body of a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// So many bytes; none when nothing was said.
    Exactly(u64),
    /// It says so as it comes.
    Chunked,
}

/// What the headers say of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// The length of the body.
    pub length: Length,
    /// True when a length was said; a request without one has no body.
    pub declared: bool,
    /// The client waits for `100 Continue` before it sends the body.
    pub waits: bool,
    /// The client keeps the connection for another request.
    pub keep_alive: bool,
}

/// Reads the headers that frame a message.
///
/// # Errors
/// They contradict each other or themselves, or ask for what there is not.
pub fn of(method: &Method, modern: bool, headers: &Headers) -> Result<Framing, ServiceError> {
    let declared = content_length(headers)?;
    let chunked = chunked(headers, modern)?;
    if declared.is_some() && chunked {
        return Err(refused("Both Content-Length and Transfer-Encoding are specified.", "transfer-encoding", headers));
    }
    if modern {
        let mut hosts = headers.get_all("host");
        if hosts.next().is_none() {
            return Err(ServiceError::missing_header("host"));
        }
        if hosts.next().is_some() {
            return Err(refused("The Host header is specified more than once.", "host", headers));
        }
    }
    if *method == Method::CONNECT {
        return Err(ServiceError::new(
            ErrorCode::UnsupportedHttpVerb,
            "The resource doesn't support the specified HTTP verb.",
        ));
    }
    let length = if chunked { Length::Chunked } else { Length::Exactly(declared.unwrap_or_default()) };
    Ok(Framing {
        length,
        declared: chunked || declared.is_some(),
        waits: waits(headers)? && modern && length != Length::Exactly(0),
        keep_alive: keep_alive(headers, modern),
    })
}

fn content_length(headers: &Headers) -> Result<Option<u64>, ServiceError> {
    let mut found = None;
    for value in headers.get_all("content-length") {
        let number = headers::digits(value.as_bytes());
        let Some(number) = number.filter(|number| found.is_none_or(|found| found == *number)) else {
            return Err(refused("The Content-Length header is not valid.", "content-length", headers));
        };
        found = Some(number);
    }
    Ok(found)
}

fn chunked(headers: &Headers, modern: bool) -> Result<bool, ServiceError> {
    let mut values = headers.get_all("transfer-encoding");
    let Some(value) = values.next() else { return Ok(false) };
    if !modern {
        return Err(refused("HTTP/1.0 has no Transfer-Encoding.", "transfer-encoding", headers));
    }
    if values.next().is_none() && value.as_bytes().eq_ignore_ascii_case(b"chunked") {
        return Ok(true);
    }
    let refused = refused("The only Transfer-Encoding is chunked.", "transfer-encoding", headers);
    Err(refused.with_status(StatusCode::NOT_IMPLEMENTED))
}

fn waits(headers: &Headers) -> Result<bool, ServiceError> {
    match headers.get("expect") {
        None => Ok(false),
        Some(value) if value.as_bytes().eq_ignore_ascii_case(b"100-continue") => Ok(true),
        Some(_) => {
            let refused = refused("The only expectation is 100-continue.", "expect", headers);
            Err(refused.with_status(StatusCode::EXPECTATION_FAILED))
        }
    }
}

fn keep_alive(headers: &Headers, modern: bool) -> bool {
    let says = |word: &str| {
        let mut words = headers.get_all("connection").flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
        words.any(|found| found.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
    };
    !says("close") && (modern || says("keep-alive"))
}

fn refused(message: &str, name: &'static str, headers: &Headers) -> ServiceError {
    let values: Vec<_> =
        headers.get_all(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect();
    ServiceError::new(ErrorCode::InvalidHeaderValue, message)
        .with_detail("HeaderName", name)
        .with_detail("HeaderValue", values.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_said_once_or_refused() {
        use Length::{Chunked, Exactly};
        type Row = (&'static [(&'static str, &'static str)], Result<Length, u16>);
        let table: [Row; 20] = [
            (&[], Ok(Exactly(0))),
            (&[("content-length", "5")], Ok(Exactly(5))),
            (&[("content-length", "5"), ("Content-Length", "5")], Ok(Exactly(5))),
            (&[("content-length", "5"), ("content-length", "6")], Err(400)),
            (&[("content-length", "5, 5")], Err(400)),
            (&[("content-length", "+5")], Err(400)),
            (&[("content-length", "-1")], Err(400)),
            (&[("content-length", "0x5")], Err(400)),
            (&[("content-length", "")], Err(400)),
            (&[("content-length", "18446744073709551616")], Err(400)),
            (&[("transfer-encoding", "chunked")], Ok(Chunked)),
            (&[("Transfer-Encoding", "Chunked")], Ok(Chunked)),
            (&[("transfer-encoding", "chunked"), ("content-length", "5")], Err(400)),
            (&[("transfer-encoding", "chunked"), ("content-length", "x")], Err(400)),
            (&[("transfer-encoding", "identity"), ("content-length", "5")], Err(501)),
            (&[("transfer-encoding", "gzip, chunked")], Err(501)),
            (&[("transfer-encoding", "chunked"), ("transfer-encoding", "chunked")], Err(501)),
            (&[("transfer-encoding", "xchunked")], Err(501)),
            (&[("transfer-encoding", "")], Err(501)),
            (&[("host", "again")], Err(400)),
        ];
        for (lines, expected) in table {
            let headers: Headers = [("host", "h")].into_iter().chain(lines.iter().copied()).collect();
            let found = of(&Method::PUT, true, &headers).map(|framing| framing.length);
            assert_eq!(found.map_err(|error| error.status.as_u16()), expected, "{lines:?}");
        }
        assert!(of(&Method::GET, true, &Headers::new()).is_err(), "HTTP/1.1 without a host");
        assert!(of(&Method::GET, false, &Headers::new()).is_ok());
        let old: Headers = [("transfer-encoding", "chunked")].into_iter().collect();
        assert!(of(&Method::PUT, false, &old).is_err(), "HTTP/1.0 knows no chunks");
        let host: Headers = [("host", "h")].into_iter().collect();
        assert_eq!(of(&Method::CONNECT, true, &host).unwrap_err().status.as_u16(), 405);
    }

    #[test]
    fn connections_are_kept_as_both_sides_say() {
        let table = [
            (true, None, true),
            (true, Some("close"), false),
            (true, Some("Keep-Alive, Close"), false),
            (true, Some("upgrade"), true),
            (false, None, false),
            (false, Some("keep-alive"), true),
            (false, Some("close, keep-alive"), false),
        ];
        for (modern, connection, expected) in table {
            let connection = connection.map(|value| ("connection", value));
            let headers: Headers = [("host", "h")].into_iter().chain(connection).collect();
            assert_eq!(of(&Method::GET, modern, &headers).unwrap().keep_alive, expected, "{modern} {connection:?}");
        }
    }

    #[test]
    fn only_a_body_is_waited_for() {
        let table = [
            (true, "100-continue", "5", Some(true)),
            (true, "100-Continue", "5", Some(true)),
            (true, "100-continue", "0", Some(false)),
            (false, "100-continue", "5", Some(false)),
            (true, "200-maybe", "5", None),
        ];
        for (modern, expect, length, expected) in table {
            let headers: Headers =
                [("host", "h"), ("expect", expect), ("content-length", length)].into_iter().collect();
            assert_eq!(of(&Method::PUT, modern, &headers).ok().map(|framing| framing.waits), expected, "{expect}");
        }
    }
}
