//! What a transaction tells the rest of the process once it is durable: change notification, the console.

use bytes::Bytes;

/// Something that happened, delivered after publish. Readers that lag lose the oldest and are told so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What happened, in the words of the service that emitted it.
    pub payload: Bytes,
}
