//! Update Message and Delete Message: both know where the message stands, by its receipt.

use std::sync::Arc;

use access::{Authorized, Operation, need::Need};
use concurrency::visibility::{MessageNotFound, PopReceipt, VisibilityTimeout};
use store::{Read, Scope, Txn};

use super::{Hold, MessageId, Messages, remove, settle, store_text};
use crate::{
    errors::QueueError,
    heads::Arrival,
    keys::{self, Line},
    permissions,
    pop_receipt::Receipt,
    queue::{self, Address},
    records::Stored,
    tally::{self, Shard},
};

/// Update Message.
#[derive(Clone, Debug)]
pub struct UpdateMessage {
    /// Which queue.
    pub address: Address,
    /// Which message.
    pub id: MessageId,
    /// The receipt that was sent.
    pub sent: Receipt,
    /// How long it stays invisible.
    pub timeout: VisibilityTimeout,
    /// The value of its new receipt, drawn at random.
    pub receipt: u128,
    /// Its new text; `None` leaves it as it is.
    pub text: Option<String>,
}

impl Operation for UpdateMessage {
    fn need(&self) -> Need<'_> {
        permissions::messages(self.address.account, &self.address.queue, permissions::UPDATE_MESSAGE)
    }
}

/// Delete Message.
#[derive(Clone, Debug)]
pub struct DeleteMessage {
    /// Which queue.
    pub address: Address,
    /// Which message.
    pub id: MessageId,
    /// The receipt that was sent.
    pub sent: Receipt,
}

impl Operation for DeleteMessage {
    fn need(&self) -> Need<'_> {
        permissions::messages(self.address.account, &self.address.queue, permissions::DELETE_MESSAGE)
    }
}

impl Messages {
    /// Hides a message anew, or shows it at once, and may replace its text.
    ///
    /// # Errors
    /// The queue or the message does not exist, the receipt is not its newest, it would be visible after its expiry, or
    /// the store failed.
    pub async fn update(&self, request: &Authorized<UpdateMessage>) -> Result<Hold, QueueError> {
        let arrival = &self.heads.arrive(self.store.now().saturating_add(request.timeout.length()));
        let scope = Scope::new();
        self.store.transact(scope, |txn| async move { update(&txn, request, arrival).await }).await
    }

    /// Deletes a message.
    ///
    /// # Errors
    /// The queue or the message does not exist, the receipt is not its newest, or the store failed.
    pub async fn delete(&self, request: &Authorized<DeleteMessage>) -> Result<(), QueueError> {
        let shard = &self.shards.take();
        let scope = Scope::new().reclaims();
        self.store.transact(scope, |txn| async move { delete(&txn, request, shard).await }).await
    }
}

async fn update(txn: &Txn, request: &Authorized<UpdateMessage>, arrival: &Arc<Arrival>) -> Result<Hold, QueueError> {
    request.confirm(txn).await?;
    let line = queue::find(txn, &request.address).await?.line();
    let (number, mut stored) = (request.sent.place.number, find(txn, line, request.id, request.sent).await?);
    let fresh = PopReceipt::new(request.receipt);
    stored.message = stored.message.update(request.sent.value, request.timeout, fresh, txn.now())?;
    if let Some(text) = &request.text {
        if stored.text.is_none() {
            txn.delete(keys::text(line, number));
        }
        stored.text = store_text(txn, line, number, text);
    }
    let hold = settle(txn, line, number, Some(request.sent.place), &stored)?;
    let arrival = Arc::clone(arrival);
    txn.on_sequenced(move || arrival.landed());
    Ok(hold)
}

async fn delete(txn: &Txn, request: &Authorized<DeleteMessage>, shard: &Arc<Shard>) -> Result<(), QueueError> {
    request.confirm(txn).await?;
    let line = queue::find(txn, &request.address).await?.line();
    let stored = find(txn, line, request.id, request.sent).await?;
    stored.message.delete(request.sent.value, txn.now())?;
    remove(txn, line, request.sent.place, &stored);
    tally::add(txn, line, shard.number, -1).await?;
    let shard = Arc::clone(shard);
    txn.on_sequenced(move || shard.give_back());
    Ok(())
}

/// The message that stands where the receipt says. Whether the receipt counts is asked of the message.
async fn find(txn: &Txn, line: Line, id: MessageId, sent: Receipt) -> Result<Stored, QueueError> {
    let Some(row) = txn.get(&keys::message(line, sent.place)).await? else { return Err(MessageNotFound.into()) };
    let stored = Stored::decode(sent.place, &row)?;
    if stored.id == id.bits() { Ok(stored) } else { Err(MessageNotFound.into()) }
}
