//! The limits of the contract. Every engine enforces these and may rely on them.

/// Longest key, in bytes.
pub const KEY_BYTES: usize = 4 * 1024;
/// Longest value, in bytes.
pub const VALUE_BYTES: usize = 2 * 1024 * 1024;
/// Values longer than this are spilled by the engine and do not count as row bytes.
pub const SPILL_BYTES: usize = 16 * 1024;
/// Row bytes (keys and values that are not spilled) of one transaction.
pub const TRANSACTION_ROW_BYTES: usize = 10 * 1024 * 1024;
/// Spilled bytes of one transaction.
pub const TRANSACTION_SPILL_BYTES: usize = 128 * 1024 * 1024;
/// How often a transaction is run again after a conflict before it answers `Busy`.
pub const ATTEMPTS: u32 = 256;
/// Events waiting for their slowest reader.
pub const EVENTS: usize = 4096;
