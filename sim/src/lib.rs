//! The simulator: the real services on the real embedded engine, in one thread, on a simulated disk and a simulated clock.
//!
//! A [`World`] is a run of one seed. The seed decides who goes on next (a client, the log, the disk work of the engine, its
//! upkeep), when time passes and by how much, when the disk misbehaves and when the power fails. What clients saw is
//! checked against the models of the test kit; after every power failure the store is opened again and must be whole.
//!
//! **Invariant.** Nothing here reads a real clock, spawns a thread, or depends on addresses or hash seeds: two runs of one
//! seed are the same, call by call. The tables of the index are real files (the crate `lsm-tree` opens them itself), so
//! they are never torn; see `docs/durability.md`.

mod actor;
mod clock;
mod executor;
mod flaw;
mod trace;
mod world;

pub use flaw::Flaw;
pub use trace::Trace;
pub use world::{Counts, Failure, Size, World};
