//! Lease Blob and Lease Container: the action and its parameters out of the headers, the outcome into them.

use blob::{
    container::LeaseContainer,
    lease::{LeaseAnswer, LeaseBlob},
};
use concurrency::lease::{BreakPeriod, LeaseDuration, LeaseId, LeaseOperation, LeaseOutcome, LeaseProperties};
use http::{HeaderName, StatusCode};
use rest::{Caller, Headers, Request, Response, ServiceError, headers};
use types::{ServiceVersion, Switch};

use crate::{
    BlobService, answers, conditions, errors,
    header_names::{
        LEASE_ACTION, LEASE_BREAK_PERIOD, LEASE_DURATION, LEASE_ID, LEASE_STATE, LEASE_STATUS, LEASE_TIME,
        PROPOSED_LEASE_ID,
    },
    names,
};

pub(crate) async fn of_blob(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let address = names::base(caller.unit(), request)?;
    let asked = caller.ask(LeaseBlob {
        address,
        conditions: conditions::conditions(&request.headers, service.blobs.now())?,
        if_tags: conditions::if_tags(&request.headers)?,
        operation: operation(&request.headers, caller.version, service.fresh_lease_id(request))?,
    });
    let answer = service.blobs.lease_blob(&asked);
    Ok(answered(caller, answer.await.map_err(errors::of)?))
}

pub(crate) async fn of_container(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let asked = caller.ask(LeaseContainer {
        account: caller.unit(),
        name: names::container(request)?,
        conditions: conditions::conditions(&request.headers, service.blobs.now())?,
        operation: operation(&request.headers, caller.version, service.fresh_lease_id(request))?,
    });
    let answer = service.blobs.lease_container(&asked);
    Ok(answered(caller, answer.await.map_err(errors::of)?))
}

/// The operation that the headers ask for.
fn operation(sent: &Headers, version: ServiceVersion, fresh: LeaseId) -> Result<LeaseOperation, ServiceError> {
    let action = headers::required(sent, &LEASE_ACTION)?;
    let id = |name: &HeaderName| -> Result<LeaseId, ServiceError> {
        conditions::guid(sent, name)?.ok_or_else(|| ServiceError::missing_header(name.as_str()))
    };
    match action.to_ascii_lowercase().as_str() {
        "acquire" => Ok(LeaseOperation::Acquire {
            proposed: conditions::guid(sent, &PROPOSED_LEASE_ID)?,
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

fn answered(caller: &Caller, answer: LeaseAnswer) -> Response {
    let held = |status, id: LeaseId| Response::new(status).text_header(LEASE_ID, &id.to_string());
    let response = match answer.outcome {
        LeaseOutcome::Acquired(id) => held(StatusCode::CREATED, id),
        LeaseOutcome::Renewed(id) | LeaseOutcome::Changed(id) => held(StatusCode::OK, id),
        LeaseOutcome::Released => Response::new(StatusCode::OK),
        LeaseOutcome::Broken { seconds_left } => {
            Response::new(StatusCode::ACCEPTED).number_header(LEASE_TIME, seconds_left)
        }
    };
    answers::written(response, caller.version, answer.written)
}

/// What a container or a blob says about its lease.
pub(crate) fn described(response: Response, lease: LeaseProperties) -> Response {
    let response = response.text_header(LEASE_STATUS, lease.status()).text_header(LEASE_STATE, lease.state.as_str());
    match lease.duration() {
        Some(duration) => response.text_header(LEASE_DURATION, duration),
        None => response,
    }
}

#[cfg(test)]
mod tests {
    use types::ErrorCode;

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
