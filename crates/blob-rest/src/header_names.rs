//! The names of the headers that only the Blob service has, and of those about sources that it reads.

use http::HeaderName;
pub(crate) use transfer::header_names::{
    COPY_SOURCE, IF_TAGS, SOURCE_CONTENT_CRC64, SOURCE_CONTENT_MD5, SOURCE_IF_MATCH, SOURCE_IF_MODIFIED_SINCE,
    SOURCE_IF_NONE_MATCH, SOURCE_IF_TAGS, SOURCE_IF_UNMODIFIED_SINCE, SOURCE_RANGE,
};

macro_rules! names {
    ($($name:ident: $text:literal;)*) => {
        $(pub(crate) const $name: HeaderName = HeaderName::from_static($text);)*
    };
}

names! {
    ACCESS_TIER: "x-ms-access-tier";
    ACCESS_TIER_CHANGE_TIME: "x-ms-access-tier-change-time";
    ACCESS_TIER_IF_MODIFIED_SINCE: "x-ms-access-tier-if-modified-since";
    ACCESS_TIER_IF_UNMODIFIED_SINCE: "x-ms-access-tier-if-unmodified-since";
    ACCESS_TIER_INFERRED: "x-ms-access-tier-inferred";
    ARCHIVE_STATUS: "x-ms-archive-status";
    BLOB_APPEND_OFFSET: "x-ms-blob-append-offset";
    BLOB_CACHE_CONTROL: "x-ms-blob-cache-control";
    BLOB_COMMITTED_BLOCK_COUNT: "x-ms-blob-committed-block-count";
    BLOB_CONDITION_APPENDPOS: "x-ms-blob-condition-appendpos";
    BLOB_CONDITION_MAXSIZE: "x-ms-blob-condition-maxsize";
    BLOB_CONTENT_DISPOSITION: "x-ms-blob-content-disposition";
    BLOB_CONTENT_ENCODING: "x-ms-blob-content-encoding";
    BLOB_CONTENT_LANGUAGE: "x-ms-blob-content-language";
    BLOB_CONTENT_LENGTH: "x-ms-blob-content-length";
    BLOB_CONTENT_MD5: "x-ms-blob-content-md5";
    BLOB_CONTENT_TYPE: "x-ms-blob-content-type";
    BLOB_IF_MATCH: "x-ms-blob-if-match";
    BLOB_IF_MODIFIED_SINCE: "x-ms-blob-if-modified-since";
    BLOB_IF_NONE_MATCH: "x-ms-blob-if-none-match";
    BLOB_IF_UNMODIFIED_SINCE: "x-ms-blob-if-unmodified-since";
    BLOB_PUBLIC_ACCESS: "x-ms-blob-public-access";
    BLOB_SEALED: "x-ms-blob-sealed";
    BLOB_SEQUENCE_NUMBER: "x-ms-blob-sequence-number";
    BLOB_TYPE: "x-ms-blob-type";
    COPY_SOURCE_BLOB_PROPERTIES: "x-ms-copy-source-blob-properties";
    COPY_SOURCE_TAG_OPTION: "x-ms-copy-source-tag-option";
    CREATION_TIME: "x-ms-creation-time";
    DELETE_SNAPSHOTS: "x-ms-delete-snapshots";
    DELETE_TYPE_PERMANENT: "x-ms-delete-type-permanent";
    EXPIRY_OPTION: "x-ms-expiry-option";
    EXPIRY_TIME: "x-ms-expiry-time";
    HAS_IMMUTABILITY_POLICY: "x-ms-has-immutability-policy";
    HAS_LEGAL_HOLD: "x-ms-has-legal-hold";
    IF_SEQUENCE_NUMBER_EQ: "x-ms-if-sequence-number-eq";
    IF_SEQUENCE_NUMBER_LE: "x-ms-if-sequence-number-le";
    IF_SEQUENCE_NUMBER_LT: "x-ms-if-sequence-number-lt";
    IMMUTABLE_STORAGE_WITH_VERSIONING: "x-ms-immutable-storage-with-versioning-enabled";
    PAGE_WRITE: "x-ms-page-write";
    PREVIOUS_SNAPSHOT_URL: "x-ms-previous-snapshot-url";
    REHYDRATE_PRIORITY: "x-ms-rehydrate-priority";
    REQUIRES_SYNC: "x-ms-requires-sync";
    SEAL_BLOB: "x-ms-seal-blob";
    SEQUENCE_NUMBER_ACTION: "x-ms-sequence-number-action";
    SERVER_ENCRYPTED: "x-ms-server-encrypted";
    SNAPSHOT: "x-ms-snapshot";
    TAG_COUNT: "x-ms-tag-count";
    TAGS: "x-ms-tags";
}
