//! HTTP/1.1, our own: a connection is one task with one read buffer; heads are parsed in place, small bodies are slices
//! of the buffer, and head and body of an answer leave in one write.
//!
//! `head`, `framing` and `chunked` are plain functions over bytes; `wire` is the connection as the handler's body and
//! the loop share it; `connection` is the loop; `write` how an answer looks, `outgoing`
//! how it leaves.

pub mod chunked;
pub(crate) mod connection;
pub mod framing;
pub mod head;
mod outgoing;
mod wire;
mod write;

pub(crate) use wire::{Wire, WireBody};
