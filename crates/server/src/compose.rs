//! Which services stand behind which ports: **the one place where a service is plugged in.**
//!
//! A service that exists is a function in `build`. A port without one is accepted in the configuration and not opened.

use std::sync::Arc;

use access::{AccountKey, Accounts, bearer::Bearer};
use anyhow::{Result, bail};
use blob_rest::BlobService;
use queue_rest::QueueService;
use rest::Service;
use store::Store;
use table_rest::TableService;

use crate::{
    config::{Config, Ports},
    randomness,
};

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
        Slot { name: "queue", endpoint: "QueueEndpoint", port: ports.queue, build: Some(queue) },
        Slot { name: "table", endpoint: "TableEndpoint", port: ports.table, build: Some(table) },
        Slot { name: "file", endpoint: "FileEndpoint", port: ports.file, build: None },
        Slot { name: "smb", endpoint: "", port: ports.smb, build: None },
    ]
}

fn blob(store: &Store, accounts: &Arc<Accounts>) -> Arc<dyn Service> {
    Arc::new(BlobService::new(store.clone(), Arc::clone(accounts)))
}

fn queue(store: &Store, accounts: &Arc<Accounts>) -> Arc<dyn Service> {
    Arc::new(QueueService::new(store.clone(), Arc::clone(accounts), randomness::bits))
}

fn table(store: &Store, accounts: &Arc<Accounts>) -> Arc<dyn Service> {
    Arc::new(TableService::new(store.clone(), Arc::clone(accounts)))
}

/// The configured accounts and the stored ones, each with its unit in the store.
///
/// # Errors
/// The store failed, or there is no account.
pub(crate) async fn accounts(store: &Store, config: &Config, bearer: &Arc<Bearer>) -> Result<Arc<Accounts>> {
    let configured = config.accounts.iter().map(|account| {
        let keys = account.keys.iter().map(|key| AccountKey::new(key.bytes())).collect();
        (account.name.clone(), keys)
    });
    let accounts = Accounts::open(store, configured).await?;
    if accounts.list().is_empty() {
        bail!(
            "refusing to serve the development account on addresses that others can reach: its key is public; add an \
             account with --account or `lazuli account add`, or say --expose-development-account if you mean it"
        );
    }
    Ok(Arc::new(accounts.with_bearer(Arc::clone(bearer)).with_public_access(config.public_access)))
}
