//! The names of the headers that every service uses, and reading values with the documented errors.

use http::{HeaderMap, HeaderName};

use crate::{ServiceError, limits};

macro_rules! names {
    ($($name:ident: $text:literal;)*) => {
        $(#[doc = concat!("`", $text, "`")] pub const $name: HeaderName = HeaderName::from_static($text);)*
    };
}

names! {
    X_MS_VERSION: "x-ms-version";
    X_MS_DATE: "x-ms-date";
    X_MS_REQUEST_ID: "x-ms-request-id";
    X_MS_CLIENT_REQUEST_ID: "x-ms-client-request-id";
    X_MS_ERROR_CODE: "x-ms-error-code";
    X_MS_RANGE: "x-ms-range";
    X_MS_CONTENT_CRC64: "x-ms-content-crc64";
    X_MS_CONTENT_MD5: "x-ms-content-md5";
    CONTENT_MD5: "content-md5";
}

/// The value of a header as text. Of a repeated header, the first.
///
/// # Errors
/// It holds something else than visible ASCII.
pub fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ServiceError> {
    match headers.get(name) {
        None => Ok(None),
        Some(value) => value
            .to_str()
            .map(Some)
            .map_err(|_| ServiceError::invalid_header(name.as_str(), &String::from_utf8_lossy(value.as_bytes()))),
    }
}

/// The value of a header that must be there.
///
/// # Errors
/// It is missing, or holds something else than visible ASCII.
pub fn required<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<&'a str, ServiceError> {
    text(headers, name)?.ok_or_else(|| ServiceError::missing_header(name.as_str()))
}

/// The value of a header as a whole number.
///
/// # Errors
/// It is no whole number below 2^64.
pub fn number(headers: &HeaderMap, name: &HeaderName) -> Result<Option<u64>, ServiceError> {
    let Some(text) = text(headers, name)? else { return Ok(None) };
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(number) if digits => Ok(Some(number)),
        _ => Err(ServiceError::invalid_header(name.as_str(), text)),
    }
}

/// Refuses more header bytes than the limit.
pub(crate) fn check_size(headers: &HeaderMap) -> Result<(), ServiceError> {
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if bytes > limits::HEADERS_MAX_BYTES {
        let code = types::ErrorCode::InvalidHeaderValue;
        return Err(ServiceError::new(code, "The headers of the request are too large."));
    }
    Ok(())
}
