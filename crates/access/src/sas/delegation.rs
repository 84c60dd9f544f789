//! User delegation SAS, and the keys that sign them.
//!
//! A delegation key is derived from a key of the account, from who asked for it, and from what that one might do. Nothing
//! is stored: the key is derived again from the parameters of the signature. So rotating the account's key revokes every
//! delegation key made with it, and a signature never allows more than its maker could do when it got the key: what the
//! roles allowed is part of the derivation, and the few sets that there can be are tried.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use types::{ServiceVersion, Timestamp};

use super::{Fields, Reach, SasRefusal, Scope, SignedTarget, layout, layout::Text, service};
use crate::{
    account::{Account, AccountKey},
    actions::Actions,
    need::{Action, Service},
};

/// Pinned: another text would be other keys.
const PURPOSE: &str = "lazuli user delegation key 1";

const SIGNED: &[&str] =
    &["sv", "sr", "sp", "st", "se", "sip", "spr", "sdd", "skoid", "sktid", "skt", "ske", "sks", "skv", "sig"];

/// Who a delegation key is for, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct DelegationKeyRequest<'a> {
    /// The service whose signatures the key may make.
    pub service: Service,
    /// The object id of the asker.
    pub object: &'a str,
    /// The tenant of the asker (`tid` of the token).
    pub tenant: &'a str,
    /// From when on, as it is shown.
    pub start: &'a str,
    /// Until when, as it is shown.
    pub expiry: &'a str,
    /// The version, as it is shown.
    pub version: &'a str,
    /// The tenant of the users whom signatures are for.
    pub delegated_tenant: Option<&'a str>,
}

impl DelegationKeyRequest<'_> {
    /// The key, derived from a key of the account.
    fn derive(&self, key: &AccountKey, authority: Actions) -> AccountKey {
        let mut text = String::with_capacity(256);
        let authority = authority.number().to_string();
        let service = letter(self.service);
        let tenant = self.delegated_tenant.unwrap_or_default();
        // Lengths keep the fields apart, whatever is in them.
        for part in
            [PURPOSE, &authority, service, self.object, self.tenant, self.start, self.expiry, self.version, tenant]
        {
            text.push_str(&part.len().to_string());
            text.push(':');
            text.push_str(part);
        }
        AccountKey::new(&key.sign(text.as_bytes()))
    }

    /// The key in Base64, as the client gets it. `authority` is what the asker's roles allow.
    #[must_use]
    pub fn key(&self, account: &Account, authority: Actions) -> Option<String> {
        let key = account.keys.first()?;
        let derived = self.derive(key, authority.and(delegable(self.service)));
        Some(STANDARD.encode(derived.bytes()))
    }
}

/// The letter of a service, as `sks` has it.
#[must_use]
pub const fn letter(service: Service) -> &'static str {
    match service {
        Service::Blob => "b",
        Service::Queue => "q",
        Service::Table => "t",
        Service::File => "f",
    }
}

/// What can be handed on, which the right to do so is not: the less there is, the fewer sets are tried.
const fn delegable(service: Service) -> Actions {
    let all = Actions::NONE.with(Action::Read).with(Action::Add).with(Action::Write).with(Action::Delete);
    match service {
        Service::Queue => all.with(Action::Process),
        Service::Blob | Service::Table | Service::File => all,
    }
}

/// The key of the account that the delegation key was derived from, and what its owner might do.
pub(super) fn verify(
    account: &Account,
    target: &SignedTarget<'_>,
    fields: &Fields<'_>,
    text: &str,
    signature: &[u8],
) -> Result<(AccountKey, Actions), SasRefusal> {
    let need = |field: Option<_>, name| field.ok_or(SasRefusal::Field(name));
    let request = DelegationKeyRequest {
        service: target.service,
        object: need(fields.key_object, "skoid")?,
        tenant: need(fields.key_tenant, "sktid")?,
        start: need(fields.key_start, "skt")?,
        expiry: need(fields.key_expiry, "ske")?,
        version: need(fields.key_version, "skv")?,
        delegated_tenant: fields.delegated_tenant,
    };
    if need(fields.key_service, "sks")? != letter(target.service) {
        return Err(SasRefusal::KeyService);
    }
    let mut found = None;
    for authority in delegable(target.service).subsets() {
        for key in &account.keys {
            if request.derive(key, authority).signed(text.as_bytes(), signature) {
                found = Some((key.clone(), authority));
            }
        }
        if found.is_some() {
            break;
        }
    }
    found.ok_or_else(|| SasRefusal::Mismatch { string_to_sign: text.to_owned() })
}

