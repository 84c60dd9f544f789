//! What requests are decided by, out of their headers: conditions and lease ids. Which of them an operation takes, its
//! service says.

use concurrency::{
    conditions::{Conditions, ETagCondition},
    lease::LeaseId,
};
use http::{HeaderName, header};
use types::{ErrorCode, Timestamp};

use crate::{Headers, ServiceError, dates, headers};

/// The lease id that a request shows.
///
/// # Errors
/// It is no GUID.
pub fn lease_id(sent: &Headers) -> Result<Option<LeaseId>, ServiceError> {
    guid(sent, &headers::X_MS_LEASE_ID)
}

/// A GUID in a header.
///
/// # Errors
/// It is none.
pub fn guid(sent: &Headers, name: &HeaderName) -> Result<Option<LeaseId>, ServiceError> {
    let Some(text) = headers::text(sent, name)? else { return Ok(None) };
    LeaseId::parse(text).map(Some).map_err(|_| ServiceError::invalid_header(name.as_str(), text))
}

/// The four conditions of HTTP.
///
/// # Errors
/// One is malformed, or there twice.
pub fn conditions(sent: &Headers, now: Timestamp) -> Result<Conditions<'_>, ServiceError> {
    let names = [header::IF_MATCH, header::IF_NONE_MATCH, header::IF_MODIFIED_SINCE, header::IF_UNMODIFIED_SINCE];
    conditions_named(sent, now, &names)
}

/// The same under other names: If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since.
///
/// # Errors
/// As [`conditions`].
pub fn conditions_named<'a>(
    sent: &'a Headers,
    now: Timestamp,
    [matching, none_matching, modified_since, unmodified_since]: &[HeaderName; 4],
) -> Result<Conditions<'a>, ServiceError> {
    Ok(Conditions {
        if_match: etags(sent, matching)?,
        if_none_match: etags(sent, none_matching)?,
        if_modified_since: date(sent, modified_since, now)?,
        if_unmodified_since: date(sent, unmodified_since, now)?,
    })
}

/// A date in a header, which is a condition.
///
/// # Errors
/// It is none, or there twice.
pub fn date(sent: &Headers, name: &HeaderName, now: Timestamp) -> Result<Option<Timestamp>, ServiceError> {
    let Some(text) = single(sent, name)?.filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    let date = dates::parse_http(text, now).ok_or_else(|| ServiceError::invalid_header(name.as_str(), text))?;
    Ok(Some(date))
}

fn etags<'a>(sent: &'a Headers, name: &HeaderName) -> Result<Option<ETagCondition<'a>>, ServiceError> {
    let Some(text) = single(sent, name)? else { return Ok(None) };
    ETagCondition::parse(text).map(Some).map_err(|_| ServiceError::invalid_header(name.as_str(), text))
}

/// A condition that was sent twice must not be half of what the client meant.
fn single<'a>(sent: &'a Headers, name: &HeaderName) -> Result<Option<&'a str>, ServiceError> {
    if sent.get_all(name.as_str()).nth(1).is_some() {
        let message = "Multiple condition headers are not supported.";
        return Err(ServiceError::new(ErrorCode::MultipleConditionHeadersNotSupported, message)
            .with_detail("HeaderName", name.as_str()));
    }
    headers::text(sent, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Lines<'a> = &'a [(&'a str, &'a str)];

    #[test]
    fn headers_that_are_no_conditions_are_refused() {
        let now = Timestamp::from_seconds(1_000_000_000);
        let date = "Sun, 09 Sep 2001 01:46:40 GMT";
        let table: [(Lines<'_>, Result<(), ErrorCode>); 8] = [
            (&[], Ok(())),
            (&[("if-match", "\"0x1\""), ("if-unmodified-since", date)], Ok(())),
            (&[("if-modified-since", "yesterday")], Err(ErrorCode::InvalidHeaderValue)),
            (
                &[("if-modified-since", date), ("If-Modified-Since", date)],
                Err(ErrorCode::MultipleConditionHeadersNotSupported),
            ),
            (&[("if-match", "a"), ("if-match", "b")], Err(ErrorCode::MultipleConditionHeadersNotSupported)),
            (&[("if-match", "")], Err(ErrorCode::InvalidHeaderValue)),
            (&[("if-none-match", "*")], Ok(())),
            (&[("if-none-match", "\"a")], Err(ErrorCode::InvalidHeaderValue)),
        ];
        for (lines, expected) in table {
            let sent: Headers = lines.iter().copied().collect();
            let found = conditions(&sent, now).map(drop).map_err(|error| error.code);
            assert_eq!(found, expected, "{lines:?}");
        }
    }
}
