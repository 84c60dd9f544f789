//! One token: its parts, its signature and its claims.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use types::Timestamp;

use super::{BearerSettings, Identity, Keys, RESOURCE, TokenRefusal, keys::Algorithm};

/// How far the clocks of issuer and server may be apart.
const SKEW: Duration = Duration::from_mins(5);

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    /// Extensions that must be understood: none is.
    crit: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Claims {
    iss: Option<String>,
    aud: Option<OneOrMore>,
    exp: Option<u64>,
    nbf: Option<u64>,
    oid: Option<String>,
    sub: Option<String>,
    tid: Option<String>,
    roles: Option<OneOrMore>,
    scp: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn all(self) -> Vec<String> {
        match self {
            Self::One(one) => vec![one],
            Self::More(more) => more,
        }
    }
}

/// Checks everything that does not depend on the time or on the account.
pub(super) fn verify(settings: &BearerSettings, keys: &Keys, token: &str) -> Result<Identity, TokenRefusal> {
    let malformed = |reason| move |_| TokenRefusal::Malformed(reason);
    let mut parts = token.split('.');
    let (Some(header), Some(claims), Some(signature), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(TokenRefusal::Malformed("it has not three parts"));
    };
    let decode = |part: &str| URL_SAFE_NO_PAD.decode(part);
    let parsed: Header = serde_json::from_slice(&decode(header).map_err(malformed("its header is not base64url"))?)
        .map_err(|_| TokenRefusal::Malformed("its header is not JSON"))?;
    if parsed.crit.is_some() {
        return Err(TokenRefusal::Malformed("it has critical extensions"));
    }
    if !settings.unsigned {
        let algorithm = Algorithm::parse(&parsed.alg).ok_or(TokenRefusal::Algorithm)?;
        let signature = decode(signature).map_err(malformed("its signature is not base64url"))?;
        let signed = token.get(..header.len() + 1 + claims.len()).unwrap_or_default();
        if !keys.signed(algorithm, parsed.kid.as_deref(), signed.as_bytes(), &signature) {
            return Err(TokenRefusal::Signature);
        }
    }
    let claims: Claims = serde_json::from_slice(&decode(claims).map_err(malformed("its claims are not base64url"))?)
        .map_err(|_| TokenRefusal::Malformed("its claims are not JSON"))?;
    identity(settings, claims)
}

fn identity(settings: &BearerSettings, claims: Claims) -> Result<Identity, TokenRefusal> {
    let issuer = claims.iss.ok_or(TokenRefusal::Claim("iss"))?;
    if !settings.issuers.is_empty() && !settings.issuers.contains(&issuer) {
        return Err(TokenRefusal::Issuer);
    }
    let roles = claims.roles.map(OneOrMore::all).unwrap_or_default();
    let scopes = claims.scp.unwrap_or_default();
    let names = roles.iter().map(String::as_str).chain(scopes.split(' ').filter(|scope| !scope.is_empty()));
    let mut allowed = settings.roles.allowed(names);
    if settings.unsigned && roles.is_empty() {
        // Tokens of people carry no roles; in the mode for development they may do everything.
        allowed = super::Roles::everything();
    }
    Ok(Identity {
        object: claims.oid.or(claims.sub).ok_or(TokenRefusal::Claim("oid"))?,
        tenant: claims.tid.unwrap_or_default(),
        roles: allowed,
        not_before: claims.nbf.map(Timestamp::from_seconds),
        expiry: Timestamp::from_seconds(claims.exp.ok_or(TokenRefusal::Claim("exp"))?),
        audiences: claims.aud.ok_or(TokenRefusal::Claim("aud"))?.all(),
    })
}

pub(super) fn check_time(identity: &Identity, now: Timestamp) -> Result<(), TokenRefusal> {
    let expired = now >= identity.expiry.saturating_add(SKEW);
    let early = identity.not_before.is_some_and(|start| now.saturating_add(SKEW) < start);
    if expired || early { Err(TokenRefusal::Lifetime) } else { Ok(()) }
}

/// The resource of the services, what the configuration says, or the endpoint of this account alone.
pub(super) fn check_audience(
    settings: &BearerSettings,
    identity: &Identity,
    account: &str,
) -> Result<(), TokenRefusal> {
    let ours = |audience: &String| {
        let audience = audience.trim_end_matches('/');
        let endpoint = || {
            let host = audience.strip_prefix("https://").and_then(|host| host.strip_prefix(account));
            matches!(
                host,
                Some(
                    ".blob.core.windows.net"
                        | ".queue.core.windows.net"
                        | ".table.core.windows.net"
                        | ".file.core.windows.net"
                )
            )
        };
        audience == RESOURCE || settings.audiences.iter().any(|own| own.trim_end_matches('/') == audience) || endpoint()
    };
    if identity.audiences.iter().any(ours) { Ok(()) } else { Err(TokenRefusal::Audience) }
}
