//! Who sends a request: its credential becomes a grant, by which operations are asked for.
//!
//! Decides nothing: it hands the parts of a request to `access`, and turns refusals into answers. Which credential counts
//! is told here once: the Authorization header, or else the signature in the query, or else none. Both count together only
//! for a signature that was made for one user, who shows a token.

use std::sync::Arc;

use access::{
    Account, Accounts, Asked, Denied, Grant, Operation,
    bearer::{self, Identity, TokenRefusal},
    need::Service,
    sas::{self, Fields, Overrides, SasRefusal, SignedTarget},
    shared_key::{self, Scheme, SharedKeyRefusal, SignedParts},
};
use http::{HeaderName, HeaderValue, StatusCode, header};
use types::{ErrorCode, ServiceVersion, Timestamp, UnitId};

use crate::{
    Known, Request, ServiceError, Target, dates,
    error::Lacks,
    headers,
    version::{self, CredentialKind},
};

const COPY_SOURCE_AUTHORIZATION: HeaderName = HeaderName::from_static("x-ms-copy-source-authorization");

/// The source of a copy that is on this server.
#[derive(Clone, Copy, Debug)]
pub struct CopySource<'a> {
    /// The blob or file that is read.
    pub target: &'a Target,
    /// Whether its URL begins with `https`.
    pub secure: bool,
    /// Whether the credential of the request also opens a source of the same account that has none of its own. True for
    /// an asynchronous copy only.
    pub by_caller: bool,
}

/// A caller that was authenticated.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The account that is addressed.
    pub account: Arc<Account>,
    grant: Grant,
    /// The version whose behaviour it gets.
    pub version: ServiceVersion,
    /// What a 401 tells the client to do.
    challenge: Challenge,
}

/// What a client without a credential is told.
#[derive(Clone, Debug)]
struct Challenge {
    /// `WWW-Authenticate`
    value: HeaderValue,
    /// Versions before 2019-12-12 are told that there is nothing, instead of being asked for a token.
    hides: bool,
}

impl Caller {
    /// The account's unit.
    #[must_use]
    pub fn unit(&self) -> UnitId {
        self.account.unit
    }

    /// Asks for an operation in the name of the caller. The service that does it decides whether it may be done, and how a
    /// refusal is answered, [`Self::explain`] says.
    #[must_use]
    pub fn ask<Op: Operation>(&self, operation: Op) -> Asked<Op> {
        self.grant.ask(operation)
    }

    /// An answer as this caller gets it: only here it is known whether a refusal may say that something exists, and what a
    /// client without a credential should show.
    #[must_use]
    pub fn explain(&self, error: ServiceError) -> ServiceError {
        match error.lacks {
            Some(Lacks::PublicAccess) if self.challenge.hides => {
                ServiceError::new(ErrorCode::ResourceNotFound, "The specified resource does not exist.")
            }
            Some(_) => no_credential(&self.challenge.value),
            None => error,
        }
    }

    /// The proof that there is a credential, whatever it allows. Bodies are collected for those who have it only.
    ///
    /// # Errors
    /// There is none.
    pub fn known(&self) -> Result<Known, ServiceError> {
        if self.is_anonymous() {
            Err(no_credential(&self.challenge.value))
        } else {
            Ok(Known::by_credential(self.unit()))
        }
    }

    /// The headers that the credential sets in the answer to a read.
    #[must_use]
    pub fn overrides(&self) -> Option<&Overrides> {
        self.grant.overrides()
    }

    /// The encryption scope that the credential demands of writes.
    #[must_use]
    pub fn encryption_scope(&self) -> Option<&str> {
        self.grant.encryption_scope()
    }

    /// Who it is, for the holder of a token.
    #[must_use]
    pub fn identity(&self) -> Option<&Identity> {
        self.grant.identity()
    }

    /// True when no credential was shown.
    #[must_use]
    pub const fn is_anonymous(&self) -> bool {
        self.grant.is_anonymous()
    }

