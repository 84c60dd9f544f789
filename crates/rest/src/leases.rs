//! Lease operations of every service: the action and its parameters out of the headers, the outcome into them, and how
//! refusals are said.

use std::hash::{BuildHasher, RandomState};

use concurrency::lease::{
    BreakPeriod, LeaseCheckRefusal, LeaseDuration, LeaseId, LeaseOperation, LeaseOutcome, LeaseProperties, LeaseRefusal,
};
use http::{HeaderName, StatusCode};
use types::{ErrorCode, ServiceVersion, Switch};

use crate::{
    Headers, Request, Response, ServiceError,
    headers::{
        self, X_MS_LEASE_ACTION as LEASE_ACTION, X_MS_LEASE_BREAK_PERIOD as LEASE_BREAK_PERIOD,
        X_MS_LEASE_DURATION as LEASE_DURATION, X_MS_LEASE_ID as LEASE_ID, X_MS_LEASE_STATE as LEASE_STATE,
        X_MS_LEASE_STATUS as LEASE_STATUS, X_MS_LEASE_TIME as LEASE_TIME, X_MS_PROPOSED_LEASE_ID as PROPOSED_LEASE_ID,
    },
    preconditions,
};

/// Makes ids that nobody can guess out of ids that nobody has twice.
#[derive(Debug, Default)]
pub struct FreshLeaseIds(RandomState);

impl FreshLeaseIds {
    /// A lease id for a request that proposes none: of this request alone, and not to be told from its id.
    #[must_use]
    pub fn of(&self, request: &Request) -> LeaseId {
        let half = |part: u8| u128::from(self.0.hash_one((request.request_id, part)));
        // The marks of a GUID that was drawn.
        let marks = (0x4 << 76) | (0b10 << 62);
        let bits = (half(0) << 64 | half(1)) & !((0xF << 76) | (0b11 << 62));
        LeaseId::from_u128(bits | marks)
    }
}

/// The operation that the headers ask for.
///
/// # Errors
/// A header is missing or malformed, or the action is none.
pub fn operation(sent: &Headers, version: ServiceVersion, fresh: LeaseId) -> Result<LeaseOperation, ServiceError> {
    let action = headers::required(sent, &LEASE_ACTION)?;
    let id = |name: &HeaderName| -> Result<LeaseId, ServiceError> {
        preconditions::guid(sent, name)?.ok_or_else(|| ServiceError::missing_header(name.as_str()))
    };
    match action.to_ascii_lowercase().as_str() {
        "acquire" => Ok(LeaseOperation::Acquire {
            proposed: preconditions::guid(sent, &PROPOSED_LEASE_ID)?,
            fresh,
            duration: duration(sent, version)?,
        }),
        "renew" => Ok(LeaseOperation::Renew { id: id(&LEASE_ID)? }),
        "change" => Ok(LeaseOperation::Change { id: id(&LEASE_ID)?, proposed: id(&PROPOSED_LEASE_ID)? }),
        "release" => Ok(LeaseOperation::Release { id: id(&LEASE_ID)? }),
        "break" => Ok(LeaseOperation::Break { period: break_period(sent)? }),
        _ => Err(ServiceError::invalid_header(LEASE_ACTION.as_str(), action)),
    }
}

/// Before 2012-02-12 every lease lasted a minute, and nobody said so.
fn duration(sent: &Headers, version: ServiceVersion) -> Result<LeaseDuration, ServiceError> {
    let seconds = match headers::text(sent, &LEASE_DURATION)? {
        Some(text) => text,
        None if !version.has(Switch::LeaseDurations) => "60",
        None => return Err(ServiceError::missing_header(LEASE_DURATION.as_str())),
    };
    let duration = seconds.parse().ok().and_then(|seconds| LeaseDuration::from_seconds(seconds).ok());
    duration.ok_or_else(|| ServiceError::invalid_header(LEASE_DURATION.as_str(), seconds))
}

