//! Security descriptors: Create and Get Permission, and those in the headers of other operations.

use bytes::Bytes;
use file::{
    PermissionChange, PermissionKey, SecurityDescriptor,
    permission::{CreatePermission, GetPermission},
};
use http::{HeaderValue, StatusCode};
use rest::{Caller, Headers, Request, Response, ResponseBody, ServiceError, headers};
use types::{ErrorCode, limits::FILE_PERMISSION_HEADER_MAX_BYTES};

use crate::{
    FileService, errors,
    header_names::{FILE_PERMISSION, FILE_PERMISSION_FORMAT, FILE_PERMISSION_KEY},
    names,
    smb_headers::For,
};

/// Most bytes of the document that holds a descriptor: its text is longer than its bytes.
const BODY_MAX_BYTES: usize = 512 * 1024;

/// How a descriptor is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Sddl,
    Binary,
}

impl Format {
    fn parse(text: &str) -> Option<Self> {
        match text {
            text if text.eq_ignore_ascii_case("sddl") => Some(Self::Sddl),
            text if text.eq_ignore_ascii_case("binary") => Some(Self::Binary),
            _ => None,
        }
    }

    fn of(sent: &Headers) -> Result<Self, ServiceError> {
        match headers::text(sent, &FILE_PERMISSION_FORMAT)? {
            None => Ok(Self::Sddl),
            Some(text) => {
                let wrong = || ServiceError::invalid_header(FILE_PERMISSION_FORMAT.as_str(), text);
                Self::parse(text).ok_or_else(wrong)
            }
        }
    }

    fn read(self, text: &str) -> Result<SecurityDescriptor, ServiceError> {
        let read = match self {
            Self::Sddl => SecurityDescriptor::from_sddl(text),
            Self::Binary => SecurityDescriptor::from_base64(text),
        };
        read.map_err(errors::of)
    }

    fn write(self, descriptor: &SecurityDescriptor) -> String {
        match self {
            Self::Sddl => descriptor.to_string(),
            Self::Binary => descriptor.to_base64(),
        }
    }
}

/// The descriptor that a directory or file gets, or the key of it; `None` for the one that it inherits or has.
pub(crate) fn of_path(sent: &Headers, used: For) -> Result<Option<PermissionChange>, ServiceError> {
    let key = headers::text(sent, &FILE_PERMISSION_KEY)?;
    let Some(text) = headers::text(sent, &FILE_PERMISSION)? else {
        return match key {
            None => Ok(None),
            Some(text) => Ok(Some(PermissionChange::Key(read_key(text)?))),
        };
    };
    if let Some(key) = key {
        return Err(ServiceError::invalid_header(FILE_PERMISSION_KEY.as_str(), key)
            .with_detail("Reason", "a permission and a key are specified"));
    }
    let none = if used == For::Existing { "preserve" } else { "inherit" };
    if text.eq_ignore_ascii_case(none) {
        return Ok(None);
    }
    if text.len() > FILE_PERMISSION_HEADER_MAX_BYTES {
        return Err(ServiceError::invalid_header(FILE_PERMISSION.as_str(), "REDACTED")
            .with_detail("Reason", "it is longer than 8 KiB: use Create Permission"));
    }
    Ok(Some(PermissionChange::Descriptor(Format::of(sent)?.read(text)?)))
}

fn read_key(text: &str) -> Result<PermissionKey, ServiceError> {
    PermissionKey::parse(text).ok_or_else(|| ServiceError::invalid_header(FILE_PERMISSION_KEY.as_str(), text))
}

pub(crate) async fn create(
    service: &FileService,
    caller: &Caller,
    request: &mut Request,
) -> Result<Response, ServiceError> {
    let share = names::written_share(caller, request)?;
    let body = request.body.collect(caller.known()?, BODY_MAX_BYTES).await?;
    let asked = caller.ask(CreatePermission { share, descriptor: read_document(&body)? });
    let key = service.files.create_permission(&asked).await.map_err(errors::of)?;
    Ok(Response::new(StatusCode::CREATED).text_header(FILE_PERMISSION_KEY, &key.to_string()))
}