    /// Who reads the source of a copy: the token in `x-ms-copy-source-authorization`, the signature in the source's URL,
    /// the caller itself where the copy may be its own reader, or nobody. The read is then authorised like any other.
    ///
    /// # Errors
    /// There is no such account, or the credential of the source is not right.
    pub fn source(
        &self,
        accounts: &Accounts,
        service: Service,
        request: &Request,
        source: CopySource<'_>,
    ) -> Result<Self, ServiceError> {
        let (now, CopySource { target, secure, by_caller }) = (request.received_at, source);
        let account = accounts.get(&target.account).ok_or_else(failed)?;
        let query: Vec<(&str, &str)> = target.query.iter().collect();
        let grant = if let Some(authorization) = headers::text(&request.headers, &COPY_SOURCE_AUTHORIZATION)? {
            let Some(token) = authorization.strip_prefix("Bearer ") else { return Err(malformed_header()) };
            by_token(accounts, &account, token, request)?
        } else if let Some(fields) = Fields::find(&query).map_err(|refusal| sas_answer(&refusal, &account))? {
            let door = Door { accounts, account: &account, service, request, target, query: &query, now, secure };
            door.by_signature(&fields, None)?
        } else if by_caller && account.unit == self.unit() && !self.is_anonymous() {
            self.grant.clone()
        } else {
            access::anonymous(accounts, &account, now)
        };
        Ok(Self { account, grant, version: self.version, challenge: self.challenge.clone() })
    }
}

/// The answer to somebody who may not.
#[must_use]
pub fn denied_answer(denied: &Denied) -> ServiceError {
    let not_authorized = |code, with: &str| {
        ServiceError::new(code, format!("This request is not authorized to perform this operation{with}."))
    };
    match denied {
        Denied::NotAuthorized => not_authorized(ErrorCode::AuthorizationFailure, ""),
        Denied::PermissionMismatch => {
            not_authorized(ErrorCode::AuthorizationPermissionMismatch, " using this permission")
        }
        Denied::ServiceMismatch => not_authorized(ErrorCode::AuthorizationServiceMismatch, " using this service"),
        Denied::ResourceTypeMismatch => {
            not_authorized(ErrorCode::AuthorizationResourceTypeMismatch, " using this resource type")
        }
        Denied::Authentication(detail) => failed().with_detail("AuthenticationErrorDetail", detail),
        Denied::AlsoInPolicy(name) => {
            ServiceError::invalid_query(name, "", "it stands in the signature and in its stored access policy")
        }
        Denied::NoCredential => no_credential(&HeaderValue::from_static(SHARED_KEY)).lacking(Lacks::Credential),
        Denied::NotPublic => no_credential(&HeaderValue::from_static(SHARED_KEY)).lacking(Lacks::PublicAccess),
        Denied::PublicAccessNotPermitted => ServiceError::new(
            ErrorCode::PublicAccessNotPermitted,
            "Public access is not permitted on this storage account.",
        ),
        Denied::Store(error) => ServiceError::from_store(error),
    }
}

/// Finds out who sends a request to a service. Dates are measured by when the request arrived, in wall time: a client
/// knows no other clock, and server time may be far from it.
///
/// # Errors
/// Its credential is not right. Without one it is an anonymous caller, and what that may do is decided later.
pub fn authenticate(accounts: &Accounts, service: Service, request: &Request) -> Result<Caller, ServiceError> {
    let now = request.received_at;
    let authorization = headers::text(&request.headers, &header::AUTHORIZATION)?;
    let query: Vec<(&str, &str)> = request.target.query.iter().collect();
    let challenge = Challenge {
        value: challenge(accounts),
        hides: !request.version.is_some_and(|version| version.at_least(2019, 12, 12)),
    };
    let Some(account) = accounts.get(&request.target.account) else {
        // An account that does not exist answers like a wrong credential: names of accounts are not told to strangers.
        let shown = authorization.is_some() || query.iter().any(|(name, _)| name.eq_ignore_ascii_case("sig"));
        return Err(if shown { failed() } else { no_credential(&challenge.value) });
    };
    let target = &request.target;
    let door =
        Door { accounts, account: &account, service, request, target, query: &query, now, secure: request.secure };
    let fields = Fields::find(&query).map_err(|refusal| sas_answer(&refusal, &account));
    let (grant, version) = match (authorization, fields) {
        (Some(authorization), Ok(Some(fields))) if fields.delegated_object.is_some() => {
            (door.by_signature_and_token(&fields, authorization)?, Some(fields.version))
        }
        (Some(authorization), _) => (door.by_header(authorization)?, None),
        (None, fields) => match fields? {
            Some(fields) => (door.by_signature(&fields, None)?, Some(fields.version)),
            None => (access::anonymous(accounts, &account, now), None),
        },
    };
    if !grant.is_anonymous() && !request.slot.verified(account.unit.number()) {
        return Err(ServiceError::overloaded());
    }
    let version = version_of(request, version.flatten(), grant.is_anonymous())?;
    Ok(Caller { account, grant, version, challenge })
}

