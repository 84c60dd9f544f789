//! The stored access policies of a queue. The rows belong to `access`; a queue's list goes with the queue.

use access::{
    Asked, Operation,
    acl::{self, Acl},
    need::Need,
};
use store::Scope;

use crate::{
    Queues,
    errors::QueueError,
    permissions,
    queue::{self, Address},
};

/// Get Queue ACL.
#[derive(Clone, Debug)]
pub struct GetQueueAcl {
    /// The queue whose policies are read.
    pub address: Address,
}

impl Operation for GetQueueAcl {
    fn need(&self) -> Need<'_> {
        permissions::queue(self.address.account, &self.address.queue, permissions::QUEUE_ACL)
    }
}

/// Set Queue ACL.
#[derive(Clone, Debug)]
pub struct SetQueueAcl {
    /// The queue whose policies are replaced.
    pub address: Address,
    /// What replaces its list.
    pub acl: Acl,
}

impl Operation for SetQueueAcl {
    fn need(&self) -> Need<'_> {
        permissions::queue(self.address.account, &self.address.queue, permissions::QUEUE_ACL)
    }
}

impl Queues {
    /// Reads the stored access policies of a queue.
    ///
    /// # Errors
    /// It is not allowed, the queue does not exist, or the store failed.
    pub async fn get_queue_acl(&self, asked: &Asked<GetQueueAcl>) -> Result<Acl, QueueError> {
        let rows = self.store.snapshot();
        let request = asked.authorize(&rows).await?;
        queue::find(&rows, &request.address).await?;
        Ok(acl::read(&rows, request.address.holder()).await?)
    }

    /// Replaces the stored access policies of a queue. The last writer wins.
    ///
    /// # Errors
    /// It is not allowed, the queue does not exist, or the store failed.
    pub async fn set_queue_acl(&self, asked: &Asked<SetQueueAcl>) -> Result<(), QueueError> {
        let object = asked.address.key();
        let scope = Scope::unit(asked.address.account).object(&object);
        let set = |txn| async move {
            let request = asked.authorize(&txn).await?;
            queue::find(&txn, &request.address).await?;
            Ok(acl::write(&txn, request.address.holder(), &request.acl)?)
        };
        self.store.transact(scope, set).await
    }
}
