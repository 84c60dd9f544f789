//! The header of every SMB2 message (MS-SMB2 2.2.1), with a tree id or an async id.

use super::bytes::{Reader, patch32};
use crate::NtStatus;
use bytes::BufMut;

/// The bytes of a header.
pub const HEADER: usize = 64;
/// The first four bytes of a message.
pub const PROTOCOL: [u8; 4] = *b"\xFESMB";
/// The first four bytes of an encrypted message.
pub const PROTOCOL_TRANSFORM: [u8; 4] = *b"\xFDSMB";
/// The first four bytes of a compressed message, which is never agreed on.
pub const PROTOCOL_COMPRESSION: [u8; 4] = *b"\xFCSMB";
/// The first four bytes of a message of SMB1.
pub const PROTOCOL_SMB1: [u8; 4] = *b"\xFFSMB";

/// Where the signature stands in a header.
pub const SIGNATURE: std::ops::Range<usize> = 48..64;

/// Flags of a header.
pub mod flags {
    #![expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.1")]
    pub const SERVER_TO_REDIR: u32 = 0x0000_0001;
    pub const ASYNC_COMMAND: u32 = 0x0000_0002;
    pub const RELATED_OPERATIONS: u32 = 0x0000_0004;
    pub const SIGNED: u32 = 0x0000_0008;
    pub const PRIORITY_MASK: u32 = 0x0000_0070;
    pub const DFS_OPERATIONS: u32 = 0x1000_0000;
    pub const REPLAY_OPERATION: u32 = 0x2000_0000;
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.1")]
pub enum Command {
    Negotiate,
    SessionSetup,
    Logoff,
    TreeConnect,
    TreeDisconnect,
    Create,
    Close,
    Flush,
    Read,
    Write,
    Lock,
    Ioctl,
    Cancel,
    Echo,
    QueryDirectory,
    ChangeNotify,
    QueryInfo,
    SetInfo,
    OplockBreak,
}

impl Command {
    /// Every command, in the order of its number.
    pub const ALL: [Self; 19] = [
        Self::Negotiate,
        Self::SessionSetup,
        Self::Logoff,
        Self::TreeConnect,
        Self::TreeDisconnect,
        Self::Create,
        Self::Close,
        Self::Flush,
        Self::Read,
        Self::Write,
        Self::Lock,
        Self::Ioctl,
        Self::Cancel,
        Self::Echo,
        Self::QueryDirectory,
        Self::ChangeNotify,
        Self::QueryInfo,
        Self::SetInfo,
        Self::OplockBreak,
    ];

    /// The command with the number.
    #[must_use]
    pub fn numbered(number: u16) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Its number.
    #[must_use]
    #[expect(clippy::as_conversions, reason = "an enum without values, of 19")]
    pub const fn number(self) -> u16 {
        self as u16
    }
}

/// Whom a message is about: a tree, or an operation that was answered with `PENDING`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The usual one.
    Sync {
        /// Reserved; clients have a process id here.
        process_id: u32,
        /// The tree connect.
        tree_id: u32,
    },
    /// With [`flags::ASYNC_COMMAND`].
    Async(u64),
}

/// A header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// How many credits the request takes; 0 counts as 1.
    pub credit_charge: u16,
    /// Of a response. In a request of 3.x the low half is the channel sequence.
    pub status: NtStatus,
    /// The number of the command: one that is unknown is answered, not dropped.
    pub command: u16,
    /// Credits asked for, or granted.
    pub credits: u16,
    /// See [`flags`].
    pub flags: u32,
    /// From this header to the next one, 0 in the last.
    pub next_command: u32,
    /// Of the request, and of its response.
    pub message_id: u64,
    /// The tree or the operation.
    pub route: Route,
    /// The session.
    pub session_id: u64,
    /// All zero when not signed.
    pub signature: [u8; 16],
}

impl Default for Header {
    fn default() -> Self {
        Self {
            credit_charge: 0,
            status: NtStatus::SUCCESS,
            command: 0,
            credits: 0,
            flags: 0,
            next_command: 0,
            message_id: 0,
            route: Route::Sync { process_id: 0, tree_id: 0 },
            session_id: 0,
            signature: [0; 16],
        }
    }
}

impl Header {
    /// Reads the header of a message.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: it is no header of SMB2. The connection is to be closed.
    pub fn parse(message: &[u8]) -> Result<Self, NtStatus> {
        let mut reader = Reader::new(message);
        if reader.array()? != PROTOCOL || reader.u16()? != 64 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let credit_charge = reader.u16()?;
        let status = NtStatus(reader.u32()?);
        let command = reader.u16()?;
        let credits = reader.u16()?;
        let flags = reader.u32()?;
        let next_command = reader.u32()?;
        let message_id = reader.u64()?;
        let route = if flags & flags::ASYNC_COMMAND == 0 {
            Route::Sync { process_id: reader.u32()?, tree_id: reader.u32()? }
        } else {
            Route::Async(reader.u64()?)
        };
        let (session_id, signature) = (reader.u64()?, reader.array()?);
        Ok(Self {
            credit_charge,
            status,
            command,
            credits,
            flags,
            next_command,
            message_id,
            route,
            session_id,
            signature,
        })
    }