/// The version that the answer to a request without one names: the one that it is served by, as far as that can be told
/// before its credential is verified.
pub(crate) fn unasked_version(service: Service, request: &Request) -> ServiceVersion {
    let query = &request.target.query;
    let signed = query.get("sv").filter(|_| query.has("sig"));
    let shown = signed.is_some() || !matches!(headers::text(&request.headers, &header::AUTHORIZATION), Ok(None));
    match signed {
        // Requests to tables without a version are of the first clients.
        None if service == Service::Table => ServiceVersion::OLDEST,
        _ => version_of(request, signed, !shown).unwrap_or(ServiceVersion::OLDEST),
    }
}

/// The version whose behaviour a request gets: its header, or else with a signature `api-version`, or else `sv`; what it
/// is without any of them, [`version::effective`] says.
fn version_of(request: &Request, signed: Option<&str>, anonymous: bool) -> Result<ServiceVersion, ServiceError> {
    let of_signature = || match (signed, request.target.query.get("api-version")) {
        (Some(_), Some(text)) => match ServiceVersion::parse(text) {
            Some(version) if version >= ServiceVersion::OLDEST => Ok(Some(version)),
            _ => Err(ServiceError::invalid_query("api-version", text, "it is not a version")),
        },
        (Some(text), None) => Ok(ServiceVersion::parse(text)),
        (None, _) => Ok(None),
    };
    let of_signature = if request.version.is_none() { of_signature()? } else { None };
    let credential = match of_signature {
        Some(version) => CredentialKind::Signature(version),
        None if anonymous => CredentialKind::Anonymous,
        None => CredentialKind::SharedKey,
    };
    Ok(version::effective(request.version, request.default_version, credential))
}

/// One request at the door of one account.
struct Door<'a> {
    accounts: &'a Accounts,
    account: &'a Arc<Account>,
    service: Service,
    request: &'a Request,
    target: &'a Target,
    query: &'a [(&'a str, &'a str)],
    now: Timestamp,
    secure: bool,
}

impl Door<'_> {
    fn by_header(&self, authorization: &str) -> Result<Grant, ServiceError> {
        if let Some(token) = authorization.strip_prefix("Bearer ") {
            return by_token(self.accounts, self.account, token, self.request);
        }
        let (scheme, value) = Scheme::split(authorization).ok_or_else(malformed_header)?;
        let date = match headers::text(&self.request.headers, &headers::X_MS_DATE)? {
            Some(date) => Some(date),
            None => headers::text(&self.request.headers, &header::DATE)?,
        };
        let parts = SignedParts {
            service: self.service,
            method: self.request.method.as_str(),
            raw_path: &self.target.raw_path,
            path_style: self.target.path_style,
            query: self.query,
            headers: &self.sent(),
            version: self.request.version.unwrap_or(ServiceVersion::NEWEST).min(ServiceVersion::NEWEST),
            date: date.and_then(|date| dates::parse_http(date, self.now)),
        };
        shared_key::verify(self.accounts, self.account, scheme, value, &parts, self.now)
            .map_err(|refusal| shared_key_answer(&refusal, self.account))
    }

    fn by_signature_and_token(&self, fields: &Fields<'_>, authorization: &str) -> Result<Grant, ServiceError> {
        let token = authorization.strip_prefix("Bearer ").ok_or_else(malformed_header)?;
        let bearer = self.accounts.bearer();
        let identity = bearer
            .verify(token, self.account.name.as_str(), self.now)
            .map_err(|refusal| token_answer(&refusal, self.accounts, self.request))?;
        self.by_signature(fields, Some(&identity))
    }

    fn by_signature(&self, fields: &Fields<'_>, identity: Option<&Identity>) -> Result<Grant, ServiceError> {
        let (container, path) = self.target.segments();
        let target = SignedTarget {
            service: self.service,
            account: self.account.name.as_str(),
            container,
            path,
            query: self.query,
            headers: &self.sent(),
            peer: self.request.peer.ip(),
            secure: self.secure,
        };
        sas::verify(self.accounts, self.account, &target, fields, identity, self.now)
            .map_err(|refusal| sas_answer(&refusal, self.account))
    }

    /// The headers that are text.
    fn sent(&self) -> Vec<(&str, &str)> {
        let all = self.request.headers.iter();
        all.filter_map(|(name, value)| Some((name, value.to_str().ok()?))).collect()
    }
}

