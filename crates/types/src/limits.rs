//! The limits of the four services that more than one crate meets, in one table.
//!
//! Owns the numbers, never the decision: the crate that reads a body or a list compares with the constant and answers
//! its own error. Invariant: a number stands here once. What a single reader knows (the bytes of one document, the
//! seconds of a lease) stands beside that reader. Sizes of content are `u64` bytes; counts and lengths of things held
//! in memory are `usize`. Limits of rows and transactions belong to the storage contract, those of the HTTP envelope
//! to `rest`.

use std::time::Duration;

const KIB: usize = 1024;
const MIB: u64 = 1024 * 1024;
const GIB: u64 = 1024 * MIB;
const TIB: u64 = 1024 * GIB;

// Names

/// Shortest name of an account.
pub const ACCOUNT_NAME_MIN: usize = 3;
/// Longest name of an account.
pub const ACCOUNT_NAME_MAX: usize = 24;
/// Shortest name of a container, a queue or a share.
pub const CONTAINER_NAME_MIN: usize = 3;
/// Longest name of a container, a queue or a share.
pub const CONTAINER_NAME_MAX: usize = 63;
/// Longest name of a blob, in UTF-16 code units.
pub const BLOB_NAME_MAX: usize = 1024;
/// Most path segments (parts between slashes) in the name of a blob.
pub const BLOB_NAME_SEGMENTS_MAX: usize = 254;
/// Shortest name of a table.
pub const TABLE_NAME_MIN: usize = 3;
/// Longest name of a table.
pub const TABLE_NAME_MAX: usize = 63;
/// Longest name of one directory or file, in UTF-16 code units.
pub const FILE_COMPONENT_MAX: usize = 255;
/// Longest path of a file below its share, in UTF-16 code units.
pub const FILE_PATH_MAX: usize = 2048;
/// Most components in the path of a file.
pub const FILE_PATH_DEPTH_MAX: usize = 250;

// Every service

/// Most bytes of metadata of one object: the names and the values together.
pub const METADATA_MAX_BYTES: usize = 8 * KIB;
/// Longest client request id that is echoed; visible ASCII characters.
pub const CLIENT_REQUEST_ID_MAX: usize = 1024;
/// Most CORS rules of one service.
pub const CORS_RULES_MAX: usize = 5;
/// Most bytes of all CORS rules of one service.
pub const CORS_RULES_MAX_BYTES: usize = 2 * KIB;
/// Most stored access policies of a container, a queue, a table or a share.
pub const STORED_POLICIES_MAX: usize = 5;
/// Longest id of a stored access policy.
pub const STORED_POLICY_ID_MAX: usize = 64;
/// Most entries, and the default, of one page of a listing of containers, blobs, queues, shares or files.
pub const LIST_PAGE_MAX: usize = 5000;
/// Most days that a deleted object can be retained.
pub const RETENTION_DAYS_MAX: u32 = 365;
/// Longest validity of a user delegation key.
pub const USER_DELEGATION_KEY_MAX: Duration = Duration::from_hours(7 * 24);

// Leases

/// Shortest finite lease.
pub const LEASE_DURATION_MIN: Duration = Duration::from_secs(15);
/// Longest finite lease.
pub const LEASE_DURATION_MAX: Duration = Duration::from_mins(1);
/// Longest break period of a lease; the shortest is zero.
pub const LEASE_BREAK_PERIOD_MAX: Duration = Duration::from_mins(1);

// Blob