    /// Appends it. The async flag follows the route.
    pub fn encode(&self, out: &mut impl BufMut) {
        out.put_slice(&PROTOCOL);
        out.put_u16_le(64);
        out.put_u16_le(self.credit_charge);
        out.put_u32_le(self.status.0);
        out.put_u16_le(self.command);
        out.put_u16_le(self.credits);
        let asynchronous = match self.route {
            Route::Sync { .. } => 0,
            Route::Async(_) => flags::ASYNC_COMMAND,
        };
        out.put_u32_le(self.flags & !flags::ASYNC_COMMAND | asynchronous);
        out.put_u32_le(self.next_command);
        out.put_u64_le(self.message_id);
        match self.route {
            Route::Sync { process_id, tree_id } => {
                out.put_u32_le(process_id);
                out.put_u32_le(tree_id);
            }
            Route::Async(async_id) => out.put_u64_le(async_id),
        }
        out.put_u64_le(self.session_id);
        out.put_slice(&self.signature);
    }

    /// The header of a response to this request: same ids, nothing granted yet.
    #[must_use]
    pub const fn response(&self, status: NtStatus) -> Self {
        Self {
            credit_charge: self.credit_charge,
            status,
            command: self.command,
            credits: 0,
            flags: (self.flags & (flags::RELATED_OPERATIONS | flags::PRIORITY_MASK | flags::REPLAY_OPERATION))
                | flags::SERVER_TO_REDIR,
            next_command: 0,
            message_id: self.message_id,
            route: self.route,
            session_id: self.session_id,
            signature: [0; 16],
        }
    }

    /// Whether a flag is set.
    #[must_use]
    pub const fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// The tree, of a message that has one.
    #[must_use]
    pub const fn tree_id(&self) -> Option<u32> {
        match self.route {
            Route::Sync { tree_id, .. } => Some(tree_id),
            Route::Async(_) => None,
        }
    }

    /// The low half of the status field of a request of 3.x.
    #[must_use]
    pub const fn channel_sequence(&self) -> u16 {
        let [low, high, ..] = self.status.0.to_le_bytes();
        u16::from_le_bytes([low, high])
    }
}

/// Says in a header that was written where the next one is. `message` begins with the header.
pub fn set_next_command(message: &mut [u8], next: u32) {
    patch32(message, 20, next);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_of_commands() {
        for (position, command) in Command::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(command.number()), position);
            assert_eq!(Command::numbered(command.number()), Some(command));
        }
        assert_eq!(Command::numbered(19), None);
        assert_eq!(Command::OplockBreak.number(), 0x12);
    }

    proptest! {
        #[test]
        fn a_header_is_read_as_it_is_written(mut bytes in proptest::collection::vec(any::<u8>(), 64)) {
            bytes[..6].copy_from_slice(b"\xFESMB\x40\x00");
            let header = Header::parse(&bytes).unwrap();
            let mut out = Vec::new();
            header.encode(&mut out);
            prop_assert_eq!(out, bytes);
        }
    }

    #[test]
    fn what_is_no_header() {
        let mut good = Vec::new();
        Header::default().encode(&mut good);
        assert_eq!(good.len(), HEADER);
        assert!(Header::parse(&good).is_ok());
        assert!(Header::parse(&good[..63]).is_err());
        for position in [0, 3, 4, 5] {
            let mut bad = good.clone();
            bad[position] ^= 1;
            assert_eq!(Header::parse(&bad), Err(NtStatus::INVALID_PARAMETER));
        }
    }

    #[test]
    fn a_response_has_the_ids_of_its_request() {
        let request = Header {
            flags: flags::SIGNED | flags::RELATED_OPERATIONS,
            message_id: 7,
            session_id: 9,
            credits: 3,
            route: Route::Sync { process_id: 1, tree_id: 2 },
            ..Header::default()
        };
        let response = request.response(NtStatus::ACCESS_DENIED);
        assert_eq!(response.flags, flags::SERVER_TO_REDIR | flags::RELATED_OPERATIONS);
        assert_eq!((response.message_id, response.session_id, response.tree_id()), (7, 9, Some(2)));
        assert_eq!((response.credits, response.status), (0, NtStatus::ACCESS_DENIED));
    }
}
