//! The group-commit loop: 64 tasks, each committing two rows of 300 bytes, durable before it goes on. Ours and bare
//! fjall in turns; then the same with all rows of one object, and with one task.

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use bytes::Bytes;
use fjall::{Database, KeyspaceCreateOptions, PersistMode};
use store::{Scope, Store, StoreError, content, key::KeyBuilder, space::Space};
use types::ContentId;

use super::{Arguments, Dice, Report, open, runtime};

const TASKS: usize = 64;
const ROW_BYTES: usize = 300;
const CHUNK_BYTES: usize = 4096;

pub(crate) fn run(arguments: &Arguments, report: &mut Report) -> anyhow::Result<()> {
    let (rounds, seconds) = if arguments.quick { (2, 2) } else { (4, 5) };
    let time = Duration::from_secs(seconds);
    let (mut ours, mut fjall, mut one_object, mut alone, mut fsync) = (vec![], vec![], vec![], vec![], vec![]);
    for _ in 0..rounds {
        let directory = tempfile::tempdir_in(&arguments.directory)?;
        fjall.push(fjall_loop(&directory.path().join("fjall"), time)?);
        ours.push(ours_loop(&directory.path().join("ours"), time, TASKS, Object::Each)?);
        one_object.push(ours_loop(&directory.path().join("one"), time, TASKS, Object::One)?);
        alone.push(ours_loop(&directory.path().join("alone"), time / 2, 1, Object::Each)?);
        fsync.push(sync_loop(&directory.path().join("sync"), time / 2)?);
    }
    let (ours, fjall, one_object) = (median(ours), median(fjall), median(one_object));
    report.ratio("commit two rows of 300 bytes, 64 tasks", "/s", ours, ("fjall", fjall), 0.9);
    report.ratio("the same, all of one object", "/s", one_object, ("own", ours), 0.7);
    report.ratio("the same, 1 task", "/s", median(alone), ("write+fdatasync", median(fsync)), 0.5);
    Ok(())
}

/// The loop that writes over HTTP are compared with.
pub(crate) fn group_commit_loop(path: &Path, time: Duration) -> anyhow::Result<f64> {
    ours_loop(path, time, TASKS, Object::Each)
}

/// The same with one task.
pub(crate) fn one_task_loop(path: &Path, time: Duration) -> anyhow::Result<f64> {
    ours_loop(path, time, 1, Object::One)
}

