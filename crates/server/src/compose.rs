//! Which services stand behind which ports: **the one place where a service is plugged in.**
//!
//! A service is a function that puts its protocol in spoken of it.

use std::sync::Arc;

use anyhow::anyhow;
use blob_rest::BlobService;
use file_rest::FileService;
use file_smb::{SmbService, SmbSettings};
use queue_rest::QueueService;
use rest::Service;
use table_rest::TableService;

use crate::{
    config::{Config, Ports},
    failure::misconfigured,
    incarnation::Incarnation,
    randomness,
};

/// Puts a protocol in spoken of a service.
pub(crate) type Build = fn(&Incarnation) -> Arc<dyn Service>;

/// A service port.
pub(crate) struct Slot {
    /// The service's name in flags, logs and metrics.
    pub(crate) name: &'static str,
    /// Its key in a connection string; empty when it has none.
    pub(crate) endpoint: &'static str,
    /// Its number; zero takes a free one.
    pub(crate) port: u16,
    pub(crate) spoken: Spoken,
}

/// What is spoken on a port.
#[derive(Clone, Copy)]
pub(crate) enum Spoken {
    /// A REST service.
    Rest(Build),
    /// SMB, on the files of the File service.
    Smb,
}

/// Every service port, in the order in which they are shown.
pub(crate) fn slots(ports: Ports) -> [Slot; 5] {
    [
        Slot { name: "blob", endpoint: "BlobEndpoint", port: ports.blob, spoken: Spoken::Rest(blob) },
        Slot { name: "queue", endpoint: "QueueEndpoint", port: ports.queue, spoken: Spoken::Rest(queue) },
        Slot { name: "table", endpoint: "TableEndpoint", port: ports.table, spoken: Spoken::Rest(table) },
        Slot { name: "file", endpoint: "FileEndpoint", port: ports.file, spoken: Spoken::Rest(file) },
        Slot { name: "smb", endpoint: "", port: ports.smb, spoken: Spoken::Smb },
    ]
}

pub(crate) fn blob(of: &Incarnation) -> Arc<dyn Service> {
    let (accounts, transfers) = (Arc::clone(&of.accounts), Arc::clone(&of.transfers));
    Arc::new(BlobService::new(of.blobs.clone(), of.settings.clone(), accounts, transfers))
}

pub(crate) fn queue(of: &Incarnation) -> Arc<dyn Service> {
    let accounts = Arc::clone(&of.accounts);
    Arc::new(QueueService::new(of.queues.clone(), of.settings.clone(), accounts, randomness::bits))
}

pub(crate) fn table(of: &Incarnation) -> Arc<dyn Service> {
    Arc::new(TableService::new(of.tables.clone(), of.settings.clone(), Arc::clone(&of.accounts)))
}

pub(crate) fn file(of: &Incarnation) -> Arc<dyn Service> {
    let (accounts, transfers) = (Arc::clone(&of.accounts), Arc::clone(&of.transfers));
    Arc::new(FileService::new(of.files.clone(), of.settings.clone(), accounts, transfers))
}

/// SMB, in spoken of the files that REST has.
pub(crate) fn smb(of: &Incarnation, requires_encryption: bool, bounds: net::Bounds) -> Option<Arc<SmbService>> {
    let settings = SmbSettings { requires_encryption };
    SmbService::new(of.files.clone(), Arc::clone(&of.accounts), settings, bounds, randomness::bits).map(Arc::new)
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
