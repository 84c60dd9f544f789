//! The MD5 of bodies: pieces that arrive at the same time are taken side by side, each in a lane of its own.
//!
//! Pieces are hashed in batches. Whoever has a piece puts it into the batch and yields once. If others bring pieces too, the
//! one that fills the last lane hashes them all; if not, the first that runs again does. Yielding is all the waiting
//! there is, and after some batches of one piece no more is waited for.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU32, AtomicUsize, Ordering},
};

use bytes::Bytes;
use tokio::{sync::Notify, task};

pub use md5_lanes::Md5Bytes;
use md5_lanes::{LANES_MAX, Md5, update_together};

/// With so many bodies on their way pieces are always batched.
const ALWAYS_BATCH: usize = 4;
/// Small bodies come whole and are not on their way for long: whether batches fill is learned. So many batches in a row may
/// be of one piece before pieces are hashed without waiting.
const LONE_BATCHES_MAX: u32 = 16;
/// One in so many of those pieces tries a batch again.
const PROBE_INTERVAL: u32 = 64;
/// Pieces shorter than this are taken at once.
const SHORT_BYTES: usize = 1024;

/// Bodies on their way.
static PRESENT: AtomicUsize = AtomicUsize::new(0);
/// How many more batches may be of one piece.
static LONE_BATCHES_LEFT: AtomicU32 = AtomicU32::new(0);
/// Pieces that were hashed without a batch.
static UNBATCHED: AtomicU32 = AtomicU32::new(0);
/// The batch: pieces that nobody has hashed yet, at most one a body and fewer than there are lanes.
static WAITING: Mutex<Vec<Job>> = Mutex::new(Vec::new());

struct Job {
    stream: (Md5, Bytes),
    done: Arc<Done>,
}

/// Where the one who waits finds its digest.
#[derive(Default)]
struct Done {
    digest: Mutex<Option<Md5>>,
    told: Notify,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The MD5 of a body while it arrives.
pub struct BodyMd5 {
    md5: Md5,
    done: Option<Arc<Done>>,
    _present: Present,
}

/// Counts a body as long as it is on its way.
struct Present;

impl Drop for Present {
    fn drop(&mut self) {
        PRESENT.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Default for BodyMd5 {
    fn default() -> Self {
        PRESENT.fetch_add(1, Ordering::Relaxed);
        Self { md5: Md5::default(), done: None, _present: Present }
    }
}

impl BodyMd5 {
    /// Takes the next piece. By value: a body whose piece was not taken to its end has no digest.
    #[must_use]
    pub async fn take(mut self, piece: Bytes) -> Self {
        if piece.len() < SHORT_BYTES || !is_batched() {
            self.md5.update(&piece);
            return self;
        }
        let done = Arc::clone(self.done.get_or_insert_default());
        let job = Job { stream: (std::mem::take(&mut self.md5), piece), done: Arc::clone(&done) };
        let full = {
            let mut waiting = lock(&WAITING);
            waiting.push(job);
            (waiting.len() >= LANES_MAX).then(|| std::mem::take(&mut *waiting))
        };
        match full {
            Some(jobs) => run(jobs),
            None => {
                task::yield_now().await;
                if lock(&done.digest).is_none() {
                    // Our piece is among these, or somebody is at it right now.
                    run(std::mem::take(&mut *lock(&WAITING)));
                }
            }
        }
        loop {
            if let Some(md5) = lock(&done.digest).take() {
                self.md5 = md5;
                return self;
            }
            done.told.notified().await;
        }
    }

    /// The digest of everything taken.
    #[must_use]
    pub fn finish(self) -> Md5Bytes {
        self.md5.finish()
    }
}

/// Forgets what was learned about company, for runs that are to be repeated. Not while there is any.
pub fn forget_company() {
    LONE_BATCHES_LEFT.store(0, Ordering::Relaxed);
    UNBATCHED.store(0, Ordering::Relaxed);
    lock(&WAITING).clear();
}

fn is_batched() -> bool {
    PRESENT.load(Ordering::Relaxed) >= ALWAYS_BATCH
        || LONE_BATCHES_LEFT.load(Ordering::Relaxed) > 0
        || UNBATCHED.fetch_add(1, Ordering::Relaxed).is_multiple_of(PROBE_INTERVAL)
}

fn run(jobs: Vec<Job>) {
    match jobs.len() {
        0 => return,
        // Racing with others by one or two does no harm.
        1 => LONE_BATCHES_LEFT.store(LONE_BATCHES_LEFT.load(Ordering::Relaxed).saturating_sub(1), Ordering::Relaxed),
        _ => LONE_BATCHES_LEFT.store(LONE_BATCHES_MAX, Ordering::Relaxed),
    }
    let (mut streams, dones): (Vec<_>, Vec<_>) = jobs.into_iter().map(|job| (job.stream, job.done)).unzip();
    update_together(&mut streams);
    for ((md5, _), done) in streams.into_iter().zip(dones) {
        *lock(&done.digest) = Some(md5);
        done.told.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(bytes: &[u8]) -> Md5Bytes {
        let mut md5 = Md5::default();
        md5.update(bytes);
        md5.finish()
    }

    /// Many bodies at once on several threads: each gets its own digest, also when others give up halfway.
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn bodies_in_one_batch() {
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..200_usize {
            tasks.spawn(async move {
                let pieces: Vec<Vec<u8>> = (0..20)
                    .map(|round| vec![(number + round).to_le_bytes()[0]; 1000 + (number * 37 + round * 501) % 9000])
                    .collect();
                let mut md5 = BodyMd5::default();
                for (round, piece) in pieces.iter().enumerate() {
                    if number % 5 == 0 && round == 10 {
                        // Polled once, then dropped with its piece among the waiting.
                        let mut taking = Box::pin(md5.take(piece.clone().into()));
                        let _pending = futures_poll_once(&mut taking).await;
                        return None;
                    }
                    md5 = md5.take(piece.clone().into()).await;
                }
                Some((md5.finish(), expected(&pieces.concat())))
            });
        }
        let mut finished = 0;
        while let Some(outcome) = tasks.join_next().await {
            if let Some((found, expected)) = outcome.unwrap() {
                assert_eq!(found, expected);
                finished += 1;
            }
        }
        assert_eq!(finished, 160);
    }

    async fn futures_poll_once<F: Future + Unpin>(future: &mut F) -> bool {
        std::future::poll_fn(|cx| std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(cx).is_ready())).await
    }
}