/// The same with what a Put Blob of 4 KiB commits: a chunk with its row, and one row more.
pub(crate) fn group_commit_loop_with_chunks(path: &Path, time: Duration) -> anyhow::Result<f64> {
    ours_loop(path, time, TASKS, Object::Chunk)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[derive(Clone, Copy)]
enum Object {
    Each,
    One,
    Chunk,
}

fn ours_loop(path: &Path, time: Duration, tasks: usize, object: Object) -> anyhow::Result<f64> {
    let opened = open(path)?;
    let runtime = runtime()?;
    let start = Instant::now();
    let handles: Vec<_> = (0..tasks)
        .map(|task| runtime.spawn(committer(opened.store.clone(), task as u64, start + time, object)))
        .collect();
    let mut commits = 0;
    for handle in handles {
        commits += runtime.block_on(handle)??;
    }
    let rate = commits as f64 / start.elapsed().as_secs_f64();
    let metrics = opened.engine.metrics();
    eprintln!(
        "  ours: {rate:.0}/s, {:.1} commits a group, {:.2} ms a sync",
        metrics.commits as f64 / metrics.groups.max(1) as f64,
        metrics.sync_time.as_secs_f64() * 1000.0 / metrics.syncs.max(1) as f64
    );
    Ok(rate)
}

async fn committer(store: Store, task: u64, end: Instant, object: Object) -> Result<u64, StoreError> {
    let mut dice = Dice(task);
    let (value, data) = (Bytes::from(vec![7; ROW_BYTES]), Bytes::from(vec![7; CHUNK_BYTES]));
    let mut commits = 0;
    while Instant::now() < end {
        let row = |kind| KeyBuilder::new(Space::Test, kind).number(dice.0).number(task).build();
        let (first, second) = (row(1), row(2));
        let owner = ContentId::new(dice.next());
        let latch: &[u8] = match object {
            Object::Each | Object::Chunk => &first,
            Object::One => b"the one object",
        };
        let chunk = match object {
            Object::Chunk => {
                let mut writer = store.write_chunk(Some(CHUNK_BYTES as u64))?;
                writer.write(data.clone()).await?;
                Some(writer.finish().await?)
            }
            Object::Each | Object::One => None,
        };
        let (first, second, value, chunk) = (&first, &second, &value, &chunk);
        store
            .transact(Scope::of(latch), |txn| async move {
                txn.put(first.clone(), value.clone());
                match chunk {
                    Some(chunk) => content::link(&txn, chunk, owner),
                    None => txn.put(second.clone(), value.clone()),
                }
                Ok::<_, StoreError>(())
            })
            .await?;
        commits += 1;
    }
    Ok(commits)
}

/// The same loop on bare fjall with the usual group commit: callers queue, one of them writes and syncs for all.
fn fjall_loop(path: &Path, time: Duration) -> anyhow::Result<f64> {
    type Waiter = tokio::sync::oneshot::Sender<()>;
    type Queue = Arc<Mutex<Vec<(Bytes, Bytes, Waiter)>>>;
    let database = Database::builder(path).open()?;
    let rows = database.keyspace("rows", KeyspaceCreateOptions::default)?;
    let queue = Queue::default();
    let runtime = runtime()?;
    let start = Instant::now();
    let end = start + time;
    let (wake, woken) = std::sync::mpsc::sync_channel::<()>(1);
    let writer = {
        let queue = Arc::clone(&queue);
        std::thread::spawn(move || -> anyhow::Result<()> {
            while woken.recv().is_ok() {
                let group = std::mem::take(&mut *queue.lock().map_err(|_| anyhow::anyhow!("poisoned"))?);
                let value = vec![7; ROW_BYTES];
                let mut waiters = Vec::with_capacity(group.len());
                for (first, second, waiter) in group {
                    let mut batch = database.batch();
                    batch.insert(&rows, &*first, &*value);
                    batch.insert(&rows, &*second, &*value);
                    batch.commit()?;
                    waiters.push(waiter);
                }
                database.persist(PersistMode::SyncData)?;
                for waiter in waiters {
                    let _gone = waiter.send(());
                }
            }
            Ok(())
        })
    };
    let handles: Vec<_> = (0..TASKS as u64)
        .map(|task| {
            let (queue, wake) = (Arc::clone(&queue), wake.clone());
            runtime.spawn(async move {
                let mut dice = Dice(task);
                let mut commits = 0_u64;
                while Instant::now() < end {
                    let row = |kind| KeyBuilder::new(Space::Test, kind).number(dice.0).number(task).build();
                    let (first, second) = (row(1), row(2));
                    dice.next();
                    let (sender, receiver) = tokio::sync::oneshot::channel();
                    match queue.lock() {
                        Ok(mut queue) => queue.push((first, second, sender)),
                        Err(_) => break,
                    }
                    let _full = wake.try_send(());
                    if receiver.await.is_err() {
                        break;
                    }
                    commits += 1;
                }
                commits
            })
        })
        .collect();
    drop(wake);
    let mut commits = 0;
    for handle in handles {
        commits += runtime.block_on(handle)?;
    }
    let rate = commits as f64 / start.elapsed().as_secs_f64();
    writer.join().map_err(|_| anyhow::anyhow!("the fjall writer panicked"))??;
    eprintln!("  fjall: {rate:.0}/s");
    Ok(rate)
}

/// The physical limit of one task: write a sector's worth and sync, again and again, in a zero-filled file.
fn sync_loop(path: &Path, time: Duration) -> anyhow::Result<f64> {
    use std::os::unix::fs::FileExt;
    let file = std::fs::File::create(path)?;
    file.write_all_at(&vec![0; 64 << 20], 0)?;
    file.sync_all()?;
    let start = Instant::now();
    let (mut count, mut offset) = (0_u64, 0);
    while start.elapsed() < time {
        file.write_all_at(&[7; 1024], offset)?;
        file.sync_data()?;
        offset = (offset + 1024) % (64 << 20);
        count += 1;
    }
    Ok(count as f64 / start.elapsed().as_secs_f64())
}
