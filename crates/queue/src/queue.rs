//! Queues: create, metadata, clear, delete.
//!
//! Deleting and clearing are one row and one sweep each; the name of a deleted queue is free at once. Writers of one
//! queue's row wait for each other; Put Message only reads the row, so puts do not.

use access::{
    Authorized, Operation,
    acl::{self, Acl, Holder},
    need::{Need, Service},
};
use store::{Read, Txn};
use types::{UnitId, names::QueueName};

use crate::{
    errors::QueueError,
    keys::{self, Place},
    permissions,
    records::{self, Metadata, Queue},
    tally,
};

/// A queue of an account.
#[derive(Clone, Debug)]
pub struct Address {
    /// The account.
    pub account: UnitId,
    /// The queue.
    pub queue: QueueName,
}

impl Address {
    /// What the writers of the queue's row queue on.
    #[must_use]
    pub fn key(&self) -> bytes::Bytes {
        keys::queue(self.account, &self.queue)
    }

    pub(crate) fn holder(&self) -> Holder<'_> {
        Holder { service: Service::Queue, account: self.account, name: self.queue.as_str() }
    }
}

/// Create Queue.
#[derive(Clone, Debug)]
pub struct CreateQueue {
    /// Which queue.
    pub address: Address,
    /// Its metadata.
    pub metadata: Metadata,
}

impl Operation for CreateQueue {
    fn need(&self) -> Need<'_> {
        permissions::queue(self.address.account, &self.address.queue, permissions::CREATE_QUEUE)
    }
}

/// What Create Queue found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// Nothing: the queue is new.
    New,
    /// The same queue with the same metadata.
    Same,
}

/// Creates a queue.
///
/// # Errors
/// It exists with other metadata, or the store failed.
pub async fn create(txn: &Txn, request: &Authorized<CreateQueue>) -> Result<Created, QueueError> {
    request.confirm(txn).await?;
    let key = request.address.key();
    if let Some(row) = txn.get(&key).await? {
        let found = Queue::decode(&row)?;
        return if is_same(&found.metadata, &request.metadata) {
            Ok(Created::Same)
        } else {
            Err(QueueError::QueueAlreadyExists)
        };
    }
    let queue = Queue { unit: UnitId::new(txn.fresh_id()), generation: 1, metadata: request.metadata.clone() };
    txn.put(key, queue.encode()?);
    Ok(Created::New)
}

/// Names of metadata compare without case, which is also how each of them is there once.
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    let has = |(name, value): &(String, String)| {
        other.iter().any(|(found, same)| found.eq_ignore_ascii_case(name) && same == value)
    };
    one.len() == other.len() && one.iter().all(has)
}

/// Get Queue Metadata.
#[derive(Clone, Debug)]
pub struct GetQueueMetadata {
    /// Which queue.
    pub address: Address,
}

impl Operation for GetQueueMetadata {
    fn need(&self) -> Need<'_> {
        permissions::queue(self.address.account, &self.address.queue, permissions::GET_QUEUE_METADATA)
    }
}

/// What a queue says about itself.
#[derive(Clone, Debug)]
pub struct QueueProperties {
    /// Its metadata.
    pub metadata: Metadata,
    /// Its messages, visible or not; expired ones count until they are removed.
    pub approximate_messages_count: u64,
}

/// Reads the metadata of a queue and the number of its messages.
///
/// # Errors
/// It does not exist, or the store failed.
pub async fn metadata(rows: &impl Read, request: &Authorized<GetQueueMetadata>) -> Result<QueueProperties, QueueError> {
    let queue = find(rows, &request.address).await?;
    let approximate_messages_count = tally::count(rows, queue.line()).await?;
    Ok(QueueProperties { metadata: queue.metadata, approximate_messages_count })
}

/// Set Queue Metadata.
#[derive(Clone, Debug)]
pub struct SetQueueMetadata {
    /// Which queue.
    pub address: Address,
    /// What replaces its metadata.
    pub metadata: Metadata,
}

impl Operation for SetQueueMetadata {
    fn need(&self) -> Need<'_> {
        permissions::queue(self.address.account, &self.address.queue, permissions::SET_QUEUE_METADATA)
    }
}

/// Replaces the metadata of a queue. The last writer wins.
///
/// # Errors
/// It does not exist, or the store failed.
pub async fn set_metadata(txn: &Txn, request: &Authorized<SetQueueMetadata>) -> Result<(), QueueError> {
    request.confirm(txn).await?;
    let queue = find(txn, &request.address).await?;
    txn.put(request.address.key(), Queue { metadata: request.metadata.clone(), ..queue }.encode()?);
    Ok(())
}

/// Clear Messages.
#[derive(Clone, Debug)]
pub struct ClearMessages {
    /// Which queue.
    pub address: Address,
}

impl Operation for ClearMessages {
    fn need(&self) -> Need<'_> {
        permissions::messages(self.address.account, &self.address.queue, permissions::CLEAR_MESSAGES)
    }
}

/// Removes all messages: the queue goes on in a new generation, the old one is swept later.
///
/// # Errors
/// The queue does not exist, or the store failed.
pub async fn clear(txn: &Txn, request: &Authorized<ClearMessages>) -> Result<(), QueueError> {
    request.confirm(txn).await?;
    let queue = find(txn, &request.address).await?;
    txn.put(keys::sweep(queue.line()), records::encode_place(Place::FIRST));
    let generation = queue.generation.saturating_add(1);
    txn.put(request.address.key(), Queue { generation, ..queue }.encode()?);
    Ok(())
}

/// Delete Queue.
#[derive(Clone, Debug)]
pub struct DeleteQueue {
    /// Which queue.
    pub address: Address,
}

impl Operation for DeleteQueue {
    fn need(&self) -> Need<'_> {
        permissions::queue(self.address.account, &self.address.queue, permissions::DELETE_QUEUE)
    }
}

/// Deletes a queue with everything in it. Its name is free at once; the messages are swept later.
///
/// # Errors
/// It does not exist, or the store failed.
pub async fn delete(txn: &Txn, request: &Authorized<DeleteQueue>) -> Result<(), QueueError> {
    request.confirm(txn).await?;
    let queue = find(txn, &request.address).await?;
    txn.delete(request.address.key());
    txn.put(keys::sweep(queue.line()), records::encode_place(Place::FIRST));
    acl::write(txn, request.address.holder(), &Acl::default())?;
    Ok(())
}

/// The queue at this address.
pub(crate) async fn find(rows: &impl Read, address: &Address) -> Result<Queue, QueueError> {
    match rows.get(&address.key()).await? {
        Some(row) => Ok(Queue::decode(&row)?),
        None => Err(QueueError::QueueNotFound),
    }
}
