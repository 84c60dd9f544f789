//! The lease id and the conditional headers of a request.

use blob::Preconditions;
use concurrency::{
    conditions::{Conditions, ETagCondition},
    lease::LeaseId,
};
use http::{HeaderMap, HeaderName, header};
use rest::{Caller, ServiceError, dates, headers};
use types::Timestamp;

const X_MS_LEASE_ID: HeaderName = HeaderName::from_static("x-ms-lease-id");

pub(crate) fn lease_id(headers: &HeaderMap) -> Result<Option<LeaseId>, ServiceError> {
    let Some(text) = headers::text(headers, &X_MS_LEASE_ID)? else { return Ok(None) };
    LeaseId::parse(text).map(Some).map_err(|_| ServiceError::invalid_header(X_MS_LEASE_ID.as_str(), text))
}

pub(crate) fn conditions(headers: &HeaderMap, now: Timestamp) -> Result<Conditions<'_>, ServiceError> {
    Ok(Conditions {
        if_match: etags(headers, &header::IF_MATCH)?,
        if_none_match: etags(headers, &header::IF_NONE_MATCH)?,
        if_modified_since: date(headers, &header::IF_MODIFIED_SINCE, now)?,
        if_unmodified_since: date(headers, &header::IF_UNMODIFIED_SINCE, now)?,
    })
}

/// Everything that a request on a blob is decided by.
pub(crate) fn preconditions<'a>(
    caller: &Caller,
    headers: &'a HeaderMap,
    now: Timestamp,
) -> Result<Preconditions<'a>, ServiceError> {
    Ok(Preconditions {
        version: caller.version,
        lease_id: lease_id(headers)?,
        conditions: conditions(headers, now)?,
        if_tags: None,
    })
}

fn etags<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<ETagCondition<'a>>, ServiceError> {
    let Some(text) = headers::text(headers, name)? else { return Ok(None) };
    ETagCondition::parse(text).map(Some).map_err(|_| ServiceError::invalid_header(name.as_str(), text))
}

fn date(headers: &HeaderMap, name: &HeaderName, now: Timestamp) -> Result<Option<Timestamp>, ServiceError> {
    let Some(text) = headers::text(headers, name)? else { return Ok(None) };
    let date = dates::parse_http(text, now).ok_or_else(|| ServiceError::invalid_header(name.as_str(), text))?;
    Ok(Some(date))
}
