//! Buffers of QUERY_DIRECTORY, QUERY_INFO, SET_INFO and CHANGE_NOTIFY: the information classes of MS-FSCC.

pub mod directory;
pub mod file;
pub mod file_system;
pub mod filetime;
pub mod notify;
pub mod set;

use super::text;
use crate::NtStatus;

/// A buffer that answers a query, and the status that goes with it: `SUCCESS`, or `BUFFER_OVERFLOW` when its end was cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What is sent.
    pub buffer: Vec<u8>,
    /// How it is sent.
    pub status: NtStatus,
}

/// Cuts a buffer to what the client takes. Less than the fixed part is an error, less than all of it an overflow.
fn fit(mut buffer: Vec<u8>, fixed: usize, limit: u32) -> Result<Answer, NtStatus> {
    let limit = super::bytes::size(limit);
    if limit < fixed {
        return Err(NtStatus::INFO_LENGTH_MISMATCH);
    }
    let status = if buffer.len() > limit { NtStatus::BUFFER_OVERFLOW } else { NtStatus::SUCCESS };
    buffer.truncate(limit);
    Ok(Answer { buffer, status })
}

/// Appends the length of a name and the name.
fn name(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(&super::bytes::length32(text::length(name)).to_le_bytes());
    text::encode_into(out, name);
}
