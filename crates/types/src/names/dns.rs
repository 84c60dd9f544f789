//! Names that are also labels of a host name: account, container, queue, share.
//!
//! Owns their common shape (lower-case letters, digits and, except for accounts, single dashes between them) and the
//! three containers whose names begin with a dollar sign. Invariant: the names are ASCII, so bytes are characters.

use super::{NameKind, NameRule, check_length, compared_exactly, name};
use crate::limits;

name! {
    /// The name of a storage account: 3 to 24 lower-case letters and digits.
    AccountName, NameKind::Account, check_account
}

name! {
    /// The name of a container: 3 to 63 lower-case letters, digits and single dashes, or one of `$root`, `$logs` and
    /// `$web`.
    ContainerName, NameKind::Container, check_container
}

name! {
    /// The name of a queue: 3 to 63 lower-case letters, digits and single dashes.
    QueueName, NameKind::Queue, check_label
}

name! {
    /// The name of a share: 3 to 63 lower-case letters, digits and single dashes.
    ShareName, NameKind::Share, check_label
}

compared_exactly!(AccountName, ContainerName, QueueName, ShareName);

impl ContainerName {
    /// The container of blobs that are addressed without one.
    pub const ROOT: &'static str = "$root";
    /// The container of the analytics logs.
    pub const LOGS: &'static str = "$logs";
    /// The container of the static website.
    pub const WEB: &'static str = "$web";

    /// The container of blobs that are addressed without one.
    #[must_use]
    pub fn root() -> Self {
        Self(Self::ROOT.into())
    }

    /// True for `$root`, whose blobs may be addressed without naming it.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.as_str() == Self::ROOT
    }
}

fn check_account(text: &str) -> Result<(), NameRule> {
    check_length(text.chars().count(), limits::ACCOUNT_NAME_MIN, limits::ACCOUNT_NAME_MAX)?;
    match text.chars().find(|c| !is_letter_or_digit(*c)) {
        Some(c) => Err(NameRule::Character(c)),
        None => Ok(()),
    }
}

fn check_container(text: &str) -> Result<(), NameRule> {
    match text {
        ContainerName::ROOT | ContainerName::LOGS | ContainerName::WEB => Ok(()),
        _ => check_label(text),
    }
}

fn check_label(text: &str) -> Result<(), NameRule> {
    check_length(text.chars().count(), limits::CONTAINER_NAME_MIN, limits::CONTAINER_NAME_MAX)?;
    if let Some(c) = text.chars().find(|c| !is_letter_or_digit(*c) && *c != '-') {
        return Err(NameRule::Character(c));
    }
    if text.starts_with('-') {
        return Err(NameRule::First('-'));
    }
    if text.ends_with('-') {
        return Err(NameRule::Last('-'));
    }
    if text.contains("--") {
        return Err(NameRule::AdjacentDashes);
    }
    Ok(())
}

const fn is_letter_or_digit(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}
