//! The headers that many answers share.

use blob::Written;
use rest::Response;
pub(crate) use rest::stamps::{not_encrypted, stamped};
use types::ServiceVersion;

/// ETag and Last-Modified of something that was written.
pub(crate) fn written(response: Response, version: ServiceVersion, written: Written) -> Response {
    stamped(response, version, written.etag, written.last_modified)
}
