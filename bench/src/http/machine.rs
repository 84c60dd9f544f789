//! What the machine can do at best: the loops in this process that the server is compared with.

use std::{os::unix::fs::FileExt as _, path::Path, time::Duration, time::Instant};

use md5::{Digest as _, Md5};

pub(crate) use crate::store::commits::{group_commit_loop, group_commit_loop_with_chunks, one_task_loop};

const BYTES: usize = 4 * 1024 * 1024;

/// What a block of 4 MiB cannot do without: a write and a sync.
pub(crate) fn write_loop(directory: &Path, time: Duration) -> anyhow::Result<f64> {
    on_both_cores(directory, time, |_| {})
}

/// What Put Blob of 4 MiB cannot do without: MD5 of the bytes, a write and a sync.
pub(crate) fn md5_loop(directory: &Path, time: Duration) -> anyhow::Result<f64> {
    on_both_cores(directory, time, |data| {
        std::hint::black_box(Md5::digest(data));
    })
}

/// One file of so many bytes, each 4 MiB synced before the next. Returns MiB a second.
pub(crate) fn plain_write(directory: &Path, bytes: u64) -> anyhow::Result<f64> {
    let (file, data) = (std::fs::File::create(directory.join("plain"))?, vec![0x5A; BYTES]);
    let start = Instant::now();
    for piece in 0..bytes / BYTES as u64 {
        file.write_all_at(&data, piece * BYTES as u64)?;
        file.sync_data()?;
    }
    Ok((bytes >> 20) as f64 / start.elapsed().as_secs_f64())
}

fn on_both_cores(directory: &Path, time: Duration, first: fn(&[u8])) -> anyhow::Result<f64> {
    let start = Instant::now();
    let threads: Vec<_> = (0..2)
        .map(|number| {
            let path = directory.join(format!("written-{number}"));
            std::thread::spawn(move || -> anyhow::Result<u64> {
                let file = std::fs::File::create(&path)?;
                let data = vec![0x5A; BYTES];
                let mut count = 0;
                while start.elapsed() < time {
                    first(&data);
                    file.write_all_at(&data, count * BYTES as u64)?;
                    file.sync_data()?;
                    count += 1;
                }
                Ok(count)
            })
        })
        .collect();
    let mut count = 0;
    for thread in threads {
        count += thread.join().map_err(|_| anyhow::anyhow!("a thread panicked"))??;
    }
    Ok(count as f64 / start.elapsed().as_secs_f64())
}