/// Whether the delegation key itself is valid now.
pub(super) fn check_key_time(fields: &Fields<'_>, now: Timestamp) -> Result<(), SasRefusal> {
    let start = super::instant(fields.key_start, "skt")?.ok_or(SasRefusal::Field("skt"))?;
    let expiry = super::instant(fields.key_expiry, "ske")?.ok_or(SasRefusal::Field("ske"))?;
    if now < start || now >= expiry {
        return Err(SasRefusal::Time { start: Some(start), expiry: Some(expiry), now });
    }
    Ok(())
}

/// What is signed.
pub(super) fn string_to_sign(
    target: &SignedTarget<'_>,
    fields: &Fields<'_>,
    scope: &Scope,
) -> Result<Text, SasRefusal> {
    let version = super::version(fields)?;
    // The first version that has this kind of signature.
    let first = if target.service == Service::Blob { (2018, 11, 9) } else { (2025, 7, 5) };
    if !version.at_least(first.0, first.1, first.2) {
        return Err(SasRefusal::Version(fields.version.unwrap_or_default().to_owned()));
    }
    // A parameter that this version does not sign could be added by anybody.
    fields.only(&signed(target.service, version))?;
    // From here on the order is the layout: each version added lines at its own place.
    let mut text = Text::default();
    text.fields(&[fields.permissions, fields.start, fields.expiry]);
    text.line(&layout::resource(target, scope, version));
    text.fields(&[
        fields.key_object,
        fields.key_tenant,
        fields.key_start,
        fields.key_expiry,
        fields.key_service,
        fields.key_version,
    ]);
    if target.service == Service::Blob && version.at_least(2020, 2, 10) {
        text.fields(&[fields.authorized_object, fields.unauthorized_object, fields.correlation]);
    }
    if version.at_least(2025, 7, 5) {
        text.fields(&[fields.delegated_tenant, fields.delegated_object]);
    }
    text.fields(&[fields.addresses, fields.protocols, fields.version]);
    match target.service {
        Service::Blob => {
            text.fields(&[fields.resource, scope.timestamp()]);
            if version.at_least(2020, 12, 6) {
                text.field(fields.encryption_scope);
            }
            if version.at_least(2026, 4, 6) {
                text.line(&request_headers(target, fields)?);
                text.line(&request_parameters(target, fields)?);
            }
            service::overrides(&mut text, fields);
        }
        Service::File => service::overrides(&mut text, fields),
        Service::Table => service::ranges(&mut text, fields),
        Service::Queue => {}
    }
    Ok(text)
}

/// The signed headers with the values of this request, each line with its end.
fn request_headers(target: &SignedTarget<'_>, fields: &Fields<'_>) -> Result<String, SasRefusal> {
    let mut text = String::new();
    for name in fields.request_headers.into_iter().flat_map(|names| names.split(',')) {
        let sent = target.headers.iter().find(|(sent, _)| sent.eq_ignore_ascii_case(name));
        let (_, value) = sent.ok_or_else(|| SasRefusal::RequestHeader(name.to_owned()))?;
        text.push_str(&format!("{name}:{}\n", value.trim()));
    }
    Ok(text)
}

/// The signed parameters with the values of this request, each line behind an end of line.
fn request_parameters(target: &SignedTarget<'_>, fields: &Fields<'_>) -> Result<String, SasRefusal> {
    let mut text = String::new();
    for name in fields.request_parameters.into_iter().flat_map(|names| names.split(',')) {
        let mut sent = target.query.iter().filter(|(sent, _)| sent.eq_ignore_ascii_case(name));
        let (Some((_, value)), None) = (sent.next(), sent.next()) else {
            return Err(SasRefusal::RequestParameter(name.to_owned()));
        };
        // A line break in a value, or a colon in a name, would make one parameter look like others.
        if name.contains(':') || value.contains(char::is_control) {
            return Err(SasRefusal::Control("srq"));
        }
        text.push_str(&format!("\n{name}:{value}"));
    }
    Ok(text)
}

fn signed(service: Service, version: ServiceVersion) -> Vec<&'static str> {
    let mut signed = SIGNED.to_vec();
    if version.at_least(2025, 7, 5) {
        signed.extend(["skdutid", "sduoid"]);
    }
    match service {
        Service::Blob => {
            signed.extend(["rscc", "rscd", "rsce", "rscl", "rsct"]);
            if version.at_least(2020, 2, 10) {
                signed.extend(["saoid", "suoid", "scid"]);
            }
            if version.at_least(2020, 12, 6) {
                signed.push("ses");
            }
            if version.at_least(2026, 4, 6) {
                signed.extend(["srh", "srq"]);
            }
        }
        Service::File => signed.extend(["rscc", "rscd", "rsce", "rscl", "rsct"]),
        Service::Table => signed.extend(["tn", "spk", "srk", "epk", "erk"]),
        Service::Queue => {}
    }
    signed
}

/// What it reaches.
pub(super) const fn reach(service: Service, scope: Scope, authority: Actions) -> Reach {
    Reach::Service { service, scope, authority: Some(authority) }
}
