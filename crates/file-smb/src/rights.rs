//! What a CREATE asks to do: generic rights as those of files, what counts for sharing, and requests that make no sense.

use concurrency::{
    file_open::Reach,
    share_mode::{Access, FileRights, OpenMode, ShareMode},
};

use crate::{
    NtStatus,
    wire::create::{CreateRequest, access, attributes, disposition, options, share_access},
};

const GENERIC_READ_RIGHTS: u32 =
    access::READ_DATA | access::READ_EA | access::READ_ATTRIBUTES | access::READ_CONTROL | access::SYNCHRONIZE;
const GENERIC_WRITE_RIGHTS: u32 = access::WRITE_DATA
    | access::APPEND_DATA
    | access::WRITE_EA
    | access::WRITE_ATTRIBUTES
    | access::READ_CONTROL
    | access::SYNCHRONIZE;
const GENERIC_EXECUTE_RIGHTS: u32 =
    access::EXECUTE | access::READ_ATTRIBUTES | access::READ_CONTROL | access::SYNCHRONIZE;
const KNOWN: u32 = access::FILE_ALL
    | access::ACCESS_SYSTEM_SECURITY
    | access::MAXIMUM_ALLOWED
    | access::GENERIC_ALL
    | access::GENERIC_EXECUTE
    | access::GENERIC_WRITE
    | access::GENERIC_READ;
const SHARES: u32 = share_access::READ | share_access::WRITE | share_access::DELETE;
/// Attributes that a client may send; those that say what a file is are ignored.
const ATTRIBUTES: u32 = attributes::READONLY
    | attributes::HIDDEN
    | attributes::SYSTEM
    | attributes::DIRECTORY
    | attributes::ARCHIVE
    | attributes::NORMAL
    | attributes::TEMPORARY
    | attributes::SPARSE_FILE
    | attributes::REPARSE_POINT
    | attributes::COMPRESSED
    | attributes::OFFLINE
    | attributes::NOT_CONTENT_INDEXED
    | attributes::ENCRYPTED
    | attributes::INTEGRITY_STREAM
    | attributes::NO_SCRUB_DATA;
/// Rights with which a file is only looked at.
const LOOKS: u32 = access::READ_ATTRIBUTES | access::WRITE_ATTRIBUTES | access::SYNCHRONIZE;
/// No bit of the options beyond these is one.
const OPTIONS: u32 = 0x00FF_FFFF;

/// What an open may do, in rights of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rights {
    /// Granted: none of them generic.
    pub(crate) granted: u32,
    /// It asked for all that there is.
    pub(crate) maximum: bool,
}

impl Rights {
    /// The rights that a request asks for. Whoever has the key of the account has all of them.
    ///
    /// # Errors
    /// It asks for nothing, or for what nobody has.
    pub(crate) fn asked(desired: u32) -> Result<Self, NtStatus> {
        if desired & !KNOWN != 0 || desired == 0 {
            return Err(NtStatus::ACCESS_DENIED);
        }
        if desired & access::ACCESS_SYSTEM_SECURITY != 0 {
            return Err(NtStatus::PRIVILEGE_NOT_HELD);
        }
        let generic = [
            (access::GENERIC_ALL, access::FILE_ALL),
            (access::GENERIC_READ, GENERIC_READ_RIGHTS),
            (access::GENERIC_WRITE, GENERIC_WRITE_RIGHTS),
            (access::GENERIC_EXECUTE, GENERIC_EXECUTE_RIGHTS),
            (access::MAXIMUM_ALLOWED, access::FILE_ALL),
        ];
        let granted = generic.iter().fold(desired & access::FILE_ALL, |granted, (bit, rights)| {
            if desired & bit == 0 { granted } else { granted | rights }
        });
        Ok(Self { granted, maximum: desired & access::MAXIMUM_ALLOWED != 0 })
    }

    /// The same without what writes, for a file that is read-only.
    pub(crate) const fn without_writing(self) -> Self {
        Self { granted: self.granted & !(access::WRITE_DATA | access::APPEND_DATA | access::DELETE_CHILD), ..self }
    }

    /// What a snapshot lets everybody do.
    pub(crate) const READING: u32 = GENERIC_READ_RIGHTS | GENERIC_EXECUTE_RIGHTS;

    /// The same, and nothing but reading.
    pub(crate) const fn reading_only(self) -> Self {
        Self { granted: self.granted & Self::READING, ..self }
    }

    /// Whether it asks to change anything.
    pub(crate) const fn writes(self) -> bool {
        self.granted & !Self::READING != 0
    }

    pub(crate) const fn has(self, right: u32) -> bool {
        self.granted & right != 0
    }

    /// What counts for caches.
    pub(crate) const fn reach(self) -> Reach {
        match self.granted & !LOOKS {
            0 => Reach::Attributes,
            access::READ_CONTROL => Reach::Descriptor,
            _ => Reach::File,
        }
    }

