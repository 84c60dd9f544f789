//! The Content-MD5 of a blob: sixteen bytes that were computed or checked, or whatever bytes a client set it to.
//!
//! **Invariant.** The sixteen bytes are stored as an optional array of them always was, so older rows are read as they are.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The Content-MD5 of a blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentMd5 {
    /// Of the form that an MD5 has.
    Md5([u8; 16]),
    /// Any other bytes.
    Other(Box<[u8]>),
}

impl ContentMd5 {
    /// Its bytes.
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

/// The stored form: the first two as `Option` is written.
#[derive(Serialize)]
enum Stored<'a> {
    None,
    Md5([u8; 16]),
    Other(&'a [u8]),
}

pub(super) fn serialize<S: Serializer>(found: &Option<ContentMd5>, serializer: S) -> Result<S::Ok, S::Error> {
    match found {
        None => Stored::None,
        Some(ContentMd5::Md5(md5)) => Stored::Md5(*md5),
        Some(ContentMd5::Other(bytes)) => Stored::Other(bytes),
    }
    .serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ContentMd5>, D::Error> {
    Ok(match StoredOwned::deserialize(deserializer)? {
        StoredOwned::None => None,
        StoredOwned::Md5(md5) => Some(ContentMd5::Md5(md5)),
        StoredOwned::Other(bytes) => Some(ContentMd5::Other(bytes.into())),
    })
}

/// The same, as it is read.
#[derive(Deserialize)]
enum StoredOwned {
    None,
    Md5([u8; 16]),
    Other(Vec<u8>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct New(#[serde(with = "super")] Option<ContentMd5>);

    #[test]
    fn rows_with_an_optional_array_are_read() {
        for before in [None, Some([7_u8; 16])] {
            let row = postcard::to_allocvec(&before).unwrap();
            assert_eq!(postcard::from_bytes::<New>(&row).unwrap(), New(before.map(ContentMd5::Md5)));
            assert_eq!(postcard::to_allocvec(&New(before.map(ContentMd5::Md5))).unwrap(), row);
        }
        let other = New(Some(ContentMd5::from(vec![1, 2, 3])));
        assert_eq!(postcard::from_bytes::<New>(&postcard::to_allocvec(&other).unwrap()).unwrap(), other);
    }
}
