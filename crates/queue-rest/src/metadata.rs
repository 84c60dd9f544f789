//! Metadata, from headers and to headers.

use http::{HeaderName, HeaderValue};
use queue::Metadata;
use rest::{Request, Response, ServiceError};
use types::{ErrorCode, limits::METADATA_MAX_BYTES, names::MetadataName};

const PREFIX: &str = "x-ms-meta-";

/// The metadata of a request, in the order of names without regard to case.
pub(crate) fn from_headers(request: &Request) -> Result<Metadata, ServiceError> {
    let mut metadata = Metadata::new();
    let mut bytes = 0;
    for (name, value) in &request.headers {
        let name = name.as_str();
        let Some(key) = name.get(PREFIX.len()..).filter(|_| starts_with_prefix(name)) else { continue };
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
    metadata.sort_by_key(|(name, _)| name.to_ascii_lowercase());
    Ok(metadata)
}

fn starts_with_prefix(name: &str) -> bool {
    name.get(..PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(PREFIX))
}

pub(crate) fn to_headers(mut response: Response, metadata: &Metadata) -> Response {
    for (name, value) in metadata {
        let name = HeaderName::from_bytes(format!("{PREFIX}{name}").as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}
