//! The vocabulary of Lazuli: the words that every ring uses and none of them owns.
//!
//! Nothing here does I/O, reads a clock, or is async. A type that knows a service's rules belongs to ring 2.

pub mod calendar;
mod content_md5;
mod copy_state;
pub mod error_code;
pub mod etag;
mod file_time;
mod http_headers;
pub mod ids;
pub mod limits;
pub mod names;
pub mod time;
pub mod version;

pub use content_md5::ContentMd5;
pub use copy_state::{CopyState, CopyStatus};
pub use error_code::ErrorCode;
pub use etag::ETag;
pub use file_time::FileTime;
pub use http_headers::HttpHeaders;
pub use ids::{ContentId, Inode, UnitId};
pub use names::{
    AccountName, BlobName, ContainerName, FileComponent, FilePath, MetadataName, NameError, NameRule, QueueName,
    ShareName, TableName,
};
pub use time::Timestamp;
pub use version::{ServiceVersion, Switch};

/// Names and values as the client sent them; names keep their case and compare without it.
pub type Metadata = Vec<(String, String)>;
