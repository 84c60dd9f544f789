//! Content-MD5 and x-ms-content-crc64: their text forms, and digests that grow with a stream.
//!
//! The CRC is CRC-64/NVME; the bytes stand in the header little-endian, in Base64.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use crc_fast::{CrcAlgorithm, Digest};
use http::HeaderName;
use types::ErrorCode;

pub use crate::md5::Md5Bytes;
use crate::{Headers, ServiceError, headers, md5::BodyMd5};

/// The checksums that a request declares for its body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// `Content-MD5`.
    pub md5: Option<Md5Bytes>,
    /// `x-ms-content-crc64`.
    pub crc64: Option<u64>,
}

impl Declared {
    /// The checksums in the headers of a request.
    ///
    /// # Errors
    /// One is not the Base64 of its length, or both are there.
    pub fn from_headers(headers: &Headers) -> Result<Self, ServiceError> {
        let md5 = match headers::text(headers, &headers::CONTENT_MD5)? {
            Some(text) => Some(parse_md5(&headers::CONTENT_MD5, text)?),
            None => None,
        };
        let crc64 = match headers::text(headers, &headers::X_MS_CONTENT_CRC64)? {
            Some(text) => Some(parse_crc64(&headers::X_MS_CONTENT_CRC64, text)?),
            None => None,
        };
        if md5.is_some() && crc64.is_some() {
            let message = "Both the MD5 and the CRC64 of the content are specified; only one is allowed.";
            return Err(ServiceError::new(ErrorCode::BothCrc64AndMd5HeaderPresent, message));
        }
        Ok(Self { md5, crc64 })
    }

    /// Compares with what arrived.
    ///
    /// # Errors
    /// A declared checksum is another one.
    pub fn verify(&self, found: &Computed) -> Result<(), ServiceError> {
        if let (Some(declared), Some(found)) = (self.md5, found.md5)
            && declared != found
        {
            return Err(ServiceError::new(
                ErrorCode::Md5Mismatch,
                "The MD5 value specified in the request did not match with the MD5 value calculated by the server.",
            )
            .with_detail("UserSpecifiedMd5", format_md5(&declared))
            .with_detail("ServerCalculatedMd5", format_md5(&found)));
        }
        if let (Some(declared), Some(found)) = (self.crc64, found.crc64)
            && declared != found
        {
            return Err(ServiceError::new(
                ErrorCode::Crc64Mismatch,
                "The CRC64 value specified in the request did not match with the CRC64 value calculated by the server.",
            )
            .with_detail("UserSpecifiedCrc64", format_crc64(declared))
            .with_detail("ServerCalculatedCrc64", format_crc64(found)));
        }
        Ok(())
    }
}

/// The checksums of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Computed {
    /// When it was asked for.
    pub md5: Option<Md5Bytes>,
    /// When it was asked for.
    pub crc64: Option<u64>,
}

/// Digests of a stream, as many as are wanted.
#[derive(Default)]
pub struct Checksums {
    md5: Option<BodyMd5>,
    crc64: Option<Digest>,
}

impl Checksums {
    /// The digests that are wanted.
    #[must_use]
    pub fn new(md5: bool, crc64: bool) -> Self {
        Self { md5: md5.then(BodyMd5::default), crc64: crc64.then(|| Digest::new(CrcAlgorithm::Crc64Nvme)) }
    }

    /// Takes the next bytes. By value, because half of them would be a wrong digest.
    #[must_use]
    pub async fn take(mut self, bytes: Bytes) -> Self {
        if let Some(crc64) = &mut self.crc64 {
            crc64.update(&bytes);
        }
        if let Some(md5) = self.md5 {
            self.md5 = Some(md5.take(bytes).await);
        }
        self
    }

    /// The digests of everything taken.
    #[must_use]
    pub fn finish(self) -> Computed {
        Computed { md5: self.md5.map(BodyMd5::finish), crc64: self.crc64.map(|crc64| crc64.finalize()) }
    }
}

