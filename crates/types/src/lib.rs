//! The vocabulary of Lazuli: the words that every ring uses and none of them owns.
//!
//! Nothing here does I/O, reads a clock, or is async. A type that knows a service's rules belongs to ring 2.

pub mod calendar;
pub mod error_code;
pub mod etag;
pub mod ids;
pub mod limits;
pub mod names;
pub mod time;
pub mod version;

pub use error_code::ErrorCode;
pub use etag::ETag;
pub use ids::{ContentId, Inode, UnitId};
pub use names::{
    AccountName, BlobName, ContainerName, FileComponent, FilePath, MetadataName, NameError, NameRule, QueueName,
    ShareName, TableName,
};
pub use time::Timestamp;
pub use version::{ServiceVersion, Switch};
