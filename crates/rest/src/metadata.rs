//! Metadata: names and values of the client's own, in headers that begin with `x-ms-meta-`.

use types::{ErrorCode, limits::METADATA_MAX_BYTES, names::MetadataName};

use crate::{Headers, Response, ServiceError};

const PREFIX: &str = "x-ms-meta-";

/// Names and values.
pub type Metadata = Vec<(String, String)>;

/// The metadata of a request, in the order of names, which keep their letter case. Two names that differ in nothing else
/// are one name twice, which is refused.
///
/// # Errors
/// A name is empty, not allowed or there twice, a value is no text, or it is too much.
pub fn from_headers(sent: &Headers) -> Result<Metadata, ServiceError> {
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

/// The answer with its metadata.
#[must_use]
pub fn to_headers(mut response: Response, metadata: &Metadata) -> Response {
    for (name, value) in metadata {
        response = response.text_header(format!("{PREFIX}{name}"), value);
    }
    response
}

/// True when a request has metadata.
#[must_use]
pub fn is_sent(sent: &Headers) -> bool {
    sent.iter().any(|(name, _)| name.starts_with(PREFIX))
}