fn break_period(sent: &Headers) -> Result<Option<BreakPeriod>, ServiceError> {
    let Some(text) = headers::text(sent, &LEASE_BREAK_PERIOD)? else { return Ok(None) };
    let period = text.parse().ok().and_then(|seconds| BreakPeriod::from_seconds(seconds).ok());
    period.map(Some).ok_or_else(|| ServiceError::invalid_header(LEASE_BREAK_PERIOD.as_str(), text))
}

/// The status of an outcome, and what it says of the lease.
#[must_use]
pub fn answered(outcome: LeaseOutcome) -> Response {
    let held = |status, id: LeaseId| Response::new(status).text_header(LEASE_ID, &id.to_string());
    match outcome {
        LeaseOutcome::Acquired(id) => held(StatusCode::CREATED, id),
        LeaseOutcome::Renewed(id) | LeaseOutcome::Changed(id) => held(StatusCode::OK, id),
        LeaseOutcome::Released => Response::new(StatusCode::OK),
        LeaseOutcome::Broken { seconds_left } => {
            Response::new(StatusCode::ACCEPTED).number_header(LEASE_TIME, seconds_left)
        }
    }
}

/// What a resource says about its lease.
#[must_use]
pub fn described(response: Response, lease: LeaseProperties) -> Response {
    let response = response.text_header(LEASE_STATUS, lease.status()).text_header(LEASE_STATE, lease.state.as_str());
    match lease.duration() {
        Some(duration) => response.text_header(LEASE_DURATION, duration),
        None => response,
    }
}

/// What is leased, as refusals name it.
#[derive(Clone, Copy, Debug)]
pub struct Leased {
    /// In messages.
    pub noun: &'static str,
    /// The code of another id.
    pub mismatch: ErrorCode,
    /// The code of an id without a lease.
    pub absent: ErrorCode,
}

/// A lease stands against an operation.
#[must_use]
pub fn check_refused(Leased { noun, mismatch, absent }: Leased, refusal: LeaseCheckRefusal) -> ServiceError {
    match refusal {
        LeaseCheckRefusal::IdMissing => ServiceError::new(
            ErrorCode::LeaseIdMissing,
            format!("There is currently a lease on the {noun} and no lease ID was specified in the request."),
        ),
        LeaseCheckRefusal::IdMismatch => {
            ServiceError::new(mismatch, format!("The lease ID specified did not match the lease ID for the {noun}."))
        }
        LeaseCheckRefusal::NotPresent => {
            ServiceError::new(absent, format!("There is currently no lease on the {noun}."))
        }
        LeaseCheckRefusal::Lost => ServiceError::new(
            ErrorCode::LeaseLost,
            format!("A lease ID was specified, but the lease for the {noun} has expired."),
        ),
        LeaseCheckRefusal::InfiniteDurationRequired => ServiceError::new(
            ErrorCode::InfiniteLeaseDurationRequired,
            "The lease ID matched, but the specified lease must be an infinite-duration lease.",
        ),
    }
}

