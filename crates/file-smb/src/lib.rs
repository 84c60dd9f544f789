//! SMB 2.1 to 3.1.1 over the File service: [`SmbService`] is what `net` serves on a port.
//!
//! The public modules are pure: bytes and typed messages, keys and signatures, without a socket, a clock, a file or a row. The
//! others do what messages ask: they translate, and the File service decides. Names of messages and fields are those of
//! MS-SMB2, MS-FSCC, MS-NLMP and MS-SRVS, which say what they mean.
//!
//! **Invariant.** Nothing that a stranger sends makes a function here panic, recurse without bound, or take memory that is
//! not in proportion to what was sent.

mod answers;
pub mod auth;
mod clients;
mod connection;
mod create;
pub mod credits;
mod described;
mod directory;
mod dispatch;
pub mod encryption;
mod errors;
mod ioctl;
pub mod keys;
mod lock;
mod logon;
mod names;
mod negotiate;
mod open;
mod oplock;
pub mod pipe;
mod pipes;
mod query;
mod read_write;
mod request;
mod rights;
mod secrets;
mod server;
mod session;
mod sessions;
mod set;
pub mod signing;
mod snapshots;
mod spare;
pub mod status;
mod throttle;
mod tree;
mod view;
mod waiting;
pub mod wildcard;
pub mod wire;

pub use server::{SmbService, SmbSettings};
pub use status::NtStatus;

/// The bytes of hexadecimal text, for vectors of tests.
#[cfg(test)]
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|d| u8::try_from(d).unwrap()).collect();
    digits.as_chunks::<2>().0.iter().map(|[high, low]| high << 4 | low).collect()
}
