//! The engine that was chosen, and what the server does with it beside the contract.

use std::{path::Path, sync::Arc};

use anyhow::{Context as _, Result, bail};
use store::{Engine, clock::SystemTime};
use store_embedded::{EmbeddedEngine, OpenError, Options};
use store_memory::MemoryEngine;

use crate::{
    files::{self, DataDirectory},
    settings::Durability,
};

/// An engine that is open. What is remembered of its rows is in an incarnation.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) engine: Arc<dyn Engine>,
    /// `None` when everything is in memory.
    pub(crate) embedded: Option<Arc<EmbeddedEngine>>,
}

/// Opens the engine that the configuration asks for.
pub(crate) fn open(data_dir: &Path, durability: Durability, disk_reserve: Option<u64>) -> Result<Opened> {
    let durability = match durability {
        Durability::Sync => store_embedded::Durability::Sync,
        Durability::Relaxed => store_embedded::Durability::Relaxed,
        Durability::Memory => {
            return Ok(Opened { engine: Arc::new(MemoryEngine::new(SystemTime::default())), embedded: None });
        }
    };
    // Files of somebody else stay alone: neither mixed with ours nor, with a backup of them, taken for ours.
    if let DataDirectory::Foreign(name) = look(data_dir)? {
        bail!(
            "{} is not empty and no data directory: it holds {name}; name another one with --data-dir",
            data_dir.display()
        );
    }
    files::keep_private();
    let usual = Options::default();
    let options = Options { durability, reserve_bytes: disk_reserve.unwrap_or(usual.reserve_bytes), ..usual };
    let engine = EmbeddedEngine::open(data_dir, options).map_err(|error| explain(error, data_dir))?;
    let engine = Arc::new(engine);
    Ok(Opened { engine: Arc::<EmbeddedEngine>::clone(&engine), embedded: Some(engine) })
}

/// True for a data directory that was used before.
pub(crate) fn exists(data_dir: &Path, durability: Durability) -> Result<bool> {
    Ok(durability != Durability::Memory && look(data_dir)? == DataDirectory::Ours)
}

/// What stands at the place of a data directory.
pub(crate) fn look(data_dir: &Path) -> Result<DataDirectory> {
    files::data_directory(data_dir).map_err(|error| explain(error.into(), data_dir))
}

/// Opens a data directory that must already be one: a command never makes an empty store out of a misspelt path.
pub(crate) fn open_existing(data_dir: &Path) -> Result<EmbeddedEngine, OpenExistingError> {
    match files::data_directory(data_dir) {
        Ok(DataDirectory::Ours) => {}
        Ok(DataDirectory::Missing) => return Err(OpenExistingError::Missing),
        Ok(_) => return Err(OpenExistingError::NotOne),
        Err(error) => return Err(OpenExistingError::Open(error.into())),
    }
    files::keep_private();
    EmbeddedEngine::open(data_dir, Options::default()).map_err(OpenExistingError::Open)
}

/// Why a data directory could not be opened by a command.
pub(crate) enum OpenExistingError {
    Missing,
    NotOne,
    Open(OpenError),
}

impl OpenExistingError {
    /// One line for people.
    pub(crate) fn explained(self, data_dir: &Path) -> anyhow::Error {
        match self {
            Self::Missing => anyhow::anyhow!("{} is not a data directory: it does not exist", data_dir.display()),
            Self::NotOne => anyhow::anyhow!("{} is not a data directory", data_dir.display()),
            Self::Open(error) => explain(error, data_dir),
        }
    }
}

fn explain(error: OpenError, data_dir: &Path) -> anyhow::Error {
    match error {
        OpenError::Io(error) => {
            files::plain(error).context(format!("cannot use the data directory {}", data_dir.display()))
        }
        other => other.into(),
    }
}

/// Why a copy of a data directory could not be made: the reason, once, in plain words.
pub(crate) fn reason(error: OpenError) -> anyhow::Error {
    match error {
        OpenError::Io(error) => files::plain(error),
        other => other.into(),
    }
}

impl Opened {
    /// Why the store would refuse a write now, if it would.
    pub(crate) fn refusal(&self) -> Option<String> {
        self.engine.write_chunk(Some(0)).err().map(|error| error.to_string())
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
