//! Put Message.

use std::sync::Arc;

use access::{Asked, Authorized, Operation, need::Need};
use concurrency::visibility::{Message, PopReceipt, PutTimes};
use store::{Scope, Txn};

use super::{Hold, MessageId, MessageProperties, properties, settle, store_text};
use crate::{
    Queues,
    errors::QueueError,
    heads::Arrival,
    permissions,
    queue::{self, Address},
    records::StoredMessage,
    service::or_give_back,
    tally::{self, Shard},
};

/// Put Message.
#[derive(Clone, Debug)]
pub struct PutMessage {
    /// The queue that gets the message.
    pub address: Address,
    /// The id of the new message, drawn at random.
    pub id: MessageId,
    /// The value of its receipt, drawn at random.
    pub receipt: u128,
    /// When it is visible, and for how long it lives.
    pub times: PutTimes,
    /// What consumers get; at most 64 KiB.
    pub text: String,
}

impl Operation for PutMessage {
    fn need(&self) -> Need<'_> {
        permissions::messages(self.address.account, &self.address.queue, permissions::PUT_MESSAGE)
    }
}

impl Queues {
    /// Puts a message at the end of a queue.
    ///
    /// # Errors
    /// It is not allowed, the queue does not exist, or the store failed.
    pub async fn put_message(&self, asked: &Asked<PutMessage>) -> Result<(MessageProperties, Hold), QueueError> {
        let earliest = self.store.now().saturating_add(asked.times.visibility_timeout().length());
        let (arrival, shard) = (&self.heads.arrive(earliest), &self.shards.take());
        // No object: puts do not wait for each other, nor for gets.
        let scope = Scope::new();
        let put = |txn| async move {
            let work = async { put(&txn, &asked.authorize(&txn).await?, arrival, shard).await };
            or_give_back(work, || {
                arrival.landed();
                shard.give_back();
            })
            .await
        };
        self.store.transact(scope, put).await
    }
}

async fn put(
    txn: &Txn,
    request: &Authorized<'_, PutMessage>,
    arrival: &Arc<Arrival>,
    shard: &Arc<Shard>,
) -> Result<(MessageProperties, Hold), QueueError> {
    let index = queue::find(txn, &request.address).await?.index();
    let number = txn.fresh_id();
    let stored = StoredMessage {
        id: request.id.bits(),
        message: Message::put(request.times, PopReceipt::new(request.receipt), txn.now()),
        text: store_text(txn, index, number, &request.text),
    };
    let hold = settle(txn, index, number, None, &stored);
    tally::add(txn, index, shard.number, 1).await?;
    let (arrival, shard) = (Arc::clone(arrival), Arc::clone(shard));
    txn.on_sequenced(move || {
        arrival.landed();
        shard.give_back();
    });
    Ok((properties(&stored), hold))
}
