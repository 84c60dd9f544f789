//! Why an operation of the Queue service was refused or failed. One table in the protocol crate turns these into status,
//! code and message.

use access::Denied;
use concurrency::visibility::{MessageNotFound, ParameterRefusal, UpdateRefusal};
use store::StoreError;

/// Why an operation was not done. Nothing changed, unless it is [`QueueError::Store`].
#[derive(Clone, Debug, thiserror::Error)]
pub enum QueueError {
    /// There is no such queue.
    #[error("the queue does not exist")]
    QueueNotFound,
    /// The queue exists, with other metadata.
    #[error("the queue already exists")]
    QueueAlreadyExists,
    /// There is no such message, or the pop receipt is not its newest.
    #[error(transparent)]
    MessageNotFound(#[from] MessageNotFound),
    /// A number of the request is not allowed.
    #[error(transparent)]
    Parameter(#[from] ParameterRefusal),
    /// The credential does not allow it, or not any more.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<UpdateRefusal> for QueueError {
    fn from(refusal: UpdateRefusal) -> Self {
        match refusal {
            UpdateRefusal::NotFound(not_found) => Self::MessageNotFound(not_found),
            UpdateRefusal::PastExpiry(parameter) => Self::Parameter(parameter),
        }
    }
}
