//! Credits (MS-SMB2 3.3.1.1, 3.3.1.2): which message ids a client may use, each once, and how many more it gets.
//!
//! **Invariant.** The ids that are granted and not used up are at most [`Window::limit`] apart from each other and from the
//! first one that was not used, so the bitmap has a fixed size. A client that holds no credit gets one.

/// One credit pays for so many bytes.
const BYTES_PER_CREDIT: u32 = 65536;
/// The window is wider than the credits, so that one slow request does not stop a client.
const WIDTH: u64 = 2;

/// An id that is not granted or was used. The connection is to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message id {message_id} with charge {charge} is not in the window")]
pub struct OutOfWindow {
    /// The first id.
    pub message_id: u64,
    /// How many ids.
    pub charge: u16,
}

/// How many credits a payload of so many bytes costs.
#[must_use]
pub fn charge(payload: u32) -> u16 {
    let credits = payload.saturating_sub(1) / BYTES_PER_CREDIT;
    u16::try_from(credits.saturating_add(1)).unwrap_or(u16::MAX)
}

/// Whether a request pays for its payload. Before 2.1, and without large MTUs, every request costs one credit.
#[must_use]
pub fn is_paid(credit_charge: u16, payload: u32, has_large_mtu: bool) -> bool {
    if has_large_mtu { credit_charge.max(1) >= charge(payload) } else { payload <= BYTES_PER_CREDIT }
}

/// The message ids that a client may use.
#[derive(Clone, Debug)]
pub struct Window {
    /// The first id that was not used.
    low: u64,
    /// The first id that is not granted.
    high: u64,
    /// Granted and not used.
    held: u16,
    limit: u16,
    /// One bit for an id, at its remainder: used, between low and high.
    used: Box<[u64]>,
}

impl Window {
    /// A connection begins with one credit, for the id 0. `limit` is the most that a client holds.
    #[must_use]
    pub fn new(limit: u16) -> Self {
        let limit = limit.max(1);
        let words = Self::width(limit).div_ceil(64);
        let words = usize::try_from(words).unwrap_or_default();
        Self { low: 0, high: 1, held: 1, limit, used: vec![0; words].into_boxed_slice() }
    }

    fn width(limit: u16) -> u64 {
        u64::from(limit).saturating_mul(WIDTH).next_multiple_of(64)
    }

    /// The most that a client holds.
    #[must_use]
    pub const fn limit(&self) -> u16 {
        self.limit
    }

    /// What the client holds now.
    #[must_use]
    pub const fn held(&self) -> u16 {
        self.held
    }

    /// Uses the ids of a request; a charge of 0 is 1. CANCEL uses none and does not come here.
    ///
    /// # Errors
    /// One of them is not granted or was used.
    pub fn take(&mut self, message_id: u64, credit_charge: u16) -> Result<(), OutOfWindow> {
        let charge = credit_charge.max(1);
        let wrong = OutOfWindow { message_id, charge };
        let end = message_id.checked_add(u64::from(charge)).ok_or(wrong)?;
        if message_id < self.low || end > self.high || (message_id..end).any(|id| self.is_used(id)) {
            return Err(wrong);
        }
        for id in message_id..end {
            self.set(id, true);
        }
        self.held = self.held.saturating_sub(charge);
        while self.low < self.high && self.is_used(self.low) {
            self.set(self.low, false);
            self.low = self.low.saturating_add(1);
        }
        Ok(())
    }

    /// Grants credits with a response: what the request took and what it asks for besides, within the limit; one to a
    /// client that holds none. `at_most` keeps those small who have not logged on.
    pub fn grant(&mut self, asked: u16, credit_charge: u16, at_most: u16) -> u16 {
        let limit = at_most.clamp(1, self.limit);
        let wanted = credit_charge.max(1).saturating_add(asked.saturating_sub(1));
        let wanted = if asked == 0 { u16::from(self.held == 0) } else { wanted };
        let room = limit.saturating_sub(self.held);
        // The bitmap: ids behind a slow request wait for it. Ids do not wrap.
        let window = self.low.saturating_add(Self::width(self.limit)).saturating_sub(self.high);
        let window = window.min(u64::MAX.saturating_sub(self.high));
        let granted = wanted.min(room).min(u16::try_from(window).unwrap_or(u16::MAX));
        self.high = self.high.saturating_add(u64::from(granted));
        self.held = self.held.saturating_add(granted);
        granted
    }

    fn place(&self, id: u64) -> (usize, u64) {
        let bit = id % Self::width(self.limit);
        (usize::try_from(bit / 64).unwrap_or_default(), 1 << (bit % 64))
    }

