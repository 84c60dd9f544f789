//! Metadata and HTTP properties, from headers and to headers.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use blob::{ContentMd5, HttpHeaders};
use http::{HeaderName, header};
pub(crate) use rest::metadata::{from_headers, is_sent, to_headers};
use rest::{Caller, Headers, Response, ServiceError, checksum, headers};

use crate::header_names::{
    BLOB_CACHE_CONTROL, BLOB_CONTENT_DISPOSITION, BLOB_CONTENT_ENCODING, BLOB_CONTENT_LANGUAGE, BLOB_CONTENT_MD5,
    BLOB_CONTENT_TYPE,
};

/// How a blob that is being put will be served. The `x-ms-blob-` headers win over the standard ones.
pub(crate) fn http_headers(sent: &Headers) -> Result<HttpHeaders, ServiceError> {
    let ours = blob_http_headers(sent)?;
    let standard = |name: &HeaderName| optional(sent, name);
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
    let text = |name: &HeaderName| optional(sent, name);
    Ok(HttpHeaders {
        content_type: text(&BLOB_CONTENT_TYPE)?,
        content_encoding: text(&BLOB_CONTENT_ENCODING)?,
        content_language: text(&BLOB_CONTENT_LANGUAGE)?,
        content_disposition: text(&BLOB_CONTENT_DISPOSITION)?,
        cache_control: text(&BLOB_CACHE_CONTROL)?,
        content_md5: content_md5(sent)?,
    })
}

fn optional(sent: &Headers, name: &HeaderName) -> Result<Option<String>, ServiceError> {
    Ok(headers::text(sent, name)?.map(str::to_owned))
}

/// Any Base64: it is what the client says, and only where the blob is the body it is compared.
fn content_md5(sent: &Headers) -> Result<Option<ContentMd5>, ServiceError> {
    let Some(text) = headers::text(sent, &BLOB_CONTENT_MD5)? else { return Ok(None) };
    match BASE64_STANDARD.decode(text) {
        Ok(bytes) => Ok(Some(ContentMd5::from(bytes))),
        Err(_) => checksum::parse_md5(&BLOB_CONTENT_MD5, text).map(|md5| Some(md5.into())),
    }
}

/// The text of a Content-MD5.
pub(crate) fn md5_text(md5: &ContentMd5) -> String {
    BASE64_STANDARD.encode(md5.as_bytes())
}

/// All HTTP properties, for Set Blob Properties: what is not named is taken away, also the type.
pub(crate) fn all_http_headers(sent: &Headers) -> Result<HttpHeaders, ServiceError> {
    let named = blob_http_headers(sent)?;
    Ok(HttpHeaders { content_type: Some(named.content_type.unwrap_or_default()), ..named })
}

/// Whether one of them is named.
pub(crate) fn names_http_headers(sent: &Headers) -> bool {
    let named = [
        BLOB_CONTENT_TYPE,
        BLOB_CONTENT_ENCODING,
        BLOB_CONTENT_LANGUAGE,
        BLOB_CONTENT_DISPOSITION,
        BLOB_CACHE_CONTROL,
        BLOB_CONTENT_MD5,
    ];
    named.iter().any(|name| sent.contains_key(name))
}

/// The HTTP properties that a request sets: all of them, or none when it names none.
pub(crate) fn changed_http_headers(sent: &Headers) -> Result<Option<HttpHeaders>, ServiceError> {
    names_http_headers(sent).then(|| blob_http_headers(sent)).transpose()
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
    // One that was taken away is empty.
    if let Some(kind) = Some(served.content_type.as_deref().unwrap_or(DEFAULT_TYPE)).filter(|kind| !kind.is_empty()) {
        response = response.text_header(header::CONTENT_TYPE, kind);
    }
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
