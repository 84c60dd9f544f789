//! Making signatures, for the command line and for tests. The strings are the ones that [`super::verify`] checks.

use types::Timestamp;

use super::{Fields, SasRefusal, SignedTarget, account, scope::Scope, service};
use crate::{account::AccountKey, need::Service};

/// Signs these fields, except `sig`, for this resource with a key of the account. Returns the parameters of the
/// signature in the order to be sent, not encoded.
///
/// # Errors
/// The fields do not make a signature.
pub fn sign(
    key: &AccountKey,
    service: Service,
    account: &str,
    container: Option<&str>,
    path: Option<&str>,
    fields: &Fields<'_>,
) -> Result<Vec<(&'static str, String)>, SasRefusal> {
    let target = SignedTarget {
        service,
        account,
        container,
        path,
        query: &[],
        headers: &[],
        peer: std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
        secure: true,
    };
    fields.single_lines()?;
    let text = if fields.services.is_some() {
        account::reach(fields)?;
        account::string_to_sign(account, fields)?.whole()
    } else {
        let scope = Scope::of(&target, fields)?;
        service::string_to_sign(&target, fields, &scope)?.joined()
    };
    if fields.policy.is_none() && (fields.permissions.is_none() || fields.expiry.is_none()) {
        return Err(SasRefusal::Field(if fields.permissions.is_none() { "sp" } else { "se" }));
    }
    let instants = [(fields.start, "st"), (fields.expiry, "se")];
    instants.iter().try_for_each(|(text, name)| super::instant(*text, name).map(|_: Option<Timestamp>| ()))?;
    if fields.addresses.is_some_and(|text| super::Addresses::parse(text).is_none()) {
        return Err(SasRefusal::Field("sip"));
    }
    let signature = key.sign_base64(&text);
    let mut signed: Vec<_> = fields.iter().map(|(name, value)| (name, value.to_owned())).collect();
    signed.push(("sig", signature));
    Ok(signed)
}
