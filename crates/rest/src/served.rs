//! The HTTP properties that a blob or a file is served with, in headers.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::{HeaderName, header};
use types::{ContentMd5, HttpHeaders};

use crate::{Caller, Headers, Response, ServiceError, checksum, headers};

/// The headers that HTTP properties are set by, which differ between services.
#[derive(Clone, Debug)]
pub struct Names {
    /// Content-Type
    pub content_type: HeaderName,
    /// Content-Encoding
    pub content_encoding: HeaderName,
    /// Content-Language
    pub content_language: HeaderName,
    /// Content-Disposition
    pub content_disposition: HeaderName,
    /// Cache-Control
    pub cache_control: HeaderName,
    /// Content-MD5
    pub content_md5: HeaderName,
}

impl Names {
    /// The properties that a request names.
    ///
    /// # Errors
    /// One is no text, or the MD5 is none.
    pub fn read(&self, sent: &Headers) -> Result<HttpHeaders, ServiceError> {
        let text = |name: &HeaderName| -> Result<Option<String>, ServiceError> {
            Ok(headers::text(sent, name)?.map(str::to_owned))
        };
        Ok(HttpHeaders {
            content_type: text(&self.content_type)?,
            content_encoding: text(&self.content_encoding)?,
            content_language: text(&self.content_language)?,
            content_disposition: text(&self.content_disposition)?,
            cache_control: text(&self.cache_control)?,
            content_md5: self.read_md5(sent)?,
        })
    }

    /// Any Base64: it is what the client says.
    fn read_md5(&self, sent: &Headers) -> Result<Option<ContentMd5>, ServiceError> {
        let Some(text) = headers::text(sent, &self.content_md5)? else { return Ok(None) };
        match BASE64_STANDARD.decode(text) {
            Ok(bytes) => Ok(Some(ContentMd5::from(bytes))),
            Err(_) => checksum::parse_md5(&self.content_md5, text).map(|md5| Some(md5.into())),
        }
    }

    /// Whether one of them is named.
    #[must_use]
    pub fn any_in(&self, sent: &Headers) -> bool {
        let named = [
            &self.content_type,
            &self.content_encoding,
            &self.content_language,
            &self.content_disposition,
            &self.cache_control,
            &self.content_md5,
        ];
        named.iter().any(|name| sent.contains_key(name))
    }
}

/// The text of a Content-MD5.
#[must_use]
pub fn md5_text(md5: &ContentMd5) -> String {
    BASE64_STANDARD.encode(md5.as_bytes())
}

/// Serves something with the headers that the credential sets instead of its own.
pub fn override_headers(served: &mut HttpHeaders, caller: &Caller) {
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

/// The type of what was put without one.
pub const DEFAULT_TYPE: &str = "application/octet-stream";

/// The HTTP properties, as headers of the answer, but for the MD5.
#[must_use]
pub fn http_headers_to(mut response: Response, served: &HttpHeaders) -> Response {
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
