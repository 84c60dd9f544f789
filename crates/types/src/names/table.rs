//! The name of a table: letters and digits, compared without regard to case.
//!
//! Owns its shape and the reserved word. Invariant: two names that differ only in case are one name, and both keep
//! the case they were given in for showing.

use super::{NameKind, NameRule, check_length, compared_without_case, name};
use crate::limits;

name! {
    /// The name of a table: 3 to 63 letters and digits, a letter first, and not `Tables`.
    TableName, NameKind::Table, check
}

compared_without_case!(TableName);

/// The resource `/Tables` lists the tables, so no table can have the name.
const RESERVED: &str = "tables";

fn check(text: &str) -> Result<(), NameRule> {
    check_length(text.chars().count(), limits::TABLE_NAME_MIN, limits::TABLE_NAME_MAX)?;
    if let Some(c) = text.chars().find(|c| !c.is_ascii_alphanumeric()) {
        return Err(NameRule::Character(c));
    }
    if let Some(c) = text.chars().next().filter(char::is_ascii_digit) {
        return Err(NameRule::First(c));
    }
    if text.eq_ignore_ascii_case(RESERVED) {
        return Err(NameRule::Reserved);
    }
    Ok(())
}