/// A lease operation is refused.
#[must_use]
pub fn refused(refusal: LeaseRefusal) -> ServiceError {
    let (code, message) = match refusal {
        LeaseRefusal::AlreadyPresent => (ErrorCode::LeaseAlreadyPresent, "There is already a lease present."),
        LeaseRefusal::IdMismatch => (
            ErrorCode::LeaseIdMismatchWithLeaseOperation,
            "The lease ID specified did not match the lease ID for the resource with the specified lease operation.",
        ),
        LeaseRefusal::NotPresent => {
            (ErrorCode::LeaseNotPresentWithLeaseOperation, "There is currently no lease on the resource.")
        }
        LeaseRefusal::BreakingCannotBeAcquired => (
            ErrorCode::LeaseIsBreakingAndCannotBeAcquired,
            "The lease ID matched, but the lease is currently in breaking state and cannot be acquired until it is \
             broken.",
        ),
        LeaseRefusal::BreakingCannotBeChanged => (
            ErrorCode::LeaseIsBreakingAndCannotBeChanged,
            "The lease ID matched, but the lease is currently in breaking state and cannot be changed.",
        ),
        LeaseRefusal::BrokenCannotBeRenewed => (
            ErrorCode::LeaseIsBrokenAndCannotBeRenewed,
            "The lease ID matched, but the lease has been broken explicitly and cannot be renewed.",
        ),
        // Only files lack these.
        LeaseRefusal::RenewNotSupported => return ServiceError::invalid_header(LEASE_ACTION.as_str(), "renew"),
        LeaseRefusal::FixedDurationNotSupported => return ServiceError::invalid_header(LEASE_DURATION.as_str(), ""),
        LeaseRefusal::BreakPeriodNotSupported => return ServiceError::invalid_header(LEASE_BREAK_PERIOD.as_str(), ""),
    };
    ServiceError::new(code, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Lines<'a> = &'a [(&'a str, &'a str)];

    const A: &str = "00000000-0000-0000-0000-00000000000a";
    const B: &str = "{00000000-0000-0000-0000-00000000000B}";

    #[test]
    fn actions_and_what_they_need() {
        let (a, b, fresh) = (LeaseId::from_u128(10), LeaseId::from_u128(11), LeaseId::from_u128(1));
        let acquire = |proposed, seconds| LeaseOperation::Acquire {
            proposed,
            fresh,
            duration: LeaseDuration::from_seconds(seconds).unwrap(),
        };
        let table: [(Lines<'_>, Result<LeaseOperation, ErrorCode>); 18] = [
            (&[], Err(ErrorCode::MissingRequiredHeader)),
            (&[("action", "steal")], Err(ErrorCode::InvalidHeaderValue)),
            (&[("action", "acquire")], Err(ErrorCode::MissingRequiredHeader)),
            (&[("action", "acquire"), ("duration", "-1")], Ok(acquire(None, -1))),
            (&[("action", "Acquire"), ("duration", "15"), ("proposed", A)], Ok(acquire(Some(a), 15))),
            (&[("action", "acquire"), ("duration", "60"), ("proposed", B)], Ok(acquire(Some(b), 60))),
            (&[("action", "acquire"), ("duration", "14")], Err(ErrorCode::InvalidHeaderValue)),
            (&[("action", "acquire"), ("duration", "61")], Err(ErrorCode::InvalidHeaderValue)),
            (&[("action", "acquire"), ("duration", "x")], Err(ErrorCode::InvalidHeaderValue)),
            (&[("action", "acquire"), ("duration", "15"), ("proposed", "x")], Err(ErrorCode::InvalidHeaderValue)),
            (&[("action", "renew")], Err(ErrorCode::MissingRequiredHeader)),
            (&[("action", "renew"), ("id", A)], Ok(LeaseOperation::Renew { id: a })),
            (&[("action", "change"), ("id", A)], Err(ErrorCode::MissingRequiredHeader)),
            (&[("action", "change"), ("id", A), ("proposed", B)], Ok(LeaseOperation::Change { id: a, proposed: b })),
            (&[("action", "release"), ("id", A)], Ok(LeaseOperation::Release { id: a })),
            (&[("action", "break")], Ok(LeaseOperation::Break { period: None })),
            (
                &[("action", "BREAK"), ("break-period", "60")],
                Ok(LeaseOperation::Break { period: BreakPeriod::from_seconds(60).ok() }),
            ),
            (&[("action", "break"), ("break-period", "61")], Err(ErrorCode::InvalidHeaderValue)),
        ];
        for (lines, expected) in table {
            let name = |short: &str| match short {
                "proposed" => PROPOSED_LEASE_ID.to_string(),
                short => format!("x-ms-lease-{short}"),
            };
            let sent: Headers = lines.iter().map(|(short, value)| (name(short), *value)).collect();
            let found = operation(&sent, ServiceVersion::NEWEST, fresh).map_err(|error| error.code);
            assert_eq!(found, expected, "{lines:?}");
        }
        let old: Headers = [("x-ms-lease-action", "acquire")].into_iter().collect();
        assert_eq!(operation(&old, ServiceVersion::OLDEST, fresh).ok(), Some(acquire(None, 60)));
    }
}
