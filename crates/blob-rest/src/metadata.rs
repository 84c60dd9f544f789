//! Metadata and HTTP properties, from headers and to headers.

use blob::HttpHeaders;
use http::{HeaderName, header};
pub(crate) use rest::metadata::{from_headers, is_sent, to_headers};
pub(crate) use rest::served::{DEFAULT_TYPE, http_headers_to, md5_text, override_headers};
use rest::{Headers, ServiceError, headers, served::Names};

use crate::header_names::{
    BLOB_CACHE_CONTROL, BLOB_CONTENT_DISPOSITION, BLOB_CONTENT_ENCODING, BLOB_CONTENT_LANGUAGE, BLOB_CONTENT_MD5,
    BLOB_CONTENT_TYPE,
};

const NAMES: Names = Names {
    content_type: BLOB_CONTENT_TYPE,
    content_encoding: BLOB_CONTENT_ENCODING,
    content_language: BLOB_CONTENT_LANGUAGE,
    content_disposition: BLOB_CONTENT_DISPOSITION,
    cache_control: BLOB_CACHE_CONTROL,
    content_md5: BLOB_CONTENT_MD5,
};

/// How a blob that is being put will be served. The `x-ms-blob-` headers win over the standard ones.
pub(crate) fn http_headers(sent: &Headers) -> Result<HttpHeaders, ServiceError> {
    let ours = blob_http_headers(sent)?;
    let standard = |name: &HeaderName| -> Result<Option<String>, ServiceError> {
        Ok(headers::text(sent, name)?.map(str::to_owned))
    };
    Ok(HttpHeaders {
        content_type: ours.content_type.or(standard(&header::CONTENT_TYPE)?),
        content_encoding: ours.content_encoding.or(standard(&header::CONTENT_ENCODING)?),
        content_language: ours.content_language.or(standard(&header::CONTENT_LANGUAGE)?),
        cache_control: ours.cache_control.or(standard(&header::CACHE_CONTROL)?),
        ..ours
    })
}

/// The same without the standard headers, which say how the request itself is sent.
pub(crate) fn blob_http_headers(sent: &Headers) -> Result<HttpHeaders, ServiceError> {
    NAMES.read(sent)
}

/// All HTTP properties, for Set Blob Properties: what is not named is taken away, also the type.
pub(crate) fn all_http_headers(sent: &Headers) -> Result<HttpHeaders, ServiceError> {
    let named = blob_http_headers(sent)?;
    Ok(HttpHeaders { content_type: Some(named.content_type.unwrap_or_default()), ..named })
}

/// Whether one of them is named.
pub(crate) fn names_http_headers(sent: &Headers) -> bool {
    NAMES.any_in(sent)
}

/// The HTTP properties that a request sets: all of them, or none when it names none.
pub(crate) fn changed_http_headers(sent: &Headers) -> Result<Option<HttpHeaders>, ServiceError> {
    names_http_headers(sent).then(|| blob_http_headers(sent)).transpose()
}
