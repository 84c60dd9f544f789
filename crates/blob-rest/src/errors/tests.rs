//! Every refusal against the reference of codes.

use access::Denied;
use concurrency::{conditions::SourceRefusal, lease::LeaseRefusal};
use types::{ETag, Timestamp};

use super::*;

const LEASES: [(LeaseCheckRefusal, &str); 5] = [
    (LeaseCheckRefusal::IdMissing, "LeaseIdMissing"),
    (LeaseCheckRefusal::IdMismatch, "LeaseIdMismatchWith{}Operation"),
    (LeaseCheckRefusal::NotPresent, "LeaseNotPresentWith{}Operation"),
    (LeaseCheckRefusal::Lost, "LeaseLost"),
    (LeaseCheckRefusal::InfiniteDurationRequired, "InfiniteLeaseDurationRequired"),
];

/// Every refusal of the service with its status and code.
#[rustfmt::skip]
fn table() -> Vec<(BlobError, u16, String)> {
    use ConditionHeader::IfMatch;

    let rows = [
        (BlobError::ContainerNotFound, 404, "ContainerNotFound"),
        (BlobError::BlobNotFound, 404, "BlobNotFound"),
        (BlobError::ContainerAlreadyExists, 409, "ContainerAlreadyExists"),
        (BlobError::SystemContainer, 403, "AuthorizationFailure"),
        (BlobError::BlobAlreadyExists, 409, "BlobAlreadyExists"),
        (BlobError::UnauthorizedBlobOverwrite, 403, "UnauthorizedBlobOverwrite"),
        (BlobError::InvalidBlobType, 409, "InvalidBlobType"),
        (BlobError::LeaseOperation(LeaseRefusal::AlreadyPresent), 409, "LeaseAlreadyPresent"),
        (BlobError::LeaseOperation(LeaseRefusal::IdMismatch), 409, "LeaseIdMismatchWithLeaseOperation"),
        (BlobError::LeaseOperation(LeaseRefusal::NotPresent), 409, "LeaseNotPresentWithLeaseOperation"),
        (BlobError::LeaseOperation(LeaseRefusal::BreakingCannotBeAcquired), 409, "LeaseIsBreakingAndCannotBeAcquired"),
        (BlobError::LeaseOperation(LeaseRefusal::BreakingCannotBeChanged), 409, "LeaseIsBreakingAndCannotBeChanged"),
        (BlobError::LeaseOperation(LeaseRefusal::BrokenCannotBeRenewed), 409, "LeaseIsBrokenAndCannotBeRenewed"),
        (BlobError::LeaseOperation(LeaseRefusal::RenewNotSupported), 400, "InvalidHeaderValue"),
        (BlobError::LeaseOperation(LeaseRefusal::FixedDurationNotSupported), 400, "InvalidHeaderValue"),
        (BlobError::LeaseOperation(LeaseRefusal::BreakPeriodNotSupported), 400, "InvalidHeaderValue"),
        (BlobError::Read(ReadRefusal::NotFound), 404, "BlobNotFound"),
        (BlobError::Read(ReadRefusal::ConditionNotMet(IfMatch)), 412, "ConditionNotMet"),
        (BlobError::Read(ReadRefusal::NotModified { etag: ETag::new(1), last_modified: Timestamp::EPOCH }), 304, "ConditionNotMet"),
        (BlobError::Read(ReadRefusal::Unsatisfiable), 400, "UnsatisfiableCondition"),
        (BlobError::Read(ReadRefusal::MultipleConditionHeaders), 400, "MultipleConditionHeadersNotSupported"),
        (BlobError::Write(WriteRefusal::NotFound), 404, "BlobNotFound"),
        (BlobError::Write(WriteRefusal::ConditionNotMet(IfMatch)), 412, "ConditionNotMet"),
        (BlobError::Write(WriteRefusal::AlreadyExists), 409, "BlobAlreadyExists"),
        (BlobError::Write(WriteRefusal::MultipleConditionHeaders), 400, "MultipleConditionHeadersNotSupported"),
        (BlobError::Write(WriteRefusal::HeaderNotSupported(IfMatch)), 400, "ConditionHeadersNotSupported"),
        (BlobError::TagConditionNotMet, 412, "ConditionNotMet"),
        (BlobError::TierConditionNotMet, 412, "ConditionNotMet"),
        (BlobError::Source(SourceRefusal::NotFound), 404, "CannotVerifyCopySource"),
        (BlobError::Source(SourceRefusal::ConditionNotMet(IfMatch)), 412, "SourceConditionNotMet"),
        (BlobError::Source(SourceRefusal::MultipleConditionHeaders), 400, "MultipleConditionHeadersNotSupported"),
        (BlobError::SourceTagConditionNotMet, 412, "ConditionNotMet"),
        (BlobError::InvalidSourceBlobType, 409, "InvalidSourceBlobType"),
        (BlobError::SourceArchived, 409, "BlobArchived"),
        (BlobError::SourceTooLarge { length: 2, limit: 1 }, 409, "CannotVerifyCopySource"),
        (BlobError::TooManyParts, 500, "InternalError"),
        (BlobError::Append(AppendRefusal::PositionNotMet { length: 1 }), 412, "AppendPositionConditionNotMet"),
        (BlobError::Append(AppendRefusal::MaxSizeNotMet), 412, "MaxBlobSizeConditionNotMet"),
        (BlobError::BlobIsSealed, 409, "BlobIsSealed"),
        (BlobError::SequenceNumberConditionNotMet, 412, "SequenceNumberConditionNotMet"),
        (BlobError::SequenceNumberIncrementTooLarge, 409, "SequenceNumberIncrementTooLarge"),
        (BlobError::PendingCopyOperation, 409, "PendingCopyOperation"),
        (BlobError::NoPendingCopyOperation, 409, "NoPendingCopyOperation"),
        (BlobError::CopyIdMismatch, 409, "CopyIdMismatch"),
        (BlobError::SnapshotsPresent, 409, "SnapshotsPresent"),
        (BlobError::BlobArchived, 409, "BlobArchived"),
        (BlobError::BlobBeingRehydrated, 409, "BlobBeingRehydrated"),
        (BlobError::InvalidBlockId(65), 400, "InvalidBlockId"),
        (BlobError::BlockIdLength { found: 1, expected: 2 }, 400, "InvalidBlobOrBlock"),
        (BlobError::BlockCountExceedsLimit(50_000), 409, "BlockCountExceedsLimit"),
        (BlobError::BlockListTooLong(50_001), 400, "BlockListTooLong"),
        (BlobError::InvalidBlockList, 400, "InvalidBlockList"),
        (BlobError::InvalidPageRange { start: 0, end: 1 }, 416, "InvalidPageRange"),
        (BlobError::InvalidRange, 416, "InvalidRange"),
        (BlobError::RangeBehindTheEnd { length: 1 }, 416, "InvalidRange"),
        (BlobError::ChangesTooOften, 503, "ServerBusy"),
        (BlobError::SourceChangesTooOften, 503, "ServerBusy"),
        (BlobError::InvalidPageBlobLength(1), 400, "InvalidHeaderValue"),
        (BlobError::TooLarge(1), 413, "RequestBodyTooLarge"),
        (BlobError::PreviousSnapshotNotFound, 409, "PreviousSnapshotNotFound"),
        (BlobError::PreviousSnapshotCannotBeNewer, 400, "PreviousSnapshotCannotBeNewer"),
        (BlobError::BlobOverwritten, 409, "BlobOverwritten"),
        (BlobError::AccessTierNotSupported("P4"), 400, "AccessTierNotSupportedForBlobType"),
        (BlobError::CannotChangeToLowerTier, 409, "CannotChangeToLowerTier"),
        (BlobError::TierTooSmall, 409, "BlobTierInadequateForContentLength"),
        (BlobError::ContentLengthLargerThanTierLimit, 409, "ContentLengthLargerThanTierLimit"),
        (BlobError::Tags(InvalidTags::TooMany(11)), 400, "TagsTooLarge"),
        (BlobError::Tags(InvalidTags::NameTooLong(129)), 400, "TagsTooLarge"),
        (BlobError::Tags(InvalidTags::ValueTooLong(257)), 400, "TagsTooLarge"),
        (BlobError::Tags(InvalidTags::EmptyName), 400, "EmptyTagName"),
        (BlobError::Tags(InvalidTags::Duplicate("a".into())), 400, "DuplicateTagNames"),
        (BlobError::Tags(InvalidTags::Character('&')), 400, "InvalidInput"),
        (BlobError::BothTags, 400, "BothUserTagsAndSourceTagsCopyPresentException"),
        (BlobError::InvalidExpiry, 400, "InvalidHeaderValue"),
        (BlobError::NotForSnapshots, 400, "InvalidOperation"),
        (BlobError::Denied(Denied::PermissionMismatch), 403, "AuthorizationPermissionMismatch"),
        (BlobError::SourceDenied(Denied::PermissionMismatch), 403, "AuthorizationPermissionMismatch"),
    ];
    let about = [(About::Blob, "Blob"), (About::Container, "Container")];
    let leases = about.into_iter().flat_map(|(about, noun)| {
        LEASES.map(|(refusal, code)| (BlobError::Lease(about, refusal), 412, code.replace("{}", noun)))
    });
    rows.into_iter().map(|(error, status, code)| (error, status, code.to_owned())).chain(leases).collect()
}

