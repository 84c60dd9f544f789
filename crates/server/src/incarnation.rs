//! An incarnation: a store, the services on it and all that they remember, built together, dropped together, never reused.
//!
//! Latches, heads of message indexes, tallies, pins of downloads, what is open, served accounts and copies under way are memory that is
//! right only while one process owns the data. All of it is in here and nowhere else, so that whoever takes the data over, in
//! this process or another, begins with none of it. `docs/adr/0023-…` lists it.
//!
//! **Invariant.** An engine has at most one incarnation that is alive. One that has ended is refused by its store, whoever
//! still holds a part of it.

use std::sync::Arc;

use access::{AccountKey, Accounts, bearer::Bearer};
use account::Settings;
use blob::Blobs;
use file::Files;
use queue::Queues;
use rest::outgoing::Outgoing;
use store::{Engine, Store, StoreError};
use table::Tables;
use transfer::{Here, Transfers};
use types::names::AccountName;

/// What an incarnation takes from the program around it. None of it is memory of what is stored.
pub(crate) struct Surroundings {
    /// The accounts of the configuration; the stored ones join them.
    pub(crate) accounts: Vec<(AccountName, Vec<AccountKey>)>,
    pub(crate) public_access: bool,
    pub(crate) bearer: Arc<Bearer>,
    /// Who fetches the sources of copies.
    pub(crate) outgoing: Arc<dyn Outgoing>,
    /// What this server itself is reached by.
    pub(crate) here: Here,
}

/// One life of the services on an engine. It is not a value to be cloned; its parts are, and they end with it.
pub(crate) struct Incarnation {
    pub(crate) store: Store,
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) settings: Settings,
    pub(crate) blobs: Blobs,
    pub(crate) queues: Queues,
    pub(crate) tables: Tables,
    /// With everything that is open: the same for every protocol.
    pub(crate) files: Files,
    pub(crate) transfers: Arc<Transfers>,
}

impl Incarnation {
    /// Opens the services on an engine that no other incarnation is alive on.
    ///
    /// # Errors
    /// The store failed.
    pub(crate) async fn open(engine: Arc<dyn Engine>, surroundings: Surroundings) -> Result<Self, StoreError> {
        let Surroundings { accounts, public_access, bearer, outgoing, here } = surroundings;
        let store = Store::new(engine);
        let accounts = Accounts::open(&store, accounts).await?.with_bearer(bearer).with_public_access(public_access);
        Ok(Self {
            accounts: Arc::new(accounts),
            settings: Settings::new(store.clone()),
            blobs: Blobs::new(store.clone()),
            queues: Queues::new(store.clone()),
            tables: Tables::new(store.clone()),
            files: Files::new(store.clone()),
            transfers: Arc::new(Transfers::new(outgoing, here)),
            store,
        })
    }

    /// Ends it. When this returns nothing that was made from it writes any more, and another one may be opened on the engine.
    pub(crate) async fn end(self) {
        self.store.fence().await;
    }
}

impl Drop for Incarnation {
    /// Also an incarnation that is dropped without an end has ended; only, nobody has waited for the commits on their way.
    fn drop(&mut self) {
        self.store.fence_now();
    }
}

#[cfg(test)]
mod tests;
