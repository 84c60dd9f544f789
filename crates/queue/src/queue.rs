//! Create Queue, Get and Set Queue Metadata, Clear Messages, Delete Queue.
//!
//! Deleting and clearing are one row and one sweep each; the name of a deleted queue is free at once. Writers of one
//! queue's row wait for each other; Put Message only reads the row, so puts do not.

use access::{
    Asked, Authorized, Operation,
    acl::{self, Acl, Holder},
    need::{Need, Service},
};
use store::{Read, Scope, Txn};
use types::{UnitId, names::QueueName};

use crate::{
    Queues,
    errors::QueueError,
    keys::{self, MessageIndex, Place},
    permissions, records, tally,
};

/// Names and values as the client sent them, in the order of names.
pub type Metadata = Vec<(String, String)>;

/// A queue as its row says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Queue {
    /// Its id, never given twice: a queue of the same name that is created later has another.
    pub(crate) unit: UnitId,
    /// Raised by Clear Messages.
    pub(crate) generation: u64,
    pub(crate) metadata: Metadata,
}

impl Queue {
    /// The index that has its messages.
    pub(crate) const fn index(&self) -> MessageIndex {
        MessageIndex { queue: self.unit, generation: self.generation }
    }
}

/// A queue of an account.
#[derive(Clone, Debug)]
pub struct Address {
    /// The account's id: never given twice, unlike its name.
    pub account: UnitId,
    /// The name, unique in the account.
    pub queue: QueueName,
}

impl Address {
    /// What the writers of the queue's row queue on.
    pub(crate) fn key(&self) -> bytes::Bytes {
        keys::queue(self.account, &self.queue)
    }

    pub(crate) fn holder(&self) -> Holder<'_> {
        Holder { service: Service::Queue, account: self.account, name: self.queue.as_str() }
    }
}

/// Create Queue.
#[derive(Clone, Debug)]
pub struct CreateQueue {
    /// The account and the name of the new queue.
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

impl Queues {
    /// Creates a queue.
    ///
    /// # Errors
    /// It is not allowed, the queue exists with other metadata, or the store failed.
    pub async fn create_queue(&self, asked: &Asked<CreateQueue>) -> Result<Created, QueueError> {
        let object = asked.address.key();
        let scope = Scope::of(&object);
        self.store.transact(scope, |txn| async move { create(&txn, &asked.authorize(&txn).await?).await }).await
    }

    /// Reads the metadata of a queue and the number of its messages.
    ///
    /// # Errors
    /// It is not allowed, the queue does not exist, or the store failed.
    pub async fn get_queue_metadata(&self, asked: &Asked<GetQueueMetadata>) -> Result<QueueProperties, QueueError> {
        let rows = self.store.snapshot();
        let request = asked.authorize(&rows).await?;
        let queue = find(&rows, &request.address).await?;
        let approximate_messages_count = tally::count(&rows, queue.index()).await?;
        Ok(QueueProperties { metadata: queue.metadata, approximate_messages_count })
    }

    /// Replaces the metadata of a queue. The last writer wins.
    ///
    /// # Errors
    /// It is not allowed, the queue does not exist, or the store failed.
    pub async fn set_queue_metadata(&self, asked: &Asked<SetQueueMetadata>) -> Result<(), QueueError> {
        let object = asked.address.key();
        let scope = Scope::of(&object);
        self.store.transact(scope, |txn| async move { set_metadata(&txn, &asked.authorize(&txn).await?).await }).await
    }

    /// Removes all messages: the queue goes on in a new generation, the old one is swept later.
    ///
    /// # Errors
    /// It is not allowed, the queue does not exist, or the store failed.
    pub async fn clear_messages(&self, asked: &Asked<ClearMessages>) -> Result<(), QueueError> {
        let object = asked.address.key();
        let scope = Scope::of(&object).reclaims();
        self.store.transact(scope, |txn| async move { clear(&txn, &asked.authorize(&txn).await?).await }).await
    }

    /// Deletes a queue with everything in it. Its name is free at once; the messages are swept later.
    ///
    /// # Errors
    /// It is not allowed, the queue does not exist, or the store failed.
    pub async fn delete_queue(&self, asked: &Asked<DeleteQueue>) -> Result<(), QueueError> {
        let object = asked.address.key();
        let scope = Scope::of(&object).reclaims();
        self.store.transact(scope, |txn| async move { delete(&txn, &asked.authorize(&txn).await?).await }).await
    }
}

async fn create(txn: &Txn, request: &Authorized<'_, CreateQueue>) -> Result<Created, QueueError> {
    let key = request.address.key();
    if let Some(row) = txn.get(&key).await? {
        let found = records::decode_queue(&row)?;
        return if is_same(&found.metadata, &request.metadata) {
            Ok(Created::Same)
        } else {
            Err(QueueError::QueueAlreadyExists)
        };
    }
    let queue = Queue { unit: UnitId::new(txn.fresh_id()), generation: 1, metadata: request.metadata.clone() };
    txn.put(key, records::encode_queue(&queue));
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
    /// The queue whose metadata and count are read.
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

/// Set Queue Metadata.
#[derive(Clone, Debug)]
pub struct SetQueueMetadata {
    /// The queue whose metadata is replaced.
    pub address: Address,
    /// What replaces its metadata.
    pub metadata: Metadata,
}

impl Operation for SetQueueMetadata {
    fn need(&self) -> Need<'_> {
        permissions::queue(self.address.account, &self.address.queue, permissions::SET_QUEUE_METADATA)
    }
}

async fn set_metadata(txn: &Txn, request: &Authorized<'_, SetQueueMetadata>) -> Result<(), QueueError> {
    let queue = find(txn, &request.address).await?;
    let queue = Queue { metadata: request.metadata.clone(), ..queue };
    txn.put(request.address.key(), records::encode_queue(&queue));
    Ok(())
}

/// Clear Messages.
#[derive(Clone, Debug)]
pub struct ClearMessages {
    /// The queue that is emptied and stays.
    pub address: Address,
}

impl Operation for ClearMessages {
    fn need(&self) -> Need<'_> {
        permissions::messages(self.address.account, &self.address.queue, permissions::CLEAR_MESSAGES)
    }
}

async fn clear(txn: &Txn, request: &Authorized<'_, ClearMessages>) -> Result<(), QueueError> {
    let queue = find(txn, &request.address).await?;
    txn.put(keys::sweep(queue.index()), records::encode_place(Place::FIRST));
    let generation = queue.generation.saturating_add(1);
    txn.put(request.address.key(), records::encode_queue(&Queue { generation, ..queue }));
    Ok(())
}

/// Delete Queue.
#[derive(Clone, Debug)]
pub struct DeleteQueue {
    /// The queue that goes, with its messages and policies.
    pub address: Address,
}

impl Operation for DeleteQueue {
    fn need(&self) -> Need<'_> {
        permissions::queue(self.address.account, &self.address.queue, permissions::DELETE_QUEUE)
    }
}

async fn delete(txn: &Txn, request: &Authorized<'_, DeleteQueue>) -> Result<(), QueueError> {
    let queue = find(txn, &request.address).await?;
    txn.delete(request.address.key());
    txn.put(keys::sweep(queue.index()), records::encode_place(Place::FIRST));
    acl::write(txn, request.address.holder(), &Acl::default())?;
    Ok(())
}

/// The queue at this address.
pub(crate) async fn find(rows: &impl Read, address: &Address) -> Result<Queue, QueueError> {
    match rows.get(&address.key()).await? {
        Some(row) => Ok(records::decode_queue(&row)?),
        None => Err(QueueError::QueueNotFound),
    }
}
