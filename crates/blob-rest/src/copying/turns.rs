//! Whose turn it is: copies that wait and copies that run, by account.
//!
//! **Invariants.** No account has more than its share of the copies that run, and the one with the fewest goes first; so slow
//! sources of some hold up no other. What waits in memory is bounded; the rest waits in rows and is looked for there.

use std::collections::{BTreeMap, HashSet, VecDeque};

use blob::copy::PendingCopy;
use types::UnitId;

/// Copies at once, and of one account.
const AT_ONCE: usize = 16;
const SHARE: usize = 4;
/// Those of them that cannot stop and go on, because their source has no ETag.
const UNSTOPPABLE: usize = 8;
/// Copies of one account that wait in memory, and accounts with such copies.
const WAITING: usize = 32;
const ACCOUNTS: usize = 1024;

/// One account's copies.
#[derive(Default)]
struct Account {
    waiting: VecDeque<PendingCopy>,
    running: usize,
    /// When it last had a turn.
    served: u64,
}

/// The copies that are known of.
#[derive(Default)]
pub(super) struct Turns {
    accounts: BTreeMap<UnitId, Account>,
    /// The ids of all of them.
    known: HashSet<String>,
    running: usize,
    unstoppable: usize,
    served: u64,
    /// Some were not taken because too many wait already.
    overflowed: bool,
}

impl Turns {
    /// Takes a copy that waits. One that is known is not taken twice.
    pub(super) fn offer(&mut self, copy: PendingCopy) {
        if self.known.contains(&copy.copy_id) {
            return;
        }
        if self.accounts.len() >= ACCOUNTS && !self.accounts.contains_key(&copy.account) {
            self.overflowed = true;
            return;
        }
        let account = self.accounts.entry(copy.account).or_default();
        if account.waiting.len() >= WAITING {
            self.overflowed = true;
            return;
        }
        self.known.insert(copy.copy_id.clone());
        account.waiting.push_back(copy);
    }

    /// The next copy that has its turn; `None` when none can run now.
    pub(super) fn next(&mut self) -> Option<PendingCopy> {
        if self.running >= AT_ONCE {
            return None;
        }
        let stoppable_only = self.unstoppable >= UNSTOPPABLE;
        let runs = |copy: &PendingCopy| copy.etag.is_some() || !stoppable_only;
        let (_, account) = self
            .accounts
            .iter_mut()
            .filter(|(_, account)| account.running < SHARE && account.waiting.iter().any(runs))
            .min_by_key(|(_, account)| (account.running, account.served))?;
        let place = account.waiting.iter().position(runs)?;
        let copy = account.waiting.remove(place)?;
        self.served += 1;
        (account.served, account.running) = (self.served, account.running + 1);
        self.running += 1;
        self.unstoppable += usize::from(copy.etag.is_none());
        Some(copy)
    }

    /// A copy that ran does not run any more; `again` when it goes on later.
    pub(super) fn ended(&mut self, copy: PendingCopy, again: bool) {
        self.running = self.running.saturating_sub(1);
        if copy.etag.is_none() {
            self.unstoppable = self.unstoppable.saturating_sub(1);
        }
        self.known.remove(&copy.copy_id);
        let id = copy.account;
        if let Some(account) = self.accounts.get_mut(&id) {
            account.running = account.running.saturating_sub(1);
        }
        if again {
            self.offer(copy);
        }
        if self.accounts.get(&id).is_some_and(|account| account.running == 0 && account.waiting.is_empty()) {
            self.accounts.remove(&id);
        }
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        self.accounts.values().map(|account| account.waiting.len()).sum()
    }

    /// True once after some had to be left in their rows.
    pub(super) fn take_overflowed(&mut self) -> bool {
        std::mem::take(&mut self.overflowed)
    }
}

#[cfg(test)]
mod tests {
    use types::Timestamp;

    use super::*;

    fn copy(account: u64, number: usize, etag: bool) -> PendingCopy {
        PendingCopy {
            account: UnitId::new(account),
            container: UnitId::new(2),
            blob: "b".to_owned(),
            copy_id: format!("{account}-{number}"),
            url: String::new(),
            etag: etag.then(|| "1".to_owned()),
            started: Timestamp::EPOCH,
            copied: 0,
            total: 1,
        }
    }

    #[test]
    fn four_slow_sources_of_one_account_hold_up_no_other() {
        let mut turns = Turns::default();
        for number in 0..20 {
            turns.offer(copy(1, number, true));
        }
        let first: Vec<_> = std::iter::from_fn(|| turns.next()).collect();
        assert_eq!(first.len(), SHARE, "an account has its share and no more");
        turns.offer(copy(2, 0, true));
        assert_eq!(turns.next().map(|copy| copy.account), Some(UnitId::new(2)));
        assert!(turns.next().is_none());
    }

    #[test]
    fn the_account_with_the_fewest_goes_first_and_in_turn() {
        let mut turns = Turns::default();
        for account in [1, 2, 3] {
            for number in 0..3 {
                turns.offer(copy(account, number, true));
            }
        }
        let order: Vec<u64> = std::iter::from_fn(|| turns.next()).map(|copy| copy.account.number()).collect();
        assert_eq!(order, [1, 2, 3, 1, 2, 3, 1, 2, 3]);
        turns.ended(copy(2, 1, true), true);
        assert_eq!((turns.waiting(), turns.next().map(|copy| copy.copy_id)), (1, Some("2-1".to_owned())));
    }

    #[test]
    fn everything_is_bounded() {
        let mut turns = Turns::default();
        for account in 0..30 {
            for number in 0..50 {
                turns.offer(copy(account, number, account % 2 == 0));
                turns.offer(copy(account, number, account % 2 == 0));
            }
        }
        assert_eq!(turns.waiting(), 30 * WAITING);
        assert!(turns.take_overflowed() && !turns.take_overflowed());
        let running: Vec<_> = std::iter::from_fn(|| turns.next()).collect();
        assert_eq!(running.len(), AT_ONCE);
        assert_eq!(running.iter().filter(|copy| copy.etag.is_none()).count(), UNSTOPPABLE);
        for copy in running {
            turns.ended(copy, false);
        }
        assert_eq!((turns.running, turns.unstoppable, turns.known.len()), (0, 0, turns.waiting()));
    }
}
