//! The name of a metadata item: the part of the header after `x-ms-meta-`.
//!
//! Owns its shape: a C# identifier, of which a header can carry only the ASCII part. Compared without regard to case,
//! as header names are; the case given is kept. The bound of 8 KiB counts all names and values of an object together
//! and is checked by whoever collects them; one name alone can never exceed it.

use super::{NameKind, NameRule, check_length, compared_without_case, name};
use crate::limits;

name! {
    /// The name of a metadata item: letters, digits and underscores, no digit first.
    MetadataName, NameKind::Metadata, check
}

compared_without_case!(MetadataName);

fn check(text: &str) -> Result<(), NameRule> {
    check_length(text.len(), 1, limits::METADATA_MAX_BYTES)?;
    if let Some(c) = text.chars().find(|c| !c.is_ascii_alphanumeric() && *c != '_') {
        return Err(NameRule::Character(c));
    }
    match text.chars().next().filter(char::is_ascii_digit) {
        Some(c) => Err(NameRule::First(c)),
        None => Ok(()),
    }
}
