//! The proof that whoever sends a request is known. **A body is collected in memory only for those who are**: there is
//! no other way to call [`crate::Body::collect`], so nobody without a credential makes the server hold a document.

use types::UnitId;

/// Somebody who has shown a credential that is right, whatever it allows.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Tells accounts apart, where they share something.
    account: u64,
}

impl Known {
    /// A caller with a verified credential of an account.
    pub(crate) const fn by_credential(account: UnitId) -> Self {
        Self { account: account.number() }
    }

    /// Whoever knows the token. Compared without telling by its time where the difference is.
    #[must_use]
    pub fn by_token(sent: &[u8], token: &[u8]) -> Option<Self> {
        let differences = sent.iter().zip(token).fold(0, |seen, (left, right)| seen | (left ^ right));
        (sent.len() == token.len() && differences == 0).then_some(Self { account: 0 })
    }

    /// The number by which their part of what is shared is counted.
    pub(crate) const fn account(self) -> u64 {
        self.account
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_compared_whole() {
        for (left, right, equal) in [("", "", true), ("a", "a", true), ("a", "b", false), ("a", "ab", false)] {
            assert_eq!(Known::by_token(left.as_bytes(), right.as_bytes()).is_some(), equal);
        }
    }
}
