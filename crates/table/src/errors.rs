//! Why an operation of the Table service was refused or failed. One table in the protocol crate turns these into status,
//! code and message.

use access::Denied;
use concurrency::table_etag::EntityRefusal;
use store::StoreError;

/// A PartitionKey or RowKey that no entity can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidKey {
    /// More than 1 KiB.
    #[error("the value of {0} is longer than 512 characters")]
    TooLarge(&'static str),
    /// A character that keys may not have.
    #[error("the {name} {value:?} contains {character:?}, which is not allowed")]
    Character {
        /// `PartitionKey` or `RowKey`.
        name: &'static str,
        /// The first character that is not allowed.
        character: char,
        /// The whole key.
        value: String,
    },
}

/// Properties that no entity can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProperties {
    /// More properties than an entity may have.
    #[error("the entity has {0} properties, more than 252 besides PartitionKey, RowKey and Timestamp")]
    TooMany(usize),
    /// The whole entity is too large.
    #[error("the entity has {0} bytes, more than 1 MiB")]
    EntityTooLarge(usize),
    /// One value is too large.
    #[error("the value of {0:?} has more than 64 KiB")]
    ValueTooLarge(String),
    /// A name is too long.
    #[error("the property name {0:?} has more than 255 characters")]
    NameTooLong(String),
    /// A name is not one.
    #[error("the property name {0:?} is not valid")]
    NameInvalid(String),
    /// A name stands twice.
    #[error("the property {0:?} is specified more than once")]
    Duplicate(String),
}

/// Why an operation was not done. Nothing changed, unless it is [`TableError::Store`].
#[derive(Clone, Debug, thiserror::Error)]
pub enum TableError {
    /// There is no such table.
    #[error("the table does not exist")]
    TableNotFound,
    /// The table exists.
    #[error("the table already exists")]
    TableAlreadyExists,
    /// A rule about the entity and its ETag.
    #[error(transparent)]
    Entity(#[from] EntityRefusal),
    /// The entity would not be one.
    #[error(transparent)]
    Properties(#[from] InvalidProperties),
    /// The entity lies outside of what the credential covers.
    #[error("the entity is outside of the range that is authorised")]
    OutsideOfRange,
    /// The credential does not allow it, or not any more.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
