//! Why an operation of the Blob service was refused or failed. One table in the protocol crate turns these into status,
//! code and message.

use access::Denied;
use concurrency::{
    conditions::{ReadRefusal, WriteRefusal},
    gate::{ReadGateRefusal, WriteGateRefusal},
    lease::LeaseCheckRefusal,
};
use store::StoreError;

/// What a refusal is about: the same rule has another code for a container and for a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The container.
    Container,
    /// The blob.
    Blob,
}

/// Why an operation was not done. Nothing changed, unless it is [`BlobError::Store`].
#[derive(Clone, Debug, thiserror::Error)]
pub enum BlobError {
    /// There is no such container.
    #[error("the container does not exist")]
    ContainerNotFound,
    /// There is no such blob.
    #[error("the blob does not exist")]
    BlobNotFound,
    /// The container exists.
    #[error("the container already exists")]
    ContainerAlreadyExists,
    /// The blob exists, and the request said it must not.
    #[error("the blob already exists")]
    BlobAlreadyExists,
    /// The blob is of another kind than the operation needs.
    #[error("the blob is of another kind")]
    InvalidBlobType,
    /// A lease stands against it.
    #[error("{1}")]
    Lease(About, LeaseCheckRefusal),
    /// A condition of a read is not met.
    #[error("{0}")]
    Read(ReadRefusal),
    /// A condition of a write is not met.
    #[error("{0}")]
    Write(WriteRefusal),
    /// The credential does not allow it, or not any more.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl BlobError {
    pub(crate) fn read(about: About, refusal: ReadGateRefusal) -> Self {
        match refusal {
            ReadGateRefusal::Lease(refusal) => Self::Lease(about, refusal),
            ReadGateRefusal::Condition(ReadRefusal::NotFound) => about.not_found(),
            ReadGateRefusal::Condition(refusal) => Self::Read(refusal),
        }
    }

    pub(crate) fn write(about: About, refusal: WriteGateRefusal) -> Self {
        match refusal {
            WriteGateRefusal::Lease(refusal) => Self::Lease(about, refusal),
            WriteGateRefusal::Condition(WriteRefusal::NotFound) => about.not_found(),
            WriteGateRefusal::Condition(WriteRefusal::AlreadyExists) => match about {
                About::Container => Self::ContainerAlreadyExists,
                About::Blob => Self::BlobAlreadyExists,
            },
            WriteGateRefusal::Condition(refusal) => Self::Write(refusal),
        }
    }
}

impl About {
    const fn not_found(self) -> BlobError {
        match self {
            Self::Container => BlobError::ContainerNotFound,
            Self::Blob => BlobError::BlobNotFound,
        }
    }
}
