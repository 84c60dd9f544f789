//! Free space on the device, looked at now and then, and whether there is enough of it.
//!
//! **Invariant.** Below the reserve nothing that grows is admitted, so that what gives space back always has some to work
//! with. That it is so is said once, and once more when it is over.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use store::StoreError;

use crate::disk::Disk;

/// How long a look at the free space counts, in ticks of 100 nanoseconds.
const SPACE_TICKS: u64 = 500_000;
/// What must be free beside the reserve before the disk is said not to be full any more: who stands at the limit does not
/// fill the log.
const CLEAR_BYTES: u64 = 1024 * 1024;

/// Free space on the device.
pub(crate) struct Space {
    reserve_bytes: u64,
    available_bytes: AtomicU64,
    checked_ticks: AtomicU64,
    full: AtomicBool,
    /// The device refused a write since somebody last looked.
    refused: AtomicBool,
}

/// What a look at the free space changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    None,
    Full,
    NotFull,
}

impl Space {
    pub(crate) fn new(reserve_bytes: u64) -> Self {
        Self {
            reserve_bytes,
            available_bytes: AtomicU64::new(u64::MAX),
            checked_ticks: AtomicU64::new(0),
            full: AtomicBool::new(false),
            refused: AtomicBool::new(false),
        }
    }

    /// Refuses when less than the reserve would be free after `growth` more bytes.
    pub(crate) fn check(&self, disk: &dyn Disk, now: types::Timestamp, growth: u64) -> Result<(), StoreError> {
        let checked = self.checked_ticks.load(Ordering::Relaxed);
        if now.ticks().saturating_sub(checked) >= SPACE_TICKS || self.is_low(growth) {
            self.checked_ticks.store(now.ticks(), Ordering::Relaxed);
            self.look(disk.available_bytes()?);
        }
        if self.is_low(growth) {
            let available_bytes = self.available_bytes();
            return Err(StoreError::Full { available_bytes, reserve_bytes: self.reserve_bytes });
        }
        Ok(())
    }

    /// Looks around when nobody writes: a disk that is not full any more is said to be so all the same.
    pub(crate) fn observe(&self, disk: &dyn Disk) {
        if let Ok(available) = disk.available_bytes() {
            let refused = self.refused.swap(false, Ordering::Relaxed);
            if !refused || available < self.reserve_bytes {
                self.look(available);
            }
        }
    }

    /// The device had no room for a write. Its own count may say otherwise, when a quota is used up.
    pub(crate) fn refused(&self, disk: &dyn Disk) -> StoreError {
        let available_bytes = disk.available_bytes().unwrap_or(0);
        self.available_bytes.store(available_bytes, Ordering::Relaxed);
        self.refused.store(true, Ordering::Relaxed);
        if !self.full.swap(true, Ordering::Relaxed) {
            self.say(Change::Full);
        }
        StoreError::Full { available_bytes, reserve_bytes: self.reserve_bytes }
    }

    /// True from the moment at which there was too little until there is clearly enough.
    pub(crate) fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// What was free at the last look.
    pub(crate) fn available_bytes(&self) -> u64 {
        self.available_bytes.load(Ordering::Relaxed)
    }

    pub(crate) const fn reserve_bytes(&self) -> u64 {
        self.reserve_bytes
    }

    fn is_low(&self, growth: u64) -> bool {
        self.available_bytes() < self.reserve_bytes.saturating_add(growth)
    }

    fn look(&self, available: u64) {
        self.say(self.note(available));
    }

    fn note(&self, available: u64) -> Change {
        self.available_bytes.store(available, Ordering::Relaxed);
        if available < self.reserve_bytes {
            return if self.full.swap(true, Ordering::Relaxed) { Change::None } else { Change::Full };
        }
        let clear = available >= self.reserve_bytes.saturating_add(CLEAR_BYTES);
        if clear && self.full.swap(false, Ordering::Relaxed) { Change::NotFull } else { Change::None }
    }

    fn say(&self, change: Change) {
        let (available_bytes, reserve_bytes) = (self.available_bytes(), self.reserve_bytes);
        match change {
            Change::None => {}
            Change::Full => tracing::warn!(
                available_bytes,
                reserve_bytes,
                "the disk is full: less is free than the reserve (disk-reserve); writes are refused until space is \
                 freed, reads and deletes go on"
            ),
            Change::NotFull => {
                tracing::info!(available_bytes, reserve_bytes, "the disk is not full any more: writes go on");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_said_once_and_once_when_it_is_over() {
        let space = Space::new(10 * CLEAR_BYTES);
        let table = [
            (20, Change::None),
            (10, Change::None),
            (9, Change::Full),
            (5, Change::None),
            (0, Change::None),
            // As much as the reserve is enough to write, but not to say that it is over.
            (10, Change::None),
            (9, Change::None),
            (11, Change::NotFull),
            (10, Change::None),
            (9, Change::Full),
        ];
        for (line, (mebibytes, change)) in table.into_iter().enumerate() {
            assert_eq!(space.note(mebibytes * CLEAR_BYTES), change, "line {line}");
        }
    }
}
