//! Messages: put, get, peek, update, delete.
//!
//! Who sees a message when, and whose receipt counts, is decided by `concurrency`; here are the rows. A message stands at
//! the instant from which on it is visible. Getting or updating it moves it there, deleting takes it away; all three
//! know its place, so none of them searches. Its number never changes and leads from its expiry to it.

mod change;
mod id;
mod put;
mod take;

pub use change::{DeleteMessage, UpdateMessage};
pub use id::MessageId;
pub use put::PutMessage;
pub use take::{GetMessages, PeekMessages};

use store::{Read, StoreError, Txn};
use types::Timestamp;

use crate::{
    keys::{self, MessageIndex, Place},
    pop_receipt::Receipt,
    records::{self, StoredMessage},
};

/// What everybody may know of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageProperties {
    /// What clients name it by; it never changes.
    pub id: MessageId,
    /// When it was put.
    pub insertion: Timestamp,
    /// From when on it is gone.
    pub expiry: Timestamp,
    /// How often it was got.
    pub dequeue_count: u32,
}

/// What the one knows who put, got or updated a message last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// What allows to update and delete it.
    pub receipt: Receipt,
    /// From when on others see it.
    pub next_visible: Timestamp,
}

/// A message that was got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GotMessage {
    /// What everybody may know.
    pub properties: MessageProperties,
    /// The right to it.
    pub hold: Hold,
    /// As it was put or last updated.
    pub text: String,
}

/// A message that was peeked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeekedMessage {
    /// What everybody may know.
    pub properties: MessageProperties,
    /// As it was put or last updated.
    pub text: String,
}

fn properties(stored: &StoredMessage) -> MessageProperties {
    MessageProperties {
        id: MessageId::new(stored.id),
        insertion: stored.message.insertion,
        expiry: stored.message.expiry,
        dequeue_count: stored.message.dequeue_count,
    }
}

/// Puts a message where its visibility says, away from where it stood before.
fn settle(txn: &Txn, index: MessageIndex, number: u64, from: Option<Place>, stored: &StoredMessage) -> Hold {
    let place = Place { next_visible: stored.message.next_visible, number };
    if let Some(from) = from {
        txn.delete(keys::message(index, from));
    }
    txn.put(keys::message(index, place), stored.encode());
    if expires(stored) {
        txn.put(keys::expiry(stored.message.expiry, index, number), records::encode_place(place));
    }
    Hold { receipt: Receipt { place, value: stored.message.receipt }, next_visible: place.next_visible }
}

/// Takes a message away with everything that belongs to it.
pub(crate) fn remove(txn: &Txn, index: MessageIndex, place: Place, stored: &StoredMessage) {
    txn.delete(keys::message(index, place));
    if stored.text.is_none() {
        txn.delete(keys::text(index, place.number));
    }
    if expires(stored) {
        txn.delete(keys::expiry(stored.message.expiry, index, place.number));
    }
}

/// What never expires needs no row that says when.
pub(crate) fn expires(stored: &StoredMessage) -> bool {
    stored.message.expiry < Timestamp::NEVER
}

/// Splits a new text: into the message's row, or into one of its own.
fn store_text(txn: &Txn, index: MessageIndex, number: u64, text: &str) -> Option<String> {
    if text.len() <= records::INLINE_TEXT_BYTES {
        return Some(text.to_owned());
    }
    txn.put(keys::text(index, number), records::encode_text(text));
    None
}

async fn text(
    rows: &impl Read,
    index: MessageIndex,
    number: u64,
    stored: &StoredMessage,
) -> Result<String, StoreError> {
    if let Some(text) = &stored.text {
        return Ok(text.clone());
    }
    match rows.get(&keys::text(index, number)).await? {
        Some(row) => records::decode_text(&row),
        None => Err(StoreError::corrupt("a message has lost its text")),
    }
}
