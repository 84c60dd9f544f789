//! Why an operation of the Blob service was refused or failed. One table in the protocol crate turns these into status,
//! code and message.

use access::Denied;
use concurrency::{
    append_condition::AppendRefusal,
    conditions::{ReadRefusal, SourceRefusal, WriteRefusal},
    gate::{ReadGateRefusal, WriteGateRefusal},
    lease::{LeaseCheckRefusal, LeaseRefusal},
};
use store::StoreError;

/// What a refusal is about: the same rule has another code for a container and for a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The container, also when a blob in it was asked for.
    Container,
    /// The blob itself.
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
    /// The container belongs to the service (403 AuthorizationFailure).
    #[error("only the service writes into this container")]
    SystemContainer,
    /// The blob exists, and the request said it must not.
    #[error("the blob already exists")]
    BlobAlreadyExists,
    /// The credential may create blobs, and this one exists (403 UnauthorizedBlobOverwrite).
    #[error("this credential does not allow to overwrite a blob")]
    UnauthorizedBlobOverwrite,
    /// The blob is of another kind than the operation needs.
    #[error("the blob is of another kind")]
    InvalidBlobType,
    /// A lease stands against it.
    #[error("{1}")]
    Lease(About, LeaseCheckRefusal),
    /// The lease operation is refused (409).
    #[error("{0}")]
    LeaseOperation(LeaseRefusal),
    /// A condition of a read is not met.
    #[error("{0}")]
    Read(ReadRefusal),
    /// A condition of a write is not met.
    #[error("{0}")]
    Write(WriteRefusal),
    /// `x-ms-if-tags` is not met (412 ConditionNotMet).
    #[error("the tag condition is not met")]
    TagConditionNotMet,
    /// The condition on the time of the tier is not met (412 ConditionNotMet).
    #[error("the condition on the access tier's change time is not met")]
    TierConditionNotMet,
    /// A condition of a copy's source is not met.
    #[error("{0}")]
    Source(SourceRefusal),
    /// `x-ms-source-if-tags` is not met (412 ConditionNotMet).
    #[error("the tag condition of the source is not met")]
    SourceTagConditionNotMet,
    /// The source of a copy is of a kind that cannot be copied there (409 InvalidSourceBlobType).
    #[error("the source is of another kind")]
    InvalidSourceBlobType,
    /// The source of a copy is archived (409 BlobArchived).
    #[error("the source is archived")]
    SourceArchived,
    /// The source is longer than this operation copies (409).
    #[error("the source has {length} bytes, at most {limit} are copied")]
    SourceTooLarge {
        /// How long the source is.
        length: u64,
        /// What is allowed.
        limit: u64,
    },
    /// The source is a map of more parts than one transaction shares: its bytes have to be copied.
    #[error("the source has more parts than are shared at once")]
    TooManyParts,
    /// An append position or maximum size condition is not met (412).
    #[error("{0}")]
    Append(AppendRefusal),
    /// The append blob is sealed (409 BlobIsSealed).
    #[error("the blob is sealed")]
    BlobIsSealed,
    /// A sequence number condition is not met (412).
    #[error("the sequence number condition is not met")]
    SequenceNumberConditionNotMet,
    /// The sequence number cannot grow (409).
    #[error("the sequence number cannot be incremented")]
    SequenceNumberIncrementTooLarge,
    /// A copy into the blob is running (409 PendingCopyOperation).
    #[error("there is currently a pending copy operation")]
    PendingCopyOperation,
    /// No copy into the blob is running (409 NoPendingCopyOperation).
    #[error("there is currently no pending copy operation")]
    NoPendingCopyOperation,
    /// Another copy into the blob is running (409 CopyIdMismatch).
    #[error("the copy id does not match the running copy")]
    CopyIdMismatch,
    /// The blob has snapshots, and nobody said what to do with them (409 SnapshotsPresent).
    #[error("the blob has snapshots")]
    SnapshotsPresent,
    /// The blob is archived (409 BlobArchived).
    #[error("the blob is archived")]
    BlobArchived,
    /// The blob is on its way out of the archive (409 BlobBeingRehydrated).
    #[error("the blob is being rehydrated")]
    BlobBeingRehydrated,
    /// A block id is empty or too long (400 InvalidBlockId).
    #[error("a block id of {0} bytes")]
    InvalidBlockId(usize),
    /// A block id has another length than the ones before (400 InvalidBlobOrBlock).
    #[error("a block id of {found} bytes beside ids of {expected}")]
    BlockIdLength {
        /// Of this one.
        found: usize,
        /// Of the others.
        expected: usize,
    },
    /// More blocks than a blob may have (409 BlockCountExceedsLimit).
    #[error("the blob has {0} blocks, which is the limit")]
    BlockCountExceedsLimit(usize),
    /// More blocks than a list may have (400 BlockListTooLong).
    #[error("a list of {0} blocks")]
    BlockListTooLong(usize),
    /// A list names a block that there is not (400 InvalidBlockList).
    #[error("the list names a block that does not exist")]
    InvalidBlockList,
    /// A range of pages that is not within the blob, or not whole pages (416 InvalidPageRange).
    #[error("the pages {start}..{end} are not within the blob")]
    InvalidPageRange {
        /// Where it begins.
        start: u64,
        /// Where it ends, excluded.
        end: u64,
    },
    /// A range that begins behind the end of the blob (416 InvalidRange).
    #[error("the range is not within the blob")]
    InvalidRange,
    /// A range that begins behind the end of a blob that is read (416 InvalidRange, which tells the length).
    #[error("the range begins behind the end of the blob, which has {length} bytes")]
    RangeBehindTheEnd {
        /// The length of the blob.
        length: u64,
    },
    /// The blob is written so often that its bytes could not be opened (503 ServerBusy).
    #[error("the blob changes too often to be read")]
    ChangesTooOften,
    /// The same for the source of a copy (503 ServerBusy).
    #[error("the source changes too often to be read")]
    SourceChangesTooOften,
    /// The length of a page blob is not whole pages, or too large (400 InvalidHeaderValue).
    #[error("a page blob of {0} bytes")]
    InvalidPageBlobLength(u64),
    /// More bytes than the operation takes (413 RequestBodyTooLarge).
    #[error("more than {0} bytes")]
    TooLarge(u64),
    /// The snapshot to compare with does not exist (409 PreviousSnapshotNotFound).
    #[error("the previous snapshot does not exist")]
    PreviousSnapshotNotFound,
    /// The snapshot to compare with is newer (400 PreviousSnapshotCannotBeNewer).
    #[error("the previous snapshot is newer")]
    PreviousSnapshotCannotBeNewer,
    /// The blob was replaced since the snapshot to compare with (409 BlobOverwritten).
    #[error("the blob was overwritten since the previous snapshot")]
    BlobOverwritten,
    /// The kind of blob does not have this tier (400 AccessTierNotSupportedForBlobType).
    #[error("the access tier {0} is not one of this kind of blob")]
    AccessTierNotSupported(&'static str),
    /// A page blob does not go to a lower tier (409 CannotChangeToLowerTier).
    #[error("a page blob cannot be moved to a lower tier")]
    CannotChangeToLowerTier,
    /// The tier is too small for the blob (409 BlobTierInadequateForContentLength).
    #[error("the blob is longer than its tier allows")]
    TierTooSmall,
    /// The new length is more than the blob's tier allows (409 ContentLengthLargerThanTierLimit).
    #[error("the content length is larger than the tier allows")]
    ContentLengthLargerThanTierLimit,
    /// Tags beyond the limits (400 TagsTooLarge, EmptyTagName, DuplicateTagNames, InvalidTag).
    #[error("{0}")]
    Tags(#[from] crate::tags::InvalidTags),
    /// The source of a copy brings tags and the request does too (400).
    #[error("tags were sent, and the tags of the source were asked for")]
    BothTags,
    /// An expiry that is past, missing, or not wanted (400 InvalidHeaderValue).
    #[error("the expiry is not in the future")]
    InvalidExpiry,
    /// The operation does not apply to snapshots (400 InvalidOperation).
    #[error("the operation is not for snapshots")]
    NotForSnapshots,
    /// The credential does not allow it, or not any more.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// The credential of the source of a copy does not allow to read it, or not any more.
    #[error("the source: {0}")]
    SourceDenied(Denied),
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
            WriteGateRefusal::Condition(refusal) => Self::condition(about, refusal),
        }
    }

    pub(crate) fn condition(about: About, refusal: WriteRefusal) -> Self {
        match (about, refusal) {
            (_, WriteRefusal::NotFound) => about.not_found(),
            (About::Container, WriteRefusal::AlreadyExists) => Self::ContainerAlreadyExists,
            (About::Blob, WriteRefusal::AlreadyExists) => Self::BlobAlreadyExists,
            (_, refusal) => Self::Write(refusal),
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
