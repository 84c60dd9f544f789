//! Metadata and HTTP properties, from headers and to headers.

use blob::HttpHeaders;
use http::{HeaderName, header};
pub(crate) use rest::metadata::{from_headers, to_headers};
use rest::{Caller, Headers, Response, ServiceError, checksum, headers};

macro_rules! names {
    ($($name:ident: $text:literal;)*) => {
        $(pub(crate) const $name: HeaderName = HeaderName::from_static($text);)*
    };
}

names! {
    BLOB_CONTENT_TYPE: "x-ms-blob-content-type";
    BLOB_CONTENT_ENCODING: "x-ms-blob-content-encoding";
    BLOB_CONTENT_LANGUAGE: "x-ms-blob-content-language";
    BLOB_CONTENT_DISPOSITION: "x-ms-blob-content-disposition";
    BLOB_CACHE_CONTROL: "x-ms-blob-cache-control";
    BLOB_CONTENT_MD5: "x-ms-blob-content-md5";
}

/// How a blob that is being put will be served. The `x-ms-blob-` headers win over the standard ones.
pub(crate) fn http_headers(sent: &Headers) -> Result<HttpHeaders, ServiceError> {
    let either = |ours: &HeaderName, standard: &HeaderName| -> Result<Option<String>, ServiceError> {
        let ours = headers::text(sent, ours)?;
        Ok(match ours {
            Some(text) => Some(text),
            None => headers::text(sent, standard)?,
        }
        .filter(|text| !text.is_empty())
        .map(str::to_owned))
    };
    let content_md5 = match headers::text(sent, &BLOB_CONTENT_MD5)? {
        Some(text) => Some(checksum::parse_md5(&BLOB_CONTENT_MD5, text)?),
        None => None,
    };
    Ok(HttpHeaders {
        content_type: either(&BLOB_CONTENT_TYPE, &header::CONTENT_TYPE)?,
        content_encoding: either(&BLOB_CONTENT_ENCODING, &header::CONTENT_ENCODING)?,
        content_language: either(&BLOB_CONTENT_LANGUAGE, &header::CONTENT_LANGUAGE)?,
        content_disposition: headers::text(sent, &BLOB_CONTENT_DISPOSITION)?.map(str::to_owned),
        cache_control: either(&BLOB_CACHE_CONTROL, &header::CACHE_CONTROL)?,
        content_md5,
    })
}

/// Serves a blob with the headers that the credential sets instead of its own.
pub(crate) fn override_headers(served: &mut HttpHeaders, caller: &Caller) {
    let Some(overrides) = caller.overrides() else { return };
    for (own, instead) in [
        (&mut served.cache_control, &overrides.cache_control),
        (&mut served.content_disposition, &overrides.content_disposition),
        (&mut served.content_encoding, &overrides.content_encoding),
        (&mut served.content_language, &overrides.content_language),
        (&mut served.content_type, &overrides.content_type),
    ] {
        if instead.is_some() {
            own.clone_from(instead);
        }
    }
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
