//! The accounts that are served, and how they change while they are.
//!
//! Configured accounts are what the configuration says, for as long as the program runs. Stored accounts are rows; a
//! change commits its row first and is then in force for every request, also for those that are under way.
//! A name stands for one unit for ever, so an account that is removed and added again has its data again.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use store::{Direction, Read, Scope, Store, StoreError, engine::Sequence};
use types::{UnitId, names::AccountName};

use crate::{
    account::{Account, AccountKey, DEVELOPMENT_KEY, Origin},
    bearer::Bearer,
    records::{self, AccountRecord},
};

/// An account has at most two keys, so that one can be changed while the other is in use.
pub const KEYS_MAX: usize = 2;
/// Most accounts that are stored.
const STORED_MAX: usize = 10_000;

/// Why accounts could not be changed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AccountChangeError {
    /// It exists.
    #[error("the account {0} exists already")]
    Exists(String),
    /// It does not.
    #[error("there is no account {0}")]
    NotFound(String),
    /// It is not a stored one.
    #[error("the account {0} comes from the configuration; change it there")]
    Configured(String),
    /// Not one or two keys, or no such one.
    #[error("an account has the keys 1 and 2")]
    Keys,
    /// The key that everybody knows.
    #[error("the key of the development account is public; an account that is kept needs one of its own")]
    PublicKey,
    /// There are too many.
    #[error("there are {STORED_MAX} accounts already")]
    TooMany,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The accounts that are served, by name, and the issuers of tokens that are believed.
#[derive(Clone, Debug)]
pub struct Accounts {
    served: Arc<RwLock<Served>>,
    bearer: Arc<Bearer>,
    public_access: bool,
}

#[derive(Debug)]
struct Served {
    by_name: Arc<HashMap<String, Arc<Account>>>,
    /// The last commit that is in it: an older view never replaces a newer one.
    at: Option<Sequence>,
}

impl Accounts {
    /// The stored accounts and these configured ones. A configured account hides a stored one of the same name.
    ///
    /// # Errors
    /// The store failed.
    pub async fn open(
        store: &Store,
        configured: impl IntoIterator<Item = (AccountName, Vec<AccountKey>)>,
    ) -> Result<Self, StoreError> {
        let mut by_name = HashMap::new();
        for (name, keys) in configured {
            let unit = unit_of(store, &name).await?;
            let text = name.as_str().to_owned();
            by_name.insert(text, Arc::new(Account { name, unit, keys, origin: Origin::Configured }));
        }
        let served = Served { by_name: Arc::new(by_name), at: None };
        let accounts =
            Self { served: Arc::new(RwLock::new(served)), bearer: Arc::new(Bearer::disabled()), public_access: true };
        accounts.reload(store).await?;
        Ok(accounts)
    }

    /// The same, with these issuers of tokens.
    #[must_use]
    pub fn with_bearer(self, bearer: Arc<Bearer>) -> Self {
        Self { bearer, ..self }
    }

    /// The same; without public access, no container can be read without a credential.
    #[must_use]
    pub fn with_public_access(self, public_access: bool) -> Self {
        Self { public_access, ..self }
    }

    /// The issuers of tokens.
    #[must_use]
    pub fn bearer(&self) -> &Bearer {
        &self.bearer
    }

    /// Whether a container may be public.
    #[must_use]
    pub const fn public_access(&self) -> bool {
        self.public_access
    }

