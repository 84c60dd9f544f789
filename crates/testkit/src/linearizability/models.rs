//! What calls do, an object a model. Plain, and written from the documentation alone.

pub mod append_blob;
pub mod blob;
pub mod files;
pub mod message;
pub mod page_blob;
pub mod partition;
