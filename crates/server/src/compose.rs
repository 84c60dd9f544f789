//! Which services stand behind which ports: **the one place where a service is plugged in.**

use std::sync::Arc;

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
pub(crate) fn slots(ports: Ports, store: &Store, accounts: &[Account]) -> Vec<Slot> {
    let blob = blob_service(store, accounts);
    vec![
        Slot { name: "blob", endpoint: "BlobEndpoint", port: ports.blob, service: blob },
        Slot { name: "queue", endpoint: "QueueEndpoint", port: ports.queue, service: None },
        Slot { name: "table", endpoint: "TableEndpoint", port: ports.table, service: None },
        Slot { name: "file", endpoint: "FileEndpoint", port: ports.file, service: None },
        Slot { name: "smb", endpoint: "", port: ports.smb, service: None },
    ]
}

/// The Blob service.
fn blob_service(_store: &Store, _accounts: &[Account]) -> Option<Arc<dyn Service>> {
    None
}