/// Largest body of Put Blob and largest source of Put Blob From URL, from 2019-12-12 on.
pub const PUT_BLOB_MAX_BYTES: u64 = 5000 * MIB;
/// Largest body of Put Blob from 2016-05-31 on.
pub const PUT_BLOB_MAX_BYTES_2016_05_31: u64 = 256 * MIB;
/// Largest body of Put Blob before 2016-05-31.
pub const PUT_BLOB_MAX_BYTES_OLDEST: u64 = 64 * MIB;
/// Largest block, from 2019-12-12 on.
pub const BLOCK_MAX_BYTES: u64 = 4000 * MIB;
/// Largest block from 2016-05-31 on.
pub const BLOCK_MAX_BYTES_2016_05_31: u64 = 100 * MIB;
/// Largest block before 2016-05-31.
pub const BLOCK_MAX_BYTES_OLDEST: u64 = 4 * MIB;
/// Longest block id, before Base64.
pub const BLOCK_ID_MAX_BYTES: usize = 64;
/// Most blocks in a committed block list.
pub const COMMITTED_BLOCKS_MAX: usize = 50_000;
/// Most uncommitted blocks of one blob.
pub const UNCOMMITTED_BLOCKS_MAX: usize = 100_000;
/// Age at which uncommitted blocks are removed.
pub const UNCOMMITTED_BLOCKS_AGE: Duration = Duration::from_hours(7 * 24);
/// Largest block blob: 50,000 blocks of 4000 MiB.
pub const BLOCK_BLOB_MAX_BYTES: u64 = 50_000 * BLOCK_MAX_BYTES;
/// Largest block of Append Block, from 2022-11-02 on.
pub const APPEND_BLOCK_MAX_BYTES: u64 = 100 * MIB;
/// Largest block of Append Block before 2022-11-02.
pub const APPEND_BLOCK_MAX_BYTES_OLDEST: u64 = 4 * MIB;
/// Most blocks of an append blob.
pub const APPEND_BLOCKS_MAX: usize = 50_000;
/// The unit of a page blob: offsets and lengths are multiples of it.
pub const PAGE_BYTES: u64 = 512;
/// Largest page blob.
pub const PAGE_BLOB_MAX_BYTES: u64 = 8 * TIB;
/// Largest body of Put Page.
pub const PUT_PAGE_MAX_BYTES: u64 = 4 * MIB;
/// Largest sequence number of a page blob: 2^63 - 1.
pub const SEQUENCE_NUMBER_MAX: u64 = (1 << 63) - 1;
/// Largest range for which a read answers an MD5 or CRC-64 of the range; the same for files.
pub const RANGE_CHECKSUM_MAX_BYTES: u64 = 4 * MIB;
/// Largest source of Copy Blob From URL.
pub const COPY_BLOB_FROM_URL_MAX_BYTES: u64 = 256 * MIB;
/// Time after which an asynchronous copy that has not ended fails.
pub const COPY_MAX: Duration = Duration::from_hours(14 * 24);
/// Most tags of one blob.
pub const TAGS_MAX: usize = 10;
/// Longest key of a tag; the shortest is one character.
pub const TAG_KEY_MAX: usize = 128;
/// Longest value of a tag; the empty one is allowed.
pub const TAG_VALUE_MAX: usize = 256;
/// Most requests in one blob batch.
pub const BLOB_BATCH_MAX: usize = 256;
/// Largest body of one blob batch.
pub const BLOB_BATCH_MAX_BYTES: u64 = 4 * MIB;

// Queue

/// Largest text of a message in UTF-8, without the escapes of XML.
pub const MESSAGE_MAX_BYTES: usize = 64 * KIB;
/// Largest body of Put Message and Update Message: each character of the text may be escaped by six, and there are
/// elements around it.
pub const MESSAGE_BODY_MAX_BYTES: usize = 6 * MESSAGE_MAX_BYTES + KIB;
/// Most messages that one Get or Peek answers; the least and the default is one.
pub const MESSAGES_PER_GET_MAX: usize = 32;
/// Shortest visibility timeout of Get Messages. Put and Update allow zero.
pub const GET_VISIBILITY_TIMEOUT_MIN: Duration = Duration::from_secs(1);
/// Visibility timeout of Get Messages when none is sent.
pub const GET_VISIBILITY_TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);
/// Longest visibility timeout.
pub const VISIBILITY_TIMEOUT_MAX: Duration = Duration::from_hours(7 * 24);
/// Time to live of a message when none is sent, and the longest one before 2017-07-29.
pub const MESSAGE_TTL_DEFAULT: Duration = Duration::from_hours(7 * 24);

// Table

/// Largest entity: names and values together.
pub const ENTITY_MAX_BYTES: u64 = MIB;
/// Most properties of an entity, the three system ones included.
pub const ENTITY_PROPERTIES_MAX: usize = 255;
/// The system properties: PartitionKey, RowKey and Timestamp.
pub const ENTITY_SYSTEM_PROPERTIES: usize = 3;
/// Largest value of one property.
pub const PROPERTY_MAX_BYTES: usize = 64 * KIB;
/// Longest name of a property.
pub const PROPERTY_NAME_MAX: usize = 255;
/// Largest PartitionKey and largest RowKey.
pub const ENTITY_KEY_MAX_BYTES: usize = KIB;
/// Most entities, and the default, of one page of a query.
pub const QUERY_PAGE_MAX: usize = 1000;
/// Longest time that one page of a query takes before it ends with a continuation.
pub const QUERY_PAGE_TIME_MAX: Duration = Duration::from_secs(5);
/// Most operations in one entity group transaction.
pub const ENTITY_BATCH_MAX: usize = 100;
/// Largest body of one entity group transaction.
pub const ENTITY_BATCH_MAX_BYTES: u64 = 4 * MIB;

// File

