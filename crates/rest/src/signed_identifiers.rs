//! The document of stored access policies that the operations Set and Get ACL of every service share.

use access::{
    acl::StoredAccessPolicy,
    instant,
    need::{Permissions, Service},
};
use bytes::Bytes;
use types::ErrorCode;

use crate::{
    ServiceError,
    xml::{self, XmlWriter},
};

/// Most policies of one list.
pub const POLICIES_MAX: usize = 5;
/// Longest id of a policy, in characters.
pub const ID_MAX_CHARACTERS: usize = 64;
/// Most bytes of the document.
pub const BODY_MAX_BYTES: usize = 64 * 1024;

/// The letters that permissions are written with. Those of Blob grow with its versions: every letter that a signature
/// can have is one.
const fn letters(service: Service) -> &'static str {
    match service {
        Service::Queue => "raup",
        Service::Table => "raud",
        Service::Blob | Service::File => "abcdefghijklmnopqrstuvwxyz",
    }
}

/// Reads `<SignedIdentifiers>`. No document at all is the empty list.
///
/// # Errors
/// It is malformed, has too many policies, or one of them has an id twice, too long or none, a time that is none, or
/// permissions that the service does not have.
pub fn parse(service: Service, document: &[u8]) -> Result<Vec<StoredAccessPolicy>, ServiceError> {
    // No body at all takes every policy away.
    if document.iter().all(u8::is_ascii_whitespace) {
        return Ok(Vec::new());
    }
    let root = xml::parse(document)?;
    if root.name != "SignedIdentifiers" {
        return Err(malformed("the root is not SignedIdentifiers"));
    }
    if root.children.len() > POLICIES_MAX {
        return Err(malformed("there are more than 5 policies"));
    }
    let mut policies = Vec::<StoredAccessPolicy>::new();
    for child in &root.children {
        if child.name != "SignedIdentifier" {
            return Err(malformed("there is something else than SignedIdentifier"));
        }
        let id = child.text_of("Id").unwrap_or_default();
        let too_long = id.chars().count() > ID_MAX_CHARACTERS;
        if id.is_empty() || too_long || policies.iter().any(|earlier| earlier.id == id) {
            return Err(ServiceError::invalid_xml_node("Id", id));
        }
        let policy = child.child("AccessPolicy");
        let text =
            |name: &str| policy.and_then(|policy| policy.text_of(name)).map(str::trim).filter(|text| !text.is_empty());
        let time = |name: &'static str| {
            text(name)
                .map(|text| instant::parse(text).ok_or_else(|| ServiceError::invalid_xml_node(name, text)))
                .transpose()
        };
        let permissions = text("Permission");
        let known =
            |sent: &str| Permissions::parse(sent).is_some() && sent.chars().all(|it| letters(service).contains(it));
        if let Some(sent) = permissions.filter(|sent| !known(sent)) {
            return Err(ServiceError::invalid_xml_node("Permission", sent));
        }
        policies.push(StoredAccessPolicy {
            id: id.to_owned(),
            start: time("Start")?,
            expiry: time("Expiry")?,
            permissions: permissions.map(str::to_owned),
        });
    }
    Ok(policies)
}

/// Writes the document.
#[must_use]
pub fn write(policies: &[StoredAccessPolicy]) -> Bytes {
    let mut xml = XmlWriter::document();
    xml.open("SignedIdentifiers");
    for policy in policies {
        xml.open("SignedIdentifier");
        xml.element("Id", &policy.id);
        // An id that was stored alone comes back alone.
        if policy.start.is_some() || policy.expiry.is_some() || policy.permissions.is_some() {
            xml.open("AccessPolicy");
            xml.optional("Start", policy.start.map(crate::dates::iso8601).as_deref());
            xml.optional("Expiry", policy.expiry.map(crate::dates::iso8601).as_deref());
            xml.optional("Permission", policy.permissions.as_deref());
            xml.close("AccessPolicy");
        }
        xml.close("SignedIdentifier");
    }
    xml.close("SignedIdentifiers");
    xml.finish()
}

