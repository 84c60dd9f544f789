//! The table of key spaces: the first byte of every key. Ordinals are pinned for ever; a space is never reused.
//!
//! Each crate that owns a space numbers its kinds (the second byte) in its own `keys.rs`, one key type at a time.

/// The first byte of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Space {
    /// The engine's own rows. Never reachable through the contract.
    Engine = 0x00,
    /// Rows of this crate: chunks, contents, edges, pins, sweeps, maps.
    Store = 0x01,
    /// Accounts: names to unit ids, service properties.
    Account = 0x10,
    /// The Blob service.
    Blob = 0x20,
    /// The Queue service.
    Queue = 0x30,
    /// The Table service.
    Table = 0x40,
    /// The File service.
    File = 0x50,
    /// Durable background steps of the services.
    Jobs = 0x60,
    /// Rows of tests and benches.
    Test = 0xF0,
}

impl Space {
    /// The byte that stands in keys.
    #[must_use]
    #[expect(clippy::as_conversions, reason = "the ordinal of a fieldless enum")]
    pub const fn byte(self) -> u8 {
        self as u8
    }
}
