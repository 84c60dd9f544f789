//! Whose turn it is: copies that wait and copies that run, by account.
//!
//! **Invariants.** No account has more than its share of the copies that run, and the one with the fewest goes first; so slow
//! sources of some hold up no other. What waits in memory is bounded; the rest waits in rows and is looked for there.

use std::collections::{BTreeMap, HashSet, VecDeque};

use types::UnitId;

use crate::Pending;

/// Copies at once, and of one account.
const AT_ONCE: usize = 16;
const SHARE: usize = 4;
/// Those of them that cannot stop and go on, because their source has no ETag.
const UNSTOPPABLE: usize = 8;
/// Copies of one account that wait in memory, and accounts with such copies.
const WAITING: usize = 32;
const ACCOUNTS: usize = 1024;

/// What is remembered of a copy that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    account: UnitId,
    id: String,
    /// It can stop and go on, because its source has an ETag.
    stoppable: bool,
}

impl Ticket {
    pub(crate) fn of(copy: &Pending) -> Self {
        Self { account: copy.account, id: copy.id.clone(), stoppable: copy.etag.is_some() }
    }
}

/// One account's copies.
#[derive(Default)]
struct Account {
    waiting: VecDeque<Pending>,
    running: usize,
    /// When it last had a turn.
    served: u64,
}

/// The copies that are known of.
#[derive(Default)]
pub(crate) struct Turns {
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
    pub(crate) fn offer(&mut self, copy: Pending) {
        if self.known.contains(&copy.id) {
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
        self.known.insert(copy.id.clone());
        account.waiting.push_back(copy);
    }

    /// The next copy that has its turn; `None` when none can run now.
    pub(crate) fn next(&mut self) -> Option<Pending> {
        if self.running >= AT_ONCE {
            return None;
        }
        let stoppable_only = self.unstoppable >= UNSTOPPABLE;
        let runs = |copy: &Pending| copy.etag.is_some() || !stoppable_only;
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

    /// A copy that ran does not run any more; `again` is what goes on later.
    pub(crate) fn ended(&mut self, ticket: &Ticket, again: Option<Pending>) {
        self.running = self.running.saturating_sub(1);
        if !ticket.stoppable {
            self.unstoppable = self.unstoppable.saturating_sub(1);
        }
        self.known.remove(&ticket.id);
        let id = ticket.account;
        if let Some(account) = self.accounts.get_mut(&id) {
            account.running = account.running.saturating_sub(1);
        }
        if let Some(copy) = again {
            self.offer(copy);
        }
        if self.accounts.get(&id).is_some_and(|account| account.running == 0 && account.waiting.is_empty()) {
            self.accounts.remove(&id);
        }
    }

    /// How many wait.
    pub(crate) fn waiting(&self) -> usize {
        self.accounts.values().map(|account| account.waiting.len()).sum()
    }

    /// True once after some had to be left in their rows.
    pub(crate) fn take_overflowed(&mut self) -> bool {
        std::mem::take(&mut self.overflowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::destination::tests::Nothing;

    fn copy(account: u64, number: usize, etag: bool) -> Pending {
        Pending {
            account: UnitId::new(account),
            id: format!("{account}-{number}"),
            url: String::new(),
            etag: etag.then(|| "1".to_owned()),
            copied: 0,
            total: 1,
            destination: Box::new(Nothing),
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
        turns.ended(&Ticket::of(&copy(2, 1, true)), Some(copy(2, 1, true)));
        assert_eq!((turns.waiting(), turns.next().map(|copy| copy.id)), (1, Some("2-1".to_owned())));
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
            turns.ended(&Ticket::of(&copy), None);
        }
        assert_eq!((turns.running, turns.unstoppable, turns.known.len()), (0, 0, turns.waiting()));
    }
}
