//! Sets of actions: what a role of a token allows.

use crate::need::Action;

/// A set of [`Action`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Actions(u8);

impl Actions {
    /// No action at all.
    pub const NONE: Self = Self(0);

    const fn bit(action: Action) -> u8 {
        match action {
            Action::Read => 1,
            Action::Add => 2,
            Action::Process => 4,
            Action::Write => 8,
            Action::Delete => 16,
            Action::Manage => 32,
            Action::Delegate => 64,
        }
    }

    /// This set and one more.
    #[must_use]
    pub const fn with(self, action: Action) -> Self {
        Self(self.0 | Self::bit(action))
    }

    /// Both sets together.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// True if it is in here.
    #[must_use]
    pub const fn allows(self, action: Action) -> bool {
        self.0 & Self::bit(action) != 0
    }

    /// The number that stands for the set in the derivation of keys. Pinned.
    pub(crate) const fn number(self) -> u8 {
        self.0
    }

    /// Every subset, the whole set first.
    pub(crate) fn subsets(self) -> impl Iterator<Item = Self> {
        (0..=self.0).rev().filter(move |bits| bits & !self.0 == 0).map(Self)
    }

    /// The words of the configuration: `read,write`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        text.split(',').try_fold(Self::NONE, |set, word| {
            let action = match word.trim() {
                "read" => Action::Read,
                "add" => Action::Add,
                "process" => Action::Process,
                "write" => Action::Write,
                "delete" => Action::Delete,
                "manage" => Action::Manage,
                "delegate" => Action::Delegate,
                _ => return None,
            };
            Some(set.with(action))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_read_and_taken_apart() {
        let set = Actions::parse("read, write").unwrap();
        assert!(set.allows(Action::Read) && set.allows(Action::Write) && !set.allows(Action::Delete));
        let subsets: Vec<_> = set.subsets().collect();
        assert_eq!(subsets.len(), 4);
        assert_eq!((subsets[0], subsets[3]), (set, Actions::NONE));
        for wrong in ["", "reed", "read;write"] {
            assert_eq!(Actions::parse(wrong), None, "{wrong}");
        }
    }
}
