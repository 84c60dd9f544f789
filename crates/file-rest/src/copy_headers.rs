//! What Copy File says about attributes, times and the security descriptor: a value, or `source` for those of the source,
//! which only a file of this server has.

use file::{
    PermissionChange, TimeChange,
    copy::{CopiedSmb, Taken},
};
use http::HeaderName;
use rest::{Headers, ServiceError, headers};
use types::FileTime;

use crate::{
    header_names::{
        FILE_ATTRIBUTES, FILE_CHANGE_TIME, FILE_COPY_SET_ARCHIVE, FILE_CREATION_TIME, FILE_LAST_WRITE_TIME,
        FILE_PERMISSION, FILE_PERMISSION_COPY_MODE,
    },
    permissions,
    smb_headers::{self, For},
};

/// Reads what a copy of a file (`of_file`), or of something else, shall have.
pub(crate) fn read(sent: &Headers, of_file: bool) -> Result<CopiedSmb, ServiceError> {
    let time = |name: &HeaderName| -> Result<Taken<FileTime>, ServiceError> {
        if is_source(sent, name, of_file)? {
            return Ok(Taken::Source);
        }
        // A time of the past cannot be kept by a file that is new: what is there is replaced.
        Ok(match smb_headers::time(sent, name, For::NewFile)? {
            Some(TimeChange::At(time)) => Taken::Said(time),
            _ => Taken::Usual,
        })
    };
    let attributes = if is_source(sent, &FILE_ATTRIBUTES, of_file)? {
        Taken::Source
    } else {
        smb_headers::exact_attributes(sent)?.map_or(Taken::Usual, Taken::Said)
    };
    Ok(CopiedSmb {
        attributes,
        created: time(&FILE_CREATION_TIME)?,
        written: time(&FILE_LAST_WRITE_TIME)?,
        changed: time(&FILE_CHANGE_TIME)?,
        permission: permission(sent, of_file)?,
        sets_archive: headers::boolean(sent, &FILE_COPY_SET_ARCHIVE)?.unwrap_or_default(),
    })
}

fn is_source(sent: &Headers, name: &HeaderName, of_file: bool) -> Result<bool, ServiceError> {
    match headers::text(sent, name)? {
        Some(text) if text.eq_ignore_ascii_case("source") => {
            if of_file {
                Ok(true)
            } else {
                Err(no_file(name, text))
            }
        }
        _ => Ok(false),
    }
}

fn no_file(name: &HeaderName, text: &str) -> ServiceError {
    let reason = "the source is no file of this server, and has no such property";
    ServiceError::invalid_header(name.as_str(), text).with_detail("Reason", reason)
}

/// The security descriptor, by its mode. Without a mode a descriptor that is said counts.
fn permission(sent: &Headers, of_file: bool) -> Result<Taken<PermissionChange>, ServiceError> {
    let said = permissions::of_path(sent, For::NewFile)?;
    match headers::text(sent, &FILE_PERMISSION_COPY_MODE)? {
        None => Ok(said.map_or(Taken::Usual, Taken::Said)),
        Some(text) if text.eq_ignore_ascii_case("source") => match said {
            _ if !of_file => Err(no_file(&FILE_PERMISSION_COPY_MODE, text)),
            None => Ok(Taken::Source),
            Some(_) => Err(ServiceError::invalid_header(FILE_PERMISSION_COPY_MODE.as_str(), text)
                .with_detail("Reason", "a permission is specified too")),
        },
        Some(text) if text.eq_ignore_ascii_case("override") => match said {
            Some(said) => Ok(Taken::Said(said)),
            None if headers::text(sent, &FILE_PERMISSION)?.is_some() => Ok(Taken::Usual), // it is to be inherited
            None => Err(ServiceError::missing_header(FILE_PERMISSION.as_str())),
        },
        Some(text) => Err(ServiceError::invalid_header(FILE_PERMISSION_COPY_MODE.as_str(), text)),
    }
}

#[cfg(test)]
mod tests {
    use file::FileAttributes;
    use types::ErrorCode;

    use super::*;

    #[test]
    fn what_a_copy_shall_have_is_said_or_is_that_of_the_source() {
        const SDDL: &str = "O:SYG:SYD:(A;;FA;;;SY)";
        let (mode, permission) = ("x-ms-file-permission-copy-mode", "x-ms-file-permission");
        let usual = CopiedSmb::default();
        let attributes = |bits| CopiedSmb { attributes: Taken::Said(FileAttributes(bits)), ..usual.clone() };
        type Case<'a> = (&'a [(&'a str, &'a str)], Result<CopiedSmb, ErrorCode>);
        let table: &[Case<'_>] = &[
            (&[], Ok(usual.clone())),
            (&[("x-ms-file-attributes", "ReadOnly")], Ok(attributes(0x01))),
            (&[("x-ms-file-attributes", "None")], Ok(attributes(0x80))),
            (&[("x-ms-file-attributes", "Source")], Ok(CopiedSmb { attributes: Taken::Source, ..usual.clone() })),
            (&[("x-ms-file-attributes", "preserve")], Err(ErrorCode::InvalidHeaderValue)),
            (&[("x-ms-file-creation-time", "source")], Ok(CopiedSmb { created: Taken::Source, ..usual.clone() })),
            (&[("x-ms-file-last-write-time", "now")], Ok(usual.clone())),
            (&[("x-ms-file-change-time", "yesterday")], Err(ErrorCode::InvalidHeaderValue)),
            (&[("x-ms-file-copy-set-archive", "true")], Ok(CopiedSmb { sets_archive: true, ..usual.clone() })),
            (&[(mode, "source")], Ok(CopiedSmb { permission: Taken::Source, ..usual.clone() })),
            (&[(mode, "source"), (permission, SDDL)], Err(ErrorCode::InvalidHeaderValue)),
            (&[(mode, "override")], Err(ErrorCode::MissingRequiredHeader)),
            (&[(mode, "override"), (permission, "inherit")], Ok(usual.clone())),
            (&[(mode, "both")], Err(ErrorCode::InvalidHeaderValue)),
        ];
        for (lines, expected) in table {
            let sent: Headers = lines.iter().copied().collect();
            assert_eq!(read(&sent, true).map_err(|error| error.code), *expected, "{lines:?}");
            let of_source = lines.iter().any(|(_, value)| value.eq_ignore_ascii_case("source"));
            assert_eq!(read(&sent, false).is_ok(), expected.is_ok() && !of_source, "{lines:?}");
        }
        let sent: Headers = [(mode, "override"), (permission, SDDL)].into_iter().collect();
        assert!(matches!(read(&sent, false).map(|found| found.permission), Ok(Taken::Said(_))));
    }
}
