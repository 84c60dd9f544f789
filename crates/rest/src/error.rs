//! A failure as the client sees it: status, code, message, details. Which failure it is, is decided elsewhere; here is
//! how it looks.

use http::{HeaderName, HeaderValue, StatusCode};
use store::StoreError;
use types::{ErrorCode, names::NameError};

use crate::{BodyError, checksum};

/// A failure of a request.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{status} {code}: {message}")]
pub struct ServiceError {
    /// The status of the answer.
    pub status: StatusCode,
    /// The code in `x-ms-error-code` and in the body.
    pub code: ErrorCode,
    /// A sentence for people, with its final stop.
    pub message: String,
    /// Further elements of the body, in order.
    pub details: Vec<(&'static str, String)>,
    /// Further headers of the answer.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// True for an answer of no version: it has neither `x-ms-version` nor, since no version says that there is one,
    /// `x-ms-error-code`.
    pub of_no_version: bool,
    /// What was not shown, when that is why: who asked decides how it is said.
    pub(crate) lacks: Option<Lacks>,
}

/// What somebody without a credential does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lacks {
    /// It takes a credential.
    Credential,
    /// It takes one because the container is not public.
    PublicAccess,
}

impl ServiceError {
    /// A failure with the usual status of its code.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let status = StatusCode::from_u16(code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self {
            status,
            code,
            message: message.into(),
            details: Vec::new(),
            headers: Vec::new(),
            of_no_version: false,
            lacks: None,
        }
    }

    pub(crate) const fn lacking(mut self, lacks: Lacks) -> Self {
        self.lacks = Some(lacks);
        self
    }

    /// The same with another status.
    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// The same with a further element in the body.
    #[must_use]
    pub fn with_detail(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.details.push((name, value.into()));
        self
    }

    /// The same with a further header.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The same as an answer of no version.
    #[must_use]
    pub const fn of_no_version(mut self) -> Self {
        self.of_no_version = true;
        self
    }

    /// 400: a header has a value that the service does not take.
    #[must_use]
    pub fn invalid_header(name: &str, value: &str) -> Self {
        Self::new(ErrorCode::InvalidHeaderValue, "The value for one of the HTTP headers is not in the correct format.")
            .with_detail("HeaderName", name)
            .with_detail("HeaderValue", value)
    }

    /// 400: a header is missing.
    #[must_use]
    pub fn missing_header(name: &str) -> Self {
        Self::new(
            ErrorCode::MissingRequiredHeader,
            "An HTTP header that's mandatory for this request is not specified.",
        )
        .with_detail("HeaderName", name)
    }

    /// 400: a parameter has a value that the service does not take.
    #[must_use]
    pub fn invalid_query(name: &str, value: &str, reason: &str) -> Self {
        Self::new(
            ErrorCode::InvalidQueryParameterValue,
            "Value for one of the query parameters specified in the request URI is invalid.",
        )
        .with_detail("QueryParameterName", name)
        .with_detail("QueryParameterValue", value)
        .with_detail("Reason", reason)
    }

    /// 400: nothing that is served has these parameters. It is refused by the more telling of them.
    #[must_use]
    pub fn unknown_operation(restype: &str, comp: &str) -> Self {
        let (name, value) = if comp.is_empty() { ("restype", restype) } else { ("comp", comp) };
        Self::invalid_query(name, value, "the operation is unknown or not supported")
    }

    /// 405: the resource is there, but not for this verb.
    #[must_use]
    pub fn unsupported_verb() -> Self {
        Self::new(ErrorCode::UnsupportedHttpVerb, "The resource doesn't support the specified HTTP verb.")
    }

    /// 400: a header asks for what the service does not do. Keys are never shown.
    #[must_use]
    pub fn unsupported_header(name: &str, value: &str) -> Self {
        Self::new(ErrorCode::UnsupportedHeader, "One of the HTTP headers specified in the request is not supported.")
            .with_detail("HeaderName", name)
            .with_detail("HeaderValue", if name.contains("key") { "REDACTED" } else { value })
    }

    /// 400: a name in the target breaks a rule of names.
    #[must_use]
    pub fn invalid_name(error: &NameError) -> Self {
        let refusal = if error.rule.is_about_length() {
            Self::new(
                ErrorCode::OutOfRangeInput,
                "The specified resource name length is not within the permissible limits.",
            )
        } else {
            Self::new(ErrorCode::InvalidResourceName, "The specified resource name contains invalid characters.")
        };
        refusal.with_detail("Reason", error.to_string())
    }

    /// 400: a number in a parameter is outside of its range.
    #[must_use]
    pub fn out_of_range_query(name: &str, value: &str, min: u64, max: u64) -> Self {
        Self::new(
            ErrorCode::OutOfRangeQueryParameterValue,
            "One of the query parameters specified in the request URI is outside the permissible range.",
        )
        .with_detail("QueryParameterName", name)
        .with_detail("QueryParameterValue", value)
        .with_detail("MinimumAllowed", min.to_string())
        .with_detail("MaximumAllowed", max.to_string())
    }

    /// 400: a parameter is missing.
    #[must_use]
    pub fn missing_query(name: &str) -> Self {
        Self::new(
            ErrorCode::MissingRequiredQueryParameter,
            "A query parameter that's mandatory for this request is not specified.",
        )
        .with_detail("QueryParameterName", name)
    }

    /// 400: the target cannot be read.
    #[must_use]
    pub fn invalid_uri(reason: &str) -> Self {
        Self::new(ErrorCode::InvalidUri, "The requested URI does not represent any resource on the server.")
            .with_detail("Reason", reason)
    }

    /// 411: the operation needs a declared length.
    #[must_use]
    pub fn missing_content_length() -> Self {
        Self::new(ErrorCode::MissingContentLengthHeader, "The Content-Length header was not specified.")
    }

    /// 413: the body is larger than the operation takes.
    #[must_use]
    pub fn body_too_large(limit: u64) -> Self {
        Self::new(
            ErrorCode::RequestBodyTooLarge,
            "The request body is too large and exceeds the maximum permissible limit.",
        )
        .with_detail("MaxLimit", limit.to_string())
    }

    /// 400: an element of a document has a value that it cannot have.
    #[must_use]
    pub fn invalid_xml_node(name: &str, value: &str) -> Self {
        Self::new(ErrorCode::InvalidXmlNodeValue, "The value for one of the XML nodes is not in the correct format.")
            .with_detail("XmlNodeName", name)
            .with_detail("XmlNodeValue", value)
    }

    /// 500: our fault. What happened goes to the log, not to the client.
    #[must_use]
    pub fn internal() -> Self {
        Self::new(ErrorCode::InternalError, "The server encountered an internal error. Please retry the request.")
    }

    /// A failure of the store.
    ///
    /// The services document no code for a full disk (an account has no visible one), and 507 is no status that their
    /// clients know. So what another attempt may cure, here or after a restart, is 503 ServerBusy, which clients
    /// retry with growing pauses; what it cannot cure is 500 InternalError. Neither tells the client about the
    /// host, but for the reserve that its operator set. A 503 has certainly not happened; what may have is 500 and says so.
    #[must_use]
    pub fn from_store(error: &StoreError) -> Self {
        match error {
            StoreError::Busy { .. } | StoreError::Closed | StoreError::Exhausted(_) => {
                Self::busy("The server is busy.")
            }
            StoreError::Full { reserve_bytes, .. } => Self::busy(&format!(
                "The server has no space left for writes: less is free than the {reserve_bytes} bytes that it keeps in \
                 reserve.",
            )),
            StoreError::Poisoned(_) => Self::busy("The server does not accept writes at the moment."),
            StoreError::OutcomeUnknown(_) => {
                tracing::error!(%error, "the store failed");
                Self::new(
                    ErrorCode::InternalError,
                    "The server encountered an internal error while it made the operation durable. Whether the operation \
                     has happened is unknown.",
                )
            }
            StoreError::TooLarge { .. } | StoreError::Corrupt(_) | StoreError::ChunkGone(_) | StoreError::Io(_) => {
                tracing::error!(%error, "the store failed");
                Self::internal()
            }
        }
    }

    /// 503: the server has more to do than it can hold.
    pub(crate) fn overloaded() -> Self {
        Self::busy("The server is currently unable to receive requests. Please retry your request.")
            .with_header(http::header::RETRY_AFTER, HeaderValue::from_static("1"))
    }

    /// 503: another attempt may succeed.
    #[must_use]
    pub fn busy(message: &str) -> Self {
        Self::new(ErrorCode::ServerBusy, message)
    }
}

