//! Update Message and Delete Message: both know where the message stands, by its receipt.

use std::sync::Arc;

use access::{Asked, Authorized, Operation, need::Need};
use concurrency::visibility::{MessageNotFound, PopReceipt, VisibilityTimeout};
use store::{Read, Scope, Txn};

use super::{Hold, MessageId, remove, settle, store_text};
use crate::{
    Queues,
    errors::QueueError,
    heads::Arrival,
    keys::{self, MessageIndex},
    permissions,
    pop_receipt::Receipt,
    queue::{self, Address},
    records::StoredMessage,
    service::or_give_back,
    tally::{self, Shard},
};

/// Update Message.
#[derive(Clone, Debug)]
pub struct UpdateMessage {
    /// The queue that the message is in.
    pub address: Address,
    /// The message that the client names, which must be the one that its receipt leads to.
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
    /// The queue that the message is in.
    pub address: Address,
    /// The message that the client names, which must be the one that its receipt leads to.
    pub id: MessageId,
    /// The receipt that was sent.
    pub sent: Receipt,
}

impl Operation for DeleteMessage {
    fn need(&self) -> Need<'_> {
        permissions::messages(self.address.account, &self.address.queue, permissions::DELETE_MESSAGE)
    }
}

impl Queues {
    /// Hides a message anew, or shows it at once, and may replace its text.
    ///
    /// # Errors
    /// It is not allowed, the queue or the message does not exist, the receipt is not its newest, it would be visible
    /// after its expiry, or the store failed.
    pub async fn update_message(&self, asked: &Asked<UpdateMessage>) -> Result<Hold, QueueError> {
        let arrival = &self.heads.arrive(self.store.now().saturating_add(asked.timeout.length()));
        let scope = Scope::new();
        let update = |txn| async move {
            let work = async { update(&txn, &asked.authorize(&txn).await?, arrival).await };
            or_give_back(work, || arrival.landed()).await
        };
        self.store.transact(scope, update).await
    }

    /// Deletes a message.
    ///
    /// # Errors
    /// It is not allowed, the queue or the message does not exist, the receipt is not its newest, or the store failed.
    pub async fn delete_message(&self, asked: &Asked<DeleteMessage>) -> Result<(), QueueError> {
        let shard = &self.shards.take();
        let scope = Scope::new().reclaims();
        let delete = |txn| async move {
            let work = async { delete(&txn, &asked.authorize(&txn).await?, shard).await };
            or_give_back(work, || shard.give_back()).await
        };
        self.store.transact(scope, delete).await
    }
}

async fn update(
    txn: &Txn,
    request: &Authorized<'_, UpdateMessage>,
    arrival: &Arc<Arrival>,
) -> Result<Hold, QueueError> {
    let index = queue::find(txn, &request.address).await?.index();
    let (number, mut stored) = (request.sent.place.number, find(txn, index, request.id, request.sent).await?);
    let fresh = PopReceipt::new(request.receipt);
    stored.message = stored.message.update(request.sent.value, request.timeout, fresh, txn.now())?;
    if let Some(text) = &request.text {
        if stored.text.is_none() {
            txn.delete(keys::text(index, number));
        }
        stored.text = store_text(txn, index, number, text);
    }
    let hold = settle(txn, index, number, Some(request.sent.place), &stored);
    let arrival = Arc::clone(arrival);
    txn.on_sequenced(move || arrival.landed());
    Ok(hold)
}

async fn delete(txn: &Txn, request: &Authorized<'_, DeleteMessage>, shard: &Arc<Shard>) -> Result<(), QueueError> {
    let index = queue::find(txn, &request.address).await?.index();
    let stored = find(txn, index, request.id, request.sent).await?;
    stored.message.delete(request.sent.value, txn.now())?;
    remove(txn, index, request.sent.place, &stored);
    tally::add(txn, index, shard.number, -1).await?;
    let shard = Arc::clone(shard);
    txn.on_sequenced(move || shard.give_back());
    Ok(())
}

/// The message that stands where the receipt says. Whether the receipt counts is asked of the message.
async fn find(txn: &Txn, index: MessageIndex, id: MessageId, sent: Receipt) -> Result<StoredMessage, QueueError> {
    let Some(row) = txn.get(&keys::message(index, sent.place)).await? else { return Err(MessageNotFound.into()) };
    let stored = StoredMessage::decode(sent.place, &row)?;
    if stored.id == id.bits() { Ok(stored) } else { Err(MessageNotFound.into()) }
}
