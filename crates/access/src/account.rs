//! Accounts: their names, their keys, and the unit each has in the store.

use std::{collections::HashMap, fmt, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use store::{Read, Scope, Store, StoreError, key::KeyBuilder, space::Space};
use types::{UnitId, names::AccountName};
use zeroize::Zeroizing;

const NAME: u8 = 1;
const FORMAT: u8 = 1;

/// The account every tool knows, for development on loopback.
pub const DEVELOPMENT_ACCOUNT: &str = "devstoreaccount1";
/// Its well-known key: a secret to nobody.
pub const DEVELOPMENT_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// A key of an account.
#[derive(Clone)]
pub struct AccountKey(Zeroizing<Vec<u8>>);

/// The text is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an account key is base64 of at least one byte")]
pub struct InvalidKey;

impl AccountKey {
    /// Reads the base64 text that clients have.
    ///
    /// # Errors
    /// It is not base64, or empty.
    pub fn parse(text: &str) -> Result<Self, InvalidKey> {
        let bytes = STANDARD.decode(text).map_err(|_| InvalidKey)?;
        if bytes.is_empty() { Err(InvalidKey) } else { Ok(Self(Zeroizing::new(bytes))) }
    }

    /// The key with these bytes.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        Self(Zeroizing::new(bytes.to_vec()))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for AccountKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccountKey(…)")
    }
}

/// An account that is served.
#[derive(Clone, Debug)]
pub struct Account {
    /// Its name.
    pub name: AccountName,
    /// Its unit in the store: what is in it is found by this, never by the name.
    pub unit: UnitId,
    /// Its keys; any of them opens it.
    pub keys: Vec<AccountKey>,
}

impl Account {
    /// True for the account whose key everybody knows.
    #[must_use]
    pub fn is_development(&self) -> bool {
        self.name.as_str() == DEVELOPMENT_ACCOUNT
    }
}

/// The accounts that are served, by name.
#[derive(Clone, Debug, Default)]
pub struct Accounts(HashMap<String, Arc<Account>>);

#[derive(Serialize, Deserialize)]
struct AccountRecord {
    unit: u64,
}

impl Accounts {
    /// Gives each account its unit, the one it had before if it had one.
    ///
    /// # Errors
    /// The store failed.
    pub async fn open(
        store: &Store,
        configured: impl IntoIterator<Item = (AccountName, Vec<AccountKey>)>,
    ) -> Result<Self, StoreError> {
        let mut accounts = HashMap::new();
        for (name, keys) in configured {
            let unit = unit_of(store, &name).await?;
            accounts.insert(name.as_str().to_owned(), Arc::new(Account { name, unit, keys }));
        }
        Ok(Self(accounts))
    }

    /// The account with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Account>> {
        self.0.get(name)
    }
}

async fn unit_of(store: &Store, name: &AccountName) -> Result<UnitId, StoreError> {
    let key = &KeyBuilder::new(Space::Account, NAME).bytes(name.as_str().as_bytes()).build();
    store
        .transact(Scope::unit(UnitId::new(0)), |txn| async move {
            if let Some(row) = txn.get(key).await? {
                return decode(&row).map(|record| UnitId::new(record.unit));
            }
            let unit = txn.fresh_id();
            let mut row = vec![FORMAT];
            row.extend(postcard::to_allocvec(&AccountRecord { unit }).map_err(|_| malformed())?);
            txn.put(key.clone(), row);
            Ok(UnitId::new(unit))
        })
        .await
}

fn decode(row: &[u8]) -> Result<AccountRecord, StoreError> {
    match row.split_first() {
        Some((&FORMAT, record)) => postcard::from_bytes(record).map_err(|_| malformed()),
        _ => Err(malformed()),
    }
}

fn malformed() -> StoreError {
    StoreError::corrupt("the row of an account")
}