    /// The account with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<Account>> {
        self.current().get(name).cloned()
    }

    /// All of them, in the order of their names.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<Account>> {
        let mut all: Vec<_> = self.current().values().cloned().collect();
        all.sort_by(|left, right| left.name.as_str().cmp(right.name.as_str()));
        all
    }

    /// Adds a stored account. It is served when this returns.
    ///
    /// # Errors
    /// It exists, it has not one or two keys, or the store failed.
    pub async fn add(&self, store: &Store, name: &AccountName, keys: &[AccountKey]) -> Result<(), AccountChangeError> {
        if keys.is_empty() || keys.len() > KEYS_MAX {
            return Err(AccountChangeError::Keys);
        }
        keys.iter().try_for_each(private)?;
        if self.get(name.as_str()).is_some() {
            return Err(AccountChangeError::Exists(name.as_str().to_owned()));
        }
        if self.current().len() >= STORED_MAX {
            return Err(AccountChangeError::TooMany);
        }
        let unit = unit_of(store, name).await?;
        self.change(store, name, |record| {
            if !record.keys.is_empty() {
                return Err(AccountChangeError::Exists(name.as_str().to_owned()));
            }
            record.unit = unit;
            record.keys = keys.iter().map(|key| key.bytes().to_vec()).collect();
            Ok(())
        })
        .await
    }

    /// Takes the keys of a stored account away. Nothing opens it any more; its data stays.
    ///
    /// # Errors
    /// There is none, or the store failed.
    pub async fn remove(&self, store: &Store, name: &AccountName) -> Result<(), AccountChangeError> {
        self.stored(name)?;
        self.change(store, name, |record| {
            if record.keys.is_empty() {
                return Err(AccountChangeError::NotFound(name.as_str().to_owned()));
            }
            record.keys.clear();
            Ok(())
        })
        .await
    }

    /// Replaces key 1 or key 2 of a stored account. What the old one signed is not accepted any more.
    ///
    /// # Errors
    /// There is no such account or key, or the store failed.
    pub async fn rotate_key(
        &self,
        store: &Store,
        name: &AccountName,
        number: usize,
        key: &AccountKey,
    ) -> Result<(), AccountChangeError> {
        self.stored(name)?;
        private(key)?;
        self.change(store, name, |record| {
            if record.keys.is_empty() {
                return Err(AccountChangeError::NotFound(name.as_str().to_owned()));
            }
            let place = number.checked_sub(1).filter(|place| *place < KEYS_MAX).ok_or(AccountChangeError::Keys)?;
            if place == record.keys.len() {
                record.keys.push(Vec::new());
            }
            *record.keys.get_mut(place).ok_or(AccountChangeError::Keys)? = key.bytes().to_vec();
            Ok(())
        })
        .await
    }

    fn stored(&self, name: &AccountName) -> Result<(), AccountChangeError> {
        match self.get(name.as_str()).map(|account| account.origin) {
            Some(Origin::Stored) => Ok(()),
            Some(Origin::Configured) => Err(AccountChangeError::Configured(name.as_str().to_owned())),
            None => Err(AccountChangeError::NotFound(name.as_str().to_owned())),
        }
    }

    async fn change(
        &self,
        store: &Store,
        name: &AccountName,
        change: impl Fn(&mut AccountRecord) -> Result<(), AccountChangeError> + Sync,
    ) -> Result<(), AccountChangeError> {
        let (key, change) = (&records::account_key(name), &change);
        store
            .transact(Scope::new(), |txn| async move {
                let Some(row) = txn.get(key).await? else {
                    return Err(AccountChangeError::NotFound(name.as_str().to_owned()));
                };
                let mut record = AccountRecord::decode(&row)?;
                change(&mut record)?;
                txn.put(key.clone(), record.encode());
                Ok(())
            })
            .await?;
        Ok(self.reload(store).await?)
    }

    /// Reads the stored accounts again.
    async fn reload(&self, store: &Store) -> Result<(), StoreError> {
        let snapshot = store.snapshot();
        let at = snapshot.instant();
        let mut rows = snapshot.scan(records::accounts(), Direction::Ascending);
        let mut stored = Vec::new();
        // Every row: a name keeps its row for ever, also when nothing opens the account any more.
        while let Some(row) = rows.next().await? {
            let record = AccountRecord::decode(&row.value)?;
            if record.keys.is_empty() {
                continue;
            }
            let name = records::parse_account_key(&row.key)?;
            let keys = record.keys.iter().map(|key| AccountKey::new(key)).collect();
            stored.push(Account { name, unit: record.unit, keys, origin: Origin::Stored });
        }
        let mut served = self.served.write().unwrap_or_else(PoisonError::into_inner);
        if served.at.is_some_and(|newer| newer > at) {
            return Ok(());
        }
        let configured = served.by_name.iter().filter(|(_, account)| account.origin == Origin::Configured);
        let mut by_name: HashMap<String, Arc<Account>> =
            configured.map(|(name, account)| (name.clone(), Arc::clone(account))).collect();
        for account in stored {
            by_name.entry(account.name.as_str().to_owned()).or_insert_with(|| Arc::new(account));
        }
        *served = Served { by_name: Arc::new(by_name), at: Some(at) };
        Ok(())
    }

    fn current(&self) -> Arc<HashMap<String, Arc<Account>>> {
        Arc::clone(&self.served.read().unwrap_or_else(PoisonError::into_inner).by_name)
    }
}

/// A stored account is served on every address, so its keys must not be the one that everybody knows.
fn private(key: &AccountKey) -> Result<(), AccountChangeError> {
    if *key.to_base64() == DEVELOPMENT_KEY { Err(AccountChangeError::PublicKey) } else { Ok(()) }
}

/// The unit of a name, the one it had before if it had one.
async fn unit_of(store: &Store, name: &AccountName) -> Result<UnitId, StoreError> {
    let key = &records::account_key(name);
    store
        .transact(Scope::new(), |txn| async move {
            if let Some(row) = txn.get(key).await? {
                return AccountRecord::decode(&row).map(|record| record.unit);
            }
            let unit = UnitId::new(txn.fresh_id());
            txn.put(key.clone(), AccountRecord { unit, keys: Vec::new() }.encode());
            Ok(unit)
        })
        .await
}

#[cfg(test)]
mod tests {
    use store::clock::SystemTime;
    use store_memory::MemoryEngine;

    use super::*;