fn read_document(body: &[u8]) -> Result<SecurityDescriptor, ServiceError> {
    let malformed = |reason: &str| {
        ServiceError::new(ErrorCode::InvalidInput, "One of the request inputs is not valid.")
            .with_detail("Reason", reason)
    };
    let document: serde_json::Value =
        serde_json::from_slice(body).map_err(|error| malformed(&format!("the document is no JSON: {error}")))?;
    let text = |name: &str| document.get(name).and_then(serde_json::Value::as_str);
    let format = match text("format") {
        None => Format::Sddl,
        Some(format) => Format::parse(format).ok_or_else(|| malformed("the format is neither sddl nor binary"))?,
    };
    format.read(text("permission").ok_or_else(|| malformed("there is no text \"permission\""))?)
}

pub(crate) async fn get(service: &FileService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    let format = Format::of(&request.headers)?;
    let key = read_key(headers::required(&request.headers, &FILE_PERMISSION_KEY)?)?;
    let asked = caller.ask(GetPermission { share: names::written_share(caller, request)?, key });
    let descriptor = service.files.get_permission(&asked).await.map_err(errors::of)?;
    let mut document = serde_json::Map::new();
    document.insert("permission".to_owned(), format.write(&descriptor).into());
    if headers::text(&request.headers, &FILE_PERMISSION_FORMAT)?.is_some() {
        let name = if format == Format::Sddl { "sddl" } else { "binary" };
        document.insert("format".to_owned(), name.into());
    }
    let body = Bytes::from(serde_json::Value::Object(document).to_string());
    Ok(Response::new(StatusCode::OK).body(HeaderValue::from_static("application/json"), ResponseBody::bytes(body)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SDDL: &str = "O:SYG:SYD:(A;;FA;;;SY)";

    #[test]
    fn a_permission_is_a_descriptor_a_key_or_none() {
        let long = format!("O:SYG:SYD:{}", "(A;;FA;;;SY)".repeat(1000));
        let (permission, key) = ("x-ms-file-permission", "x-ms-file-permission-key");
        type Case<'a> = (&'a [(&'a str, &'a str)], For, Result<&'a str, ErrorCode>);
        let table: [Case<'_>; 10] = [
            (&[], For::NewFile, Ok("none")),
            (&[(permission, "Inherit")], For::NewFile, Ok("none")),
            (&[(permission, "preserve")], For::Existing, Ok("none")),
            (&[(permission, "preserve")], For::NewFile, Err(ErrorCode::FileInvalidPermission)),
            (&[(permission, SDDL)], For::NewFile, Ok("descriptor")),
            (&[(key, "1*2")], For::NewFile, Ok("key")),
            (&[(key, "1")], For::NewFile, Err(ErrorCode::InvalidHeaderValue)),
            (&[(key, "1*2"), (permission, "inherit")], For::NewFile, Err(ErrorCode::InvalidHeaderValue)),
            (&[(permission, &long)], For::NewFile, Err(ErrorCode::InvalidHeaderValue)),
            (
                &[(permission, SDDL), ("x-ms-file-permission-format", "xml")],
                For::NewFile,
                Err(ErrorCode::InvalidHeaderValue),
            ),
        ];
        for (lines, used, expected) in table {
            let sent: Headers = lines.iter().copied().collect();
            let found = of_path(&sent, used).map_err(|error| error.code).map(|found| match found {
                None => "none",
                Some(PermissionChange::Key(_)) => "key",
                Some(PermissionChange::Descriptor(_)) => "descriptor",
            });
            assert_eq!(found, expected, "{lines:?}");
        }
    }

    #[test]
    fn documents_hold_a_descriptor_in_either_form() {
        let binary = Format::Binary.write(&Format::Sddl.read(SDDL).unwrap());
        let table = [
            (format!("{{\"permission\":\"{SDDL}\"}}"), true),
            (format!("{{\"Permission\":\"{SDDL}\"}}"), false),
            (format!("{{\"permission\":\"{SDDL}\",\"format\":\"SDDL\"}}"), true),
            (format!("{{\"permission\":\"{binary}\",\"format\":\"binary\"}}"), true),
            (format!("{{\"permission\":\"{binary}\"}}"), false),
            ("[]".to_owned(), false),
            (String::new(), false),
        ];
        for (document, fine) in table {
            let found = read_document(document.as_bytes());
            assert_eq!(found.is_ok(), fine, "{document}");
            assert!(found.is_err() || found.is_ok_and(|found| found == Format::Sddl.read(SDDL).unwrap()));
        }
    }
}
