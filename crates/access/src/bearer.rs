//! Bearer tokens: JSON Web Tokens of issuers that the configuration names.
//!
//! Owns the checks of a token and what its roles allow. Never fetches anything: the keys of the issuers come in through
//! [`Bearer::set_keys`]. The algorithm is decided by the key, never by the token alone, and no algorithm that is not listed
//! here is accepted; tokens without a signature only in the mode for development, which the server refuses on any address
//! but loopback.

mod keys;
mod roles;
#[cfg(test)]
mod tests;
mod token;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use sha2::{Digest, Sha256};
use types::Timestamp;

pub use keys::{InvalidKeys, Keys};
pub use roles::{InvalidRole, RoleTable, Roles};

use crate::{Accounts, account::Account, actions::Actions, grant::Grant};

/// Verified tokens that are remembered: checking a signature costs more than everything else.
const REMEMBERED_MAX: usize = 1024;
/// Longest token.
const TOKEN_MAX_BYTES: usize = 16 * 1024;
/// The resource that tokens of the services are for.
pub const RESOURCE: &str = "https://storage.azure.com";

/// Somebody whose token was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The object id: who.
    pub object: String,
    /// The tenant: of whom.
    pub tenant: String,
    /// What the roles allow.
    pub roles: Roles,
    pub(crate) not_before: Option<Timestamp>,
    pub(crate) expiry: Timestamp,
    pub(crate) audiences: Vec<String>,
}

impl Identity {
    /// What the roles allow in a service.
    #[must_use]
    pub fn actions(&self, service: crate::need::Service) -> Actions {
        self.roles.of(service)
    }
}

/// Why a token is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenRefusal {
    /// No issuer is configured.
    #[error("this server accepts no tokens: no issuer is configured")]
    Disabled,
    /// Not a token.
    #[error("the token is not a JSON Web Token: {0}")]
    Malformed(&'static str),
    /// An algorithm that is not accepted.
    #[error("the algorithm of the token is not accepted; RS256 and ES256 are")]
    Algorithm,
    /// No key of an issuer made the signature.
    #[error("signature validation failed: no key of an issuer made the signature")]
    Signature,
    /// Another issuer.
    #[error("issuer validation failed: the issuer is not one of the configured ones")]
    Issuer,
    /// For somebody else.
    #[error("audience validation failed: the token is for another audience")]
    Audience,
    /// Not yet, or no more.
    #[error("lifetime validation failed: the token is expired or not valid yet")]
    Lifetime,
    /// The claim is missing.
    #[error("the token has no claim {0}")]
    Claim(&'static str),
}

/// What is believed.
#[derive(Clone, Debug, Default)]
pub struct BearerSettings {
    /// The values of `iss` that are accepted. Empty: no token is.
    pub issuers: Vec<String>,
    /// The values of `aud` that are accepted besides those of the services.
    pub audiences: Vec<String>,
    /// What roles allow.
    pub roles: RoleTable,
    /// Accepts tokens without looking at their signatures; for development on loopback.
    pub unsigned: bool,
}

/// Verifies tokens.
pub struct Bearer {
    settings: BearerSettings,
    keys: RwLock<Arc<Keys>>,
    remembered: RwLock<HashMap<[u8; 32], Arc<Identity>>>,
}

impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bearer").field("issuers", &self.settings.issuers).finish_non_exhaustive()
    }
}

impl Bearer {
    /// By these settings, with no keys yet.
    #[must_use]
    pub fn new(settings: BearerSettings) -> Self {
        Self { settings, keys: RwLock::default(), remembered: RwLock::default() }
    }

    /// Accepts nothing.
    #[must_use]
    pub fn disabled() -> Self {
        Self::new(BearerSettings::default())
    }

    /// True when there is anybody whose tokens are believed.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.settings.unsigned || !self.settings.issuers.is_empty()
    }

    /// Replaces the keys of the issuers, in the form of a JSON Web Key Set.
    ///
    /// # Errors
    /// The text is none; the keys stay as they were.
    pub fn set_keys(&self, jwks: &str) -> Result<usize, InvalidKeys> {
        let keys = Keys::parse(jwks)?;
        let count = keys.len();
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
        // What a withdrawn key signed is not remembered.
        self.remembered.write().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(count)
    }

    /// Who sends a token.
    ///
    /// # Errors
    /// A [`TokenRefusal`].
    pub fn verify(&self, token: &str, account: &str, now: Timestamp) -> Result<Arc<Identity>, TokenRefusal> {
        if !self.is_enabled() {
            return Err(TokenRefusal::Disabled);
        }
        if token.len() > TOKEN_MAX_BYTES {
            return Err(TokenRefusal::Malformed("it is too long"));
        }
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        let known = self.remembered.read().unwrap_or_else(PoisonError::into_inner).get(&digest).cloned();
        let identity = match known {
            Some(identity) => identity,
            None => {
                let keys = Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner));
                let identity = Arc::new(token::verify(&self.settings, &keys, token)?);
                self.remember(digest, &identity, &keys);
                identity
            }
        };
        token::check_time(&identity, now)?;
        token::check_audience(&self.settings, &identity, account)?;
        Ok(identity)
    }

    fn remember(&self, digest: [u8; 32], identity: &Arc<Identity>, by: &Arc<Keys>) {
        let mut remembered = self.remembered.write().unwrap_or_else(PoisonError::into_inner);
        // Keys that were replaced in the meantime are not remembered by.
        if !Arc::ptr_eq(by, &self.keys.read().unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
        if remembered.len() >= REMEMBERED_MAX {
            remembered.clear();
        }
        remembered.insert(digest, Arc::clone(identity));
    }

    /// The value of `WWW-Authenticate` that tells a client where tokens come from.
    #[must_use]
    pub fn challenge(&self) -> Option<String> {
        let issuer = self.settings.issuers.first();
        let issuer = issuer.map(|issuer| issuer.trim_end_matches('/').trim_end_matches("/v2.0"));
        let at = match issuer {
            Some(issuer) => format!("{issuer}/oauth2/authorize"),
            None if self.settings.unsigned => "https://localhost/development/oauth2/authorize".to_owned(),
            None => return None,
        };
        Some(format!("Bearer authorization_uri={at} resource_id={RESOURCE}"))
    }
}

/// The grant of somebody with a token.
///
/// # Errors
/// A [`TokenRefusal`].
pub fn verify(accounts: &Accounts, account: &Arc<Account>, token: &str, now: Timestamp) -> Result<Grant, TokenRefusal> {
    let identity = accounts.bearer().verify(token, account.name.as_str(), now)?;
    Ok(Grant::bearer(accounts, account, identity, now))
}
