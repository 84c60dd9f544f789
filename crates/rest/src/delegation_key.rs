//! Get User Delegation Key, the same for every service: the document that asks for a key, and the one that has it.

use access::{
    GetUserDelegationKey, instant,
    need::Service,
    sas::{DelegationKeyRequest, service_letter},
};
use account::Settings;
use http::{HeaderValue, StatusCode};
use types::Timestamp;

use crate::{
    Caller, Response, ResponseBody, ServiceError, caller,
    xml::{self, XmlWriter},
};

/// Most bytes of the document.
pub const BODY_MAX_BYTES: usize = 64 * 1024;

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyInfo {
    /// From when on; `None` for now.
    pub start: Option<Timestamp>,
    /// Until when.
    pub expiry: Timestamp,
    /// The tenant of the users whom signatures are for.
    pub delegated_tenant: Option<String>,
}

impl KeyInfo {
    /// Reads the document.
    ///
    /// # Errors
    /// It is none, or an instant is not one.
    pub fn parse(document: &[u8]) -> Result<Self, ServiceError> {
        let root = xml::parse(document)?;
        if root.name != "KeyInfo" {
            return Err(ServiceError::invalid_xml_node(&root.name, ""));
        }
        let read = |name: &'static str| match root.text_of(name).map(str::trim) {
            None | Some("") => Ok(None),
            Some(text) => instant::parse(text).map(Some).ok_or_else(|| ServiceError::invalid_xml_node(name, text)),
        };
        let tenant = root.text_of("DelegatedUserTid").filter(|text| !text.is_empty());
        Ok(Self {
            start: read("Start")?,
            expiry: read("Expiry")?.ok_or_else(|| ServiceError::invalid_xml_node("Expiry", ""))?,
            delegated_tenant: tenant.map(str::to_owned),
        })
    }
}

/// Answers the operation.
///
/// # Errors
/// The caller may not, shows no token, or asks for what cannot be.
pub async fn answer(
    settings: &Settings,
    caller: &Caller,
    service: Service,
    document: &[u8],
    now: Timestamp,
) -> Result<Response, ServiceError> {
    let Some(identity) = caller.identity() else {
        return Err(
            caller::failed().with_detail("AuthenticationErrorDetail", "Only authentication scheme Bearer is supported")
        );
    };
    // The right to ask comes before the document: who may not ask is not told what is wrong with it.
    let asked = caller.ask(GetUserDelegationKey { account: caller.unit(), service });
    let permitted = settings.permit_delegation(&asked).await;
    permitted.map_err(|denied| caller.explain(caller::denied_answer(&denied)))?;
    let info = KeyInfo::parse(document)?;
    let start = info.start.unwrap_or(now);
    if !GetUserDelegationKey::may_live(start, info.expiry, now) {
        return Err(ServiceError::invalid_xml_node("Expiry", &instant::format(info.expiry)));
    }
    let (start, expiry, version) = (instant::format(start), instant::format(info.expiry), caller.version.to_string());
    let request = DelegationKeyRequest {
        service,
        object: &identity.object,
        tenant: &identity.tenant,
        start: &start,
        expiry: &expiry,
        version: &version,
        delegated_tenant: info.delegated_tenant.as_deref(),
    };
    // The roles of this moment are part of the key: it cannot do more than its maker could.
    let key = request.key(&caller.account, identity.actions(service)).ok_or_else(ServiceError::internal)?;
    let mut xml = XmlWriter::document();
    xml.open("UserDelegationKey");
    xml.element("SignedOid", &identity.object);
    xml.element("SignedTid", &identity.tenant);
    xml.element("SignedStart", &start);
    xml.element("SignedExpiry", &expiry);
    xml.element("SignedService", service_letter(service));
    xml.element("SignedVersion", &version);
    xml.optional("SignedDelegatedUserTid", info.delegated_tenant.as_deref());
    xml.element("Value", &key);
    xml.close("UserDelegationKey");
    let body = ResponseBody::bytes(xml.finish());
    Ok(Response::new(StatusCode::OK).body(HeaderValue::from_static("application/xml"), body))
}

#[cfg(test)]
mod tests {
    use types::ErrorCode;

    use super::*;

    #[test]
    fn reads_what_is_asked_for() {
        let parse = |inside: &str| KeyInfo::parse(format!("<KeyInfo>{inside}</KeyInfo>").as_bytes());
        let expiry = Timestamp::from_seconds(86_400);
        let whole = parse("<Start>1970-01-01</Start><Expiry>1970-01-02T00:00:00Z</Expiry>").unwrap();
        assert_eq!(whole, KeyInfo { start: Some(Timestamp::EPOCH), expiry, delegated_tenant: None });
        let short = parse("<Expiry>1970-01-02</Expiry><DelegatedUserTid>t</DelegatedUserTid>").unwrap();
        assert_eq!(short, KeyInfo { start: None, expiry, delegated_tenant: Some("t".into()) });
        for wrong in ["", "<Expiry>soon</Expiry>", "<Start>x</Start><Expiry>1970-01-02</Expiry>"] {
            assert_eq!(parse(wrong).unwrap_err().code, ErrorCode::InvalidXmlNodeValue, "{wrong}");
        }
        assert!(KeyInfo::parse(b"<Key/>").is_err() && KeyInfo::parse(b"").is_err());
    }
}