/// Largest file.
pub const FILE_MAX_BYTES: u64 = 4 * TIB;
/// Largest body of Put Range, and of Create File with data (from 2026-06-06 on).
pub const PUT_RANGE_MAX_BYTES: u64 = 4 * MIB;
/// Smallest quota of a share, in GiB.
pub const SHARE_QUOTA_MIN_GIB: u32 = 1;
/// Largest quota of a share, in GiB.
pub const SHARE_QUOTA_MAX_GIB: u32 = 102_400;
/// Most snapshots of one share.
pub const SHARE_SNAPSHOTS_MAX: usize = 200;
/// Largest security descriptor in `x-ms-file-permission`; a larger one goes through Create Permission.
pub const FILE_PERMISSION_HEADER_MAX_BYTES: usize = 8 * KIB;

// Opens of files. They are memory of the process, so each of them is bounded.

/// Most handles on one file or directory, as documented.
pub const HANDLES_PER_FILE_MAX: usize = 2000;
/// Most handles on the root directory of a share, as documented: every client keeps one.
pub const HANDLES_ON_ROOT_MAX: usize = 10_000;
/// Most handles of the process: ten times what a thousand clients with ten handles each hold, about 100 MiB.
pub const HANDLES_MAX: usize = 100_000;
/// Most directories and files that the table of opens remembers the names of: a handle in a deep directory needs one for
/// each level, and nearly all are shared.
pub const OPEN_PATH_NODES_MAX: usize = 400_000;
/// Most handles without their client, of one session that was lost; the oldest go first.
pub const ORPHANS_PER_SESSION_MAX: usize = 1024;
/// The same of one account.
pub const ORPHANS_PER_ACCOUNT_MAX: usize = 8192;
/// The same of the process.
pub const ORPHANS_MAX: usize = 32_768;
/// Most byte-range locks on one file.
pub const LOCKS_PER_FILE_MAX: usize = 65_536;
/// Most requests that wait for one file (for a break, a lock or another request): as many as it has handles.
pub const WAITERS_PER_FILE_MAX: usize = HANDLES_PER_FILE_MAX;
/// Most requests that wait for any file of the process.
pub const WAITERS_MAX: usize = 50_000;
/// Most handles that one step of List Handles or Force Close Handles looks at; then it answers with a marker.
pub const HANDLES_PER_STEP_MAX: usize = 10_000;
/// Most directories that one client watches.
pub const WATCHERS_PER_CLIENT_MAX: usize = 1024;
/// Most directories that are watched.
pub const WATCHERS_MAX: usize = 16_384;
/// Most requests of one client that wait for a change: as many as smbd has.
pub const WATCHES_WAITING_PER_CLIENT_MAX: usize = 512;
/// Most requests that wait for a change.
pub const WATCHES_WAITING_MAX: usize = 8192;
/// Most bytes of changes that one watcher holds until its client asks.
pub const WATCHER_MAX_BYTES: usize = 64 * 1024;
/// Most bytes of changes that all watchers of one client hold.
pub const WATCHED_PER_CLIENT_MAX_BYTES: usize = 1024 * 1024;
/// Most bytes of changes that all watchers hold.
pub const WATCHED_MAX_BYTES: usize = 32 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_later_versions_raised_only_grow() {
        let grown = [
            [PUT_BLOB_MAX_BYTES_OLDEST, PUT_BLOB_MAX_BYTES_2016_05_31, PUT_BLOB_MAX_BYTES],
            [BLOCK_MAX_BYTES_OLDEST, BLOCK_MAX_BYTES_2016_05_31, BLOCK_MAX_BYTES],
            [0, APPEND_BLOCK_MAX_BYTES_OLDEST, APPEND_BLOCK_MAX_BYTES],
        ];
        for row in grown {
            assert!(row.is_sorted() && row[0] != row[2], "{row:?}");
        }
    }

    #[test]
    fn sizes_of_page_blobs_are_whole_pages() {
        for bytes in [PAGE_BLOB_MAX_BYTES, PUT_PAGE_MAX_BYTES] {
            assert_eq!(bytes % PAGE_BYTES, 0);
        }
    }

    #[test]
    fn numbers_that_clients_see() {
        let seen: [(&str, u64, u64); 8] = [
            ("Put Blob", PUT_BLOB_MAX_BYTES, 5_242_880_000),
            ("Put Block", BLOCK_MAX_BYTES, 4_194_304_000),
            ("Append Block", APPEND_BLOCK_MAX_BYTES, 104_857_600),
            ("Put Page", PUT_PAGE_MAX_BYTES, 4_194_304),
            ("page blob", PAGE_BLOB_MAX_BYTES, 8_796_093_022_208),
            ("sequence number", SEQUENCE_NUMBER_MAX, 9_223_372_036_854_775_807),
            ("visibility timeout", VISIBILITY_TIMEOUT_MAX.as_secs(), 604_800),
            ("lease", LEASE_DURATION_MAX.as_secs(), 60),
        ];
        for (what, ours, documented) in seen {
            assert_eq!(ours, documented, "{what}");
        }
        assert_eq!(MESSAGE_MAX_BYTES, 65_536);
    }
}