fn malformed(reason: &str) -> ServiceError {
    ServiceError::new(ErrorCode::InvalidXmlDocument, "XML specified is not syntactically valid.")
        .with_detail("Reason", reason)
}

#[cfg(test)]
mod tests {
    use types::Timestamp;

    use super::*;

    fn one(id: &str, policy: &str) -> String {
        format!("<SignedIdentifier><Id>{id}</Id><AccessPolicy>{policy}</AccessPolicy></SignedIdentifier>")
    }

    fn read(inside: &str) -> Result<Vec<StoredAccessPolicy>, ErrorCode> {
        parse(Service::Blob, format!("<SignedIdentifiers>{inside}</SignedIdentifiers>").as_bytes())
            .map_err(|error| error.code)
    }

    #[test]
    fn policies_come_back_as_they_were() {
        let document =
            one("a b", "<Start>1994-11-06</Start><Expiry>1994-11-06T08:49:37.1Z</Expiry><Permission>rl</Permission>");
        let policies = read(&format!("{document}{}", one("empty", ""))).unwrap();
        assert_eq!(policies.len(), 2);
        assert_eq!(policies[0].expiry, Some(Timestamp::from_ticks(7_841_117_771_000_000)));
        assert_eq!((policies[1].start, policies[1].permissions.clone()), (None, None));
        assert_eq!(parse(Service::Blob, &write(&policies)).unwrap(), policies);
        assert_eq!(parse(Service::Blob, b" \n").unwrap(), []);
        assert_eq!(parse(Service::Blob, b"<SignedIdentifiers/>").unwrap(), []);
    }

    #[test]
    fn an_identifier_stored_without_a_policy_comes_back_without_one() {
        let alone = "<SignedIdentifier><Id>a</Id></SignedIdentifier>";
        for document in [one("a", ""), alone.to_owned()] {
            let written = write(&read(&document).unwrap());
            let written = std::str::from_utf8(&written).unwrap();
            assert!(written.ends_with(&format!("<SignedIdentifiers>{alone}</SignedIdentifiers>")), "{written}");
        }
    }

    #[test]
    fn each_service_has_its_letters() {
        let table = [
            (Service::Blob, "racwdxltmeopi", true),
            (Service::Queue, "raup", true),
            (Service::Queue, "rd", false),
            (Service::Table, "raud", true),
            (Service::Table, "rw", false),
            (Service::Table, "rr", false),
        ];
        for (service, letters, known) in table {
            let document = one("a", &format!("<Permission>{letters}</Permission>"));
            let found = parse(service, format!("<SignedIdentifiers>{document}</SignedIdentifiers>").as_bytes());
            assert_eq!(found.is_ok(), known, "{service:?} {letters}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        use ErrorCode::{InvalidXmlDocument, InvalidXmlNodeValue};
        let six: String = (0..6).map(|number| one(&number.to_string(), "")).collect();
        let table = [
            (six, InvalidXmlDocument),
            ("<Other/>".to_owned(), InvalidXmlDocument),
            (one("", ""), InvalidXmlNodeValue),
            (one(&"x".repeat(65), ""), InvalidXmlNodeValue),
            (one("a", "") + &one("a", ""), InvalidXmlNodeValue),
            (one("a", "<Start>now</Start>"), InvalidXmlNodeValue),
            (one("a", "<Permission>R</Permission>"), InvalidXmlNodeValue),
        ];
        for (inside, expected) in table {
            assert_eq!(read(&inside), Err(expected), "{inside}");
        }
        assert!(read(&one(&"ä".repeat(64), "")).is_ok());
        assert!(parse(Service::Blob, b"<Wrong/>").is_err() && parse(Service::Blob, b"<SignedIdentifiers>").is_err());
    }
}
