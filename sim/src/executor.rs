//! Tasks in one thread, polled in whatever order the caller chooses.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Wake, Waker},
};

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// Tasks, and which of them have something to do.
#[derive(Default)]
pub(crate) struct Executor {
    tasks: BTreeMap<u64, Task>,
    next: u64,
    ready: Arc<Mutex<BTreeSet<u64>>>,
}

struct Alarm {
    task: u64,
    ready: Arc<Mutex<BTreeSet<u64>>>,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).insert(self.task);
    }
}

impl Executor {
    pub(crate) fn spawn(&mut self, task: impl Future<Output = ()> + 'static) {
        let id = self.next;
        self.next += 1;
        self.tasks.insert(id, Box::pin(task));
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
    }

    /// How many tasks have something to do.
    pub(crate) fn ready(&self) -> usize {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Lets one of those go on. Tells which.
    pub(crate) fn poll(&mut self, nth: usize) -> Option<u64> {
        let id = {
            let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
            let id = *ready.iter().nth(nth)?;
            ready.remove(&id);
            id
        };
        let task = self.tasks.get_mut(&id)?;
        let waker = Waker::from(Arc::new(Alarm { task: id, ready: Arc::clone(&self.ready) }));
        if task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            self.tasks.remove(&id);
        }
        Some(id)
    }

    /// All tasks are gone, wherever they were.
    pub(crate) fn clear(&mut self) {
        self.tasks.clear();
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
