//! The error codes of the services and the HTTP status that goes with each: one table for the whole project.
//!
//! Owns the spelling of a code and its status. It never decides which code an operation answers: that is the error
//! table of each protocol crate. Invariant, kept by a test: the table says the same as `testdata/error-codes.csv`, row
//! by row.

use std::fmt;

macro_rules! error_codes {
    ($($code:ident: $usual:literal $(| $other:literal)*, $meaning:literal;)*) => {
        /// A code as it stands in `x-ms-error-code` and in the body of a failure.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum ErrorCode {
            $(#[doc = $meaning] $code,)*
        }

        impl ErrorCode {
            /// Every code, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$code,)*];

            /// The code as it is written on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$code => stringify!($code),)*
                }
            }

            /// Every HTTP status that the code is answered with; the usual one first.
            #[must_use]
            pub const fn statuses(self) -> &'static [u16] {
                match self {
                    $(Self::$code => &[$usual $(, $other)*],)*
                }
            }

            /// The usual HTTP status. Five codes have a second one, see [`Self::statuses`]; the protocol crate that
            /// needs it says so in its own table.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self {
                    $(Self::$code => $usual,)*
                }
            }

            /// The code with exactly this spelling.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                match text {
                    $(stringify!($code) => Some(Self::$code),)*
                    _ => None,
                }
            }
        }
    };
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

