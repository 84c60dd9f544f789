//! SMB 2.1 to 3.1.1 over the File service: the codec, logon, signing and encryption.
//!
//! What is here is pure: bytes and typed messages, keys and signatures, without a socket, a clock, a file or a row. Names of
//! messages and fields are those of MS-SMB2, MS-FSCC, MS-NLMP and MS-SRVS, which say what they mean.
//!
//! **Invariant.** Nothing that a stranger sends makes a function here panic, recurse without bound, or take memory that is
//! not in proportion to what was sent.

pub mod auth;
pub mod credits;
pub mod encryption;
pub mod keys;
pub mod pipe;
pub mod signing;
pub mod status;
pub mod wildcard;
pub mod wire;

pub use status::NtStatus;

/// The bytes of hexadecimal text, for vectors of tests.
#[cfg(test)]
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|d| u8::try_from(d).unwrap()).collect();
    digits.as_chunks::<2>().0.iter().map(|[high, low]| high << 4 | low).collect()
}
