//! The names of the headers that only the File service has.

use http::HeaderName;

macro_rules! names {
    ($($name:ident: $text:literal;)*) => {
        $(pub(crate) const $name: HeaderName = HeaderName::from_static($text);)*
    };
}

names! {
    ACCESS_TIER: "x-ms-access-tier";
    ACCESS_TIER_CHANGE_TIME: "x-ms-access-tier-change-time";
    ALLOW_TRAILING_DOT: "x-ms-allow-trailing-dot";
    CACHE_CONTROL: "x-ms-cache-control";
    CONTENT_DISPOSITION: "x-ms-content-disposition";
    CONTENT_ENCODING: "x-ms-content-encoding";
    CONTENT_LANGUAGE: "x-ms-content-language";
    CONTENT_LENGTH: "x-ms-content-length";
    CONTENT_TYPE: "x-ms-content-type";
    DELETE_SNAPSHOTS: "x-ms-delete-snapshots";
    DELETED_SHARE_NAME: "x-ms-deleted-share-name";
    DELETED_SHARE_VERSION: "x-ms-deleted-share-version";
    DESTINATION_LEASE_ID: "x-ms-destination-lease-id";
    ENABLE_SMB_DIRECTORY_LEASE: "x-ms-enable-smb-directory-lease";
    ENABLE_SNAPSHOT_VIRTUAL_DIRECTORY: "x-ms-enable-snapshot-virtual-directory-access";
    ENABLED_PROTOCOLS: "x-ms-enabled-protocols";
    FILE_ATTRIBUTES: "x-ms-file-attributes";
    FILE_CHANGE_TIME: "x-ms-file-change-time";
    FILE_COPY_IGNORE_READONLY: "x-ms-file-copy-ignore-readonly";
    FILE_COPY_IGNORE_READ_ONLY: "x-ms-file-copy-ignore-read-only";
    FILE_COPY_SET_ARCHIVE: "x-ms-file-copy-set-archive";
    FILE_CREATION_TIME: "x-ms-file-creation-time";
    FILE_EXTENDED_INFO: "x-ms-file-extended-info";
    FILE_ID: "x-ms-file-id";
    FILE_LAST_WRITE_TIME: "x-ms-file-last-write-time";
    FILE_PARENT_ID: "x-ms-file-parent-id";
    FILE_PERMISSION: "x-ms-file-permission";
    FILE_PERMISSION_COPY_MODE: "x-ms-file-permission-copy-mode";
    FILE_PERMISSION_FORMAT: "x-ms-file-permission-format";
    FILE_PERMISSION_KEY: "x-ms-file-permission-key";
    FILE_PROPERTY_SEMANTICS: "x-ms-file-property-semantics";
    FILE_RENAME_IGNORE_READONLY: "x-ms-file-rename-ignore-readonly";
    FILE_RENAME_REPLACE_IF_EXISTS: "x-ms-file-rename-replace-if-exists";
    FILE_RENAME_SOURCE: "x-ms-file-rename-source";
    FILE_REQUEST_INTENT: "x-ms-file-request-intent";
    FILE_SUPPORT_RENAME: "x-ms-file-support-rename";
    HANDLE_ID: "x-ms-handle-id";
    MARKER: "x-ms-marker";
    NUMBER_OF_HANDLES_CLOSED: "x-ms-number-of-handles-closed";
    NUMBER_OF_HANDLES_FAILED: "x-ms-number-of-handles-failed";
    RECURSIVE: "x-ms-recursive";
    SERVER_ENCRYPTED: "x-ms-server-encrypted";
    SHARE_PAID_BURSTING_ENABLED: "x-ms-share-paid-bursting-enabled";
    SHARE_PAID_BURSTING_MAX_BANDWIDTH: "x-ms-share-paid-bursting-max-bandwidth-mibps";
    SHARE_PAID_BURSTING_MAX_IOPS: "x-ms-share-paid-bursting-max-iops";
    SHARE_PROVISIONED_BANDWIDTH: "x-ms-share-provisioned-bandwidth-mibps";
    SHARE_PROVISIONED_IOPS: "x-ms-share-provisioned-iops";
    SHARE_QUOTA: "x-ms-share-quota";
    SNAPSHOT: "x-ms-snapshot";
    SOURCE_ALLOW_TRAILING_DOT: "x-ms-source-allow-trailing-dot";
    SOURCE_IF_MATCH_CRC64: "x-ms-source-if-match-crc64";
    SOURCE_IF_NONE_MATCH_CRC64: "x-ms-source-if-none-match-crc64";
    SOURCE_LEASE_ID: "x-ms-source-lease-id";
    TYPE: "x-ms-type";
    WRITE: "x-ms-write";
}
