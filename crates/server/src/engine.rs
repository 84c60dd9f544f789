//! The engine that was chosen, and what the server does with it beside the contract.

use std::{path::Path, sync::Arc};

use anyhow::{Context as _, Result, bail};
use store::{Store, clock::SystemTime};
use store_embedded::{EmbeddedEngine, OpenError, Options};
use store_memory::MemoryEngine;

use crate::settings::Durability;

/// An open store.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) store: Store,
    /// `None` when everything is in memory.
    pub(crate) embedded: Option<Arc<EmbeddedEngine>>,
}

/// Opens the store that the configuration asks for.
pub(crate) fn open(data_dir: &Path, durability: Durability, disk_reserve: Option<u64>) -> Result<Opened> {
    let durability = match durability {
        Durability::Sync => store_embedded::Durability::Sync,
        Durability::Relaxed => store_embedded::Durability::Relaxed,
        Durability::Memory => {
            return Ok(Opened { store: MemoryEngine::new(SystemTime::default()).store(), embedded: None });
        }
    };
    let usual = Options::default();
    let options = Options { durability, reserve_bytes: disk_reserve.unwrap_or(usual.reserve_bytes), ..usual };
    let engine = EmbeddedEngine::open(data_dir, options).map_err(|error| explain(error, data_dir))?;
    let engine = Arc::new(engine);
    Ok(Opened { store: Store::new(Arc::<EmbeddedEngine>::clone(&engine)), embedded: Some(engine) })
}

/// True for a data directory that was used before.
pub(crate) fn exists(data_dir: &Path, durability: Durability) -> bool {
    durability != Durability::Memory && data_dir.join("VERSION").is_file()
}

/// Opens a data directory that must already be one: a command never makes an empty store out of a misspelt path.
pub(crate) fn open_existing(data_dir: &Path) -> Result<EmbeddedEngine, OpenExistingError> {
    if !data_dir.join("VERSION").is_file() {
        return Err(OpenExistingError::Missing);
    }
    EmbeddedEngine::open(data_dir, Options::default()).map_err(OpenExistingError::Open)
}

/// Why a data directory could not be opened by a command.
pub(crate) enum OpenExistingError {
    Missing,
    Open(OpenError),
}

impl OpenExistingError {
    /// One line for people.
    pub(crate) fn explained(self, data_dir: &Path) -> anyhow::Error {
        match self {
            Self::Missing => anyhow::anyhow!("{} is not a data directory", data_dir.display()),
            Self::Open(error) => explain(error, data_dir),
        }
    }
}

fn explain(error: OpenError, data_dir: &Path) -> anyhow::Error {
    match error {
        OpenError::Io(error) => {
            anyhow::Error::new(error).context(format!("cannot use the data directory {}", data_dir.display()))
        }
        other => other.into(),
    }
}

impl Opened {
    /// Why the store would refuse a write now, if it would.
    pub(crate) fn refusal(&self) -> Option<String> {
        self.store.write_chunk(Some(0)).err().map(|error| error.to_string())
    }

    /// Makes everything durable and closes the log, so that the next start is quick.
    pub(crate) fn close(&self) -> Result<()> {
        match &self.embedded {
            Some(engine) => engine.close().context("the data directory could not be closed cleanly"),
            None => Ok(()),
        }
    }

    /// The engine on disk, for what only that one can do.
    pub(crate) fn on_disk(&self) -> Result<Arc<EmbeddedEngine>> {
        match &self.embedded {
            Some(engine) => Ok(Arc::clone(engine)),
            None => bail!("the server keeps its data in memory"),
        }
    }
}
