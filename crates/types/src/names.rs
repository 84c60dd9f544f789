//! Names that clients choose, and the rules they obey.
//!
//! Owns the rules of every kind of name and the types that prove a name was checked: a value of `ContainerName` exists
//! only after [`ContainerName::parse`]. Must never decode a URL or pick an error code (the protocols do), and a name
//! must never become a path on the host. Invariant: what `parse` accepted, `as_str` gives back unchanged.

mod blob;
mod dns;
mod file;
mod metadata;
mod table;

pub use blob::BlobName;
pub use dns::{AccountName, ContainerName, QueueName, ShareName};
pub use file::{FileComponent, FilePath};
pub use metadata::MetadataName;
pub use table::TableName;

use std::fmt;

/// What a refused name was meant to be the name of.
#[expect(missing_docs, reason = "most of them are the words of the services")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NameKind {
    Account,
    Container,
    Blob,
    Queue,
    Table,
    Share,
    /// One directory or file: a component of a path.
    FileComponent,
    /// The path of a directory or file below its share.
    FilePath,
    /// A metadata item.
    Metadata,
}

impl fmt::Display for NameKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Account => "account name",
            Self::Container => "container name",
            Self::Blob => "blob name",
            Self::Queue => "queue name",
            Self::Table => "table name",
            Self::Share => "share name",
            Self::FileComponent => "file or directory name",
            Self::FilePath => "file or directory path",
            Self::Metadata => "metadata name",
        })
    }
}

/// The rule that a name broke: the first one met, length before content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum NameRule {
    /// Nothing was given.
    #[error("is empty")]
    Empty,
    /// Fewer characters than allowed.
    #[error("has {length} characters, fewer than {min}")]
    TooShort {
        /// The length that was given.
        length: usize,
        /// The least that is allowed.
        min: usize,
    },
    /// More characters than allowed.
    #[error("has {length} characters, more than {max}")]
    TooLong {
        /// The length that was given.
        length: usize,
        /// The most that is allowed.
        max: usize,
    },
    /// More parts between slashes than allowed.
    #[error("has {count} path segments, more than {max}")]
    TooManySegments {
        /// The number that was given.
        count: usize,
        /// The most that is allowed.
        max: usize,
    },
    /// A character that the name may not contain.
    #[error("contains {0:?}, which is not allowed")]
    Character(char),
    /// A character that may stand inside but not first.
    #[error("begins with {0:?}, which is not allowed")]
    First(char),
    /// A character that may stand inside but not last.
    #[error("ends with {0:?}, which is not allowed")]
    Last(char),
    /// Two dashes side by side.
    #[error("contains two dashes side by side")]
    AdjacentDashes,
    /// A word that the service keeps for itself.
    #[error("is a reserved word")]
    Reserved,
}

impl NameRule {
    /// True when the name breaks a rule about length. The services answer `OutOfRangeInput` for these and
    /// `InvalidResourceName` for the others.
    #[must_use]
    pub const fn is_about_length(self) -> bool {
        matches!(self, Self::Empty | Self::TooShort { .. } | Self::TooLong { .. } | Self::TooManySegments { .. })
    }
}

/// A name that was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{kind} {value:?} {rule}")]
pub struct NameError {
    /// What it was meant to name.
    pub kind: NameKind,
    /// The name as it was given.
    pub value: String,
    /// The rule that it broke.
    pub rule: NameRule,
}

/// A checked name: the type, its access to the text, and `parse` over a `check` function of the module.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $kind:expr, $check:path) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name(Box<str>);

        impl $name {
            #[doc = concat!("The name, if it obeys the rules of a `", stringify!($name), "`.")]
            ///
            /// # Errors
            /// The first rule that `text` breaks, with `text` itself.
            pub fn parse(text: &str) -> Result<Self, $crate::names::NameError> {
                match $check(text) {
                    Ok(()) => Ok(Self(text.into())),
                    Err(rule) => Err($crate::names::NameError { kind: $kind, value: text.to_owned(), rule }),
                }
            }

            /// The name as it was given.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({:?})"), &self.0)
            }
        }
    };
}

/// Equality, order and hash of a name by its exact text.
macro_rules! compared_exactly {
    ($($name:ident),*) => {$(
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.0 == other.0
            }
        }

        impl Eq for $name {}

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $name {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                self.0.cmp(&other.0)
            }
        }

        impl std::hash::Hash for $name {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                self.0.hash(state);
            }
        }
    )*};
}

/// Equality, order and hash of an ASCII name without regard to case, and the text that keys use.
macro_rules! compared_without_case {
    ($name:ident) => {
        impl $name {
            /// The lower-case form: equal for names that are equal, so it is what keys are made of.
            #[must_use]
            pub fn folded(&self) -> String {
                self.0.to_ascii_lowercase()
            }

            fn folded_bytes(&self) -> impl Iterator<Item = u8> {
                self.0.bytes().map(|byte| byte.to_ascii_lowercase())
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.0.eq_ignore_ascii_case(&other.0)
            }
        }

        impl Eq for $name {}

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $name {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                self.folded_bytes().cmp(other.folded_bytes())
            }
        }

        impl std::hash::Hash for $name {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                self.folded().hash(state);
            }
        }
    };
}

pub(crate) use {compared_exactly, compared_without_case, name};

/// Refuses lengths outside `min..=max`, the empty name first.
fn check_length(length: usize, min: usize, max: usize) -> Result<(), NameRule> {
    match length {
        0 => Err(NameRule::Empty),
        _ if length < min => Err(NameRule::TooShort { length, min }),
        _ if length > max => Err(NameRule::TooLong { length, max }),
        _ => Ok(()),
    }
}

/// The length that the services count: UTF-16 code units.
fn utf16_length(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

#[cfg(test)]
mod tests;