impl From<StoreError> for ServiceError {
    fn from(error: StoreError) -> Self {
        Self::from_store(&error)
    }
}

impl From<BodyError> for ServiceError {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLong { limit } => Self::body_too_large(limit),
            BodyError::TimedOut(_) => Self::new(
                ErrorCode::OperationTimedOut,
                "The operation could not be completed within the permitted time.",
            ),
            BodyError::CutOff | BodyError::Io(_) => {
                Self::new(ErrorCode::InvalidInput, "The request body ended before its declared length.")
            }
            BodyError::NoRoom(_) => Self::overloaded(),
            BodyError::Malformed(reason) => {
                Self::new(ErrorCode::InvalidInput, "The request body is malformed.").with_detail("Reason", reason)
            }
            BodyError::Crc64 { declared, found } => Self::new(
                ErrorCode::Crc64Mismatch,
                "The CRC64 value specified in the request did not match with the CRC64 value calculated by the server.",
            )
            .with_detail("UserSpecifiedCrc64", checksum::format_crc64(declared))
            .with_detail("ServerCalculatedCrc64", checksum::format_crc64(found)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_the_store_are_500_or_503() {
        let table = [
            (StoreError::Busy { attempts: 1 }, 503),
            (StoreError::Full { available_bytes: 0, reserve_bytes: 0 }, 503),
            (StoreError::Exhausted(std::sync::Arc::new(std::io::ErrorKind::OutOfMemory.into())), 503),
            (StoreError::Poisoned("x".into()), 503),
            (StoreError::OutcomeUnknown("x".into()), 500),
            (StoreError::Closed, 503),
            (StoreError::corrupt("x"), 500),
            (StoreError::TooLarge { what: "row", actual: 2, limit: 1 }, 500),
        ];
        for (error, status) in table {
            assert_eq!(ServiceError::from_store(&error).status.as_u16(), status, "{error}");
        }
    }
}
