//! Account SAS: several services and kinds of resources at once.

use super::{Fields, Reach, SasRefusal, layout::Text};
use crate::need::{Place, Service};

/// The services of an account SAS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Services(u8);

/// The resource types of an account SAS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ResourceTypes(u8);

const SIGNED: &[&str] = &["sv", "ss", "srt", "sp", "st", "se", "sip", "spr", "sig"];
const SIGNED_WITH_SCOPE: &[&str] = &["sv", "ss", "srt", "sp", "st", "se", "sip", "spr", "ses", "sig"];

impl Services {
    pub(super) fn parse(text: &str) -> Option<Self> {
        letters(text, "bqtf").map(Self)
    }

    pub(super) const fn has(self, service: Service) -> bool {
        let place = match service {
            Service::Blob => 0,
            Service::Queue => 1,
            Service::Table => 2,
            Service::File => 3,
        };
        self.0 & (1 << place) != 0
    }
}

impl ResourceTypes {
    pub(super) fn parse(text: &str) -> Option<Self> {
        letters(text, "sco").map(Self)
    }

    pub(super) const fn covers(self, place: Place<'_>) -> bool {
        let place = match place {
            Place::Service => 0,
            Place::Container(_) => 1,
            Place::Contents(_) | Place::Object { .. } => 2,
        };
        self.0 & (1 << place) != 0
    }
}

/// A set of letters, each at most once, at least one.
fn letters(text: &str, known: &str) -> Option<u8> {
    let set = text.chars().try_fold(0, |set, letter| {
        let bit = 1 << known.find(letter)?;
        (set & bit == 0).then_some(set | bit)
    })?;
    (set != 0).then_some(set)
}

/// What is signed: every line ends, also the last.
pub(super) fn string_to_sign(account: &str, fields: &Fields<'_>) -> Result<Text, SasRefusal> {
    let version = super::version(fields)?;
    if !version.at_least(2015, 4, 5) {
        return Err(SasRefusal::Version(fields.version.unwrap_or_default().to_owned()));
    }
    let scoped = version.at_least(2020, 12, 6);
    fields.only(if scoped { SIGNED_WITH_SCOPE } else { SIGNED })?;
    let mut text = Text::default();
    text.line(account);
    for field in [
        fields.permissions,
        fields.services,
        fields.resource_types,
        fields.start,
        fields.expiry,
        fields.addresses,
        fields.protocols,
        fields.version,
    ] {
        text.field(field);
    }
    if scoped {
        text.field(fields.encryption_scope);
    }
    Ok(text)
}

/// What it reaches.
pub(super) fn reach(fields: &Fields<'_>) -> Result<Reach, SasRefusal> {
    let services = fields.services.and_then(Services::parse).ok_or(SasRefusal::Field("ss"))?;
    let types = fields.resource_types.and_then(ResourceTypes::parse).ok_or(SasRefusal::Field("srt"))?;
    Ok(Reach::Account { services, types })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_stand_for_services_and_types() {
        let services = Services::parse("bf").unwrap();
        assert!(services.has(Service::Blob) && services.has(Service::File) && !services.has(Service::Queue));
        let types = ResourceTypes::parse("so").unwrap();
        assert!(types.covers(Place::Service) && types.covers(Place::Contents("q")));
        assert!(!types.covers(Place::Container("c")));
        for wrong in ["", "bb", "x", "b "] {
            assert_eq!(Services::parse(wrong), None, "{wrong}");
        }
    }
}
