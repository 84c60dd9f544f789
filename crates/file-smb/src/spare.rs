//! Rooms that long encrypted answers are put together in. They are used again: a fresh one of megabytes has to be cleared page by
//! page, which costs as much as to encrypt it.

use std::sync::{Mutex, PoisonError};

use bytes::{Bytes, BytesMut};

/// As many are kept.
const KEPT: usize = 2;
/// Shorter ones are made anew.
const SHORTEST: usize = 256 * 1024;

/// Rooms that nobody uses.
#[derive(Debug, Default)]
pub(crate) struct Spare(Mutex<Vec<BytesMut>>);

impl Spare {
    /// Room for so many bytes, empty.
    pub(crate) fn take(&self, bytes: usize) -> BytesMut {
        if bytes >= SHORTEST {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(place) = kept.iter().position(|room| room.capacity() >= bytes) {
                return kept.swap_remove(place);
            }
        }
        BytesMut::with_capacity(bytes)
    }

    /// What was sent and may be used again.
    pub(crate) fn give(&self, sent: Bytes) {
        if sent.len() < SHORTEST {
            return;
        }
        let Ok(mut room) = sent.try_into_mut() else { return };
        room.clear();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT {
            kept.push(room);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_rooms_are_used_again_and_few_are_kept() {
        let spare = Spare::default();
        let sent: Vec<Bytes> = (0..KEPT + 3)
            .map(|_| {
                let mut room = spare.take(SHORTEST);
                room.resize(SHORTEST, 7);
                room.freeze()
            })
            .collect();
        let places: Vec<_> = sent.iter().map(|sent| sent.as_ptr()).collect();
        sent.into_iter().for_each(|sent| spare.give(sent));
        assert_eq!(spare.0.lock().unwrap().len(), KEPT);
        let again = spare.take(SHORTEST);
        assert!(again.is_empty() && again.capacity() >= SHORTEST && places.contains(&again.as_ptr()));
        spare.give(Bytes::from_static(b"short"));
        let shared = Bytes::from(vec![0; SHORTEST]);
        let _other = shared.clone();
        spare.give(shared);
        assert_eq!(spare.0.lock().unwrap().len(), KEPT - 1, "neither a short one nor one that somebody else has");
        assert!(spare.take(SHORTEST * 64).capacity() >= SHORTEST * 64);
    }
}
