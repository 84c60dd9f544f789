//! Which services stand behind which ports: **the one place where a service is plugged in.**
//!
//! A service that exists is a function in `build`. A port without one is accepted in the configuration and not opened.

use std::sync::Arc;

use access::{AccountKey, Accounts, bearer::Bearer};
use account::Settings;
use anyhow::{Result, anyhow};
use blob::Blobs;
use blob_rest::BlobService;
use queue::Queues;
use queue_rest::QueueService;
use rest::Service;
use store::Store;
use table::Tables;
use table_rest::TableService;
use transfer::Transfers;

use crate::{
    config::{Config, Ports},
    failure::misconfigured,
    randomness,
};

/// Makes a service on an open store.
pub(crate) type Build = fn(&Parts<'_>) -> Arc<dyn Service>;

/// What services are made of.
pub(crate) struct Parts<'a> {
    pub(crate) store: &'a Store,
    pub(crate) accounts: &'a Arc<Accounts>,
    /// Shared with the copies that go on in the background.
    pub(crate) blobs: &'a Blobs,
    /// Shared by all services: copies take turns together.
    pub(crate) transfers: &'a Arc<Transfers>,
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

fn blob(parts: &Parts<'_>) -> Arc<dyn Service> {
    let (blobs, settings) = (parts.blobs.clone(), Settings::new(parts.store.clone()));
    Arc::new(BlobService::new(blobs, settings, Arc::clone(parts.accounts), Arc::clone(parts.transfers)))
}

fn queue(parts: &Parts<'_>) -> Arc<dyn Service> {
    let (queues, settings) = (Queues::new(parts.store.clone()), Settings::new(parts.store.clone()));
    Arc::new(QueueService::new(queues, settings, Arc::clone(parts.accounts), randomness::bits))
}

fn table(parts: &Parts<'_>) -> Arc<dyn Service> {
    let (tables, settings) = (Tables::new(parts.store.clone()), Settings::new(parts.store.clone()));
    Arc::new(TableService::new(tables, settings, Arc::clone(parts.accounts)))
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
        return Err(no_account(config));
    }
    Ok(Arc::new(accounts.with_bearer(Arc::clone(bearer)).with_public_access(config.public_access)))
}

/// Nothing is configured, nothing is stored, and the development account stays on loopback.
pub(crate) fn no_account(config: &Config) -> anyhow::Error {
    misconfigured(anyhow!(
        "refusing to serve the development account with {}, which others can reach: its key is public; give an account with \
         --account, AZURITE_ACCOUNTS or `lazuli account add`, or say --expose-development-account \
         (LAZULI_EXPOSE_DEVELOPMENT_ACCOUNT=true) if you mean it",
        config.reachable.as_deref().unwrap_or("these addresses"),
    ))
}
