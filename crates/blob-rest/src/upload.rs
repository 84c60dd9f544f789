//! The body of an upload on its way into the store.

pub(crate) use rest::upload::{Upload, document, no_body};
