//! One life of the server: the engine and the services on it, from a start to a crash.

use std::{cell::Cell, rc::Rc, sync::Arc};

use account::Settings;
use blob::Blobs;
use blob_rest::BlobService;
use file::Files;
use file_rest::FileService;
use queue::Queues;
use queue_rest::QueueService;
use store::Store;
use store_embedded::EmbeddedEngine;
use table::Tables;
use table_rest::TableService;
use testkit::{Nowhere, Parts, RestService};
use transfer::{Here, Transfers};

/// What ends with the process.
pub(crate) struct Life {
    pub(crate) engine: Arc<EmbeddedEngine>,
    pub(crate) store: Store,
    pub(crate) blobs: Arc<RestService>,
    pub(crate) queues: Arc<RestService>,
    pub(crate) tables: Arc<RestService>,
    pub(crate) files: Arc<RestService>,
    /// Background work is under way.
    pub(crate) busy: Rc<Cell<bool>>,
}

impl Life {
    pub(crate) fn service(&self, name: &str) -> &Arc<RestService> {
        match name {
            "blob" => &self.blobs,
            "queue" => &self.queues,
            "file" => &self.files,
            _ => &self.tables,
        }
    }
}

pub(crate) fn blobs(parts: Parts) -> Arc<dyn rest::Service> {
    let transfers = Transfers::new(Arc::new(Nowhere), Here::default());
    let settings = Settings::new(parts.store.clone());
    Arc::new(BlobService::new(Blobs::new(parts.store), settings, parts.accounts, Arc::new(transfers)))
}

pub(crate) fn queues(parts: Parts) -> Arc<dyn rest::Service> {
    let settings = Settings::new(parts.store.clone());
    Arc::new(QueueService::new(Queues::new(parts.store), settings, parts.accounts, random_bits))
}

pub(crate) fn tables(parts: Parts) -> Arc<dyn rest::Service> {
    let settings = Settings::new(parts.store.clone());
    Arc::new(TableService::new(Tables::new(parts.store), settings, parts.accounts))
}

pub(crate) fn files(parts: Parts) -> Arc<dyn rest::Service> {
    let transfers = Transfers::new(Arc::new(Nowhere), Here::default());
    let settings = Settings::new(parts.store.clone());
    Arc::new(FileService::new(Files::new(parts.store), settings, parts.accounts, Arc::new(transfers)))
}

thread_local! {
    /// A world lives in one thread, and a thread in one world at a time.
    static IDS: Cell<u64> = const { Cell::new(0) };
}

/// The next world begins with the first id.
pub(crate) fn forget_ids() {
    IDS.set(0);
}

/// Ids of messages and receipts: none of them is there twice in a world.
fn random_bits() -> Option<u128> {
    IDS.set(IDS.get() + 1);
    Some(u128::from(IDS.get()))
}
