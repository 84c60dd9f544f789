//! The stored access policies of a queue. The rows belong to `access`; a queue's list goes with the queue.

use access::{
    Authorized, Operation,
    acl::{self, Acl},
    need::Need,
};
use store::{Read, Txn};

use crate::{
    errors::QueueError,
    permissions,
    queue::{self, Address},
};

/// Get Queue ACL.
#[derive(Clone, Debug)]
pub struct GetQueueAcl {
    /// Which queue.
    pub address: Address,
}

impl Operation for GetQueueAcl {
    fn need(&self) -> Need<'_> {
        permissions::queue(self.address.account, &self.address.queue, permissions::QUEUE_ACL)
    }
}

/// Reads the stored access policies of a queue.
///
/// # Errors
/// It does not exist, or the store failed.
pub async fn acl(rows: &impl Read, request: &Authorized<GetQueueAcl>) -> Result<Acl, QueueError> {
    queue::find(rows, &request.address).await?;
    Ok(acl::read(rows, request.address.holder()).await?)
}

/// Set Queue ACL.
#[derive(Clone, Debug)]
pub struct SetQueueAcl {
    /// Which queue.
    pub address: Address,
    /// What replaces its list.
    pub acl: Acl,
}

impl Operation for SetQueueAcl {
    fn need(&self) -> Need<'_> {
        permissions::queue(self.address.account, &self.address.queue, permissions::QUEUE_ACL)
    }
}

/// Replaces the stored access policies of a queue. The last writer wins.
///
/// # Errors
/// It does not exist, or the store failed.
pub async fn set_acl(txn: &Txn, request: &Authorized<SetQueueAcl>) -> Result<(), QueueError> {
    request.confirm(txn).await?;
    queue::find(txn, &request.address).await?;
    Ok(acl::write(txn, request.address.holder(), &request.acl)?)
}
