//! Shared access signatures: a part of what a key or a token allows, handed on as text.
//!
//! Verifying has two halves. [`verify`] needs no row: the signature, the times, addresses and protocols that it carries
//! itself. What rests on rows, a stored access policy, is decided for each operation by the grant, and again in its
//! transaction. Parsers here are plain functions of text.

mod account;
mod addresses;
mod delegation;
mod fields;
mod layout;
mod scope;
mod service;
pub mod sign;
#[cfg(test)]
mod tests;

use std::{net::IpAddr, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use types::{ServiceVersion, Timestamp};

pub use addresses::Addresses;
pub use delegation::{DelegationKeyRequest, letter as service_letter};
pub use fields::Fields;

use crate::{
    Accounts,
    account::{Account, AccountKey},
    actions::Actions,
    bearer::Identity,
    grant::{Denied, Grant},
    need::{Need, Permissions, Place, Service},
};
use scope::Scope;

/// What a signature is used on: the parts of a request that are signed or checked.
#[derive(Clone, Copy, Debug)]
pub struct SignedTarget<'a> {
    /// The service that the request was sent to.
    pub service: Service,
    /// The name of the account, without the mark of the secondary endpoint.
    pub account: &'a str,
    /// The container, queue, table or share, decoded. Of the Table service, whatever stands there.
    pub container: Option<&'a str>,
    /// What stands behind it, decoded.
    pub path: Option<&'a str>,
    /// All parameters, decoded.
    pub query: &'a [(&'a str, &'a str)],
    /// All headers.
    pub headers: &'a [(&'a str, &'a str)],
    /// The other end of the connection.
    pub peer: IpAddr,
    /// True on a connection with TLS.
    pub secure: bool,
}

/// Why a signature is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SasRefusal {
    /// A parameter stands twice.
    #[error("the parameter {0} stands more than once")]
    Repeated(String),
    /// A parameter that this kind and version of a signature does not sign.
    #[error("the parameter {0} is not part of a signature of this kind and version")]
    Unsigned(&'static str),
    /// A parameter is missing or not of its form.
    #[error("{0} is mandatory and must be in the right form")]
    Field(&'static str),
    /// The version does not have this kind of signature, or is none.
    #[error("sv is not a version of this kind of signature: {0}")]
    Version(String),
    /// A control character: a line break would make one field look like two in what is signed.
    #[error("{0} contains a control character")]
    Control(&'static str),
    /// A parameter that is not supported.
    #[error("{0} is not supported")]
    Unsupported(&'static str),
    /// The signature is not the one any key makes.
    #[error("signature did not match")]
    Mismatch {
        /// What should have been signed.
        string_to_sign: String,
    },
    /// The delegation key is one of another service.
    #[error("the delegation key is one of another service")]
    KeyService,
    /// A signed header is missing.
    #[error("the header {0}, which is signed, is missing")]
    RequestHeader(String),
    /// A signed parameter is missing or stands twice.
    #[error("the parameter {0}, which is signed, is missing or stands more than once")]
    RequestParameter(String),
    /// The signature is for a user, who must show a token.
    #[error("the signature is for another user, or the token of that user is missing")]
    DelegatedUser,
    /// Not yet, or no more.
    #[error("signature not valid in the specified time frame: {}", frame(*start, *expiry, *now))]
    Time {
        /// The start of the signature or of its policy.
        start: Option<Timestamp>,
        /// The end of the signature or of its policy.
        expiry: Option<Timestamp>,
        /// The time of the request.
        now: Timestamp,
    },
    /// Another address.
    #[error("the address {0} is not one that the signature is for")]
    SourceAddress(IpAddr),
    /// Not over HTTPS.
    #[error("the signature is for https only")]
    Protocol,
}

fn frame(start: Option<Timestamp>, expiry: Option<Timestamp>, now: Timestamp) -> String {
    let shown = |instant: Option<Timestamp>| instant.map_or_else(String::new, crate::instant::format);
    format!("Start [{}] - Expiry [{}] - Current [{}]", shown(start), shown(expiry), crate::instant::format(now))
}

/// The headers of an answer that a signature sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Cache-Control
    pub cache_control: Option<String>,
    /// Content-Disposition
    pub content_disposition: Option<String>,
    /// Content-Encoding
    pub content_encoding: Option<String>,
    /// Content-Language
    pub content_language: Option<String>,
    /// Content-Type
    pub content_type: Option<String>,
}

/// The entities of a table that a signature is for; both ends are included. A row is only said together with its
/// partition. Which entities are between the ends, the Table service decides: it knows the order of its keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntityRange {
    /// The first partition, and the first row in it.
    pub start: Option<(String, Option<String>)>,
    /// The last partition, and the last row in it.
    pub end: Option<(String, Option<String>)>,
}

impl EntityRange {
    /// True when it leaves nothing out.
    #[must_use]
    pub const fn is_everything(&self) -> bool {
        self.start.is_none() && self.end.is_none()
    }
}

/// What a signature reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reach {
    Account { services: account::Services, types: account::ResourceTypes },
    Service { service: Service, scope: Scope, authority: Option<Actions> },
}

