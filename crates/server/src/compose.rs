//! Which services stand behind which ports: **the one place where a service is plugged in.**

use std::sync::Arc;

use access::{AccountKey, Accounts};
use anyhow::Result;
use blob_rest::BlobService;
use rest::Service;
use store::Store;

use crate::{accounts::Account, config::Ports};

/// A service port: its name, its number, and what answers there, if that exists yet.
pub(crate) struct Slot {
    pub(crate) name: &'static str,
    /// The key of a connection string.
    pub(crate) endpoint: &'static str,
    pub(crate) port: u16,
    pub(crate) service: Option<Arc<dyn Service>>,
}

/// Every service port, in the order in which they are shown.
///
/// # Errors
/// The accounts could not be given their places in the store.
pub(crate) async fn slots(ports: Ports, store: &Store, accounts: &[Account]) -> Result<Vec<Slot>> {
    let accounts = Arc::new(open_accounts(store, accounts).await?);
    let blob: Arc<dyn Service> = Arc::new(BlobService::new(store.clone(), accounts));
    Ok(vec![
        Slot { name: "blob", endpoint: "BlobEndpoint", port: ports.blob, service: Some(blob) },
        Slot { name: "queue", endpoint: "QueueEndpoint", port: ports.queue, service: None },
        Slot { name: "table", endpoint: "TableEndpoint", port: ports.table, service: None },
        Slot { name: "file", endpoint: "FileEndpoint", port: ports.file, service: None },
        Slot { name: "smb", endpoint: "", port: ports.smb, service: None },
    ])
}

/// The configured accounts, each with its unit in the store.
async fn open_accounts(store: &Store, configured: &[Account]) -> Result<Accounts> {
    let accounts = configured.iter().map(|account| {
        let keys = account.keys.iter().map(|key| AccountKey::new(key.bytes())).collect();
        (account.name.clone(), keys)
    });
    Ok(Accounts::open(store, accounts).await?)
}
