//! The lease id and the conditional headers of a request.

use concurrency::{
    conditions::{Conditions, ETagCondition},
    lease::LeaseId,
};
use http::{HeaderName, header};
use rest::{Headers, ServiceError, dates, headers};
use types::Timestamp;

const X_MS_LEASE_ID: HeaderName = HeaderName::from_static("x-ms-lease-id");

pub(crate) fn lease_id(headers: &Headers) -> Result<Option<LeaseId>, ServiceError> {
    let Some(text) = headers::text(headers, &X_MS_LEASE_ID)? else { return Ok(None) };
    LeaseId::parse(text).map(Some).map_err(|_| ServiceError::invalid_header(X_MS_LEASE_ID.as_str(), text))
}

pub(crate) fn conditions(headers: &Headers, now: Timestamp) -> Result<Conditions<'_>, ServiceError> {
    Ok(Conditions {
        if_match: etags(headers, &header::IF_MATCH)?,
        if_none_match: etags(headers, &header::IF_NONE_MATCH)?,
        if_modified_since: date(headers, &header::IF_MODIFIED_SINCE, now)?,
        if_unmodified_since: date(headers, &header::IF_UNMODIFIED_SINCE, now)?,
    })
}

fn etags<'a>(headers: &'a Headers, name: &HeaderName) -> Result<Option<ETagCondition<'a>>, ServiceError> {
    let Some(text) = headers::text(headers, name)? else { return Ok(None) };
    ETagCondition::parse(text).map(Some).map_err(|_| ServiceError::invalid_header(name.as_str(), text))
}

pub(crate) fn date(headers: &Headers, name: &HeaderName, now: Timestamp) -> Result<Option<Timestamp>, ServiceError> {
    let Some(text) = headers::text(headers, name)? else { return Ok(None) };
    let date = dates::parse_http(text, now).ok_or_else(|| ServiceError::invalid_header(name.as_str(), text))?;
    Ok(Some(date))
}
