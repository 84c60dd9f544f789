//! XML in and out. Reading: a small tree with caps on bytes, elements and depth, no DTD, no entities but the five of
//! XML. Writing: text with correct escaping.

mod read;
mod write;

pub use read::{Element, XmlError, parse};
pub use write::{XmlWriter, can_carry};
