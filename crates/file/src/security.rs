//! Security descriptors: who owns a directory or file, and who may do what with it. Kept and handed on, as text (SDDL) or as
//! bytes; access over REST is decided by credentials, not by them.
//!
//! **Invariant.** Text and bytes say the same: what is read from one and written as the other is the same descriptor, and
//! has the same bytes however it was written. What cannot be said in both is refused by name.

use crate::errors::FileError;

mod binary;
mod inherit;
mod sddl;
mod sid;
#[cfg(test)]
mod tests;

pub(crate) use sid::Sid;

/// The bytes of a descriptor: an access control list says its size in two bytes, so none is longer in practice.
pub const MAX_BYTES: usize = 64 * 1024;

/// A security descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecurityDescriptor {
    owner: Option<Sid>,
    group: Option<Sid>,
    /// Who may do what.
    dacl: AccessList,
    /// What is audited.
    sacl: AccessList,
}

/// An access control list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct AccessList {
    /// P: what the directory above hands down is not taken.
    protected: bool,
    /// AR: it shall be handed down.
    inherit_required: bool,
    /// AI: it was made by handing down.
    inherited: bool,
    /// `None` when there is no access control at all.
    entries: Option<Vec<Entry>>,
}

/// One entry of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    kind: Kind,
    flags: u8,
    mask: u32,
    /// What kind of object it is about, and to what kind it is handed down; of object entries only.
    object: Option<[u8; 16]>,
    inherited_object: Option<[u8; 16]>,
    sid: Sid,
}

const OBJECT_INHERIT: u8 = 0x01;
const CONTAINER_INHERIT: u8 = 0x02;
const NO_PROPAGATE: u8 = 0x04;
const INHERIT_ONLY: u8 = 0x08;
const INHERITED: u8 = 0x10;

/// What an entry does, by its number in the bytes and its letters in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    number: u8,
    letters: &'static str,
    /// It has room for kinds of objects.
    object: bool,
}

impl Kind {
    const LABEL: u8 = 0x11;

    const ALL: [Self; 10] = [
        Self::plain(0x00, "A"),
        Self::plain(0x01, "D"),
        Self::plain(0x02, "AU"),
        Self::plain(0x03, "AL"),
        Self::object(0x05, "OA"),
        Self::object(0x06, "OD"),
        Self::object(0x07, "OU"),
        Self::object(0x08, "OL"),
        Self::plain(Self::LABEL, "ML"),
        Self::plain(0x13, "SP"),
    ];

    const fn plain(number: u8, letters: &'static str) -> Self {
        Self { number, letters, object: false }
    }

    const fn object(number: u8, letters: &'static str) -> Self {
        Self { number, letters, object: true }
    }

    fn numbered(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number == number)
    }

    fn lettered(letters: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.letters == letters)
    }
}

impl SecurityDescriptor {
    /// Only these parts of it.
    #[must_use]
    pub fn part(&self, owner: bool, group: bool, dacl: bool) -> Self {
        Self {
            owner: self.owner.clone().filter(|_| owner),
            group: self.group.clone().filter(|_| group),
            dacl: if dacl { self.dacl.clone() } else { AccessList::default() },
            sacl: AccessList::default(),
        }
    }

    /// The same with these parts of another one.
    #[must_use]
    pub fn with(&self, other: &Self, owner: bool, group: bool, dacl: bool) -> Self {
        Self {
            owner: if owner { other.owner.clone() } else { self.owner.clone() },
            group: if group { other.group.clone() } else { self.group.clone() },
            dacl: if dacl { other.dacl.clone() } else { self.dacl.clone() },
            sacl: self.sacl.clone(),
        }
    }
}

fn invalid(what: impl Into<String>) -> FileError {
    FileError::InvalidPermission(what.into())
}
