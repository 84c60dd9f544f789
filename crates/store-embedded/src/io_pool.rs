//! The engine's own threads for disk work that may block, so that no task of a caller's runtime ever does.
//!
//! Each caller has at most one or two jobs under way, so the queue is as long as there are callers.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
};

use store::StoreError;
use tokio::sync::oneshot;

type Job = Box<dyn FnOnce() + Send>;

pub(crate) struct IoPool {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    closing: bool,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does the job that has waited longest. False when there is none.
    fn work_once(&self) -> bool {
        let job = self.state().jobs.pop_front();
        job.map(|job| job()).is_some()
    }

    fn work(&self) {
        let mut state = self.state();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                job();
                state = self.state();
            } else if state.closing {
                return;
            } else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

impl IoPool {
    /// With no threads at all, jobs wait for [`IoPool::step`].
    pub(crate) fn new(threads: usize) -> io::Result<Self> {
        let queue = Arc::<Queue>::default();
        let start = |number| {
            let queue = Arc::clone(&queue);
            std::thread::Builder::new().name(format!("lazuli-io-{number}")).spawn(move || queue.work())
        };
        Ok(Self { threads: (0..threads).map(start).collect::<io::Result<_>>()?, queue })
    }

    /// Does one job on the caller's thread. False when there is none.
    pub(crate) fn step(&self) -> bool {
        self.queue.work_once()
    }

    /// Runs a job on one of the threads.
    pub(crate) fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Running<T> {
        let (sender, receiver) = oneshot::channel();
        let job: Job = Box::new(move || {
            // Nobody waits any more when the caller was dropped: its result is of no use then.
            let _unheard = sender.send(job());
        });
        self.queue.state().jobs.push_back(job);
        self.queue.changed.notify_one();
        Running(receiver)
    }
}

impl Drop for IoPool {
    fn drop(&mut self) {
        self.queue.state().closing = true;
        self.queue.changed.notify_all();
        let me = std::thread::current().id();
        for thread in self.threads.drain(..) {
            // The last owner of the pool may be a job of its own.
            if thread.thread().id() != me {
                let _ended = thread.join();
            }
        }
    }
}

/// A job under way.
pub(crate) struct Running<T>(oneshot::Receiver<T>);

impl<T> Running<T> {
    pub(crate) async fn wait(self) -> Result<T, StoreError> {
        self.0.await.map_err(|_| StoreError::Closed)
    }

    /// The same for a job that must not be forgotten: whoever stops waiting still has it. Not after it has answered.
    pub(crate) async fn wait_here(&mut self) -> Result<T, StoreError> {
        (&mut self.0).await.map_err(|_| StoreError::Closed)
    }

    /// Waits on a thread that may block, never on a task of a runtime.
    pub(crate) fn block(self) -> Option<T> {
        self.0.blocking_recv().ok()
    }
}
