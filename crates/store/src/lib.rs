//! The storage contract. Everything above ring 1 sees only this; the engines implement it.
//!
//! A service reads from a [`Snapshot`], decides and writes inside [`Store::transact`], and keeps bytes in chunks that a
//! content owns. What is written here once is what all engines share: the transaction's buffer, the key encoding, the
//! ownership of chunks, epoch rows, content maps, manifests, and the conformance suite that every engine passes.
//!
//! **Invariants.** Nothing here knows a service, a protocol, a file or a thread. A success answer is durable.
//! A decision and the write it allows are in one transaction.

mod answer;
pub mod audit;
pub mod body;
pub mod chunk;
pub mod clock;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod content;
pub mod content_map;
pub mod engine;
pub mod epoch;
mod error;
mod event;
mod fence;
#[cfg(any(test, feature = "conformance"))]
pub mod golden;
pub mod key;
mod latch;
pub mod limits;
pub mod manifest;
pub mod read;
pub mod reader;
pub mod record;
pub mod space;
pub mod sweep;
#[cfg(feature = "testing")]
pub mod testing;
mod transact;
mod txn;

pub use answer::{Answer, BoxFuture};
pub use chunk::{ChunkRef, ChunkToken, PendingChunk};
pub use engine::{Engine, Horizon, Sequence};
pub use error::StoreError;
pub use event::Event;
pub use read::{Direction, Read, Row, Scan, Snapshot};
pub use transact::{Scope, Series, Store};
pub use txn::Txn;
