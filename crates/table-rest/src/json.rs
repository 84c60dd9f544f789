//! JSON in and out. Reading streams over the bytes; writing goes from the row straight into the answer.

mod read;
mod write;

pub use read::{entity, table_name};
pub(crate) use write::{Context, JsonWriter, entity_address, missing};