/// A signature that was verified.
#[derive(Clone, Debug)]
pub(crate) struct Sas {
    /// The key that it rests on, directly or through a delegation key.
    pub(crate) key: AccountKey,
    reach: Reach,
    permissions: Option<Permissions>,
    start: Option<Timestamp>,
    expiry: Option<Timestamp>,
    pub(crate) policy: Option<String>,
    pub(crate) overrides: Overrides,
    pub(crate) entities: EntityRange,
    pub(crate) encryption_scope: Option<String>,
}

/// Verifies a signature. `identity` is the user whose token came along, if one did.
///
/// # Errors
/// A [`SasRefusal`].
pub fn verify(
    accounts: &Accounts,
    account: &Arc<Account>,
    target: &SignedTarget<'_>,
    fields: &Fields<'_>,
    identity: Option<&Identity>,
    now: Timestamp,
) -> Result<Grant, SasRefusal> {
    let signature = fields.signature.and_then(|text| STANDARD.decode(text).ok()).ok_or(SasRefusal::Field("sig"))?;
    // The signature first: who cannot sign learns nothing of what else is wrong.
    let (key, reach) = authenticate(account, target, fields, &signature)?;
    if let Some(user) = fields.delegated_object {
        let same_tenant = |identity: &Identity| fields.delegated_tenant.is_none_or(|tenant| identity.tenant == tenant);
        if !identity.is_some_and(|identity| identity.object == user && same_tenant(identity)) {
            return Err(SasRefusal::DelegatedUser);
        }
    }
    let sas = Sas {
        key,
        reach,
        permissions: fields
            .permissions
            .map(|text| Permissions::parse(text).ok_or(SasRefusal::Field("sp")))
            .transpose()?,
        start: instant(fields.start, "st")?,
        expiry: instant(fields.expiry, "se")?,
        policy: fields.policy.map(str::to_owned),
        overrides: overrides(fields),
        entities: entities(fields)?,
        encryption_scope: fields.encryption_scope.map(str::to_owned),
    };
    // What the signature leaves out a stored policy must say; that is read later, in the view that serves the request.
    if sas.policy.is_none() && sas.permissions.is_none() {
        return Err(SasRefusal::Field("sp"));
    }
    if sas.policy.is_none() && sas.expiry.is_none() {
        return Err(SasRefusal::Field("se"));
    }
    check_time(sas.start, sas.expiry, now)?;
    if fields.key_object.is_some() {
        delegation::check_key_time(fields, now)?;
    }
    check_connection(fields, target)?;
    Ok(Grant::sas(accounts, account, sas, now))
}

/// The key behind the signature, and what it reaches.
fn authenticate(
    account: &Account,
    target: &SignedTarget<'_>,
    fields: &Fields<'_>,
    signature: &[u8],
) -> Result<(AccountKey, Reach), SasRefusal> {
    let by_account_key = |text: String| match account.key_of(&text, signature) {
        Some(key) => Ok(key.clone()),
        None => Err(SasRefusal::Mismatch { string_to_sign: text }),
    };
    if fields.services.is_some() || fields.resource_types.is_some() {
        let key = by_account_key(account::string_to_sign(target.account, fields)?.whole())?;
        return Ok((key, account::reach(fields)?));
    }
    let scope = Scope::of(target, fields)?;
    if fields.key_object.is_some() {
        let text = delegation::string_to_sign(target, fields, &scope)?.joined();
        let (key, authority) = delegation::verify(account, target, fields, &text, signature)?;
        if fields.unauthorized_object.is_some() {
            // It asks for a check of POSIX permissions, which nothing here has.
            return Err(SasRefusal::Unsupported("suoid"));
        }
        return Ok((key, delegation::reach(target.service, scope, authority)));
    }
    let key = by_account_key(service::string_to_sign(target, fields, &scope)?.joined())?;
    Ok((key, service::reach(target.service, scope)))
}

/// The version of a signature's layout.
fn version(fields: &Fields<'_>) -> Result<ServiceVersion, SasRefusal> {
    let Some(text) = fields.version else { return Ok(service::BEFORE_VERSIONS) };
    ServiceVersion::parse(text)
        .filter(|version| version.at_least(2012, 2, 12))
        .ok_or_else(|| SasRefusal::Version(text.to_owned()))
}

fn instant(text: Option<&str>, name: &'static str) -> Result<Option<Timestamp>, SasRefusal> {
    text.map(|text| crate::instant::parse(text).ok_or(SasRefusal::Field(name))).transpose()
}

fn overrides(fields: &Fields<'_>) -> Overrides {
    Overrides {
        cache_control: fields.cache_control.map(str::to_owned),
        content_disposition: fields.content_disposition.map(str::to_owned),
        content_encoding: fields.content_encoding.map(str::to_owned),
        content_language: fields.content_language.map(str::to_owned),
        content_type: fields.content_type.map(str::to_owned),
    }
}