    /// What counts for sharing.
    pub(crate) const fn mode(self, share: u32, overwrites: bool) -> OpenMode {
        let rights = FileRights {
            read_data: self.has(access::READ_DATA),
            write_data: self.has(access::WRITE_DATA),
            append_data: self.has(access::APPEND_DATA),
            execute: self.has(access::EXECUTE),
            delete: self.has(access::DELETE),
            overwrite: overwrites,
        };
        let share = ShareMode {
            read: share & share_access::READ != 0,
            write: share & share_access::WRITE != 0,
            delete: share & share_access::DELETE != 0,
        };
        OpenMode { access: Access::of(rights), share }
    }
}

/// Refuses requests that make no sense, whatever the file is.
///
/// # Errors
/// Which status.
pub(crate) fn check(request: &CreateRequest<'_>) -> Result<(), NtStatus> {
    let CreateRequest { create_options, create_disposition, share_access, file_attributes, .. } = *request;
    let has = |option: u32| create_options & option != 0;
    if request.impersonation_level > 3 {
        return Err(NtStatus::BAD_IMPERSONATION_LEVEL);
    }
    let both_kinds = has(options::DIRECTORY_FILE) && has(options::NON_DIRECTORY_FILE);
    let replaces =
        matches!(create_disposition, disposition::SUPERSEDE | disposition::OVERWRITE | disposition::OVERWRITE_IF);
    if create_disposition > disposition::OVERWRITE_IF
        || share_access & !SHARES != 0
        || file_attributes & !ATTRIBUTES != 0
        || create_options & !OPTIONS != 0
        || both_kinds
        || (has(options::DIRECTORY_FILE) && replaces)
        || (has(options::DIRECTORY_FILE) && file_attributes & attributes::TEMPORARY != 0)
    {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    if has(options::OPEN_BY_FILE_ID) || has(options::RESERVE_OPFILTER) || has(options::OPEN_REQUIRING_OPLOCK) {
        return Err(NtStatus::NOT_SUPPORTED);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generic_rights_become_those_of_files() {
        let granted = |desired| Rights::asked(desired).map(|rights| rights.granted);
        assert_eq!(granted(access::GENERIC_READ), Ok(0x0012_0089));
        assert_eq!(granted(access::GENERIC_WRITE), Ok(0x0012_0116));
        assert_eq!(granted(access::GENERIC_EXECUTE), Ok(0x0012_00A0));
        assert_eq!(granted(access::GENERIC_ALL), Ok(access::FILE_ALL));
        assert_eq!(granted(access::MAXIMUM_ALLOWED), Ok(access::FILE_ALL));
        assert_eq!(granted(0), Err(NtStatus::ACCESS_DENIED));
        assert_eq!(granted(0x0400_0000), Err(NtStatus::ACCESS_DENIED));
    }

    #[test]
    fn attributes_alone_take_no_part_in_sharing() {
        let rights = Rights::asked(access::READ_ATTRIBUTES | access::SYNCHRONIZE).unwrap();
        assert_eq!(rights.mode(0, false).access, Access::NONE);
        assert_eq!(rights.mode(0, true).access, Access::WRITE);
        assert_eq!(rights.mode(5, false).share, ShareMode { read: true, write: false, delete: true });
    }

    #[test]
    fn rights_reach_as_far_as_caches_are_broken_for_them() {
        let table = [
            (access::READ_ATTRIBUTES, Reach::Attributes),
            (access::WRITE_ATTRIBUTES | access::SYNCHRONIZE, Reach::Attributes),
            (access::READ_CONTROL | access::SYNCHRONIZE, Reach::Descriptor),
            (access::READ_EA, Reach::File),
            (access::WRITE_DAC, Reach::File),
            (access::DELETE, Reach::File),
            (access::READ_DATA, Reach::File),
            (access::MAXIMUM_ALLOWED, Reach::File),
        ];
        for (desired, reach) in table {
            assert_eq!(Rights::asked(desired).unwrap().reach(), reach, "{desired:#x}");
        }
    }

    #[test]
    fn requests_that_make_no_sense() {
        let request = |options, disposition, share| CreateRequest {
            create_options: options,
            create_disposition: disposition,
            share_access: share,
            ..CreateRequest::default()
        };
        let table = [
            (request(0, 1, 7), Ok(())),
            (request(0x41, 1, 7), Err(NtStatus::INVALID_PARAMETER)),
            (request(0, 6, 7), Err(NtStatus::INVALID_PARAMETER)),
            (request(0, 1, 8), Err(NtStatus::INVALID_PARAMETER)),
            (request(1, 5, 7), Err(NtStatus::INVALID_PARAMETER)),
            (request(0x2000, 1, 7), Err(NtStatus::NOT_SUPPORTED)),
            (request(0x0100_0000, 1, 7), Err(NtStatus::INVALID_PARAMETER)),
        ];
        for (request, expected) in table {
            assert_eq!(check(&request), expected, "{request:?}");
        }
    }
}
