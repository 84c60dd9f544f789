//! Buffers that blocks are read into. They are used again, because clearing a fresh one costs as much as filling it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::format::STORED_BLOCK_BYTES;

/// As many are kept for the next reads: 16 MiB, two of the longest that SMB has.
const KEPT: usize = 256;
/// What is shorter gets room of its own size: it may be kept for long, and clearing it is quick.
const SHORT_BYTES: usize = STORED_BLOCK_BYTES / 2;

static FREE: Mutex<Vec<Box<[u8]>>> = Mutex::new(Vec::new());

fn free() -> MutexGuard<'static, Vec<Box<[u8]>>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Room for one stored block, with anything in it.
pub(super) struct Buffer {
    room: Box<[u8]>,
    length: usize,
}

impl Buffer {
    /// Room for so many bytes, at most a stored block.
    pub(super) fn take(length: usize) -> Self {
        let fresh = |length| vec![0; length].into_boxed_slice();
        let room = if length < SHORT_BYTES {
            fresh(length)
        } else {
            let used = free().pop();
            used.unwrap_or_else(|| fresh(STORED_BLOCK_BYTES))
        };
        Self { length: length.min(room.len()), room }
    }

    /// All of the room.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        self.room.get_mut(..self.length).unwrap_or_default()
    }

    /// The first bytes of it. The room comes back when nobody has them any more.
    pub(super) fn freeze(mut self, length: usize) -> Bytes {
        self.length = self.length.min(length);
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        self.room.get(..self.length).unwrap_or_default()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.room.len() == STORED_BLOCK_BYTES {
            let mut free = free();
            if free.len() < KEPT {
                free.push(std::mem::take(&mut self.room));
            }
        }
    }
}