error_codes! {
    // Every service
    AccountAlreadyExists: 409, "Account already exists.";
    AccountBeingCreated: 409, "Account being created.";
    AccountIsDisabled: 403, "Account is disabled.";
    AccountProtectedFromDeletion: 409, "Account protected from deletion.";
    AuthenticationFailed: 403, "Authentication failed.";
    AuthorizationFailure: 403, "Authorization failure.";
    AuthorizationPermissionMismatch: 403, "Authorization permission mismatch.";
    AuthorizationProtocolMismatch: 403, "Authorization protocol mismatch.";
    AuthorizationResourceTypeMismatch: 403, "Authorization resource type mismatch.";
    AuthorizationServiceMismatch: 403, "Authorization service mismatch.";
    AuthorizationSourceIPMismatch: 403, "Authorization source IP mismatch.";
    ConditionHeadersNotSupported: 400, "Operation takes no such If-* header.";
    ConditionNotMet: 412 | 304, "A condition does not hold; 304 for If-None-Match and If-Modified-Since on a read.";
    CorsPreflightFailure: 403, "Cors preflight failure.";
    EmptyMetadataKey: 400, "Empty metadata key.";
    InsufficientAccountPermissions: 403, "Insufficient account permissions.";
    InternalError: 500, "Internal error.";
    InvalidAuthenticationInfo: 400 | 401, "Invalid authentication info.";
    InvalidHeaderValue: 400, "Invalid header value.";
    InvalidHttpVerb: 400, "Invalid http verb.";
    InvalidInput: 400, "Invalid input.";
    InvalidMd5: 400, "Invalid md5.";
    InvalidMetadata: 400, "Invalid metadata.";
    InvalidQueryParameterValue: 400, "Invalid query parameter value.";
    InvalidRange: 416, "Invalid range.";
    InvalidResourceName: 400, "Invalid resource name.";
    InvalidUri: 400, "Invalid uri.";
    InvalidXmlDocument: 400, "Invalid xml document.";
    InvalidXmlNodeValue: 400, "Invalid xml node value.";
    Md5Mismatch: 400, "Md5 mismatch.";
    MetadataTooLarge: 400, "Metadata too large.";
    MissingContentLengthHeader: 411, "Missing content length header.";
    MissingRequiredHeader: 400, "Missing required header.";
    MissingRequiredQueryParameter: 400, "Missing required query parameter.";
    MissingRequiredXmlNode: 400, "Missing required xml node.";
    MultipleConditionHeadersNotSupported: 400, "Forbidden If-* combination or several ETags on a write.";
    NoAuthenticationInformation: 401, "No authentication information.";
    OperationTimedOut: 500, "Operation timed out.";
    OutOfRangeInput: 400, "Out of range input.";
    OutOfRangeQueryParameterValue: 400, "Out of range query parameter value.";
    RequestBodyTooLarge: 413, "Request body too large.";
    RequestForbiddenByContainerEncryptionPolicy: 403, "Request forbidden by container encryption policy.";
    RequestUrlFailedToParse: 400, "Request url failed to parse.";
    ResourceAlreadyExists: 409, "Resource already exists.";
    ResourceNotFound: 404, "Resource not found.";
    ResourceTypeMismatch: 409, "Resource type mismatch.";
    ServerBusy: 503, "Server busy.";
    UnsupportedHeader: 400, "Unsupported header.";
    UnsupportedHttpVerb: 405, "Unsupported http verb.";
    UnsupportedQueryParameter: 400, "Unsupported query parameter.";
    UnsupportedXmlNode: 400, "Unsupported xml node.";
    // Blob
    AccessTierNotSupportedForBlobType: 400, "Access tier not supported for blob type.";
    AppendPositionConditionNotMet: 412, "Appendpos differs from length.";
    BlobAccessTierNotSupportedForAccountType: 400, "Blob access tier not supported for account type.";
    BlobAlreadyExists: 409, "Creating write with If-None-Match:* and blob exists.";
    BlobArchived: 409, "Blob archived.";
    BlobBeingRehydrated: 409, "Blob being rehydrated.";
    BlobImmutableDueToLegalHold: 409, "Blob immutable due to legal hold.";
    BlobImmutableDueToPolicy: 409, "Blob immutable due to policy.";
    BlobIsSealed: 409, "Blob is sealed.";
    BlobNotArchived: 409, "Blob not archived.";
    BlobNotFound: 404, "Blob not found.";
    BlobOverwritten: 409, "Blob overwritten.";
    BlobTierInadequateForContentLength: 409, "Blob tier inadequate for content length.";
    BlobUsesCustomerSpecifiedEncryption: 409, "Blob uses customer specified encryption.";
    BlockCountExceedsLimit: 409, "Block count exceeds limit.";
    BlockListTooLong: 400, "Block list too long.";
    BothCrc64AndMd5HeaderPresent: 400, "Both crc64 and md5 header present.";
    BothUserTagsAndSourceTagsCopyPresentException: 400, "Both user tags and source tags copy present exception.";
    CannotChangeToLowerTier: 409, "Cannot change to lower tier.";
    CannotVerifyCopySource: 404 | 500, "Cannot verify copy source.";
    ContainerAlreadyExists: 409, "Container already exists.";
    ContainerBeingDeleted: 409, "Name in deletion period.";
    ContainerDisabled: 409, "Container disabled.";
    ContainerHasLegalHold: 409, "Container has legal hold.";
    ContainerImmutabilityPolicyLocked: 409, "Container immutability policy locked.";
    ContainerNotFound: 404, "Container not found.";
    ContentLengthLargerThanTierLimit: 409, "Content length larger than tier limit.";
    CopyAcrossAccountsNotSupported: 400, "Copy across accounts not supported.";
    CopyIdMismatch: 409, "Copy id mismatch.";
    Crc64Mismatch: 400, "Crc64 mismatch.";
    DirectorySasNotSupportedVersion: 409, "Directory sas not supported version.";
    DuplicateTagNames: 400, "Duplicate tag names.";
    EmptyTagName: 400, "Empty tag name.";
    FeatureVersionMismatch: 409, "Feature version mismatch.";
    IncrementalCopyBlobMismatch: 409, "Incremental copy blob mismatch.";
    IncrementalCopyOfEarlierSnapshotNotAllowed: 409, "Incremental copy of earlier snapshot not allowed.";
    IncrementalCopyOfEarlierVersionSnapshotNotAllowed: 409, "Incremental copy of earlier version snapshot not allowed.";
    IncrementalCopySourceMustBeSnapshot: 409, "Incremental copy source must be snapshot.";
    InfiniteLeaseDurationRequired: 412, "Copy destination lease is finite.";
    InvalidBlobOrBlock: 400, "Invalid blob or block.";
    InvalidBlobTier: 400, "Invalid blob tier.";
    InvalidBlobType: 409, "Invalid blob type.";
    InvalidBlockId: 400, "Invalid block id.";
    InvalidBlockList: 400, "Invalid block list.";
    InvalidOperation: 400, "Invalid operation.";
    InvalidPageRange: 416, "Invalid page range.";
    InvalidSourceBlobType: 409, "Invalid source blob type.";
    InvalidSourceBlobUrl: 409, "Invalid source blob url.";
    InvalidVersionForPageBlobOperation: 400, "Invalid version for page blob operation.";
    LeaseAlreadyBroken: 409, "Lease already broken.";
    LeaseAlreadyPresent: 409, "Acquire while locked by another id.";
    LeaseIdMismatchWithBlobOperation: 412, "Lease id mismatch with blob operation.";
    LeaseIdMismatchWithContainerOperation: 412, "Lease id mismatch with container operation.";
    LeaseIdMismatchWithLeaseOperation: 409, "Lease operation with a wrong or forgotten id.";
    LeaseIdMissing: 412, "Locked lease and no id sent.";
    LeaseIsBreakingAndCannotBeAcquired: 409, "Acquire with own id while breaking.";
    LeaseIsBreakingAndCannotBeChanged: 409, "Change with own id while breaking.";
    LeaseIsBrokenAndCannotBeRenewed: 409, "Renew with own id after break.";
    LeaseLost: 412, "Id sent but lease has expired.";
    LeaseNotPresentWithBlobOperation: 412, "Lease not present with blob operation.";
    LeaseNotPresentWithContainerOperation: 412, "Lease not present with container operation.";
    LeaseNotPresentWithLeaseOperation: 409, "Break or change without a lease.";
    MaxBlobSizeConditionNotMet: 412, "Append would exceed maxsize.";
    NoPendingCopyOperation: 409, "No pending copy operation.";
    OperationNotAllowedOnIncrementalCopyBlob: 409, "Operation not allowed on incremental copy blob.";
    PendingCopyOperation: 409, "Copy into the resource still running.";
    PreviousSnapshotCannotBeNewer: 400, "Previous snapshot cannot be newer.";
    PreviousSnapshotNotFound: 409, "Previous snapshot not found.";
    PreviousSnapshotOperationNotSupported: 409, "Previous snapshot operation not supported.";
    PublicAccessNotPermitted: 409, "Public access not permitted.";
    QueryParameterSasMandatory: 403, "Query parameter sas mandatory.";
    QueryParameterSddInvalid: 403, "Query parameter sdd invalid.";
    SequenceNumberConditionNotMet: 412, "Page blob sequence number condition.";
    SequenceNumberIncrementTooLarge: 409, "Sequence number increment too large.";
    SnapshotCountExceeded: 409, "Snapshot count exceeded.";
    SnapshotOperationRateExceeded: 409, "Snapshot operation rate exceeded.";
    SnapshotsPresent: 409, "Delete without delete-snapshots header.";
    SourceConditionNotMet: 412, "Source condition of a copy not met.";
    SystemInUse: 409, "System in use.";
    TagsTooLarge: 400, "Tags too large.";
    TargetConditionNotMet: 412, "Destination condition of a copy not met.";
    UnauthorizedBlobOverwrite: 403, "Unauthorized blob overwrite.";
    UnsatisfiableCondition: 400, "If-None-Match:* on a read.";
    // Queue
    InvalidMarker: 400, "Invalid marker.";
    MessageNotFound: 404, "Message gone or receipt stale.";
    MessageTooLarge: 400, "Message too large.";
    PopReceiptMismatch: 400, "Receipt not current (not seen live; MessageNotFound instead).";
    QueueAlreadyExists: 409, "Queue already exists.";
    QueueBeingDeleted: 409, "Name in deletion period.";
    QueueDisabled: 409, "Queue disabled.";
    QueueNotEmpty: 409, "Queue not empty.";
    QueueNotFound: 404, "Queue not found.";
    // Table
    AtomFormatNotSupported: 415, "Atom format not supported.";
    CommandsInBatchActOnDifferentPartitions: 400, "Commands in batch act on different partitions.";
    ContentLengthExceeded: 400, "Content length exceeded.";
    DuplicatePropertiesSpecified: 400, "Duplicate properties specified.";
    EntityAlreadyExists: 409, "Insert of existing key.";
    EntityNotFound: 404, "Entity not found.";
    EntityTooLarge: 400, "Entity too large.";
    HostInformationNotPresent: 400, "Host information not present.";
    InvalidDuplicateRow: 400, "Entity twice in one batch.";
    InvalidValueType: 400, "Invalid value type.";
    JsonFormatNotSupported: 415, "Json format not supported.";
    KeyValueTooLarge: 400, "Key value too large.";
    MediaTypeNotSupported: 415, "Media type not supported.";
    MethodNotAllowed: 405, "Method not allowed.";
    NotImplemented: 501, "Not implemented.";
    PropertiesNeedValue: 400, "Properties need value.";
    PropertyNameInvalid: 400, "Property name invalid.";
    PropertyNameTooLong: 400, "Property name too long.";
    PropertyValueTooLarge: 400, "Property value too large.";
    TableAlreadyExists: 409, "Table already exists.";
    TableBeingDeleted: 409, "Name in deletion period.";
    TableNameEmpty: 400, "Table name empty.";
    TableNotFound: 404, "Table not found.";
    TooManyProperties: 400, "Too many properties.";
    UpdateConditionNotSatisfied: 412, "Entity ETag differs.";
    XMethodIncorrectCount: 400, "X-HTTP-Method incorrect count.";
    XMethodIncorrectValue: 400, "X-HTTP-Method incorrect value.";
    XMethodNotUsingPost: 400, "X-HTTP-Method not using post.";
    // File
    CannotDeleteFileOrDirectory: 409, "Cannot delete file or directory.";
    ClientCacheFlushDelay: 500 | 408, "Client cache flush delay.";
    ContainerQuotaDowngradeNotAllowed: 409, "Container quota downgrade not allowed.";
    DeletePending: 409, "SMB delete pending.";
    DirectoryNotEmpty: 409, "Delete of non-empty directory.";
    FileInvalidPermission: 400, "File invalid permission.";
    FileLockConflict: 409, "SMB byte-range lock.";
    FileShareProvisionedBandwidthDowngradeNotAllowed: 409, "File share provisioned bandwidth downgrade not allowed.";
    FileShareProvisionedBandwidthInvalid: 400, "File share provisioned bandwidth invalid.";
    FileShareProvisionedIopsDowngradeNotAllowed: 409, "File share provisioned iops downgrade not allowed.";
    FileShareProvisionedIopsInvalid: 400, "File share provisioned iops invalid.";
    FileShareProvisionedStorageInvalid: 400, "File share provisioned storage invalid.";
    InvalidFileOrDirectoryPathName: 400, "Invalid file or directory path name.";
    LeaseIdMismatchWithFileOperation: 412, "Lease id mismatch with file operation.";
    LeaseNotPresentWithFileOperation: 412, "Lease not present with file operation.";
    ParentNotFound: 404, "Parent not found.";
    ReadOnlyAttribute: 409 | 412, "Read only attribute.";
    ShareAlreadyExists: 409, "Share already exists.";
    ShareBeingDeleted: 409, "Name in deletion period.";
    ShareDisabled: 403, "Share disabled.";
    ShareHasSnapshots: 409, "Share has snapshots.";
    ShareNotFound: 404, "Share not found.";
    ShareSizeLimitReached: 413, "The quota of the share is used up.";
    ShareSnapshotCountExceeded: 409, "Share snapshot count exceeded.";
    ShareSnapshotInProgress: 409, "Share snapshot in progress.";
    ShareSnapshotNotFound: 404, "Share snapshot not found.";
    ShareSnapshotOperationNotSupported: 400, "Share snapshot operation not supported.";
    SharingViolation: 409, "SMB handle share mode forbids the access.";
    SMBDeletePending: 409, "SMB delete pending.";
    TotalSharesCountExceedsAccountLimit: 409, "Total shares count exceeds account limit.";
    TotalSharesProvisionedBandwidthExceedsAccountLimit: 409, "Total shares provisioned bandwidth exceeds account limit.";
    TotalSharesProvisionedCapacityExceedsAccountLimit: 409, "Total shares provisioned capacity exceeds account limit.";
    TotalSharesProvisionedIopsExceedsAccountLimit: 409, "Total shares provisioned iops exceeds account limit.";
    // Data Lake (dfs)
    ContentLengthMustBeZero: 400, "Content length must be zero.";
    DestinationPathIsBeingDeleted: 409, "Destination path is being deleted.";
    FilesystemAlreadyExists: 409, "Filesystem already exists.";
    FilesystemBeingDeleted: 409, "Filesystem being deleted.";
    FilesystemNotFound: 404, "Filesystem not found.";
    InvalidDestinationPath: 409, "Invalid destination path.";
    InvalidFlushOperation: 409, "Invalid flush operation.";
    InvalidFlushPosition: 400, "Flush position not equal to appended length.";
    InvalidPropertyName: 400, "Invalid property name.";
    InvalidRenameSourcePath: 409, "Invalid rename source path.";
    InvalidSourceOrDestinationResourceType: 409, "Invalid source or destination resource type.";
    InvalidSourceUri: 400, "Invalid source uri.";
    LeaseIdMismatch: 412, "Lease id mismatch.";
    LeaseIsAlreadyBroken: 409, "Lease is already broken.";
    LeaseNameMismatch: 409, "Lease name mismatch.";
    LeaseNotPresent: 412, "Lease not present.";
    PathAlreadyExists: 409, "Dfs create with If-None-Match:* and path exists.";
    PathConflict: 409, "Path conflict.";
    PathNotFound: 404, "Path not found.";
    RenameDestinationParentPathNotFound: 404, "Rename destination parent path not found.";
    SourcePathIsBeingDeleted: 409, "Source path is being deleted.";
    SourcePathNotFound: 404, "Source path not found.";
    UnsupportedRestVersion: 400, "Unsupported rest version.";
}

