//! Frames on the stream: four bytes of length, big endian, the first of them zero, then the message.
//!
//! **Invariant.** A length is checked before a byte of the frame is read or room is made for it.

/// The bytes before each frame.
pub const PREFIX: usize = 4;
/// The longest frame that somebody without a session may send: nothing before logon needs more.
pub const MAX_BEFORE_LOGON: usize = 64 * 1024;
/// The longest frame at all: a WRITE of 8 MiB, its headers, and others in its compound.
pub const MAX_FRAME: usize = 16 * 1024 * 1024;
/// The shortest frame that can be a message: the header of SMB1 with an empty body.
pub const MIN_FRAME: usize = 35;

/// A prefix with which the connection cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The first byte is no session message.
    #[error("a frame of type {0:#04x}")]
    Kind(u8),
    /// More than is allowed now.
    #[error("a frame of {length} bytes, more than {limit}")]
    TooLong {
        /// What was announced.
        length: usize,
        /// What is allowed.
        limit: usize,
    },
    /// Less than any message.
    #[error("a frame of {0} bytes")]
    TooShort(usize),
}

/// The length of the frame that a prefix announces.
///
/// # Errors
/// The connection is to be closed.
pub fn length(prefix: [u8; PREFIX], has_session: bool) -> Result<usize, FrameError> {
    let [kind, rest @ ..] = prefix;
    if kind != 0 {
        return Err(FrameError::Kind(kind));
    }
    let length = rest.iter().fold(0_usize, |length, byte| (length << 8) | usize::from(*byte));
    let limit = if has_session { MAX_FRAME } else { MAX_BEFORE_LOGON };
    match length {
        length if length > limit => Err(FrameError::TooLong { length, limit }),
        length if length < MIN_FRAME => Err(FrameError::TooShort(length)),
        length => Ok(length),
    }
}

/// The prefix of a frame of this length, if there can be one.
#[must_use]
pub fn prefix(length: usize) -> Option<[u8; PREFIX]> {
    let length = u32::try_from(length).ok().filter(|length| *length < 1 << 24)?;
    Some(length.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_capped_before_and_after_logon() {
        let table = [
            ([0, 0, 0, 64], false, Ok(64)),
            ([0, 1, 0, 0], false, Ok(65536)),
            ([0, 1, 0, 1], false, Err(FrameError::TooLong { length: 65537, limit: 65536 })),
            ([0, 1, 0, 1], true, Ok(65537)),
            ([0, 0xFF, 0xFF, 0xFF], true, Ok(0xFF_FFFF)),
            ([0, 0, 0, 34], true, Err(FrameError::TooShort(34))),
            ([0x81, 0, 0, 68], false, Err(FrameError::Kind(0x81))),
        ];
        for (bytes, has_session, expected) in table {
            assert_eq!(length(bytes, has_session), expected, "{bytes:?}");
            if let Ok(length) = expected {
                assert_eq!(prefix(length), Some(bytes));
            }
        }
        assert_eq!(prefix(1 << 24), None);
    }
}
