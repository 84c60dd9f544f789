//! The messages of MS-SMB2 as types, and their bytes. Pure: no socket, no session, no file.
//!
//! A frame ([`frame`]) is split into messages ([`compound`]); each is a [`header::Header`] and a [`request::Request`], which
//! borrows from the frame. Responses are appended to a buffer. Readers check structure sizes, lengths and offsets and answer
//! with the status that is sent to the client; they never look outside of their message.

pub(crate) mod bytes;
pub mod compound;
pub mod contexts;
pub mod create;
pub mod create_contexts;
pub mod error;
pub mod frame;
pub mod fsctl;
pub mod header;
pub mod info;
pub mod io;
pub mod ioctl;
pub mod lock;
pub mod negotiate;
pub mod query;
pub mod request;
pub mod session;
pub mod text;
pub mod transform;

#[cfg(test)]
mod tests;

pub use self::bytes::{Reader, U16s};

bytes::layout! {
    /// An open, as a client names it.
    FileId {
        /// What survives a connection.
        persistent: u64,
        /// What does not.
        volatile: u64,
    }
}

impl FileId {
    /// In a related request of a compound: the open of the request before.
    pub const PREVIOUS: Self = Self { persistent: u64::MAX, volatile: u64::MAX };
}
