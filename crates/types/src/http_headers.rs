//! The HTTP properties that a blob or a file keeps and is served with.

use crate::ContentMd5;

/// The HTTP properties that a blob or a file is served with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpHeaders {
    /// Content-Type; none is that of bytes of no known type, and an empty one is really none
    pub content_type: Option<String>,
    /// Content-Encoding
    pub content_encoding: Option<String>,
    /// Content-Language
    pub content_language: Option<String>,
    /// Content-Disposition
    pub content_disposition: Option<String>,
    /// Cache-Control
    pub cache_control: Option<String>,
    /// Content-MD5 of the whole content
    pub content_md5: Option<ContentMd5>,
}
