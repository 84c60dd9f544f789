//! Who is measured, in turns. Those whose turn it is not are held: what they have yet to do is not for others to wait for.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    load::{self, Client, Measured},
    peers::Peer,
};
use crate::{Arguments, report::Report};

pub(crate) struct Scene {
    pub(crate) ours: Peer,
    /// Where it keeps its data.
    pub(crate) data: PathBuf,
    pub(crate) azurite: Option<Peer>,
    pub(crate) nginx: Option<Peer>,
    pub(crate) report: Report,
    quick: bool,
    directory: tempfile::TempDir,
}

/// Whose turn it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    Ours,
    Azurite,
    Nginx,
}

/// What the machine can do at best: a loop in this process, below a directory, for so long. Returns its rate.
pub(crate) type Machine = fn(&Path, Duration) -> anyhow::Result<f64>;

/// The medians of a row's rounds.
pub(crate) struct Medians {
    pub(crate) ours: f64,
    pub(crate) cpu_micros: f64,
    pub(crate) azurite: Option<f64>,
    pub(crate) nginx: Option<f64>,
    /// One for each loop.
    pub(crate) machine: Vec<f64>,
}

impl Scene {
    pub(crate) fn set(arguments: &Arguments) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir_in(&arguments.directory)?;
        let data = directory.path().join("lazuli");
        Ok(Self {
            ours: Peer::lazuli(&data)?,
            data,
            azurite: Peer::azurite(&directory.path().join("azurite"))?,
            nginx: None,
            report: Report::default(),
            quick: arguments.quick,
            directory,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The one for a quick run, or the one for a full run.
    pub(crate) const fn size<T: Copy>(&self, quick: T, full: T) -> T {
        if self.quick { quick } else { full }
    }

    pub(crate) const fn rounds(&self) -> usize {
        self.size(1, 3)
    }

    pub(crate) const fn time(&self) -> Duration {
        Duration::from_secs(self.size(2, 5))
    }

    /// Ours and Azurite, as far as it is there.
    pub(crate) fn both(&self) -> impl Iterator<Item = &Peer> {
        std::iter::once(&self.ours).chain(&self.azurite)
    }

    /// Measures everybody in turns, round by round. Who has no clients is left out.
    pub(crate) async fn turns<C: Client>(
        &self,
        clients: impl Fn(Who, usize) -> anyhow::Result<Vec<C>>,
        machine: &[Machine],
    ) -> anyhow::Result<Medians> {
        let (mut ours, mut cpu, mut azurite, mut nginx) = (vec![], vec![], vec![], vec![]);
        let mut loops = vec![vec![]; machine.len()];
        for round in 0..self.rounds() {
            for (who, rates) in [(Who::Ours, &mut ours), (Who::Azurite, &mut azurite), (Who::Nginx, &mut nginx)] {
                if let Some(measured) = self.turn(who, clients(who, round)?).await? {
                    rates.push(measured.rate);
                    if who == Who::Ours {
                        cpu.push(measured.cpu_micros);
                    }
                }
            }
            for (run, rates) in machine.iter().copied().zip(&mut loops) {
                rates.push(self.in_process(run).await?);
            }
        }
        let some = |rates: Vec<f64>| (!rates.is_empty()).then(|| median(rates));
        Ok(Medians {
            ours: median(ours),
            cpu_micros: median(cpu),
            azurite: some(azurite),
            nginx: some(nginx),
            machine: loops.into_iter().map(median).collect(),
        })
    }

    /// One turn of one of them.
    pub(crate) async fn turn<C: Client>(&self, who: Who, clients: Vec<C>) -> anyhow::Result<Option<Measured>> {
        let peer = match who {
            Who::Ours => Some(&self.ours),
            Who::Azurite => self.azurite.as_ref(),
            Who::Nginx => self.nginx.as_ref(),
        };
        let Some(peer) = peer.filter(|_| !clients.is_empty()) else { return Ok(None) };
        let others = self.both().chain(&self.nginx).filter(|other| !std::ptr::eq(*other, peer));
        let held: Vec<_> = others.map(Peer::hold).collect();
        let measured = load::run(peer, clients, self.time()).await?;
        settle().await?;
        drop(held);
        Ok(Some(measured))
    }

    /// A loop in this process, while everybody is held.
    pub(crate) async fn in_process(&self, run: Machine) -> anyhow::Result<f64> {
        let _held: Vec<_> = self.both().chain(&self.nginx).map(Peer::hold).collect();
        let (directory, time) = (tempfile::tempdir_in(self.path())?, self.time());
        let (rate, _directory) =
            tokio::task::spawn_blocking(move || run(directory.path(), time).map(|rate| (rate, directory))).await??;
        Ok(rate)
    }
}

/// Waits until the device has everything: what one peer leaves unsynced is not for the next one to pay.
pub(crate) async fn settle() -> anyhow::Result<()> {
    let synced = tokio::task::spawn_blocking(|| std::process::Command::new("sync").status()).await??;
    anyhow::ensure!(synced.success(), "sync failed");
    Ok(())
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
