//! Security descriptors of directories and files: kept once for a share, named by a key that follows from their bytes.
//! Create Permission and Get Permission.
//!
//! **Invariant.** A row is written once and never changed; it lives as long as the share. Every directory and file names
//! one that is there.

use std::fmt;

use access::{Asked, Authorized, Operation, need::Need};
use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use store::{
    Read, StoreError, Txn,
    record::{Reader, Writer},
};
use types::UnitId;

use crate::{Files, errors::FileError, keys, needs, security::SecurityDescriptor, share::ShareAddress};

const VERSION: u8 = 1;

/// Names a security descriptor of a share: the beginning of the SHA-256 of its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PermissionKey(pub [u8; 16]);

impl PermissionKey {
    /// Reads a key as it is shown: two numbers.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| {
            let digits = text.bytes().all(|digit| digit.is_ascii_digit());
            text.parse::<u64>().ok().filter(|_| digits)
        };
        let (high, low) = text.split_once('*')?;
        let whole = u128::from(number(high)?) << 64 | u128::from(number(low)?);
        Some(Self(whole.to_be_bytes()))
    }
}

impl fmt::Display for PermissionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = u128::from_be_bytes(self.0);
        write!(f, "{}*{}", whole >> 64, whole & u128::from(u64::MAX))
    }
}

/// What a request says about the security descriptor of a directory or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionChange {
    /// One that the share knows.
    Key(PermissionKey),
    /// This one.
    Descriptor(SecurityDescriptor),
}

impl PermissionChange {
    /// Keeps it for a share, and gives its key.
    ///
    /// # Errors
    /// The share has none with this key ([`FileError::PermissionNotFound`]), or the store failed.
    pub(crate) async fn keep(&self, txn: &Txn, share: UnitId) -> Result<PermissionKey, FileError> {
        match self {
            Self::Key(key) => {
                check(txn, share, *key).await?;
                Ok(*key)
            }
            Self::Descriptor(descriptor) => Ok(keep(txn, share, descriptor).await?),
        }
    }
}

/// The key of a descriptor, by its bytes.
pub(crate) fn key_of(descriptor: &[u8]) -> PermissionKey {
    let hash: [u8; 32] = Sha256::digest(descriptor).into();
    PermissionKey(hash.first_chunk().copied().unwrap_or_default())
}

pub(crate) fn encode(descriptor: &[u8]) -> Bytes {
    Writer::with_capacity(VERSION, descriptor.len() + 5).bytes(descriptor).build()
}

/// The bytes of a descriptor in its row.
pub(crate) fn decode(row: &[u8]) -> Result<&[u8], StoreError> {
    let mut reader = Reader::new("a security descriptor", row, VERSION)?;
    let descriptor = reader.bytes()?;
    reader.end()?;
    Ok(descriptor)
}

/// Keeps a descriptor for a share, unless it is there.
pub(crate) async fn keep(
    txn: &Txn,
    share: UnitId,
    descriptor: &SecurityDescriptor,
) -> Result<PermissionKey, StoreError> {
    let bytes = descriptor.to_bytes();
    let name = key_of(&bytes);
    let key = keys::permission(share, name.0);
    if txn.get(&key).await?.is_none() {
        txn.put(key, encode(&bytes));
    }
    Ok(name)
}

/// The descriptor with this key.
///
/// # Errors
/// The share has none with this key ([`FileError::PermissionNotFound`]), or the store failed.
pub(crate) async fn find(rows: &impl Read, share: UnitId, key: PermissionKey) -> Result<SecurityDescriptor, FileError> {
    let row = rows.get(&keys::permission(share, key.0)).await?.ok_or(FileError::PermissionNotFound)?;
    SecurityDescriptor::from_bytes(decode(&row)?)
}

/// Refuses a key that the share does not know.
///
/// # Errors
/// As [`find`].
pub(crate) async fn check(rows: &impl Read, share: UnitId, key: PermissionKey) -> Result<(), FileError> {
    let row = rows.get(&keys::permission(share, key.0)).await?;
    row.map(|_| ()).ok_or(FileError::PermissionNotFound)
}

/// The key of what a directory with the descriptor `of` hands down to what is made in it.
///
/// # Errors
/// As [`find`].
pub(crate) async fn handed_down(
    txn: &Txn,
    share: UnitId,
    of: PermissionKey,
    is_directory: bool,
) -> Result<PermissionKey, FileError> {
    let descriptor = find(txn, share, of).await?.handed_down(is_directory)?;
    Ok(keep(txn, share, &descriptor).await?)
}

/// Create Permission.
#[derive(Clone, Debug)]
pub struct CreatePermission {
    /// The share; no snapshot.
    pub share: ShareAddress,
    /// The descriptor.
    pub descriptor: SecurityDescriptor,
}

impl Operation for CreatePermission {
    fn need(&self) -> Need<'_> {
        self.share.need(needs::PUT_PERMISSION)
    }
}

/// Get Permission.
#[derive(Clone, Debug)]
pub struct GetPermission {
    /// The share; no snapshot.
    pub share: ShareAddress,
    /// The key of the descriptor.
    pub key: PermissionKey,
}

impl Operation for GetPermission {
    fn need(&self) -> Need<'_> {
        self.share.need(needs::GET_PERMISSION)
    }
}

impl Files {
    /// Keeps a security descriptor for the directories and files of a share. The same one has the same key.
    ///
    /// # Errors
    /// The share does not exist or is a snapshot, or the store failed.
    pub async fn create_permission(&self, asked: &Asked<CreatePermission>) -> Result<PermissionKey, FileError> {
        self.transact(|txn| async move { create(&txn, &asked.authorize(&txn).await?).await }).await
    }

    /// Finds a security descriptor by its key.
    ///
    /// # Errors
    /// The share does not exist or is a snapshot, it has no descriptor with this key, or the store failed.
    pub async fn get_permission(&self, asked: &Asked<GetPermission>) -> Result<SecurityDescriptor, FileError> {
        let (rows, _) = self.view();
        let request = asked.authorize(&rows).await?;
        let share = request.share.writable(&rows).await?;
        find(&rows, share.unit, request.key).await
    }
}

async fn create(txn: &Txn, request: &Authorized<'_, CreatePermission>) -> Result<PermissionKey, FileError> {
    let share = request.share.writable(txn).await?;
    Ok(keep(txn, share.unit, &request.descriptor).await?)
}
