//! Checksums of a range that a download is asked for.

use http::HeaderName;
use types::{ErrorCode, limits};

use crate::{
    Headers, ServiceError,
    headers::{self, X_MS_RANGE_GET_CONTENT_CRC64, X_MS_RANGE_GET_CONTENT_MD5},
};

/// The checksums of its range that an answer shall carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeChecks {
    /// Content-MD5
    pub md5: bool,
    /// x-ms-content-crc64
    pub crc64: bool,
}

impl RangeChecks {
    /// What the headers of a request ask for; `bytes` is the length of the range.
    ///
    /// # Errors
    /// It asks for both, without a range, or for that of a range that is too long.
    pub fn of(sent: &Headers, ranged: bool, bytes: u64) -> Result<Option<Self>, ServiceError> {
        let asked = |name: &HeaderName| headers::boolean(sent, name).map(Option::unwrap_or_default);
        let checks = Self { md5: asked(&X_MS_RANGE_GET_CONTENT_MD5)?, crc64: asked(&X_MS_RANGE_GET_CONTENT_CRC64)? };
        let name = match checks {
            Self { md5: false, crc64: false } => return Ok(None),
            Self { md5: true, .. } => X_MS_RANGE_GET_CONTENT_MD5,
            Self { crc64: true, .. } => X_MS_RANGE_GET_CONTENT_CRC64,
        };
        if !ranged || (checks.md5 && checks.crc64) {
            return Err(ServiceError::invalid_header(name.as_str(), "true"));
        }
        if bytes > limits::RANGE_CHECKSUM_MAX_BYTES {
            return Err(ServiceError::new(ErrorCode::OutOfRangeInput, "One of the request inputs is out of range.")
                .with_detail("HeaderName", name.as_str()));
        }
        Ok(Some(checks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Lines<'a> = &'a [(&'a str, &'a str)];
    type Asked = Result<Option<(bool, bool)>, ErrorCode>;

    #[test]
    fn checksums_of_ranges() {
        const MIB: u64 = 1024 * 1024;
        let (md5, crc64) = ("x-ms-range-get-content-md5", "x-ms-range-get-content-crc64");
        let table: [(Lines<'_>, bool, u64, Asked); 9] = [
            (&[], false, 1, Ok(None)),
            (&[(md5, "false")], false, 1, Ok(None)),
            (&[(md5, "true")], true, 4 * MIB, Ok(Some((true, false)))),
            (&[(crc64, "True")], true, 1, Ok(Some((false, true)))),
            (&[(md5, "true")], false, 1, Err(ErrorCode::InvalidHeaderValue)),
            (&[(md5, "true")], true, 4 * MIB + 1, Err(ErrorCode::OutOfRangeInput)),
            (&[(crc64, "true")], true, 4 * MIB + 1, Err(ErrorCode::OutOfRangeInput)),
            (&[(md5, "true"), (crc64, "true")], true, 1, Err(ErrorCode::InvalidHeaderValue)),
            (&[(md5, "yes")], true, 1, Err(ErrorCode::InvalidHeaderValue)),
        ];
        for (lines, ranged, bytes, expected) in table {
            let sent: Headers = lines.iter().copied().collect();
            let found = RangeChecks::of(&sent, ranged, bytes).map_err(|error| error.code);
            assert_eq!(found.map(|checks| checks.map(|checks| (checks.md5, checks.crc64))), expected, "{lines:?}");
        }
    }
}
