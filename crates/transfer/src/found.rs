//! What a source says about itself, in the words of the headers that a read of it is answered with.

use http::StatusCode;
use rest::{
    ServiceError,
    checksum::{self, Md5Bytes},
    headers,
    outgoing::Fetched,
};

use crate::refusals::unusable;

/// What is known of a source before its bytes come.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The ETag that it must keep while it is copied; one of this server is read as one state and needs none.
    pub etag: Option<String>,
    /// How many bytes come: all, or those of the range that was asked for.
    pub length: u64,
    /// Content-Type
    pub content_type: Option<String>,
    /// Content-Encoding
    pub content_encoding: Option<String>,
    /// Content-Language
    pub content_language: Option<String>,
    /// Content-Disposition
    pub content_disposition: Option<String>,
    /// Cache-Control
    pub cache_control: Option<String>,
    /// The Content-MD5 of the whole source.
    pub content_md5: Option<Md5Bytes>,
    /// Its metadata.
    pub metadata: Vec<(String, String)>,
    /// `x-ms-blob-type`, of a blob.
    pub blob_type: Option<String>,
    /// `x-ms-blob-sealed`
    pub sealed: bool,
    /// Its tags, as far as they were asked for.
    pub tags: Vec<(String, String)>,
}

impl Found {
    /// What a source elsewhere says in the head of its answer.
    ///
    /// # Errors
    /// It does not tell its length.
    pub fn of(fetched: &Fetched) -> Result<Self, ServiceError> {
        let length = fetched.text("content-length").and_then(|length| length.parse().ok());
        let missing = || unusable(StatusCode::BAD_REQUEST, "the source does not tell its length");
        let own = |name: &str| fetched.text(name).filter(|text| !text.is_empty()).map(str::to_owned);
        let md5 = fetched.text("content-md5").and_then(|text| checksum::parse_md5(&headers::CONTENT_MD5, text).ok());
        let metadata = fetched
            .headers
            .iter_as_sent()
            .filter_map(|(name, value)| {
                let (prefix, name) = name.split_at_checked("x-ms-meta-".len())?;
                let is_metadata = prefix.eq_ignore_ascii_case("x-ms-meta-") && !name.is_empty();
                is_metadata.then_some((name.to_owned(), value.to_str().ok()?.to_owned()))
            })
            .collect();
        Ok(Self {
            etag: own("etag"),
            length: length.ok_or_else(missing)?,
            content_type: own("content-type"),
            content_encoding: own("content-encoding"),
            content_language: own("content-language"),
            content_disposition: own("content-disposition"),
            cache_control: own("cache-control"),
            content_md5: md5,
            metadata,
            blob_type: own("x-ms-blob-type"),
            sealed: fetched.text("x-ms-blob-sealed") == Some("true"),
            tags: Vec::new(),
        })
    }
}
