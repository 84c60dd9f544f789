//! Identities of stored things. An id is given out once and never used again, so a name can be reused at once while
//! the rows of its former owner are still being swept.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u64);

        impl $name {
            /// The id with this number.
            #[must_use]
            pub const fn new(number: u64) -> Self {
                Self(number)
            }

            /// The number, as it stands in keys and records.
            #[must_use]
            pub const fn number(self) -> u64 {
                self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    };
}

id! {
    /// A consistency domain: an account, a container, a queue, a table or a share.
    UnitId
}

id! {
    /// The owner of bytes: names, versions and snapshots point to a content, chunks belong to one.
    ContentId
}

id! {
    /// A directory or a file, whatever its name is and wherever it is moved. Unique in the account.
    Inode
}
