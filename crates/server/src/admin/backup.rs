//! A backup while serving: the copy runs on a thread of its own, and its progress is the body of the answer.
//!
//! Lines: `progress ROWS BYTES TOTAL`, and as the last one `done ROWS BYTES` or `failed REASON`. A body without a last
//! line is a backup that did not succeed.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use rest::{Response, ResponseBody, ServiceError};
use store_embedded::CopyProgress;
use tokio::sync::mpsc;
use types::ErrorCode;

use crate::engine::{self, Opened};

/// Lines that wait for the client; more are left out.
const LINES: usize = 16;
/// Bytes between two lines.
const STEP: u64 = 4 * 1024 * 1024;

/// At most one backup at a time.
#[derive(Default)]
pub(crate) struct Backups {
    running: Arc<AtomicBool>,
}

impl Backups {
    /// Starts one and answers with its progress.
    #[expect(clippy::disallowed_methods, reason = "the server gives blocking work its own thread")]
    pub(super) fn start(&self, opened: &Opened, to: &str) -> Result<Response, ServiceError> {
        let invalid = |reason: &str| Err(ServiceError::invalid_query("to", to, reason));
        let Ok(engine) = opened.on_disk() else { return invalid("the server keeps its data in memory") };
        let target = PathBuf::from(to);
        if !target.is_absolute() {
            return invalid("it is not an absolute path");
        }
        let Some(running) = Running::begin(&self.running) else {
            return Err(ServiceError::new(ErrorCode::SystemInUse, "Another backup is running."));
        };
        let (lines, receiver) = mpsc::channel::<String>(LINES);
        tokio::task::spawn_blocking(move || {
            let mut next = 0;
            let outcome = engine.backup(&target, |progress: CopyProgress| {
                if progress.bytes + progress.rows >= next {
                    next = progress.bytes + progress.rows + STEP;
                    let CopyProgress { rows, bytes, total_bytes } = progress;
                    let _client_is_slow = lines.try_send(format!("progress {rows} {bytes} {total_bytes}\n"));
                }
            });
            drop(running);
            let last = match outcome {
                Ok(done) => format!("done {} {}\n", done.rows, done.bytes),
                Err(error) => format!("failed {}\n", format!("{:#}", engine::reason(error)).replace('\n', " ")),
            };
            tracing::info!(target = %target.display(), outcome = last.trim_end(), "backup");
            let _client_went_away = lines.blocking_send(last);
        });
        let body = ResponseBody::unsized_stream(receiver, |mut receiver| async move {
            Ok(receiver.recv().await.map(|line| (Bytes::from(line), receiver)))
        });
        Ok(Response::new(StatusCode::OK).body(HeaderValue::from_static("text/plain; charset=utf-8"), body))
    }
}

/// The mark of a backup that runs; taken back however it ends.
struct Running(Arc<AtomicBool>);

impl Running {
    fn begin(mark: &Arc<AtomicBool>) -> Option<Self> {
        (!mark.swap(true, Ordering::AcqRel)).then(|| Self(Arc::clone(mark)))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
