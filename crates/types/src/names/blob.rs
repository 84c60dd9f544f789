//! The name of a blob: almost any text.
//!
//! Owns its length, its number of path segments and the refusal of control characters. Must never treat the slash as
//! a directory, nor give `.` and `..` a meaning: here a name is text.

use super::{NameKind, NameRule, check_length, compared_exactly, name, utf16_length};
use crate::limits;

name! {
    /// The name of a blob: 1 to 1024 UTF-16 code units in at most 254 path segments, without control characters.
    /// Names that differ in case are different.
    BlobName, NameKind::Blob, check
}

compared_exactly!(BlobName);

fn check(text: &str) -> Result<(), NameRule> {
    check_length(utf16_length(text), 1, limits::BLOB_NAME_MAX)?;
    let count = text.split('/').count();
    if count > limits::BLOB_NAME_SEGMENTS_MAX {
        return Err(NameRule::TooManySegments { count, max: limits::BLOB_NAME_SEGMENTS_MAX });
    }
    // The documentation names 0x00 to 0x1F and U+0081 "etc."; the whole category Cc is the rule without the "etc.".
    match text.chars().find(|c| c.is_control()) {
        Some(c) => Err(NameRule::Character(c)),
        None => Ok(()),
    }
}