/// The CRC-64 of two parts, one behind the other.
#[must_use]
pub fn joined_crc64(first: u64, second: u64, second_bytes: u64) -> u64 {
    crc_fast::checksum_combine(CrcAlgorithm::Crc64Nvme, first, second, second_bytes)
}

/// Reads an MD5 in Base64 out of the header of this name.
///
/// # Errors
/// It is not the Base64 of 16 bytes.
pub fn parse_md5(name: &HeaderName, text: &str) -> Result<Md5Bytes, ServiceError> {
    let bytes = BASE64_STANDARD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or_else(|| {
        ServiceError::new(
            ErrorCode::InvalidMd5,
            "The MD5 value specified in the request is invalid. MD5 value must be 128 bits and base64-encoded.",
        )
        .with_detail("HeaderName", name.as_str())
        .with_detail("HeaderValue", text)
    })
}

/// Reads a CRC-64 in Base64 out of the header of this name.
///
/// # Errors
/// It is not the Base64 of 8 bytes.
pub fn parse_crc64(name: &HeaderName, text: &str) -> Result<u64, ServiceError> {
    let bytes = BASE64_STANDARD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
    bytes.map(u64::from_le_bytes).ok_or_else(|| ServiceError::invalid_header(name.as_str(), text))
}

/// An MD5 as it stands in a header.
#[must_use]
pub fn format_md5(md5: &Md5Bytes) -> String {
    BASE64_STANDARD.encode(md5)
}

/// A CRC-64 as it stands in a header.
#[must_use]
pub fn format_crc64(crc64: u64) -> String {
    BASE64_STANDARD.encode(crc64.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn known_digests() {
        let mut checksums = Checksums::new(true, true);
        checksums = checksums.take(Bytes::from_static(b"1234")).await;
        checksums = checksums.take(Bytes::from_static(b"56789")).await;
        let found = checksums.finish();
        assert_eq!(found.crc64, Some(0xAE8B_1486_0A79_9888)); // the check value of CRC-64/NVME
        assert_eq!(format_md5(&found.md5.unwrap()), "JfnnlDI7RTiF9RgfG2JNCw==");
        assert_eq!(format_crc64(0xAE8B_1486_0A79_9888), "iJh5CoYUi64=");
        assert_eq!(Checksums::default().finish(), Computed::default());
    }

    #[tokio::test]
    async fn declared_checksums_are_compared() {
        let mut checksums = Checksums::new(true, true);
        checksums = checksums.take(Bytes::from_static(b"123456789")).await;
        let found = checksums.finish();
        let table = [
            (None, None, Ok(())),
            (Some("JfnnlDI7RTiF9RgfG2JNCw=="), None, Ok(())),
            (None, Some("iJh5CoYUi64="), Ok(())),
            (Some("AAAAAAAAAAAAAAAAAAAAAA=="), None, Err(ErrorCode::Md5Mismatch)),
            (None, Some("AAAAAAAAAAA="), Err(ErrorCode::Crc64Mismatch)),
            (Some("AAAA"), None, Err(ErrorCode::InvalidMd5)),
            (Some("!"), None, Err(ErrorCode::InvalidMd5)),
            (None, Some("AAAA"), Err(ErrorCode::InvalidHeaderValue)),
            (Some("JfnnlDI7RTiF9RgfG2JNCw=="), Some("iJh5CoYUi64="), Err(ErrorCode::BothCrc64AndMd5HeaderPresent)),
        ];
        for (md5, crc64, expected) in table {
            let mut headers = Headers::new();
            for (name, value) in [(headers::CONTENT_MD5, md5), (headers::X_MS_CONTENT_CRC64, crc64)] {
                if let Some(value) = value {
                    headers.insert(name, value);
                }
            }
            let outcome = Declared::from_headers(&headers).and_then(|declared| declared.verify(&found));
            assert_eq!(outcome.map_err(|error| error.code), expected, "{md5:?} {crc64:?}");
        }
    }
}
