//! Every limit of a request before its meaning is known, in one table. The limits of the services are in
//! `types::limits`; these are the ones of the envelope.

use std::time::Duration;

use types::limits::{APPEND_BLOCK_MAX_BYTES, BLOCK_MAX_BYTES, PUT_BLOB_MAX_BYTES};

/// Longest path as sent: 2,048 UTF-16 units take at most 9 characters each when percent-encoded, and there is an
/// account and a share before them.
pub const PATH_MAX_BYTES: usize = 20 * 1024;
/// Longest query as sent: a shared access signature, a prefix and a marker.
pub const QUERY_MAX_BYTES: usize = 32 * 1024;
/// Most parameters of a query.
pub const QUERY_PARAMETERS_MAX: usize = 128;
/// Most header lines: 8 KiB of metadata may be many short ones.
pub const HEADERS_MAX: usize = 256;
/// Most bytes of all header lines together.
pub const HEADERS_MAX_BYTES: usize = 64 * 1024;
/// Most bytes of a request's head: the target, the headers, and the words around them.
pub const HEAD_MAX_BYTES: usize = PATH_MAX_BYTES + QUERY_MAX_BYTES + HEADERS_MAX_BYTES + 1024;
/// Most bytes of a head that every connection has room for; longer ones share some.
pub const SHORT_HEAD_BYTES: usize = 16 * 1024;
/// Longest target that is kept for the log while an answer is sent.
pub const LOGGED_TARGET_BYTES: usize = 4 * 1024;
/// Longest body that is read over when nobody wants it, so that the connection can be kept.
pub const DRAIN_MAX_BYTES: u64 = 256 * 1024;
/// Most streams at once on a connection with HTTP/2.
pub const STREAMS_MAX: u32 = 128;
/// Streams that a connection of a stranger has anyway; for more it shares with other strangers.
pub const STRANGER_STREAMS: usize = 2;
/// Largest body of any operation: that of Put Blob.
pub const BODY_MAX_BYTES: u64 = PUT_BLOB_MAX_BYTES;
/// Most bytes of a batch, in Blob and in Table.
pub const BATCH_MAX_BYTES: usize = 4 * 1024 * 1024;
/// Time for a body that is collected to arrive; a second more for each 64 KiB.
pub const DOCUMENT_TIME: Duration = Duration::from_mins(1);
/// Most bytes of an XML document: a block list of 50,000 ids of 64 bytes.
pub const XML_MAX_BYTES: usize = 8 * 1024 * 1024;
/// Most elements of an XML document.
pub const XML_ELEMENTS_MAX: usize = 60_000;
/// Deepest nesting of an XML document.
pub const XML_DEPTH_MAX: usize = 16;

const _: () = assert!(XML_MAX_BYTES <= net::LARGEST_DOCUMENT_BYTES);
const _: () = assert!(BODY_MAX_BYTES >= BLOCK_MAX_BYTES && BODY_MAX_BYTES >= APPEND_BLOCK_MAX_BYTES);

/// What a port allows its clients.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// What every port allows.
    pub net: net::Limits,
    /// Time for the head of a request, and the longest a kept connection stays idle.
    pub head_timeout: Duration,
    /// Longest wait for the next piece of a body.
    pub body_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let minute = Duration::from_mins(1);
        Self { net: net::Limits::default(), head_timeout: minute, body_timeout: minute }
    }
}