    fn is_used(&self, id: u64) -> bool {
        let (word, bit) = self.place(id);
        self.used.get(word).is_none_or(|word| word & bit != 0)
    }

    fn set(&mut self, id: u64, used: bool) {
        let (word, bit) = self.place(id);
        if let Some(word) = self.used.get_mut(word) {
            *word = if used { *word | bit } else { *word & !bit };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};
    use std::collections::BTreeSet;

    #[test]
    fn charges() {
        let table = [(0, 1), (1, 1), (65536, 1), (65537, 2), (131_072, 2), (8 << 20, 128), (u32::MAX, u16::MAX)];
        for (payload, expected) in table {
            assert_eq!(charge(payload), expected, "{payload}");
        }
        // charge, payload, large MTU, paid
        let table = [
            (0, 65536, true, true),
            (0, 65537, true, false),
            (2, 65537, true, true),
            (1, 65536, false, true),
            (9, 65537, false, false),
        ];
        for (credit_charge, payload, large, expected) in table {
            assert_eq!(is_paid(credit_charge, payload, large), expected, "{credit_charge} {payload} {large}");
        }
    }

    #[test]
    fn an_id_is_used_once_and_in_any_order() {
        let mut window = Window::new(64);
        assert!(window.take(1, 1).is_err(), "not granted");
        window.take(0, 0).unwrap();
        assert!(window.take(0, 1).is_err(), "used");
        assert_eq!(window.grant(10, 1, 64), 10);
        window.take(5, 2).unwrap();
        assert!(window.take(4, 2).is_err(), "one of two is used");
        assert!(window.take(10, 2).is_err(), "one of two is not granted");
        assert!(window.take(u64::MAX, 2).is_err());
        for id in [4, 3, 2, 1, 10, 9, 8, 7] {
            window.take(id, 1).unwrap();
        }
        assert_eq!((window.held(), window.low), (0, 11));
    }

    #[test]
    fn grants() {
        // held before, asked, charge, at most, granted
        let table = [
            (1, 1, 1, 512, 1),
            (0, 0, 1, 512, 1),
            (1, 0, 1, 512, 0),
            (0, 31, 1, 512, 31),
            (0, 100, 5, 512, 104),
            (0, 1, 128, 512, 128),
            (500, 100, 1, 512, 12),
            (512, 100, 1, 512, 0),
            (0, 8192, 1, 32, 32),
            (0, 9, 1, 0, 1),
        ];
        for (held, asked, charge, at_most, expected) in table {
            let mut window = Window::new(512);
            window.take(0, 1).unwrap();
            assert_eq!(window.grant(held, 1, 512), held.max(u16::from(held == 0)));
            if held == 0 {
                window.take(1, 1).unwrap();
            }
            assert_eq!(window.held(), held);
            assert_eq!(window.grant(asked, charge, at_most), expected, "{held} {asked} {charge} {at_most}");
        }
    }

    #[test]
    fn a_slow_request_holds_back_the_window_but_not_at_once() {
        let mut window = Window::new(8);
        window.take(0, 1).unwrap();
        window.grant(8, 1, 8);
        // The id 1 is never used; others go on until the bitmap is full.
        let mut id = 2;
        while window.held() > 1 {
            window.take(id, 1).unwrap();
            window.grant(1, 1, 8);
            id += 1;
        }
        assert_eq!(id, 1 + 64);
        window.take(1, 1).unwrap();
        assert!(window.grant(8, 1, 8) > 0);
    }

    proptest! {
        /// Against a set of the ids that may be used.
        #[test]
        fn a_window_is_a_set(steps in vec((0_u64..40, 0_u16..4, 0_u16..20), 1..200)) {
            let mut window = Window::new(16);
            let mut free: BTreeSet<u64> = [0].into();
            let mut next = 1;
            for (ahead, charge, asked) in steps {
                let first = free.first().copied().unwrap_or(next) + ahead;
                let ids = first..first + u64::from(charge.max(1));
                let fits = ids.clone().all(|id| free.contains(&id));
                prop_assert_eq!(window.take(first, charge).is_ok(), fits);
                if fits {
                    for id in ids {
                        free.remove(&id);
                    }
                }
                let granted = u64::from(window.grant(asked, charge, 16));
                free.extend(next..next + granted);
                next += granted;
                prop_assert_eq!(usize::from(window.held()), free.len());
                prop_assert!(free.len() <= 16 && !free.is_empty());
            }
        }
    }
}
