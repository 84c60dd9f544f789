//! The Content-MD5 of a blob or a file: sixteen bytes that were computed or checked, or whatever bytes a client set it to.

/// The Content-MD5 of a blob or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentMd5 {
    /// Of the form that an MD5 has.
    Md5([u8; 16]),
    /// Any other bytes.
    Other(Box<[u8]>),
}

impl ContentMd5 {
    /// What was sent, out of its Base64.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Md5(bytes) => bytes,
            Self::Other(bytes) => bytes,
        }
    }

    /// The MD5, when it can be one.
    #[must_use]
    pub const fn md5(&self) -> Option<[u8; 16]> {
        match self {
            Self::Md5(bytes) => Some(*bytes),
            Self::Other(_) => None,
        }
    }
}

impl From<[u8; 16]> for ContentMd5 {
    fn from(bytes: [u8; 16]) -> Self {
        Self::Md5(bytes)
    }
}

impl From<Vec<u8>> for ContentMd5 {
    fn from(bytes: Vec<u8>) -> Self {
        match <[u8; 16]>::try_from(bytes) {
            Ok(md5) => Self::Md5(md5),
            Err(bytes) => Self::Other(bytes.into()),
        }
    }
}
