//! The log: events on standard error, as text or JSON.
//!
//! Lines are put into a buffer, and one thread writes them: a request that is logged waits for a copy of its line, not
//! for whoever reads the log, and many lines leave in one write. Nothing is dropped: when the buffer is full, whoever
//! logs waits.

use std::{
    io::{self, Write},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
};

use anyhow::{Context as _, Result};
use tracing::Level;
use tracing_subscriber::fmt::MakeWriter;

use crate::{
    output,
    settings::{LogFormat, LogLevel},
};

/// Lines that wait to be written.
const BUFFER_BYTES: usize = 1024 * 1024;

/// Starts the log. Once a process; it lasts until the answer is dropped, which writes what is left.
pub(crate) fn start(format: LogFormat, level: LogLevel) -> Result<Log> {
    let level = match level {
        LogLevel::Error => Level::ERROR,
        LogLevel::Warn => Level::WARN,
        LogLevel::Info => Level::INFO,
        LogLevel::Debug => Level::DEBUG,
        LogLevel::Trace => Level::TRACE,
    };
    let log = Log::start(io::stderr())?;
    let builder =
        tracing_subscriber::fmt().with_max_level(level).with_writer(Lines(Arc::clone(&log.pending))).with_target(false);
    let started = match format {
        LogFormat::Text => builder.with_ansi(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    if let Err(error) = started {
        output::complain(&format!("the log was started before: {error}"));
    }
    Ok(log)
}

/// The log while it is written.
pub(crate) struct Log {
    pending: Arc<Pending>,
    writer: Option<JoinHandle<()>>,
}

impl Log {
    fn start(mut out: impl Write + Send + 'static) -> Result<Self> {
        let pending = Arc::<Pending>::default();
        let taken = Arc::clone(&pending);
        let writer = std::thread::Builder::new().name("lazuli-log".into()).spawn(move || {
            let mut lines = Vec::new();
            while taken.take(&mut lines) {
                // Where should a failure to write the log be written?
                let _gone = out.write_all(&lines).and_then(|()| out.flush());
                lines.clear();
            }
        });
        Ok(Self { pending, writer: Some(writer.context("cannot start the thread of the log")?) })
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.pending.lock().ended = true;
        self.pending.filled.notify_all();
        self.pending.emptied.notify_all();
        if let Some(writer) = self.writer.take() {
            let _panicked = writer.join();
        }
    }
}

/// What waits to be written.
#[derive(Default)]
struct Pending {
    state: Mutex<State>,
    filled: Condvar,
    emptied: Condvar,
}

#[derive(Default)]
struct State {
    lines: Vec<u8>,
    ended: bool,
}

impl Pending {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, line: &[u8]) {
        let mut state = self.lock();
        while state.lines.len() >= BUFFER_BYTES && !state.ended {
            state = self.emptied.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.ended {
            // The writer is gone; these are the last words of the process.
            let _gone = io::stderr().write_all(line);
            return;
        }
        let sleeps = state.lines.is_empty();
        state.lines.extend_from_slice(line);
        drop(state);
        if sleeps {
            self.filled.notify_one();
        }
    }

    /// Swaps what is there for an empty buffer. False at the end.
    fn take(&self, empty: &mut Vec<u8>) -> bool {
        let mut state = self.lock();
        while state.lines.is_empty() && !state.ended {
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::swap(&mut state.lines, empty);
        drop(state);
        self.emptied.notify_all();
        !empty.is_empty()
    }
}

/// Where events are written to.
struct Lines(Arc<Pending>);

impl<'a> MakeWriter<'a> for Lines {
    type Writer = LineWriter<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        LineWriter(&self.0)
    }
}

/// Takes one event, which comes in one piece.
struct LineWriter<'a>(&'a Pending);

impl Write for LineWriter<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.put(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn every_line_is_written_once_and_in_order() {
        let paper = Paper::default();
        let log = Log::start(paper.clone()).unwrap();
        let mut expected = Vec::new();
        // More than the buffer holds, so somebody has to wait.
        for number in 0..20_000 {
            let line = format!("{number} {}\n", "x".repeat(100));
            LineWriter(&log.pending).write_all(line.as_bytes()).unwrap();
            expected.extend_from_slice(line.as_bytes());
        }
        drop(log);
        assert!(*paper.0.lock().unwrap() == expected);
    }
}
