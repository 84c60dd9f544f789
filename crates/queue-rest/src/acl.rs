//! Get Queue ACL and Set Queue ACL: stored access policies as XML.

use access::acl::{Acl, StoredAccessPolicy};
use http::StatusCode;
use queue::{GetQueueAcl, SetQueueAcl};
use rest::{
    Caller, Request, Response, ServiceError, dates,
    xml::{self, Element, XmlWriter},
};
use store::Scope;
use types::{
    ErrorCode, Timestamp,
    limits::{STORED_POLICIES_MAX, STORED_POLICY_ID_MAX},
};

use crate::{QueueService, errors, names};

/// Five policies take a fraction of this.
const BODY_MAX_BYTES: usize = 64 * 1024;

pub(crate) async fn get(service: &QueueService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    let rows = service.store.snapshot();
    let operation = caller.authorize(&rows, GetQueueAcl { address: names::address(caller, request)? }).await?;
    let acl = queue::acl(&rows, &operation).await.map_err(errors::of)?;
    Ok(Response::new(StatusCode::OK).xml(write(&acl.policies)))
}

pub(crate) async fn set(
    service: &QueueService,
    caller: &Caller,
    mut request: Request,
) -> Result<Response, ServiceError> {
    let address = names::address(caller, &request)?;
    let body = request.body.collect(BODY_MAX_BYTES).await?;
    let policies = if body.is_empty() { Vec::new() } else { read(&body)? };
    let operation = SetQueueAcl { address, acl: Acl { policies, ..Acl::default() } };
    let operation = &caller.authorize(&service.store.snapshot(), operation).await?;
    let object = operation.address.key();
    let scope = Scope::unit(caller.unit()).object(&object);
    service
        .store
        .transact(scope, |txn| async move { queue::set_acl(&txn, operation).await })
        .await
        .map_err(errors::of)?;
    Ok(Response::new(StatusCode::NO_CONTENT))
}

fn write(policies: &[StoredAccessPolicy]) -> bytes::Bytes {
    let mut xml = XmlWriter::document();
    xml.open("SignedIdentifiers");
    for policy in policies {
        xml.open("SignedIdentifier");
        xml.element("Id", &policy.id);
        xml.open("AccessPolicy");
        xml.optional("Start", policy.start.map(dates::iso8601).as_deref());
        xml.optional("Expiry", policy.expiry.map(dates::iso8601).as_deref());
        xml.optional("Permission", policy.permissions.as_deref());
        xml.close("AccessPolicy");
        xml.close("SignedIdentifier");
    }
    xml.close("SignedIdentifiers");
    xml.finish()
}

fn read(document: &[u8]) -> Result<Vec<StoredAccessPolicy>, ServiceError> {
    let root = xml::parse(document)?;
    if root.name != "SignedIdentifiers" || root.children.len() > STORED_POLICIES_MAX {
        return Err(ServiceError::new(ErrorCode::InvalidXmlDocument, "XML specified is not syntactically valid.")
            .with_detail("Reason", format!("at most {STORED_POLICIES_MAX} policies in SignedIdentifiers")));
    }
    root.children.iter().map(policy).collect()
}

fn policy(element: &Element) -> Result<StoredAccessPolicy, ServiceError> {
    let id = element.text_of("Id").unwrap_or_default();
    if id.is_empty() || id.chars().count() > STORED_POLICY_ID_MAX {
        return Err(invalid("Id", id));
    }
    let part = |name: &str| {
        let policy = element.child("AccessPolicy")?;
        policy.text_of(name).map(str::trim).filter(|text| !text.is_empty())
    };
    let instant = |name: &'static str| -> Result<Option<Timestamp>, ServiceError> {
        part(name).map(|text| dates::parse_iso8601(text).ok_or_else(|| invalid(name, text))).transpose()
    };
    let permissions = match part("Permission") {
        Some(letters) if !letters.bytes().all(|letter| b"raup".contains(&letter)) => {
            return Err(invalid("Permission", letters));
        }
        letters => letters.map(str::to_owned),
    };
    Ok(StoredAccessPolicy { id: id.to_owned(), start: instant("Start")?, expiry: instant("Expiry")?, permissions })
}

fn invalid(name: &'static str, value: &str) -> ServiceError {
    ServiceError::new(
        ErrorCode::InvalidXmlNodeValue,
        "The value provided for one of the XML nodes in the request body was not in the correct format.",
    )
    .with_detail("XmlNodeName", name)
    .with_detail("XmlNodeValue", value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_come_back_as_they_were_set() {
        let policies = vec![
            StoredAccessPolicy {
                id: "all".into(),
                start: Some(Timestamp::from_ticks(16_000_000_001_234_567)),
                expiry: Some(Timestamp::from_seconds(1_700_000_000)),
                permissions: Some("raup".into()),
            },
            StoredAccessPolicy { id: "<bare>".into(), start: None, expiry: None, permissions: None },
        ];
        assert_eq!(read(&write(&policies)).unwrap(), policies);
        assert_eq!(read(b"<SignedIdentifiers/>").unwrap(), []);
    }

    #[test]
    fn wrong_policies_are_refused() {
        let one = |inner: &str| {
            format!("<SignedIdentifiers><SignedIdentifier>{inner}</SignedIdentifier></SignedIdentifiers>")
        };
        let long = "i".repeat(65);
        let table = [
            ("<Other/>".to_owned(), ErrorCode::InvalidXmlDocument),
            (
                format!("<SignedIdentifiers>{}</SignedIdentifiers>", "<SignedIdentifier/>".repeat(6)),
                ErrorCode::InvalidXmlDocument,
            ),
            (one(""), ErrorCode::InvalidXmlNodeValue),
            (one(&format!("<Id>{long}</Id>")), ErrorCode::InvalidXmlNodeValue),
            (one("<Id>a</Id><AccessPolicy><Start>soon</Start></AccessPolicy>"), ErrorCode::InvalidXmlNodeValue),
            (one("<Id>a</Id><AccessPolicy><Permission>rw</Permission></AccessPolicy>"), ErrorCode::InvalidXmlNodeValue),
        ];
        for (document, expected) in table {
            assert_eq!(read(document.as_bytes()).unwrap_err().code, expected, "{document}");
        }
    }
}
