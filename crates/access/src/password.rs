//! Logon with a password that is the key of an account, as SMB does it. The proof is checked by the protocol; which key it was
//! says the candidate that comes back.

use std::sync::Arc;

use types::Timestamp;
use zeroize::Zeroizing;

use crate::{
    Accounts,
    account::{Account, AccountKey},
    grant::Grant,
};

/// A key that somebody may have as a password.
pub struct Candidate {
    account: Arc<Account>,
    key: AccountKey,
}

/// The keys of an account; none when there is no such account.
#[must_use]
pub fn candidates(accounts: &Accounts, name: &str) -> Vec<Candidate> {
    let Some(account) = accounts.get(name) else { return Vec::new() };
    account.keys.iter().map(|key| Candidate { account: Arc::clone(&account), key: key.clone() }).collect()
}

impl Candidate {
    /// The text that is the password. **Secret.**
    #[must_use]
    pub fn password(&self) -> Zeroizing<String> {
        self.key.to_base64()
    }

    /// What its holder may do: call it for the one whose password was proven, and for no other.
    #[must_use]
    pub fn grant(self, accounts: &Accounts, now: Timestamp) -> Grant {
        Grant::shared_key(accounts, &self.account, self.key, now)
    }
}