fn by_token(
    accounts: &Accounts,
    account: &Arc<Account>,
    token: &str,
    request: &Request,
) -> Result<Grant, ServiceError> {
    bearer::verify(accounts, account, token.trim(), request.received_at)
        .map_err(|refusal| token_answer(&refusal, accounts, request))
}

/// The scheme that every account has.
const SHARED_KEY: &str = "SharedKey";
const REFER: &str =
    "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.";

fn challenge(accounts: &Accounts) -> HeaderValue {
    let bearer = accounts.bearer().challenge().and_then(|text| HeaderValue::try_from(text).ok());
    bearer.unwrap_or(HeaderValue::from_static(SHARED_KEY))
}

fn no_credential(challenge: &HeaderValue) -> ServiceError {
    ServiceError::new(ErrorCode::NoAuthenticationInformation, REFER)
        .with_header(header::WWW_AUTHENTICATE, challenge.clone())
}

fn malformed_header() -> ServiceError {
    ServiceError::new(
        ErrorCode::InvalidAuthenticationInfo,
        "Authentication information is not given in the correct format. Check the value of Authorization header.",
    )
}

pub(crate) fn failed() -> ServiceError {
    ServiceError::new(
        ErrorCode::AuthenticationFailed,
        "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly \
         including the signature.",
    )
}

fn token_answer(refusal: &TokenRefusal, accounts: &Accounts, request: &Request) -> ServiceError {
    if request.version.is_some_and(|version| !version.at_least(2020, 1, 1)) {
        // Clients of those versions know no challenge.
        return failed().with_detail("AuthenticationErrorDetail", refusal.to_string());
    }
    ServiceError::new(ErrorCode::InvalidAuthenticationInfo, REFER)
        .with_status(StatusCode::UNAUTHORIZED)
        .with_detail("AuthenticationErrorDetail", refusal.to_string())
        .with_header(header::WWW_AUTHENTICATE, challenge(accounts))
}

/// The development account's key is no secret, so its users are told what should have been signed.
fn shared_key_answer(refusal: &SharedKeyRefusal, account: &Account) -> ServiceError {
    let detail = match refusal {
        SharedKeyRefusal::Mismatch { string_to_sign } if account.is_development() => format!(
            "The MAC signature found in the HTTP request is not the same as any computed signature. Server used \
             following string to sign: '{string_to_sign}'."
        ),
        SharedKeyRefusal::Date => refusal.to_string(),
        SharedKeyRefusal::Malformed | SharedKeyRefusal::OtherAccount | SharedKeyRefusal::Mismatch { .. } => {
            return failed();
        }
    };
    failed().with_detail("AuthenticationErrorDetail", detail)
}

fn sas_answer(refusal: &SasRefusal, account: &Account) -> ServiceError {
    let not_authorized = |code, with: String| {
        ServiceError::new(code, format!("This request is not authorized to perform this operation using this {with}."))
    };
    match refusal {
        SasRefusal::SourceAddress(address) => {
            not_authorized(ErrorCode::AuthorizationSourceIPMismatch, format!("source IP {address}"))
                .with_detail("SourceIP", address.to_string())
        }
        SasRefusal::Protocol => not_authorized(ErrorCode::AuthorizationProtocolMismatch, "protocol".into()),
        SasRefusal::Mismatch { string_to_sign } if account.is_development() && !string_to_sign.is_empty() => failed()
            .with_detail(
                "AuthenticationErrorDetail",
                format!("Signature did not match. String to sign used was {string_to_sign}"),
            ),
        other => failed().with_detail("AuthenticationErrorDetail", other.to_string()),
    }
}
