//! The headers that the answers of many operations share.

use http::header;
use types::{ETag, ServiceVersion, Switch, Timestamp};

use crate::{Response, dates, headers::X_MS_REQUEST_SERVER_ENCRYPTED};

/// An ETag as a header has it: in quotes, from 2011-08-18 on.
#[must_use]
pub fn etag(version: ServiceVersion, etag: ETag) -> String {
    if version.has(Switch::QuotedETags) { format!("\"{etag}\"") } else { etag.to_string() }
}

/// ETag and Last-Modified.
#[must_use]
pub fn stamped(response: Response, version: ServiceVersion, tag: ETag, last_modified: Timestamp) -> Response {
    response
        .text_header(header::ETAG, &etag(version, tag))
        .text_header(header::LAST_MODIFIED, &dates::rfc1123(last_modified))
}

/// Nothing is encrypted at rest, and no answer says otherwise.
#[must_use]
pub fn not_encrypted(response: Response) -> Response {
    response.text_header(X_MS_REQUEST_SERVER_ENCRYPTED, "false")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn etags_have_quotes_from_2011_on() {
        let table = [((2009, 9, 19), "0x0000000000000007"), ((2011, 8, 17), "0x0000000000000007")];
        for ((year, month, day), expected) in table {
            assert_eq!(etag(ServiceVersion::new(year, month, day), ETag::new(7)), expected);
        }
        assert_eq!(etag(ServiceVersion::new(2011, 8, 18), ETag::new(7)), "\"0x0000000000000007\"");
    }
}
