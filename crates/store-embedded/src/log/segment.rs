//! Segments: files of zeros that frames are written into. A zero-filled file syncs faster than a growing one, because
//! no sync has to change the file's size or its map.
//!
//! One segment is prepared ahead by a thread of its own, from a used one when there is one. The first are small, so
//! that a new store starts at once.

use std::{
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
};

use crate::{
    disk::{Disk, DiskFile, is_exhausted, is_no_room},
    options::Options,
};

/// Where segments live.
pub(crate) const DIRECTORY: &str = "log";
const FIRST_BYTES: u64 = 4 * 1024 * 1024;
/// Used segments that are kept: filling a new one with zeros costs as much as what is written into it.
const SPARES: usize = 4;

pub(crate) fn file_name(number: u64) -> String {
    format!("{DIRECTORY}/{number:016x}.log")
}

pub(crate) fn parse_name(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".log").filter(|digits| digits.len() == 16)?;
    u64::from_str_radix(digits, 16).ok()
}

/// A segment that is ready for frames.
pub(crate) struct Segment {
    pub(crate) number: u64,
    pub(crate) file: Arc<dyn DiskFile>,
    pub(crate) size: u64,
}

/// Hands out fresh segments and takes used ones back.
pub(crate) struct SegmentSource {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    disk: Arc<dyn Disk>,
    state: Mutex<State>,
    changed: Condvar,
    background: bool,
    full_bytes: u64,
}

struct State {
    next_number: u64,
    next_bytes: u64,
    ready: Option<io::Result<Segment>>,
    /// A frame larger than a segment wants one of its own size.
    wanted_bytes: u64,
    /// Used segments: their number and size.
    spares: Vec<(u64, u64)>,
    closing: bool,
}

impl SegmentSource {
    /// The next segment has this number. Without `background`, segments are made when they are asked for.
    pub(crate) fn new(disk: Arc<dyn Disk>, next_number: u64, options: &Options) -> io::Result<Self> {
        let (background, full_bytes) = (options.background, options.log_segment_bytes);
        let first_bytes = FIRST_BYTES.min(full_bytes);
        let state = State {
            next_number,
            next_bytes: first_bytes,
            ready: None,
            wanted_bytes: 0,
            spares: Vec::new(),
            closing: false,
        };
        let shared =
            Arc::new(Shared { disk, state: Mutex::new(state), changed: Condvar::new(), background, full_bytes });
        let thread = if background {
            let shared = Arc::clone(&shared);
            Some(std::thread::Builder::new().name("lazuli-segment".into()).spawn(move || shared.prepare_ahead())?)
        } else {
            None
        };
        Ok(Self { shared, thread })
    }

    /// A segment with room for at least `frame_bytes`. Numbers are handed out in order.
    pub(crate) fn take(&self, frame_bytes: u64) -> io::Result<Segment> {
        let mut state = self.shared.state();
        if !self.shared.background {
            let (number, size) = state.reserve(frame_bytes, self.shared.full_bytes);
            drop(state);
            return create(&*self.shared.disk, number, size);
        }
        let mut fresh = false;
        loop {
            match state.ready.take() {
                Some(Ok(small)) if small.size < frame_bytes => {
                    state.wanted_bytes = frame_bytes;
                    self.shared.disk.remove(&file_name(small.number))?;
                    self.shared.changed.notify_all();
                }
                // What was wrong when it was made ahead may be over.
                Some(Err(error)) if !fresh && is_worth_waiting(&error) => {
                    fresh = true;
                    self.shared.changed.notify_all();
                }
                Some(ready) => {
                    self.shared.changed.notify_all();
                    return ready;
                }
                None => state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Takes back a segment whose rows are in the index.
    pub(crate) fn give_back(&self, number: u64, size: u64) -> io::Result<()> {
        let mut state = self.shared.state();
        if self.shared.background && size == self.shared.full_bytes && state.spares.len() < SPARES {
            state.spares.push((number, size));
            return Ok(());
        }
        drop(state);
        self.shared.disk.remove(&file_name(number))
    }

    /// Removes the used segments that were kept: whoever opens the log next would read them for nothing, and while nobody
    /// writes they only take space.
    pub(crate) fn remove_spares(&self) -> io::Result<()> {
        let spares = std::mem::take(&mut self.shared.state().spares);
        spares.into_iter().try_for_each(|(number, _)| self.shared.disk.remove(&file_name(number)))
    }
}

impl Drop for SegmentSource {
    fn drop(&mut self) {
        self.shared.state().closing = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

impl State {
    fn reserve(&mut self, frame_bytes: u64, full_bytes: u64) -> (u64, u64) {
        let reserved = (self.next_number, self.next_bytes.max(frame_bytes));
        self.next_number += 1;
        self.next_bytes = (self.next_bytes * 2).min(full_bytes);
        reserved
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn prepare_ahead(&self) {
        let mut state = self.state();
        while !state.closing {
            if state.ready.is_some() {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let wanted = std::mem::take(&mut state.wanted_bytes);
            let (number, size) = state.reserve(wanted, self.full_bytes);
            let spare = if size == self.full_bytes { state.spares.pop() } else { None };
            drop(state);
            let made = match spare {
                Some((used, size)) => reuse(&*self.disk, used, number, size),
                None => create(&*self.disk, number, size),
            };
            state = self.state();
            if let (Err(_), Some(spare)) = (&made, spare) {
                state.spares.push(spare); // still under its old name
            }
            state.ready = Some(made);
            self.changed.notify_all();
        }
    }
}

/// True when nothing but room or a handle is missing, so that it is right to try again.
pub(super) fn is_worth_waiting(error: &io::Error) -> bool {
    is_no_room(error) || is_exhausted(error)
}

fn create(disk: &dyn Disk, number: u64, size: u64) -> io::Result<Segment> {
    let name = file_name(number);
    let file = disk.create(&name)?;
    let filled = zero_fill(&*file, size).and_then(|()| file.sync()).and_then(|()| disk.sync_directory(DIRECTORY));
    if let Err(error) = filled {
        // The space is needed more than the error of the removal: the first error tells what is wrong.
        let _removed = disk.remove(&name);
        return Err(error);
    }
    Ok(Segment { number, file, size })
}

/// What the file holds needs no clearing: its frames name another segment.
fn reuse(disk: &dyn Disk, used: u64, number: u64, size: u64) -> io::Result<Segment> {
    // Opened first: what cannot be opened keeps its name.
    let file = disk.open(&file_name(used))?;
    disk.rename(&file_name(used), &file_name(number))?;
    if let Err(error) = disk.sync_directory(DIRECTORY) {
        disk.rename(&file_name(number), &file_name(used))?;
        return Err(error);
    }
    Ok(Segment { number, file, size })
}

fn zero_fill(file: &dyn DiskFile, size: u64) -> io::Result<()> {
    const STEP: u64 = 1024 * 1024;
    let zeros = vec![0; usize::try_from(STEP).unwrap_or(0)];
    let mut offset = 0;
    while offset < size {
        let count = usize::try_from((size - offset).min(STEP)).unwrap_or(0);
        file.write_at(zeros.get(..count).unwrap_or_default(), offset)?;
        offset += STEP;
    }
    Ok(())
}
