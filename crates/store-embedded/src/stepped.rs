//! An engine without threads: whoever made it does their work, a step at a time, in an order of its own choice. So the engine
//! and the services on it run in one thread under a seeded scheduler, and every run can be repeated.
//!
//! **Invariant.** The work is the same as that of the threads, done by the same functions; only who calls them differs.

use std::sync::{Mutex, PoisonError};

use crate::{
    log::LogWriter,
    pipeline::{Pipeline, Step},
    shared::Shared,
};

/// What is called when a step would have to wait for something outside of the engine, such as room on the disk. It must
/// change something, sooner or later.
pub type Waiting = Box<dyn Fn() + Send + Sync>;

pub(crate) struct Stepped {
    pipeline: Mutex<Option<Pipeline>>,
    waiting: Waiting,
}

impl Stepped {
    pub(crate) fn new(waiting: Waiting) -> Self {
        Self { pipeline: Mutex::default(), waiting }
    }

    /// From now on there is a log.
    pub(crate) fn begin(&self, pipeline: Pipeline) {
        *self.pipeline.lock().unwrap_or_else(PoisonError::into_inner) = Some(pipeline);
    }

    /// One step of the log. False when there was nothing to do, or never will be.
    pub(crate) fn log(&self, shared: &Shared) -> bool {
        let mut pipeline = self.pipeline.lock().unwrap_or_else(PoisonError::into_inner);
        let step = pipeline.as_mut().map_or(Step::Failed, |pipeline| pipeline.step(shared, false));
        if step == Step::Failed {
            *pipeline = None;
        }
        step == Step::Worked
    }

    /// The rest of what is queued, and the log, when all of it is durable.
    pub(crate) fn end(&self, shared: &Shared) -> Option<LogWriter> {
        let mut pipeline = self.pipeline.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        loop {
            match pipeline.step(shared, false) {
                Step::Worked => {}
                Step::Closed => return Some(pipeline.into_log()),
                Step::Idle | Step::Failed => return None,
            }
        }
    }

    pub(crate) fn wait_for_the_world(&self) {
        (self.waiting)();
    }
}
