//! What an operation needs of a credential: where it acts, and what must be allowed there.
//!
//! The services say what they need; only this crate decides whether a credential gives it.

use types::UnitId;

/// The four services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Service {
    /// Blob.
    Blob,
    /// Queue.
    Queue,
    /// Table.
    Table,
    /// File.
    File,
}

impl Service {
    /// Its number in keys, pinned for ever.
    #[must_use]
    pub const fn ordinal(self) -> u64 {
        match self {
            Self::Blob => 1,
            Self::Queue => 2,
            Self::Table => 3,
            Self::File => 4,
        }
    }
}

/// Where an operation acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// The service of the account as a whole.
    Service,
    /// A container, queue, table or share itself.
    Container(&'a str),
    /// What is in a queue or a table: the messages, the entities.
    Contents(&'a str),
    /// A blob, or a file or directory.
    Object {
        /// The container or share.
        container: &'a str,
        /// Its name in there.
        path: &'a str,
        /// Which state of it.
        part: Part<'a>,
    },
}

/// Which state of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// The present one.
    Base,
    /// A snapshot, by the text that names it.
    Snapshot(&'a str),
    /// A version, by the text that names it.
    Version(&'a str),
}

/// A set of the permissions that shared access signatures write as letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permissions(u32);

impl Permissions {
    /// No permission.
    pub const NONE: Self = Self(0);
    /// `a`: new blocks of append blobs, messages, entities.
    pub const ADD: Self = Self::letter(b'a');
    /// `c`: new objects, never over existing ones.
    pub const CREATE: Self = Self::letter(b'c');
    /// `d`
    pub const DELETE: Self = Self::letter(b'd');
    /// `e`: properties of a path.
    pub const EXECUTE: Self = Self::letter(b'e');
    /// `f`: find by tags.
    pub const FIND: Self = Self::letter(b'f');
    /// `i`: immutability policies and legal holds.
    pub const IMMUTABILITY: Self = Self::letter(b'i');
    /// `l`
    pub const LIST: Self = Self::letter(b'l');
    /// `m`: rename.
    pub const MOVE: Self = Self::letter(b'm');
    /// `o`: owner and group.
    pub const OWNERSHIP: Self = Self::letter(b'o');
    /// `p`: process messages; for paths, POSIX permissions.
    pub const PROCESS: Self = Self::letter(b'p');
    /// `r`
    pub const READ: Self = Self::letter(b'r');
    /// `t`
    pub const TAGS: Self = Self::letter(b't');
    /// `u`: update messages and entities.
    pub const UPDATE: Self = Self::letter(b'u');
    /// `w`
    pub const WRITE: Self = Self::letter(b'w');
    /// `x`: delete a version.
    pub const DELETE_VERSION: Self = Self::letter(b'x');
    /// `y`: delete for good.
    pub const PERMANENT_DELETE: Self = Self::letter(b'y');

    const fn letter(letter: u8) -> Self {
        Self(1 << (letter - b'a'))
    }

    /// Both sets together.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True if any of `wanted` is in here.
    #[must_use]
    pub const fn has_any(self, wanted: Self) -> bool {
        self.0 & wanted.0 != 0
    }

    /// True if all of `wanted` are in here.
    #[must_use]
    pub const fn has_all(self, wanted: Self) -> bool {
        self.0 & wanted.0 == wanted.0
    }

    /// Reads the letters; `None` if one is no lower-case letter or stands twice.
    #[must_use]
    pub fn parse(letters: &str) -> Option<Self> {
        letters.bytes().try_fold(Self::NONE, |set, letter| {
            let one = letter.is_ascii_lowercase().then(|| Self::letter(letter))?;
            (!set.has_any(one)).then(|| set.or(one))
        })
    }
}

/// What a role of a token must allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Read and list.
    Read,
    /// Add a message.
    Add,
    /// Take and remove messages.
    Process,
    /// Create and change.
    Write,
    /// Remove.
    Delete,
    /// Change who may do what, or how the service behaves.
    Manage,
    /// Get a user delegation key.
    Delegate,
}

/// What must be allowed, whatever kind of credential it is. A constant of each operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// An account SAS must have one of these.
    pub account_sas: Permissions,
    /// A service SAS must have one of these. Empty: none allows it.
    pub service_sas: Permissions,
    /// Any SAS must have all of these too.
    pub also: Permissions,
    /// A role must allow this.
    pub action: Action,
    /// Anybody may do it where the container is at least this public. [`PublicAccess::Private`]: nowhere.
    pub public: PublicAccess,
}

impl Rule {
    /// An operation that either kind of SAS may do with one of `sas`.
    #[must_use]
    pub const fn new(action: Action, sas: Permissions) -> Self {
        Self { account_sas: sas, service_sas: sas, also: Permissions::NONE, action, public: PublicAccess::Private }
    }

    /// The same, but not by a service SAS.
    #[must_use]
    pub const fn account_only(self) -> Self {
        Self { service_sas: Permissions::NONE, ..self }
    }

    /// The same, and by anybody where the container is at least this public.
    #[must_use]
    pub const fn public(self, public: PublicAccess) -> Self {
        Self { public, ..self }
    }

    /// The same, with further permissions that a SAS must have.
    #[must_use]
    pub const fn also(self, also: Permissions) -> Self {
        Self { also: self.also.or(also), ..self }
    }
}

/// Who may read without a credential.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PublicAccess {
    /// Nobody.
    #[default]
    Private,
    /// Blobs, by those who know their names.
    Blob,
    /// Blobs and the list of them.
    Container,
}

/// What one request needs.
#[derive(Clone, Copy, Debug)]
pub struct Need<'a> {
    /// The account that is asked, whose keys and roles count.
    pub account: UnitId,
    /// The service that is asked.
    pub service: Service,
    /// The service as a whole, or what in it.
    pub place: Place<'a>,
    /// What must be allowed there.
    pub rule: Rule,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_make_sets() {
        let set = Permissions::parse("rw").unwrap();
        assert!(set.has_all(Permissions::READ.or(Permissions::WRITE)));
        assert!(set.has_any(Permissions::READ.or(Permissions::LIST)) && !set.has_any(Permissions::LIST));
        assert!(Permissions::NONE.has_all(Permissions::NONE) && !set.has_any(Permissions::NONE));
        assert_eq!(Permissions::parse(""), Some(Permissions::NONE));
        for wrong in ["rr", "R", "r w", "ä"] {
            assert_eq!(Permissions::parse(wrong), None, "{wrong}");
        }
    }
}
