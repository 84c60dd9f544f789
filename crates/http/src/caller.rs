//! Who sends a request: its credential becomes a grant, and a grant the proof that an operation needs.
//!
//! Decides nothing: it hands the parts of a request to `access`, and turns refusals into answers.

use std::sync::Arc;

use access::{
    Account, Accounts, Authorized, Denied, Grant, Operation,
    shared_key::{self, SharedKeyRefusal, SignedParts},
};
use http::header;
use store::Read;
use types::{ErrorCode, ServiceVersion, Timestamp, UnitId};

use crate::{Request, ServiceError, dates, headers};

/// A caller that was authenticated.
#[derive(Debug)]
pub struct Caller {
    /// The account that is addressed.
    pub account: Arc<Account>,
    grant: Grant,
    /// The version whose behaviour it gets.
    pub version: ServiceVersion,
}

impl Caller {
    /// The account's unit.
    #[must_use]
    pub fn unit(&self) -> UnitId {
        self.account.unit
    }

    /// The proof that the caller may do this.
    ///
    /// # Errors
    /// It may not.
    pub async fn authorize<Op: Operation>(
        &self,
        rows: &impl Read,
        operation: Op,
    ) -> Result<Authorized<Op>, ServiceError> {
        self.grant.authorize(rows, operation).await.map_err(|denied| denied_answer(&denied))
    }
}

/// The answer to somebody who may not.
#[must_use]
pub fn denied_answer(denied: &Denied) -> ServiceError {
    match denied {
        Denied::NotAuthorized => failed(),
        Denied::Store(error) => ServiceError::from_store(error),
    }
}

/// Finds out who sends a request.
///
/// # Errors
/// There is no credential, or it is not right.
pub fn authenticate(accounts: &Accounts, request: &Request, now: Timestamp) -> Result<Caller, ServiceError> {
    let Some(authorization) = headers::text(&request.headers, &header::AUTHORIZATION)? else {
        return Err(ServiceError::new(
            ErrorCode::NoAuthenticationInformation,
            "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.",
        ));
    };
    let Some(value) = authorization.strip_prefix("SharedKey ") else {
        return Err(ServiceError::new(
            ErrorCode::InvalidAuthenticationInfo,
            "Authentication information is not given in the correct format. Check the value of Authorization header.",
        ));
    };
    // An account that does not exist answers like a wrong key: names of accounts are not told to strangers.
    let account = accounts.get(&request.target.account).ok_or_else(failed)?;
    let version = request.version.unwrap_or(ServiceVersion::NEWEST).min(ServiceVersion::NEWEST);
    let sent: Vec<(&str, &str)> =
        request.headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))).collect();
    let query: Vec<(&str, &str)> = request.target.query.iter().collect();
    let date = match headers::text(&request.headers, &headers::X_MS_DATE)? {
        Some(date) => Some(date),
        None => headers::text(&request.headers, &header::DATE)?,
    };
    let parts = SignedParts {
        method: request.method.as_str(),
        raw_path: &request.target.raw_path,
        query: &query,
        headers: &sent,
        version,
        date: date.and_then(|date| dates::parse_http(date, now)),
    };
    match shared_key::verify(account, value, &parts, now) {
        Ok(grant) => Ok(Caller { account: Arc::clone(account), grant, version }),
        Err(refusal) => Err(explained(&refusal, account)),
    }
}

/// Finds out who sends a request of the Table service.
///
/// # Errors
/// There is no credential, or it is not right.
pub fn authenticate_table(accounts: &Accounts, request: &Request, now: Timestamp) -> Result<Caller, ServiceError> {
    let Some(authorization) = headers::text(&request.headers, &header::AUTHORIZATION)? else {
        return Err(ServiceError::new(
            ErrorCode::NoAuthenticationInformation,
            "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.",
        ));
    };
    let (lite, value) = match (authorization.strip_prefix("SharedKey "), authorization.strip_prefix("SharedKeyLite ")) {
        (Some(value), _) => (false, value),
        (None, Some(value)) => (true, value),
        (None, None) => {
            return Err(ServiceError::new(
                ErrorCode::InvalidAuthenticationInfo,
                "Authentication information is not given in the correct format. Check the value of Authorization header.",
            ));
        }
    };
    let account = accounts.get(&request.target.account).ok_or_else(failed)?;
    let version = request.version.unwrap_or(ServiceVersion::NEWEST).min(ServiceVersion::NEWEST);
    let sent: Vec<(&str, &str)> =
        request.headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))).collect();
    let query: Vec<(&str, &str)> = request.target.query.iter().collect();
    let date = match headers::text(&request.headers, &headers::X_MS_DATE)? {
        Some(date) => Some(date),
        None => headers::text(&request.headers, &header::DATE)?,
    };
    let parts = SignedParts {
        method: request.method.as_str(),
        raw_path: &request.target.raw_path,
        query: &query,
        headers: &sent,
        version,
        date: date.and_then(|date| dates::parse_http(date, now)),
    };
    match shared_key::verify_table(account, value, lite, &parts, now) {
        Ok(grant) => Ok(Caller { account: Arc::clone(account), grant, version }),
        Err(refusal) => Err(explained(&refusal, account)),
    }
}

fn failed() -> ServiceError {
    ServiceError::new(
        ErrorCode::AuthenticationFailed,
        "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly \
         including the signature.",
    )
}

/// The development account's key is no secret, so its users are told what should have been signed.
fn explained(refusal: &SharedKeyRefusal, account: &Account) -> ServiceError {
    let detail = match refusal {
        SharedKeyRefusal::Mismatch { string_to_sign } if account.is_development() => format!(
            "The MAC signature found in the HTTP request is not the same as any computed signature. Server used \
             following string to sign: '{string_to_sign}'."
        ),
        SharedKeyRefusal::Date => refusal.to_string(),
        _ => return failed(),
    };
    failed().with_detail("AuthenticationErrorDetail", detail)
}