fn entities(fields: &Fields<'_>) -> Result<EntityRange, SasRefusal> {
    let end = |partition: Option<&str>, row: Option<&str>, name| match (partition, row) {
        (None, Some(_)) => Err(SasRefusal::Field(name)),
        (partition, row) => Ok(partition.map(|partition| (partition.to_owned(), row.map(str::to_owned)))),
    };
    Ok(EntityRange {
        start: end(fields.start_partition, fields.start_row, "spk")?,
        end: end(fields.end_partition, fields.end_row, "epk")?,
    })
}

fn check_time(start: Option<Timestamp>, expiry: Option<Timestamp>, now: Timestamp) -> Result<(), SasRefusal> {
    if start.is_some_and(|start| now < start) || expiry.is_some_and(|expiry| now >= expiry) {
        return Err(SasRefusal::Time { start, expiry, now });
    }
    Ok(())
}

fn check_connection(fields: &Fields<'_>, target: &SignedTarget<'_>) -> Result<(), SasRefusal> {
    if let Some(text) = fields.addresses {
        let addresses = Addresses::parse(text).ok_or(SasRefusal::Field("sip"))?;
        if !addresses.has(target.peer) {
            return Err(SasRefusal::SourceAddress(target.peer.to_canonical()));
        }
    }
    match fields.protocols {
        None | Some("https,http" | "http,https") => Ok(()),
        Some("https") if target.secure => Ok(()),
        Some("https") => Err(SasRefusal::Protocol),
        Some(_) => Err(SasRefusal::Field("spr")),
    }
}

impl Sas {
    /// Where its policy is, if it has one: policies belong to the container, queue, table or share.
    pub(crate) fn policy_holder(&self) -> Option<(Service, &str)> {
        match (&self.reach, &self.policy) {
            (Reach::Service { service, scope, .. }, Some(_)) => Some((*service, scope.container())),
            _ => None,
        }
    }

    /// Whether it allows this, with what its policy says.
    pub(crate) fn allows(
        &self,
        need: &Need<'_>,
        policy: Option<&crate::acl::StoredAccessPolicy>,
        now: Timestamp,
    ) -> Result<(), Denied> {
        let permissions = self.effective(policy, now)?;
        let wanted = match &self.reach {
            Reach::Account { services, types } => {
                if !services.has(need.service) {
                    return Err(Denied::ServiceMismatch);
                }
                if !types.covers(need.place) {
                    return Err(Denied::ResourceTypeMismatch);
                }
                need.rule.account_sas
            }
            Reach::Service { service, scope, authority } => {
                if *service != need.service {
                    return Err(Denied::ServiceMismatch);
                }
                if need.rule.service_sas == Permissions::NONE || need.place == Place::Service {
                    return Err(Denied::NotAuthorized);
                }
                if !scope.covers(need.place) {
                    return Err(Denied::NotAuthorized);
                }
                if authority.is_some_and(|authority| !authority.allows(need.rule.action)) {
                    return Err(Denied::PermissionMismatch);
                }
                need.rule.service_sas
            }
        };
        if permissions.has_any(wanted) && permissions.has_all(need.rule.also) {
            Ok(())
        } else {
            Err(Denied::PermissionMismatch)
        }
    }

    /// True if it may replace what exists.
    pub(crate) fn may_overwrite(&self, policy: Option<&crate::acl::StoredAccessPolicy>) -> bool {
        let from_policy = || policy.and_then(|policy| policy.permissions.as_deref()).and_then(Permissions::parse);
        self.permissions.or_else(from_policy).is_some_and(|permissions| permissions.has_any(Permissions::WRITE))
    }

    /// Puts the signature and its policy together: each field comes from one of them. The times are checked here.
    fn effective(
        &self,
        policy: Option<&crate::acl::StoredAccessPolicy>,
        now: Timestamp,
    ) -> Result<Permissions, Denied> {
        let Some(policy) = policy else {
            let missing = || Denied::Authentication("sp is mandatory".to_owned());
            return self.permissions.ok_or_else(missing);
        };
        fn one<T>(own: Option<T>, stored: Option<T>, name: &'static str) -> Result<Option<T>, Denied> {
            match (own, stored) {
                (Some(_), Some(_)) => Err(Denied::AlsoInPolicy(name)),
                (own, stored) => Ok(own.or(stored)),
            }
        }
        let start = one(self.start, policy.start, "st")?;
        let expiry = one(self.expiry, policy.expiry, "se")?;
        let stored = policy.permissions.as_deref().filter(|letters| !letters.is_empty());
        let stored = stored.map(|letters| Permissions::parse(letters).unwrap_or(Permissions::NONE));
        let permissions = one(self.permissions, stored, "sp")?;
        let mandatory =
            |name: &str| Denied::Authentication(format!("{name} is mandatory: the policy does not have it"));
        check_time(start, Some(expiry.ok_or_else(|| mandatory("se"))?), now)
            .map_err(|refusal| Denied::Authentication(refusal.to_string()))?;
        permissions.ok_or_else(|| mandatory("sp"))
    }
}
