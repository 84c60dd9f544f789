//! Which services stand behind which ports: **the one place where a service is plugged in.**
//!
//! A service that exists has a [`Kind`] in its slot, and [`Composer::service`] makes it. A port without one is accepted in
//! the configuration and not opened.

use std::sync::Arc;

use access::{AccountKey, Accounts};
use anyhow::Result;
use blob_rest::BlobService;
use rest::Service;
use store::Store;

use crate::{accounts::Account, config::Ports};

/// The services that exist.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Blob,
}

/// A service port.
pub(crate) struct Slot {
    /// The service's name in flags, logs and metrics.
    pub(crate) name: &'static str,
    /// Its key in a connection string; empty when it has none.
    pub(crate) endpoint: &'static str,
    /// Its number; zero takes a free one.
    pub(crate) port: u16,
    /// `None` for a service that does not exist yet.
    pub(crate) kind: Option<Kind>,
}

/// Every service port, in the order in which they are shown.
pub(crate) const fn slots(ports: Ports) -> [Slot; 5] {
    [
        Slot { name: "blob", endpoint: "BlobEndpoint", port: ports.blob, kind: Some(Kind::Blob) },
        Slot { name: "queue", endpoint: "QueueEndpoint", port: ports.queue, kind: None },
        Slot { name: "table", endpoint: "TableEndpoint", port: ports.table, kind: None },
        Slot { name: "file", endpoint: "FileEndpoint", port: ports.file, kind: None },
        Slot { name: "smb", endpoint: "", port: ports.smb, kind: None },
    ]
}

/// What every service is made of.
pub(crate) struct Composer {
    store: Store,
    accounts: Arc<Accounts>,
}

impl Composer {
    /// Gives each configured account its unit in the store.
    ///
    /// # Errors
    /// The store failed.
    pub(crate) async fn new(store: &Store, configured: &[Account]) -> Result<Self> {
        let accounts = configured.iter().map(|account| {
            let keys = account.keys.iter().map(|key| AccountKey::new(key.bytes())).collect();
            (account.name.clone(), keys)
        });
        Ok(Self { accounts: Arc::new(Accounts::open(store, accounts).await?), store: store.clone() })
    }

    /// Makes a service.
    pub(crate) fn service(&self, kind: Kind) -> Arc<dyn Service> {
        match kind {
            Kind::Blob => Arc::new(BlobService::new(self.store.clone(), Arc::clone(&self.accounts))),
        }
    }
}
