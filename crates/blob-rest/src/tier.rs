//! Set Blob Tier.

use std::time::Duration;

use blob::{
    RehydratePriority,
    tier::{AccessTier, REHYDRATION_HIGH, REHYDRATION_STANDARD, SetTier, TierSet},
};
use http::StatusCode;
use rest::{Caller, Headers, Request, Response, ServiceError, headers};

use crate::{
    BlobService, conditions, errors,
    header_names::{ACCESS_TIER, REHYDRATE_PRIORITY},
    names,
};

pub(crate) async fn set(service: &BlobService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    let sent = &request.headers;
    let (address, part) = names::written_part(caller.unit(), request)?;
    let priority = priority(sent)?;
    let asked = caller.ask(SetTier {
        address,
        part,
        preconditions: conditions::of_annotation(caller, sent)?,
        tier: parse(headers::required(sent, &ACCESS_TIER)?)?,
        priority,
        rehydration: rehydration(priority),
    });
    let set = service.blobs.set_blob_tier(&asked);
    Ok(Response::new(match set.await.map_err(errors::of)? {
        TierSet::Now => StatusCode::OK,
        TierSet::Rehydrating => StatusCode::ACCEPTED,
    }))
}

/// How long it takes out of the archive.
pub(crate) const fn rehydration(priority: Option<RehydratePriority>) -> Duration {
    match priority {
        Some(RehydratePriority::High) => REHYDRATION_HIGH,
        Some(RehydratePriority::Standard) | None => REHYDRATION_STANDARD,
    }
}

/// Reads a tier out of its header.
pub(crate) fn parse(text: &str) -> Result<AccessTier, ServiceError> {
    AccessTier::parse(text).ok_or_else(|| ServiceError::invalid_header(ACCESS_TIER.as_str(), text))
}

pub(crate) fn priority(sent: &Headers) -> Result<Option<RehydratePriority>, ServiceError> {
    match headers::text(sent, &REHYDRATE_PRIORITY)? {
        None => Ok(None),
        Some(text) if text.eq_ignore_ascii_case("standard") => Ok(Some(RehydratePriority::Standard)),
        Some(text) if text.eq_ignore_ascii_case("high") => Ok(Some(RehydratePriority::High)),
        Some(other) => Err(ServiceError::invalid_header(REHYDRATE_PRIORITY.as_str(), other)),
    }
}
