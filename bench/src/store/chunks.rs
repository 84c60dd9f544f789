//! Streaming chunk data in, against a plain write and fdatasync of the same size.

use std::{io::Write, time::Instant};

use bytes::Bytes;
use store::{Scope, StoreError, content};
use types::ContentId;

use super::{Arguments, Report, open, resident_mib, runtime};

const PIECE_BYTES: usize = 256 * 1024;

pub(crate) fn run(arguments: &Arguments, report: &mut Report) -> anyhow::Result<()> {
    let bytes: u64 = if arguments.quick { 1 << 30 } else { 4 << 30 };
    let mut plain = Vec::new();
    let mut ours = Vec::new();
    let mut growth = 0.0_f64;
    for _ in 0..if arguments.quick { 1 } else { 2 } {
        let directory = tempfile::tempdir_in(&arguments.directory)?;
        let piece = Bytes::from(vec![0x5A; PIECE_BYTES]);
        let start = Instant::now();
        let mut file = std::fs::File::create(directory.path().join("plain"))?;
        for _ in 0..bytes / PIECE_BYTES as u64 {
            file.write_all(&piece)?;
        }
        file.sync_data()?;
        plain.push(rate(bytes, start));
        drop(file);
        std::fs::remove_file(directory.path().join("plain"))?;

        let opened = open(&directory.path().join("ours"))?;
        let before = resident_mib()?;
        let start = Instant::now();
        runtime()?.block_on(async {
            let mut writer = opened.store.write_chunk(Some(bytes))?;
            for _ in 0..bytes / PIECE_BYTES as u64 {
                writer.write(piece.clone()).await?;
            }
            let pending = writer.finish().await?;
            let pending = &pending;
            opened
                .store
                .transact(Scope::new(), |txn| async move {
                    content::link(&txn, pending, ContentId::new(1));
                    Ok::<_, StoreError>(())
                })
                .await
        })?;
        ours.push(rate(bytes, start));
        growth = growth.max(resident_mib()? - before);
    }
    let best = |rates: Vec<f64>| rates.into_iter().fold(0.0, f64::max);
    let what = format!("stream {} GiB into one chunk", bytes >> 30);
    report.ratio(&what, "MiB/s", best(ours), ("write+fdatasync", best(plain)), 0.7);
    report.limit("memory it took", "MiB", growth, 16.0);
    Ok(())
}

fn rate(bytes: u64, start: Instant) -> f64 {
    bytes as f64 / f64::from(1 << 20) / start.elapsed().as_secs_f64()
}