#[cfg(test)]
mod tests {
    use super::ErrorCode;
    use std::collections::BTreeSet;

    /// (code, status) of every row of the reference.
    fn reference() -> Vec<(&'static str, u16)> {
        let mut lines = include_str!("../testdata/error-codes.csv").lines();
        assert_eq!(lines.next(), Some("code,http_status,service,certainty,source,fact"));
        lines
            .map(|line| {
                let mut fields = line.split(',');
                (fields.next().unwrap(), fields.next().unwrap().parse().unwrap())
            })
            .collect()
    }

    #[test]
    fn every_row_of_the_reference_is_in_the_table() {
        for (code, status) in reference() {
            let known = ErrorCode::parse(code).unwrap_or_else(|| panic!("{code} is missing"));
            assert!(known.statuses().contains(&status), "{code} can be {status}");
        }
    }

    #[test]
    fn the_table_has_nothing_that_the_reference_has_not() {
        let reference: BTreeSet<_> = reference().into_iter().collect();
        for code in ErrorCode::ALL {
            for status in code.statuses() {
                assert!(reference.contains(&(code.as_str(), *status)), "{code} {status}");
            }
        }
    }

    #[test]
    fn the_usual_status_comes_first() {
        for code in ErrorCode::ALL {
            assert_eq!(code.statuses().first(), Some(&code.status()), "{code}");
        }
    }

    #[test]
    fn codes_with_two_statuses() {
        let two: Vec<_> = ErrorCode::ALL.iter().filter(|code| code.statuses().len() > 1).collect();
        let expected = [
            (ErrorCode::ConditionNotMet, 412),
            (ErrorCode::InvalidAuthenticationInfo, 400),
            (ErrorCode::CannotVerifyCopySource, 404),
            (ErrorCode::ClientCacheFlushDelay, 500),
            (ErrorCode::ReadOnlyAttribute, 409),
        ];
        assert_eq!(two, expected.iter().map(|(code, _)| code).collect::<Vec<_>>());
        for (code, usual) in expected {
            assert_eq!(code.status(), usual, "{code}");
        }
    }

    #[test]
    fn spelling_survives_a_round_trip_and_is_exact() {
        for code in ErrorCode::ALL {
            assert_eq!(ErrorCode::parse(code.as_str()), Some(*code));
        }
        assert_eq!(ErrorCode::parse("SMBDeletePending"), Some(ErrorCode::SMBDeletePending));
        assert_eq!(ErrorCode::parse("SmbDeletePending"), None);
        assert_eq!(ErrorCode::parse(""), None);
    }
}
