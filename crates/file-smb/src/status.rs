//! The NTSTATUS codes that are answered, by their names in MS-ERREF.
//!
//! A parse error is one of these: what a client reads of a bad message is decided where the message is read.

use std::fmt;

/// How a request ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct NtStatus(pub u32);

macro_rules! statuses {
    ($($name:ident = $value:literal),* $(,)?) => {
        #[expect(missing_docs, reason = "the names are those of MS-ERREF, which says what they mean")]
        impl NtStatus {
            $(pub const $name: Self = Self($value);)*

            /// The name in MS-ERREF, of a code that is used here.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

statuses! {
    SUCCESS = 0x0000_0000,
    PENDING = 0x0000_0103,
    NOTIFY_CLEANUP = 0x0000_010B,
    NOTIFY_ENUM_DIR = 0x0000_010C,
    BUFFER_OVERFLOW = 0x8000_0005,
    NO_MORE_FILES = 0x8000_0006,
    NO_MORE_EAS = 0x8000_0012,
    STOPPED_ON_SYMLINK = 0x8000_002D,
    UNSUCCESSFUL = 0xC000_0001,
    NOT_IMPLEMENTED = 0xC000_0002,
    INVALID_INFO_CLASS = 0xC000_0003,
    INFO_LENGTH_MISMATCH = 0xC000_0004,
    INVALID_HANDLE = 0xC000_0008,
    INVALID_PARAMETER = 0xC000_000D,
    NO_SUCH_FILE = 0xC000_000F,
    INVALID_DEVICE_REQUEST = 0xC000_0010,
    END_OF_FILE = 0xC000_0011,
    MORE_PROCESSING_REQUIRED = 0xC000_0016,
    NO_MEMORY = 0xC000_0017,
    ACCESS_DENIED = 0xC000_0022,
    BUFFER_TOO_SMALL = 0xC000_0023,
    OBJECT_TYPE_MISMATCH = 0xC000_0024,
    OBJECT_NAME_INVALID = 0xC000_0033,
    OBJECT_NAME_NOT_FOUND = 0xC000_0034,
    OBJECT_NAME_COLLISION = 0xC000_0035,
    OBJECT_PATH_INVALID = 0xC000_0039,
    OBJECT_PATH_NOT_FOUND = 0xC000_003A,
    OBJECT_PATH_SYNTAX_BAD = 0xC000_003B,
    SHARING_VIOLATION = 0xC000_0043,
    EA_TOO_LARGE = 0xC000_0050,
    FILE_LOCK_CONFLICT = 0xC000_0054,
    LOCK_NOT_GRANTED = 0xC000_0055,
    DELETE_PENDING = 0xC000_0056,
    EAS_NOT_SUPPORTED = 0xC000_004F,
    INVALID_VIEW_SIZE = 0xC000_001F,
    INVALID_USER_BUFFER = 0xC000_00E8,
    PRIVILEGE_NOT_HELD = 0xC000_0061,
    LOGON_FAILURE = 0xC000_006D,
    ACCOUNT_LOCKED_OUT = 0xC000_0234,
    INVALID_SECURITY_DESCR = 0xC000_0079,
    RANGE_NOT_LOCKED = 0xC000_007E,
    DISK_FULL = 0xC000_007F,
    INSUFFICIENT_RESOURCES = 0xC000_009A,
    MEDIA_WRITE_PROTECTED = 0xC000_00A2,
    BAD_IMPERSONATION_LEVEL = 0xC000_00A5,
    PIPE_DISCONNECTED = 0xC000_00B0,
    PIPE_EMPTY = 0xC000_00D9,
    IO_TIMEOUT = 0xC000_00B5,
    FILE_IS_A_DIRECTORY = 0xC000_00BA,
    NOT_SUPPORTED = 0xC000_00BB,
    NETWORK_NAME_DELETED = 0xC000_00C9,
    BAD_NETWORK_NAME = 0xC000_00CC,
    REQUEST_NOT_ACCEPTED = 0xC000_00D0,
    INVALID_OPLOCK_PROTOCOL = 0xC000_00E3,
    INTERNAL_ERROR = 0xC000_00E5,
    DIRECTORY_NOT_EMPTY = 0xC000_0101,
    NOT_A_DIRECTORY = 0xC000_0103,
    TOO_MANY_OPENED_FILES = 0xC000_011F,
    CANCELLED = 0xC000_0120,
    CANNOT_DELETE = 0xC000_0121,
    FILE_DELETED = 0xC000_0123,
    FILE_CLOSED = 0xC000_0128,
    INVALID_LEVEL = 0xC000_0148,
    ILLEGAL_CHARACTER = 0xC000_0161,
    INVALID_BUFFER_SIZE = 0xC000_0206,
    USER_SESSION_DELETED = 0xC000_0203,
    NOT_FOUND = 0xC000_0225,
    DUPLICATE_OBJECTID = 0xC000_022A,
    OBJECTID_NOT_FOUND = 0xC000_02F0,
    NETWORK_SESSION_EXPIRED = 0xC000_035C,
    FS_DRIVER_REQUIRED = 0xC000_019C,
    NOT_A_REPARSE_POINT = 0xC000_0275,
    SERVER_UNAVAILABLE = 0xC000_0466,
    FILE_NOT_AVAILABLE = 0xC000_0467,
    HASH_NOT_SUPPORTED = 0xC000_A100,
    INVALID_LOCK_RANGE = 0xC000_01A1,
    REQUEST_OUT_OF_SEQUENCE = 0xC000_042A,
    SMB_NO_PREAUTH_INTEGRITY_HASH_OVERLAP = 0xC05D_0000,
}

impl NtStatus {
    /// Severity "error": what an error response is sent for.
    #[must_use]
    pub const fn is_error(self) -> bool {
        self.0 >> 30 == 3
    }
}

impl fmt::Debug for NtStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{:#010x}", self.0),
        }
    }
}

impl fmt::Display for NtStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl std::error::Error for NtStatus {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severities_and_names() {
        let table = [
            (NtStatus::SUCCESS, false, "SUCCESS"),
            (NtStatus::PENDING, false, "PENDING"),
            (NtStatus::BUFFER_OVERFLOW, false, "BUFFER_OVERFLOW"),
            (NtStatus::ACCESS_DENIED, true, "ACCESS_DENIED"),
            (NtStatus(0xC123_4567), true, "0xc1234567"),
        ];
        for (status, error, name) in table {
            assert_eq!((status.is_error(), status.to_string().as_str()), (error, name));
        }
    }
}
