//! LOCK (MS-SMB2 2.2.26, 2.2.27) and the breaks of oplocks and leases (2.2.23 to 2.2.25).

use super::{
    FileId,
    bytes::{Reader, layout, length16},
    header::HEADER,
};
use crate::NtStatus;
use bytes::BufMut;

/// More ranges in one LOCK are refused: each costs a look at all others of the file.
pub const MAX_LOCKS: u16 = 1024;

/// Flags of a range.
pub mod lock_flags {
    #![expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.26.1")]
    pub const SHARED: u32 = 0x01;
    pub const EXCLUSIVE: u32 = 0x02;
    pub const UNLOCK: u32 = 0x04;
    pub const FAIL_IMMEDIATELY: u32 = 0x10;
}

layout! {
    /// A range to be locked or unlocked.
    LockElement {
        offset: u64,
        length: u64,
        /// See [`lock_flags`].
        flags: u32 => 4,
    }
}

/// Locks ranges, or unlocks them.
#[derive(Clone, Copy, Debug, Default)]
pub struct LockRequest<'a> {
    /// The number and the index of a replayed request: see [`LockRequest::sequence`].
    pub lock_sequence: u32,
    /// The open.
    pub file_id: FileId,
    elements: &'a [u8],
}

impl PartialEq for LockRequest<'_> {
    /// What they say, not what stands in reserved bytes.
    fn eq(&self, other: &Self) -> bool {
        let same = (self.lock_sequence, self.file_id) == (other.lock_sequence, other.file_id);
        same && self.elements().eq(other.elements())
    }
}

impl Eq for LockRequest<'_> {}

impl<'a> LockRequest<'a> {
    const ELEMENT: usize = 24;

    /// Reads a message (header and body).
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: malformed, or no range at all.
    pub fn parse(message: &'a [u8]) -> Result<Self, NtStatus> {
        let mut reader = Reader::at(message, HEADER)?;
        if reader.u16()? != 48 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let (count, lock_sequence) = (reader.u16()?, reader.u32()?);
        let file_id = FileId::read(&mut reader)?;
        if count == 0 || count > MAX_LOCKS {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let elements = reader.take(usize::from(count).saturating_mul(Self::ELEMENT))?;
        Ok(Self { lock_sequence, file_id, elements })
    }

    /// The ranges, at least one.
    pub fn elements(&self) -> impl Iterator<Item = LockElement> + use<'a> {
        let elements = self.elements.chunks_exact(Self::ELEMENT);
        elements.filter_map(|element| LockElement::read(&mut Reader::new(element)).ok())
    }

    /// Index and number of the lock sequence.
    #[must_use]
    pub const fn sequence(&self) -> (u32, u8) {
        let [first, ..] = self.lock_sequence.to_le_bytes();
        (self.lock_sequence >> 4, first & 0x0F)
    }

    /// Appends a body with these ranges, as a client would send it.
    pub fn encode(file_id: FileId, lock_sequence: u32, elements: &[LockElement], out: &mut Vec<u8>) {
        out.put_u16_le(48);
        out.put_u16_le(length16(elements.len()));
        out.put_u32_le(lock_sequence);
        file_id.write(out);
        for element in elements {
            element.write(out);
        }
    }
}

layout! {
    /// A break of an oplock, its acknowledgment, and the answer to that.
    OplockBreak[24] {
        /// The new level.
        oplock_level: u8 => 5,
        file_id: FileId,
    }
}

layout! {
    /// The server takes a part of a lease.
    LeaseBreakNotification[44] {
        new_epoch: u16,
        /// 1: an acknowledgment is needed.
        flags: u32,
        lease_key: [u8; 16],
        current_lease_state: u32,
        new_lease_state: u32 => 12,
    }
}

/// In a lease break: an acknowledgment is needed.
pub const LEASE_BREAK_ACK_REQUIRED: u32 = 1;

layout! {
    /// The client has given up a part of a lease; and the answer to that.
    LeaseBreakAck[36] {
        => 2,
        flags: u32,
        lease_key: [u8; 16],
        lease_state: u32,
        lease_duration: u64,
    }
}

/// What a client says about a break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakAck {
    /// Of an oplock.
    Oplock(OplockBreak),
    /// Of a lease.
    Lease(LeaseBreakAck),
}

impl BreakAck {
    /// Reads a message (header and body): the structure size says which one it is.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: neither.
    pub fn parse(message: &[u8]) -> Result<Self, NtStatus> {
        let mut reader = Reader::at(message, HEADER)?;
        let mut kind = reader;
        match kind.u16()? {
            24 => OplockBreak::read(&mut reader).map(Self::Oplock),
            36 => LeaseBreakAck::read(&mut reader).map(Self::Lease),
            _other => Err(NtStatus::INVALID_PARAMETER),
        }
    }

    /// Appends the body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Oplock(ack) => ack.write(out),
            Self::Lease(ack) => ack.write(out),
        }
    }
}