/// Statuses that a code has here besides those of the reference.
const OWN: [(&str, u16); 2] = [
    ("ConditionNotMet", 304),        // a read whose copy is still good
    ("CannotVerifyCopySource", 409), // a source that is too large
];

#[test]
fn statuses_and_codes_are_those_of_the_reference() {
    let reference: Vec<(&str, &str, &str)> = include_str!("../../../types/testdata/error-codes.csv")
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(',');
            Some((fields.next()?, fields.next()?, fields.next()?))
        })
        .collect();
    for (error, status, code) in table() {
        let shown = error.to_string();
        let answer = of(error);
        assert_eq!((answer.status.as_u16(), answer.code.as_str()), (status, &*code), "{shown}");
        assert!(!answer.message.is_empty(), "{shown}");
        let documented = reference.iter().any(|(known, documented, service)| {
            *known == code && documented.parse() == Ok(status) && ["blob", "common"].contains(service)
        });
        assert!(documented || OWN.contains(&(&*code, status)), "{code} {status} is not in the reference");
    }
}

#[test]
fn put_blob_from_url_tells_the_conditions_of_its_target_apart() {
    use ConditionHeader::{IfMatch, IfModifiedSince, IfNoneMatch};

    let table = [
        (CopyMode::PutBlobFromUrl, IfMatch, "TargetConditionNotMet"),
        (CopyMode::PutBlobFromUrl, IfNoneMatch, "TargetConditionNotMet"),
        (CopyMode::PutBlobFromUrl, IfModifiedSince, "ConditionNotMet"),
        (CopyMode::CopyBlobFromUrl, IfMatch, "ConditionNotMet"),
        (CopyMode::CopyBlob, IfMatch, "ConditionNotMet"),
    ];
    for (mode, header, code) in table {
        let answer = of_copy(|error| error, mode, BlobError::Write(WriteRefusal::ConditionNotMet(header)));
        assert_eq!((answer.status.as_u16(), answer.code.as_str()), (412, code), "{mode:?} {header:?}");
    }
}

#[test]
fn a_range_behind_the_end_tells_the_length() {
    let answer = of(BlobError::RangeBehindTheEnd { length: 7 });
    let told = answer.headers.iter().find(|(name, _)| *name == header::CONTENT_RANGE);
    assert_eq!(told.map(|(_, value)| value.as_bytes()), Some(b"bytes */7".as_slice()));
}
