//! Requests that come twice: lock sequences (MS-SMB2 3.3.5.14) and channel sequences (3.3.5.2.10) of one open. Pure.
//!
//! **Invariant.** A lock request whose number stands in its bucket has been done, and is not done again. A request from before
//! the client lost its connection never comes behind one that was sent after it.

/// The buckets of an open.
const BUCKETS: usize = 64;
/// What no number is: they have four bits.
const NOTHING: u8 = 0xFF;

/// The numbers of the lock requests that were done last, by bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LockSequences([u8; BUCKETS]);

impl Default for LockSequences {
    fn default() -> Self {
        Self([NOTHING; BUCKETS])
    }
}

impl LockSequences {
    /// A request with a bucket and a number begins. True when it has been done before.
    pub(crate) fn begin(&mut self, bucket: u32, number: u8) -> bool {
        let Some(last) = self.bucket(bucket) else { return false };
        let is_replayed = *last == number;
        if !is_replayed {
            *last = NOTHING;
        }
        is_replayed
    }

    /// It was done.
    pub(crate) fn done(&mut self, bucket: u32, number: u8) {
        if let Some(last) = self.bucket(bucket) {
            *last = number;
        }
    }

    /// Buckets are counted from one; with another number nothing is remembered.
    fn bucket(&mut self, bucket: u32) -> Option<&mut u8> {
        self.0.get_mut(usize::try_from(bucket.checked_sub(1)?).ok()?)
    }
}

/// What is under way on an open that changes something, by the connection that it was sent on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChannelSequence {
    current: u16,
    under_way: u32,
    /// Of earlier sequences.
    before: u32,
}

impl ChannelSequence {
    /// A request with the sequence of its header begins. Hand its sequence to [`Self::end`] when it has ended. `None` when it
    /// comes too late, or is a replay while one that was sent before it is still under way.
    pub(crate) fn begin(&mut self, sequence: u16, is_replay: bool) -> Option<u16> {
        match sequence.wrapping_sub(self.current) {
            0 => {}
            1..=0x7FFF => {
                self.before = self.before.saturating_add(self.under_way);
                self.under_way = 0;
                self.current = sequence;
            }
            _ => return None,
        }
        if is_replay && self.before > 0 {
            return None;
        }
        self.under_way = self.under_way.saturating_add(1);
        Some(sequence)
    }

    /// A request that had begun has ended.
    pub(crate) const fn end(&mut self, sequence: u16) {
        if sequence == self.current {
            self.under_way = self.under_way.saturating_sub(1);
        } else {
            self.before = self.before.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_was_done_is_not_done_again() {
        let mut sequences = LockSequences::default();
        assert!(!sequences.begin(1, 1));
        assert!(!sequences.begin(1, 1), "it was not done");
        sequences.done(1, 1);
        assert!(sequences.begin(1, 1) && sequences.begin(1, 1));
        assert!(!sequences.begin(1, 2), "another number is another request");
        assert!(!sequences.begin(1, 1), "and ends what was remembered");
        sequences.done(64, 15);
        assert!(sequences.begin(64, 15));
    }

    #[test]
    fn other_buckets_remember_nothing() {
        let mut sequences = LockSequences::default();
        for bucket in [0, 65, u32::MAX] {
            sequences.done(bucket, 1);
            assert!(!sequences.begin(bucket, 1), "{bucket}");
        }
        assert_eq!(sequences, LockSequences::default());
    }

    #[test]
    fn what_was_sent_before_comes_too_late() {
        let mut channel = ChannelSequence::default();
        let first = channel.begin(0, false).unwrap();
        let second = channel.begin(1, false).unwrap();
        assert_eq!(channel.begin(0, false), None, "an earlier connection");
        assert_eq!(channel.begin(1, true), None, "its first try is still under way");
        channel.end(first);
        assert_eq!(channel.begin(1, true), Some(1));
        channel.end(second);
        assert_eq!(channel.begin(0x8000, false), Some(0x8000), "half of the numbers are later");
        assert_eq!(channel.begin(0, false), None, "and half of them earlier");
        assert_eq!(ChannelSequence::default().begin(0xFFFF, false), None);
    }

    #[test]
    fn numbers_begin_again_behind_the_last() {
        let mut channel = ChannelSequence { current: 0xFFFF, under_way: 0, before: 0 };
        assert_eq!(channel.begin(0, false), Some(0));
    }
}
