//! Service SAS: one container, blob, directory, queue, table, share or file, signed with a key of the account.
//!
//! Every layout since 2012-02-12 is here, and the one before it, which had no `sv`.

use types::ServiceVersion;

use super::{Fields, Reach, SasRefusal, Scope, SignedTarget, layout, layout::Text};
use crate::need::Service;

/// The version that a signature without `sv` was made by.
pub(super) const BEFORE_VERSIONS: ServiceVersion = ServiceVersion::new(2011, 8, 18);

const ALWAYS: &[&str] = &["sv", "sr", "sp", "st", "se", "si", "sig"];
const OVERRIDES: &[&str] = &["rscc", "rscd", "rsce", "rscl", "rsct"];

/// What is signed.
pub(super) fn string_to_sign(
    target: &SignedTarget<'_>,
    fields: &Fields<'_>,
    scope: &Scope,
) -> Result<Text, SasRefusal> {
    let version = super::version(fields)?;
    fields.only(&signed(target.service, version))?;
    let mut text = Text::default();
    text.fields(&[fields.permissions, fields.start, fields.expiry]);
    text.line(&layout::resource(target, scope, version));
    text.field(fields.policy);
    if version.at_least(2015, 4, 5) {
        text.fields(&[fields.addresses, fields.protocols]);
    }
    if fields.version.is_some() {
        text.field(fields.version);
    }
    match target.service {
        Service::Blob => {
            if version.at_least(2018, 11, 9) {
                text.fields(&[fields.resource, scope.timestamp()]);
            }
            if version.at_least(2020, 12, 6) {
                text.field(fields.encryption_scope);
            }
            if version.at_least(2013, 8, 15) {
                overrides(&mut text, fields);
            }
        }
        Service::File => overrides(&mut text, fields),
        Service::Table => ranges(&mut text, fields),
        Service::Queue => {}
    }
    Ok(text)
}

/// The parameters that are signed, or tell which resource is.
fn signed(service: Service, version: ServiceVersion) -> Vec<&'static str> {
    let mut signed = ALWAYS.to_vec();
    if version.at_least(2015, 4, 5) {
        signed.extend(["sip", "spr"]);
    }
    match service {
        Service::Blob => {
            if version.at_least(2013, 8, 15) {
                signed.extend(OVERRIDES);
            }
            if version.at_least(2020, 2, 10) {
                signed.push("sdd");
            }
            if version.at_least(2020, 12, 6) {
                signed.push("ses");
            }
        }
        Service::File => signed.extend(OVERRIDES),
        Service::Table => signed.extend(["tn", "spk", "srk", "epk", "erk"]),
        Service::Queue => {}
    }
    signed
}

pub(super) fn overrides(text: &mut Text, fields: &Fields<'_>) {
    text.fields(&[
        fields.cache_control,
        fields.content_disposition,
        fields.content_encoding,
        fields.content_language,
        fields.content_type,
    ]);
}

pub(super) fn ranges(text: &mut Text, fields: &Fields<'_>) {
    text.fields(&[fields.start_partition, fields.start_row, fields.end_partition, fields.end_row]);
}

/// What it reaches.
pub(super) const fn reach(service: Service, scope: Scope) -> Reach {
    Reach::Service { service, scope, authority: None }
}
