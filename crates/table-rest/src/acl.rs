//! Get Table ACL and Set Table ACL. Their bodies are XML, whatever the rest of the service speaks.

use access::acl::StoredAccessPolicy;
use http::StatusCode;
use rest::{Request, Response, ServiceError, dates, xml};
use store::Scope;
use table::acl::{self, GetTableAcl, SetTableAcl};
use types::{
    ErrorCode, Timestamp,
    limits::{STORED_POLICIES_MAX, STORED_POLICY_ID_MAX},
    names::TableName,
};

use crate::{TableService, errors, exchange::Scene};

/// Largest body of Set Table ACL.
const BODY_MAX: usize = 64 * 1024;

pub(crate) async fn get(service: &TableService, scene: &Scene<'_>, name: &TableName) -> Result<Response, ServiceError> {
    let rows = service.store.snapshot();
    let request = scene.caller.authorize(&rows, GetTableAcl { address: scene.table(name) }).await?;
    let policies = acl::get(&rows, &request).await.map_err(errors::of)?;
    let mut document = xml::XmlWriter::document();
    document.open("SignedIdentifiers");
    for policy in &policies {
        document.open("SignedIdentifier");
        document.element("Id", &policy.id);
        document.open("AccessPolicy");
        document.optional("Start", policy.start.map(dates::iso8601).as_deref());
        document.optional("Expiry", policy.expiry.map(dates::iso8601).as_deref());
        document.optional("Permission", policy.permissions.as_deref());
        document.close("AccessPolicy");
        document.close("SignedIdentifier");
    }
    document.close("SignedIdentifiers");
    Ok(Response::new(StatusCode::OK).xml(document.finish()))
}

pub(crate) async fn set(
    service: &TableService,
    scene: &Scene<'_>,
    name: &TableName,
    request: &mut Request,
) -> Result<Response, ServiceError> {
    let body = request.body.collect(BODY_MAX).await?;
    let policies = if body.is_empty() { Vec::new() } else { policies(&xml::parse(&body)?)? };
    let request = SetTableAcl { address: scene.table(name), policies };
    let request = &scene.caller.authorize(&service.store.snapshot(), request).await?;
    service
        .store
        .transact(Scope::unit(scene.caller.unit()), |txn| async move { acl::set(&txn, request).await })
        .await
        .map_err(errors::of)?;
    Ok(Response::new(StatusCode::NO_CONTENT))
}

fn policies(document: &xml::Element) -> Result<Vec<StoredAccessPolicy>, ServiceError> {
    let invalid = |name: &str, value: &str| {
        ServiceError::new(
            ErrorCode::InvalidXmlNodeValue,
            "The value for one of the XML nodes is not in the correct format.",
        )
        .with_detail("XmlNodeName", name)
        .with_detail("XmlNodeValue", value)
    };
    if document.name != "SignedIdentifiers" || document.children.len() > STORED_POLICIES_MAX {
        return Err(ServiceError::new(ErrorCode::InvalidXmlDocument, "XML specified is not syntactically valid.")
            .with_detail("Reason", format!("there are at most {STORED_POLICIES_MAX} SignedIdentifier elements")));
    }
    let mut policies: Vec<StoredAccessPolicy> = Vec::new();
    for identifier in &document.children {
        let id = identifier.text_of("Id").unwrap_or_default();
        let again = policies.iter().any(|policy| policy.id == id);
        if id.is_empty() || id.chars().count() > STORED_POLICY_ID_MAX || again {
            return Err(invalid("Id", id));
        }
        let policy = identifier.child("AccessPolicy");
        let text = |name: &str| policy.and_then(|policy| policy.text_of(name)).filter(|text| !text.is_empty());
        let instant = |name: &str| -> Result<Option<Timestamp>, ServiceError> {
            let Some(text) = text(name) else { return Ok(None) };
            dates::parse_iso8601(text).map(Some).ok_or_else(|| invalid(name, text))
        };
        let permissions = text("Permission");
        if permissions.is_some_and(|letters| letters.chars().any(|letter| !"raud".contains(letter))) {
            return Err(invalid("Permission", permissions.unwrap_or_default()));
        }
        policies.push(StoredAccessPolicy {
            id: id.to_owned(),
            start: instant("Start")?,
            expiry: instant("Expiry")?,
            permissions: permissions.map(str::to_owned),
        });
    }
    Ok(policies)
}