    fn name(text: &str) -> AccountName {
        AccountName::parse(text).unwrap()
    }

    fn key(byte: u8) -> AccountKey {
        AccountKey::new(&[byte; 64])
    }

    fn shown(accounts: &Accounts) -> Vec<(String, usize)> {
        accounts.list().iter().map(|account| (account.name.as_str().to_owned(), account.keys.len())).collect()
    }

    #[tokio::test]
    async fn stored_accounts_come_and_go_and_keep_their_data() {
        let store = MemoryEngine::new(SystemTime::default()).store();
        let accounts = Accounts::open(&store, [(name("fixed"), vec![key(9)])]).await.unwrap();
        accounts.add(&store, &name("mine"), &[key(1), key(2)]).await.unwrap();
        assert_eq!(shown(&accounts), [("fixed".to_owned(), 1), ("mine".to_owned(), 2)]);
        let unit = accounts.get("mine").unwrap().unit;

        accounts.rotate_key(&store, &name("mine"), 2, &key(3)).await.unwrap();
        let mine = accounts.get("mine").unwrap();
        assert!(mine.has(&key(1)) && mine.has(&key(3)) && !mine.has(&key(2)));

        let again = Accounts::open(&store, []).await.unwrap();
        assert_eq!(shown(&again), [("mine".to_owned(), 2)], "the configured one was configured elsewhere");

        accounts.remove(&store, &name("mine")).await.unwrap();
        assert!(accounts.get("mine").is_none());
        accounts.add(&store, &name("mine"), &[key(4)]).await.unwrap();
        assert_eq!(accounts.get("mine").unwrap().unit, unit);
        accounts.rotate_key(&store, &name("mine"), 2, &key(5)).await.unwrap();
        assert_eq!(accounts.get("mine").unwrap().keys.len(), 2, "a second key");
    }

    #[tokio::test]
    async fn changes_that_make_no_sense_are_refused() {
        use AccountChangeError::{Configured, Exists, Keys, NotFound, PublicKey};
        let store = MemoryEngine::new(SystemTime::default()).store();
        let accounts = Accounts::open(&store, [(name("fixed"), vec![key(9)])]).await.unwrap();
        accounts.add(&store, &name("mine"), &[key(1)]).await.unwrap();
        assert!(matches!(accounts.add(&store, &name("mine"), &[key(1)]).await, Err(Exists(_))));
        assert!(matches!(accounts.add(&store, &name("fixed"), &[key(1)]).await, Err(Exists(_))));
        assert!(matches!(accounts.add(&store, &name("other"), &[]).await, Err(Keys)));
        let public = AccountKey::parse(DEVELOPMENT_KEY).unwrap();
        assert!(matches!(accounts.add(&store, &name("other"), std::slice::from_ref(&public)).await, Err(PublicKey)));
        assert!(matches!(accounts.rotate_key(&store, &name("mine"), 1, &public).await, Err(PublicKey)));
        assert!(matches!(accounts.remove(&store, &name("fixed")).await, Err(Configured(_))));
        assert!(matches!(accounts.remove(&store, &name("other")).await, Err(NotFound(_))));
        for number in [0, 3] {
            assert!(matches!(accounts.rotate_key(&store, &name("mine"), number, &key(2)).await, Err(Keys)));
        }
        assert!(matches!(accounts.rotate_key(&store, &name("fixed"), 1, &key(2)).await, Err(Configured(_))));
    }

    #[tokio::test]
    async fn a_configured_account_hides_a_stored_one_of_its_name() {
        let store = MemoryEngine::new(SystemTime::default()).store();
        let stored = Accounts::open(&store, []).await.unwrap();
        stored.add(&store, &name("mine"), &[key(1), key(2)]).await.unwrap();
        let both = Accounts::open(&store, [(name("mine"), vec![key(7)])]).await.unwrap();
        let mine = both.get("mine").unwrap();
        assert!(mine.origin == Origin::Configured && mine.has(&key(7)) && !mine.has(&key(1)));
        assert_eq!(mine.unit, stored.get("mine").unwrap().unit);
    }

    #[tokio::test]
    async fn accounts_that_were_removed_hide_nobody() {
        let store = MemoryEngine::new(SystemTime::default()).store();
        let removed = &AccountRecord { unit: UnitId::new(1), keys: Vec::new() }.encode();
        let filled = store.transact(Scope::new(), |txn| async move {
            for number in 0..STORED_MAX {
                txn.put(records::account_key(&name(&format!("gone{number}"))), removed.clone());
            }
            Ok::<_, StoreError>(())
        });
        filled.await.unwrap();
        let accounts = Accounts::open(&store, []).await.unwrap();
        accounts.add(&store, &name("mine"), &[key(1)]).await.unwrap();
        assert_eq!(shown(&accounts), [("mine".to_owned(), 1)]);
        assert_eq!(shown(&Accounts::open(&store, []).await.unwrap()), [("mine".to_owned(), 1)]);
    }
}
