//! How an engine is opened.

/// When an answer is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Durability {
    /// After data and log are synced.
    #[default]
    Sync,
    /// After the kernel has it; synced every 100 milliseconds. For throw-away data.
    Relaxed,
}

/// The settings of an engine.
#[derive(Clone, Debug)]
pub struct Options {
    /// When an answer is sent.
    pub durability: Durability,
    /// Rows are kept in memory up to this before they become a table.
    pub memtable_bytes: u64,
    /// Blocks of tables kept in memory.
    pub cache_bytes: u64,
    /// Segments of the log grow to this.
    pub log_segment_bytes: u64,
    /// Free space below which writes that grow are refused.
    pub reserve_bytes: u64,
    /// Threads that flush, compact and prepare. Without them, tests drive each step and every disk call repeats.
    pub background: bool,
}

impl Options {
    /// Small, and without upkeep of its own: every step is the caller's, and every disk call repeats. For tests and the
    /// simulator.
    #[must_use]
    pub const fn by_hand() -> Self {
        Self {
            durability: Durability::Sync,
            memtable_bytes: 64 * 1024 * 1024,
            cache_bytes: 256 * 1024,
            log_segment_bytes: 64 * 1024,
            reserve_bytes: 0,
            background: false,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::Sync,
            memtable_bytes: 16 * 1024 * 1024,
            cache_bytes: 8 * 1024 * 1024,
            log_segment_bytes: 32 * 1024 * 1024,
            reserve_bytes: 256 * 1024 * 1024,
            background: true,
        }
    }
}
