//! The stored form of a lease: fixed fields, a few bytes, written once for every service that leases something.
//!
//! A resource that was never leased stores nothing. Otherwise 35 bytes: the kind, the id, the instant that follows from
//! the state (expiry or end of the break period), the granted seconds, the instant of the last change; little-endian.

use types::Timestamp;

use super::{FixedDuration, Grant, Lease, LeaseId, LeaseRecord};

/// Bytes of a stored lease.
pub const STORED_BYTES: usize = 1 + 16 + 8 + 1 + 8;

const RELEASED: u8 = 1;
const INFINITE: u8 = 2;
const FIXED: u8 = 3;
const BREAKING: u8 = 4;
const BROKEN: u8 = 5;

/// The bytes are no stored lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a stored lease that cannot be read")]
pub struct InvalidStoredLease;

impl Lease {
    /// The stored form; `None` when there is nothing to store.
    #[must_use]
    pub fn to_stored(&self) -> Option<[u8; STORED_BYTES]> {
        let none = Timestamp::EPOCH;
        let (kind, id, instant, seconds) = match self.record {
            LeaseRecord::Available { last_held: None } => return None,
            LeaseRecord::Available { last_held: Some(id) } => (RELEASED, id, none, 0),
            LeaseRecord::Leased { id, grant: Grant::Infinite } => (INFINITE, id, none, 0),
            LeaseRecord::Leased { id, grant: Grant::Fixed { duration, expiry } } => {
                (FIXED, id, expiry, duration.seconds())
            }
            LeaseRecord::Breaking { id, break_at } => (BREAKING, id, break_at, 0),
            LeaseRecord::Broken { id } => (BROKEN, id, none, 0),
        };
        let mut stored = [0; STORED_BYTES];
        let fields = std::iter::once(kind)
            .chain(id.as_u128().to_le_bytes())
            .chain(instant.ticks().to_le_bytes())
            .chain(std::iter::once(seconds))
            .chain(self.changed_at.ticks().to_le_bytes());
        for (place, byte) in stored.iter_mut().zip(fields) {
            *place = byte;
        }
        Some(stored)
    }

    /// Reads the stored form; nothing stored is the default.
    ///
    /// # Errors
    /// The bytes are no stored lease.
    pub fn from_stored(stored: &[u8]) -> Result<Self, InvalidStoredLease> {
        if stored.is_empty() {
            return Ok(Self::default());
        }
        let (&[kind], rest) = stored.split_first_chunk().ok_or(InvalidStoredLease)?;
        let (id, rest) = rest.split_first_chunk().ok_or(InvalidStoredLease)?;
        let (instant, rest) = rest.split_first_chunk().ok_or(InvalidStoredLease)?;
        let (&[seconds], rest) = rest.split_first_chunk().ok_or(InvalidStoredLease)?;
        let changed_at = rest.try_into().map_err(|_| InvalidStoredLease)?;
        let id = LeaseId::from_u128(u128::from_le_bytes(*id));
        let instant = Timestamp::from_ticks(u64::from_le_bytes(*instant));
        let record = match kind {
            RELEASED => LeaseRecord::Available { last_held: Some(id) },
            INFINITE => LeaseRecord::Leased { id, grant: Grant::Infinite },
            FIXED => {
                let duration = FixedDuration::new(seconds).ok_or(InvalidStoredLease)?;
                LeaseRecord::Leased { id, grant: Grant::Fixed { duration, expiry: instant } }
            }
            BREAKING => LeaseRecord::Breaking { id, break_at: instant },
            BROKEN => LeaseRecord::Broken { id },
            _ => return Err(InvalidStoredLease),
        };
        Ok(Self::from_record(record, Timestamp::from_ticks(u64::from_le_bytes(changed_at))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_record_comes_back() {
        let id = LeaseId::from_u128(7 << 100 | 5);
        let (at, changed) = (Timestamp::from_ticks(99), Timestamp::from_ticks(55));
        let duration = FixedDuration::new(15).unwrap();
        for record in [
            LeaseRecord::Available { last_held: None },
            LeaseRecord::Available { last_held: Some(id) },
            LeaseRecord::Leased { id, grant: Grant::Infinite },
            LeaseRecord::Leased { id, grant: Grant::Fixed { duration, expiry: at } },
            LeaseRecord::Breaking { id, break_at: at },
            LeaseRecord::Broken { id },
        ] {
            let lease = Lease::from_record(record, changed);
            let stored = lease.to_stored();
            let back = Lease::from_stored(stored.as_ref().map_or(&[], |bytes| &bytes[..])).unwrap();
            assert_eq!(back.record(), record);
            if let Some(stored) = stored {
                assert_eq!(back, lease);
                for length in 1..stored.len() {
                    assert!(Lease::from_stored(&stored[..length]).is_err());
                }
            }
        }
        assert!(Lease::from_stored(&[9; STORED_BYTES]).is_err());
    }
}
