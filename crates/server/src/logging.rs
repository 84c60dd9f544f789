//! The log: events on standard error, as text or JSON.
//!
//! Lines are put into a buffer, and one thread writes them: a request that is logged waits for a copy of its line, not
//! for whoever reads the log, and many lines leave in one write. Invariant: nobody ever waits for the reader of the log.
//! When the buffer is full, lines are dropped and counted, and the log says how many when it flows again.

use std::{
    io::{self, Write},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
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
/// How long the end of the process waits for whoever reads the log.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Starts the log. Once a process; it lasts until the answer is dropped, which writes what is left.
pub(crate) fn start(format: LogFormat, level: LogLevel) -> Result<Log> {
    let level = match level {
        LogLevel::Error => Level::ERROR,
        LogLevel::Warn => Level::WARN,
        LogLevel::Info => Level::INFO,
        LogLevel::Debug => Level::DEBUG,
        LogLevel::Trace => Level::TRACE,
    };
    let log = Log::start(io::stderr(), |lines| {
        tracing::error!(lines, "lines of the log were dropped: nobody read it for a while");
    })?;
    let builder =
        tracing_subscriber::fmt().with_max_level(level).with_writer(Lines(Arc::clone(&log.pending))).with_target(false);
    let started = match format {
        LogFormat::Text => builder.with_ansi(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    if let Err(error) = started {
        output::report(&format!("the log was started before: {error}"));
    }
    // The usual hook writes to standard error by itself, and would wait for its reader.
    std::panic::set_hook(Box::new(|panic| tracing::error!(%panic, "a thread panicked")));
    Ok(log)
}

/// The log while it is written.
pub(crate) struct Log {
    pending: Arc<Pending>,
}

impl Log {
    /// Writes lines to `out`; `dropped` says how many could not be, when the next ones were.
    fn start(mut out: impl Write + Send + 'static, dropped: impl Fn(u64) + Send + 'static) -> Result<Self> {
        let pending = Arc::<Pending>::default();
        let taken = Arc::clone(&pending);
        let writer = std::thread::Builder::new().name("lazuli-log".into()).spawn(move || {
            let (mut lines, mut said) = (Vec::new(), 0);
            while taken.take(&mut lines) {
                // Where should a failure to write the log be written?
                let _gone = out.write_all(&lines).and_then(|()| out.flush());
                lines.clear();
                let all = taken.dropped.load(Ordering::Relaxed);
                if all > said {
                    dropped(all - said);
                    said = all;
                }
            }
            taken.lock().finished = true;
            taken.finished.notify_all();
        });
        writer.context("cannot start the thread of the log")?;
        Ok(Self { pending })
    }

    /// Counts the lines that were dropped.
    pub(crate) fn dropped(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.pending.dropped)
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let mut state = self.pending.lock();
        state.ended = true;
        self.pending.filled.notify_all();
        let unwritten = |state: &mut State| !state.finished;
        drop(self.pending.finished.wait_timeout_while(state, LAST_WORDS, unwritten));
    }
}

/// What waits to be written.
#[derive(Default)]
struct Pending {
    state: Mutex<State>,
    filled: Condvar,
    finished: Condvar,
    dropped: Arc<AtomicU64>,
}

#[derive(Default)]
struct State {
    lines: Vec<u8>,
    /// Nothing more is put here.
    ended: bool,
    /// The writer has written everything.
    finished: bool,
}

impl Pending {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, line: &[u8]) {
        let mut state = self.lock();
        if state.finished {
            drop(state);
            // The writer is gone; these are the last words of the process.
            let _gone = io::stderr().write_all(line);
            return;
        }
        if state.ended || state.lines.len() + line.len() > BUFFER_BYTES {
            self.dropped.fetch_add(1, Ordering::Relaxed);
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
        let log = Log::start(paper.clone(), |_| {}).unwrap();
        let mut expected = Vec::new();
        for number in 0..1000 {
            let line = format!("{number} {}\n", "x".repeat(100));
            LineWriter(&log.pending).write_all(line.as_bytes()).unwrap();
            expected.extend_from_slice(line.as_bytes());
        }
        drop(log);
        assert!(*paper.0.lock().unwrap() == expected);
    }

    /// Takes nothing until it is told to.
    struct Stalled(std::sync::mpsc::Receiver<()>, Paper);

    impl Write for Stalled {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _once_and_then_for_ever = self.0.recv();
            self.1.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_stalls_costs_lines_and_not_time() {
        let (go_on, told) = std::sync::mpsc::channel();
        let (said, heard) = std::sync::mpsc::channel();
        let paper = Paper::default();
        let log = Log::start(Stalled(told, paper.clone()), move |lines| said.send(lines).unwrap()).unwrap();
        let line = [b"x".repeat(99), b"\n".to_vec()].concat();
        // Twice what the buffers hold: this would never return if anybody waited.
        let lines = 4 * BUFFER_BYTES / line.len();
        for _ in 0..lines {
            LineWriter(&log.pending).write_all(&line).unwrap();
        }
        let dropped = log.dropped().load(Ordering::Relaxed);
        assert!(dropped >= u64::try_from(lines / 2).unwrap() - 2, "{dropped} of {lines}");
        drop(go_on);
        assert_eq!(heard.recv().unwrap(), dropped, "it says so when it flows again");
        drop(log);
        let written = paper.0.lock().unwrap().len() / line.len();
        assert_eq!(u64::try_from(lines - written).unwrap(), dropped, "every other line was written");
    }
}
