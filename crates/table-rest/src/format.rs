//! The format of an answer and of a body: JSON with its three levels of metadata, or Atom in old versions.

use http::StatusCode;
use rest::{ErrorFormat, ODataMetadata, ServiceError};
use types::{ErrorCode, ServiceVersion};

/// What bodies and answers are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON, since 2013-08-15.
    Json(ODataMetadata),
    /// Atom, before 2015-12-11.
    Atom,
}

impl Format {
    /// The type of an answer in this format.
    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::Json(metadata) => metadata.content_type(),
            Self::Atom => "application/atom+xml;charset=utf-8",
        }
    }

    /// How failures look in it.
    pub(crate) const fn of_errors(self) -> ErrorFormat {
        match self {
            Self::Json(metadata) => ErrorFormat::OData(metadata),
            Self::Atom => ErrorFormat::Atom,
        }
    }

    /// `DataServiceVersion`
    pub(crate) const fn data_service_version(self) -> &'static str {
        match self {
            Self::Json(_) => "3.0;",
            Self::Atom => "1.0;",
        }
    }

    /// What a client gets that asks for nothing.
    fn usual(version: ServiceVersion) -> Self {
        if has_atom(version) { Self::Atom } else { Self::Json(ODataMetadata::Minimal) }
    }

    /// The format that is asked for: `$format` counts more than `Accept`.
    ///
    /// # Errors
    /// 415 for a format that this version does not have.
    pub(crate) fn asked(
        asked: Option<&str>,
        accept: Option<&str>,
        version: ServiceVersion,
    ) -> Result<Self, ServiceError> {
        if let Some(asked) = asked {
            let known = match asked {
                "json" => Some(Self::Json(ODataMetadata::Minimal)),
                "atom" => Some(Self::Atom),
                _ => one(asked),
            };
            return known.ok_or_else(|| not_supported(asked)).and_then(|format| format.in_version(version));
        }
        let Some(accept) = accept.map(str::trim).filter(|accept| !accept.is_empty()) else {
            return Ok(Self::usual(version));
        };
        let mut refused = not_supported(accept);
        for media in accept.split(',') {
            let kind = media.split(';').next().unwrap_or_default().trim();
            if matches!(kind, "*/*" | "application/*") {
                return Ok(Self::usual(version));
            }
            match one(media).map(|format| format.in_version(version)) {
                Some(Ok(format)) => return Ok(format),
                Some(Err(error)) => refused = error,
                None => {}
            }
        }
        Err(refused)
    }

    /// The format of a body; without a type it is what the version usually has.
    ///
    /// # Errors
    /// 415 for a format that this version does not have.
    pub(crate) fn of_body(content_type: Option<&str>, version: ServiceVersion) -> Result<Self, ServiceError> {
        match content_type {
            None => Ok(Self::usual(version)),
            Some(sent) => one(sent).ok_or_else(|| not_supported(sent))?.in_version(version),
        }
    }

    fn in_version(self, version: ServiceVersion) -> Result<Self, ServiceError> {
        match self {
            Self::Atom if !has_atom(version) => Err(ServiceError::new(
                ErrorCode::AtomFormatNotSupported,
                "Atom format is not supported in this version of the service.",
            )),
            Self::Json(_) if !version.at_least(2013, 8, 15) => Err(ServiceError::new(
                ErrorCode::JsonFormatNotSupported,
                "JSON format is not supported in this version of the service.",
            )),
            format => Ok(format),
        }
    }
}

fn has_atom(version: ServiceVersion) -> bool {
    !version.at_least(2015, 12, 11)
}

fn one(media: &str) -> Option<Format> {
    let mut parts = media.split(';').map(str::trim);
    match parts.next()?.to_ascii_lowercase().as_str() {
        "application/json" => {}
        "application/atom+xml" | "application/atomsvc+xml" | "application/xml" | "text/xml" => {
            return Some(Format::Atom);
        }
        _ => return None,
    }
    let level =
        parts.find_map(|part| part.split_once('=').filter(|(name, _)| name.trim().eq_ignore_ascii_case("odata")));
    let metadata = match level.map(|(_, level)| level.trim().to_ascii_lowercase()) {
        None => ODataMetadata::Minimal,
        Some(level) => match level.as_str() {
            "nometadata" => ODataMetadata::None,
            "minimalmetadata" => ODataMetadata::Minimal,
            "fullmetadata" => ODataMetadata::Full,
            _ => return None,
        },
    };
    Some(Format::Json(metadata))
}

fn not_supported(asked: &str) -> ServiceError {
    ServiceError::invalid_header("Accept", asked).with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_and_what_is_had() {
        use Format::{Atom, Json};
        let (new, middle, old) =
            (ServiceVersion::new(2019, 2, 2), ServiceVersion::new(2013, 8, 15), ServiceVersion::new(2012, 2, 12));
        let minimal = Json(ODataMetadata::Minimal);
        let table = [
            (None, None, new, Ok(minimal)),
            (None, None, middle, Ok(Atom)),
            (None, Some("*/*"), new, Ok(minimal)),
            (None, Some("application/json"), new, Ok(minimal)),
            (None, Some("application/json;odata=nometadata"), middle, Ok(Json(ODataMetadata::None))),
            (None, Some("application/json; odata=fullmetadata; charset=utf-8"), new, Ok(Json(ODataMetadata::Full))),
            (None, Some("application/atom+xml,application/json"), new, Ok(minimal)),
            (None, Some("application/atom+xml,application/xml"), middle, Ok(Atom)),
            (None, Some("application/atom+xml"), new, Err(ErrorCode::AtomFormatNotSupported)),
            (None, Some("application/json"), old, Err(ErrorCode::JsonFormatNotSupported)),
            (None, Some("image/png"), new, Err(ErrorCode::InvalidHeaderValue)),
            (None, Some("application/json;odata=some"), new, Err(ErrorCode::InvalidHeaderValue)),
            (Some("json"), Some("application/atom+xml"), new, Ok(minimal)),
            (Some("application/json;odata=nometadata"), None, new, Ok(Json(ODataMetadata::None))),
            (Some("atom"), None, new, Err(ErrorCode::AtomFormatNotSupported)),
            (Some("yaml"), None, new, Err(ErrorCode::InvalidHeaderValue)),
        ];
        for (asked, accept, version, expected) in table {
            let found = Format::asked(asked, accept, version).map_err(|error| error.code);
            assert_eq!(found, expected, "{asked:?} {accept:?} {version}");
        }
    }
}
