//! The storage engine in process: group commit, reads under compaction, streaming, opening, idle memory.

mod chunks;
pub(crate) mod commits;
mod opening;
mod reads;

use std::{path::Path, sync::Arc};

use anyhow::Context;
use store::Store;
use store_embedded::{EmbeddedEngine, Options};

use crate::{Arguments, report::Report};

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Report> {
    let mut report = Report::default();
    commits::run(arguments, &mut report)?;
    chunks::run(arguments, &mut report)?;
    reads::run(arguments, &mut report)?;
    opening::run(arguments, &mut report)?;
    Ok(report)
}

pub(crate) fn child(arguments: &Arguments) -> anyhow::Result<()> {
    opening::child(arguments)
}

/// An engine and the contract on top of it.
struct Opened {
    engine: Arc<EmbeddedEngine>,
    store: Store,
}

fn open(path: &Path) -> anyhow::Result<Opened> {
    let engine = Arc::new(EmbeddedEngine::open(path, Options::default())?);
    let store = Store::new(Arc::<EmbeddedEngine>::clone(&engine));
    Ok(Opened { engine, store })
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?)
}

/// The resident memory of this process in MiB.
fn resident_mib() -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS")?;
    let kib: f64 = line.split_whitespace().nth(1).context("no number")?.parse()?;
    Ok(kib / 1024.0)
}

/// SplitMix64, so that runs repeat.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}
