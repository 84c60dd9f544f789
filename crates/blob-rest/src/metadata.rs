//! Metadata and HTTP properties, from headers and to headers.

use blob::{HttpHeaders, Metadata};
use http::{HeaderName, header};
use rest::{Headers, Response, ServiceError, checksum, headers};
use types::{ErrorCode, limits::METADATA_MAX_BYTES, names::MetadataName};

use crate::header_names::{
    BLOB_CACHE_CONTROL, BLOB_CONTENT_DISPOSITION, BLOB_CONTENT_ENCODING, BLOB_CONTENT_LANGUAGE, BLOB_CONTENT_MD5,
    BLOB_CONTENT_TYPE,
};

const PREFIX: &str = "x-ms-meta-";

/// The metadata of a request, in the order of names, which keep their letter case. Two names that differ in nothing else
/// are one name twice, which is refused.
pub(crate) fn from_headers(sent: &Headers) -> Result<Metadata, ServiceError> {
    let mut metadata = Metadata::new();
    let mut bytes = 0;
    for (name, value) in sent.iter_as_sent() {
        let Some((prefix, key)) = name.split_at_checked(PREFIX.len()) else { continue };
        if !prefix.eq_ignore_ascii_case(PREFIX) {
            continue;
        }
        if key.is_empty() {
            return Err(ServiceError::new(
                ErrorCode::EmptyMetadataKey,
                "The key for one of the metadata key-value pairs is empty.",
            ));
        }
        let invalid = || {
            ServiceError::new(
                ErrorCode::InvalidMetadata,
                "The metadata specified is invalid. It has characters that are not permitted.",
            )
            .with_detail("HeaderName", name)
        };
        if metadata.iter().any(|(earlier, _)| earlier.eq_ignore_ascii_case(key)) {
            return Err(invalid());
        }
        MetadataName::parse(key).map_err(|_| invalid())?;
        let value = value.to_str().map_err(|_| invalid())?;
        bytes += key.len() + value.len();
        metadata.push((key.to_owned(), value.to_owned()));
    }
    if bytes > METADATA_MAX_BYTES {
        return Err(ServiceError::new(
            ErrorCode::MetadataTooLarge,
            "The size of the specified metadata exceeds the maximum size permitted.",
        )
        .with_detail("MaxLimit", METADATA_MAX_BYTES.to_string()));
    }
    metadata.sort();
    Ok(metadata)
}

pub(crate) fn to_headers(mut response: Response, metadata: &Metadata) -> Response {
    for (name, value) in metadata {
        response = response.text_header(format!("{PREFIX}{name}"), value);
    }
    response
}

/// True when a request has metadata.
pub(crate) fn is_sent(sent: &Headers) -> bool {
    sent.iter().any(|(name, _)| name.starts_with(PREFIX))
}

/// How a blob that is being put will be served. The `x-ms-blob-` headers win over the standard ones.
pub(crate) fn http_headers(sent: &Headers) -> Result<HttpHeaders, ServiceError> {
    let ours = blob_http_headers(sent)?;
    let standard = |name: &HeaderName| filled(sent, name);
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
    let text = |name: &HeaderName| filled(sent, name);
    Ok(HttpHeaders {
        content_type: text(&BLOB_CONTENT_TYPE)?,
        content_encoding: text(&BLOB_CONTENT_ENCODING)?,
        content_language: text(&BLOB_CONTENT_LANGUAGE)?,
        content_disposition: text(&BLOB_CONTENT_DISPOSITION)?,
        cache_control: text(&BLOB_CACHE_CONTROL)?,
        content_md5: match headers::text(sent, &BLOB_CONTENT_MD5)?.filter(|text| !text.is_empty()) {
            Some(text) => Some(checksum::parse_md5(&BLOB_CONTENT_MD5, text)?),
            None => None,
        },
    })
}

fn filled(sent: &Headers, name: &HeaderName) -> Result<Option<String>, ServiceError> {
    Ok(headers::text(sent, name)?.filter(|text| !text.is_empty()).map(str::to_owned))
}

/// The HTTP properties that a request sets: all of them, or none when it names none.
pub(crate) fn changed_http_headers(sent: &Headers) -> Result<Option<HttpHeaders>, ServiceError> {
    let named = [
        BLOB_CONTENT_TYPE,
        BLOB_CONTENT_ENCODING,
        BLOB_CONTENT_LANGUAGE,
        BLOB_CONTENT_DISPOSITION,
        BLOB_CACHE_CONTROL,
        BLOB_CONTENT_MD5,
    ];
    if named.iter().any(|name| sent.contains_key(name)) { blob_http_headers(sent).map(Some) } else { Ok(None) }
}

/// The type of a blob that was put without one.
pub(crate) const DEFAULT_TYPE: &str = "application/octet-stream";

pub(crate) fn http_headers_to(mut response: Response, served: &HttpHeaders) -> Response {
    response = response.text_header(header::CONTENT_TYPE, served.content_type.as_deref().unwrap_or(DEFAULT_TYPE));
    for (name, value) in [
        (header::CONTENT_ENCODING, &served.content_encoding),
        (header::CONTENT_LANGUAGE, &served.content_language),
        (header::CONTENT_DISPOSITION, &served.content_disposition),
        (header::CACHE_CONTROL, &served.cache_control),
    ] {
        if let Some(value) = value {
            response = response.text_header(name, value);
        }
    }
    response
}
