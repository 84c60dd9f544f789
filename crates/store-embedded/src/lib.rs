//! The default engine: one machine, strongly consistent, durable.
//!
//! Rows live in an `lsm-tree` index behind our own log; bytes live in checksummed extents. `docs/durability.md` says
//! what is promised, `docs/format.md` what is on disk.
//!
//! **Invariants.** Nothing is acknowledged before it is durable. After a failed sync nothing is written any more.
//! No name from a client becomes a path.

mod backup;
mod check;
mod checkpoint;
mod checkpointer;
mod collect;
pub mod disk;
mod engine;
mod extent;
mod identity;
mod ids;
mod index;
mod io_pool;
mod log;
mod metrics;
mod open;
mod options;
mod pace;
mod pipeline;
mod scrub;
mod sequencer;
mod shared;
mod shortage;
mod space;
mod stepped;
mod views;

pub use backup::{CopyProgress, restore};
pub use check::{CheckProgress, CheckReport};
pub use collect::Collected;
pub use engine::EmbeddedEngine;
pub use metrics::MetricsSnapshot;
pub use open::{FORMAT, OpenError, Recovery};
pub use options::{Durability, Options};
pub use scrub::{ScrubCursor, Scrubbed};
pub use stepped::Waiting;
