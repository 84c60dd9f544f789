//! Which services stand behind which ports: **the one place where a service is plugged in.**
//!
//! A service that exists is a function in `build`. A port without one is accepted in the configuration and not opened.

use std::sync::Arc;

use anyhow::Result;
use rest::Service;
use store::Store;

use crate::{accounts::Account, config::Ports};

/// Makes a service on an open store.
pub(crate) type Build = fn(&Store, &[Account]) -> Result<Arc<dyn Service>>;

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
        Slot { name: "blob", endpoint: "BlobEndpoint", port: ports.blob, build: None },
        Slot { name: "queue", endpoint: "QueueEndpoint", port: ports.queue, build: None },
        Slot { name: "table", endpoint: "TableEndpoint", port: ports.table, build: None },
        Slot { name: "file", endpoint: "FileEndpoint", port: ports.file, build: None },
        Slot { name: "smb", endpoint: "", port: ports.smb, build: None },
    ]
}
