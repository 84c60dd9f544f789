//! Which services stand behind which ports: **the one place where a service is plugged in.**
//!
//! A service that exists is a function in `build`. A port without one is accepted in the configuration and not opened.

use std::sync::Arc;

use access::{AccountKey, Accounts};
use anyhow::Result;
use blob_rest::BlobService;
use rest::Service;
use store::Store;
use table_rest::TableService;

use crate::{accounts::Account, config::Ports};

/// Makes a service on an open store.
pub(crate) type Build = fn(&Store, &Arc<Accounts>) -> Arc<dyn Service>;

/// A service port.
pub(crate) struct Slot {
    /// The service's name in flags, logs and metrics.
    pub(crate) name: &'static str,
    /// Its key in a connection string; empty when it has none.
    pub(crate) endpoint: &'static str,
    /// Its number; zero takes a free one.
    pub(crate) port: u16,
    /// `None` for a service that does not exist yet.
    pub(crate) build: Option<Build>,
}

/// Every service port, in the order in which they are shown.
pub(crate) fn slots(ports: Ports) -> [Slot; 5] {
    [
        Slot { name: "blob", endpoint: "BlobEndpoint", port: ports.blob, build: Some(blob) },
        Slot { name: "queue", endpoint: "QueueEndpoint", port: ports.queue, build: None },
        Slot { name: "table", endpoint: "TableEndpoint", port: ports.table, build: Some(table) },
        Slot { name: "file", endpoint: "FileEndpoint", port: ports.file, build: None },
        Slot { name: "smb", endpoint: "", port: ports.smb, build: None },
    ]
}

fn blob(store: &Store, accounts: &Arc<Accounts>) -> Arc<dyn Service> {
    Arc::new(BlobService::new(store.clone(), Arc::clone(accounts)))
}

fn table(store: &Store, accounts: &Arc<Accounts>) -> Arc<dyn Service> {
    Arc::new(TableService::new(store.clone(), Arc::clone(accounts)))
}

/// The configured accounts, each with its unit in the store.
///
/// # Errors
/// The store failed.
pub(crate) async fn accounts(store: &Store, configured: &[Account]) -> Result<Arc<Accounts>> {
    let accounts = configured.iter().map(|account| {
        let keys = account.keys.iter().map(|key| AccountKey::new(key.bytes())).collect();
        (account.name.clone(), keys)
    });
    Ok(Arc::new(Accounts::open(store, accounts).await?))
}
