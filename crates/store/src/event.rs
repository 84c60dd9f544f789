//! What a transaction tells the rest of the process once it is durable: change notification, the console.

use bytes::Bytes;
use types::UnitId;

/// Something that happened, delivered after publish. Readers that lag lose the oldest and are told so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Where it happened.
    pub unit: UnitId,
    /// What happened, in the words of the service that emitted it.
    pub payload: Bytes,
}
