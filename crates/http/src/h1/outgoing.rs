//! An answer on its way: its head, and pieces of its body that were produced and not yet taken.
//!
//! A few pieces are kept ready, so that reading the next one and sending the last one go on at the same time, and several
//! leave in one write: the more of them, the less often the client is woken for them. Invariant: never more than
//! [`QUEUE_BYTES`] and one piece are kept, and of those who come when [`ALL_BYTES`] are kept, [`CROWDED_BYTES`] and one piece.

use std::{
    collections::VecDeque,
    io::{self, IoSlice},
    sync::atomic::{AtomicUsize, Ordering},
    task::{Context, Poll, ready},
};

use bytes::{Buf as _, Bytes};

use super::Wire;
use crate::{StreamError, answer::Ready};

const QUEUE_BYTES: usize = 1024 * 1024;
/// Kept by all answers together before each gets less.
const ALL_BYTES: usize = 64 * 1024 * 1024;
const CROWDED_BYTES: usize = 128 * 1024;
/// Pieces in one write.
const SLICES: usize = 16;

static ALL: AtomicUsize = AtomicUsize::new(0);

pub(super) struct Outgoing<'a> {
    head: &'a [u8],
    untouched: bool,
    queue: VecDeque<Bytes>,
    queued: usize,
    /// What all answers keep.
    all: &'static AtomicUsize,
    chunked: bool,
    /// The body has no more pieces.
    ended: bool,
}

/// Why an answer did not leave as a whole.
pub(super) enum Broken {
    /// Its body could not be produced.
    Content(StreamError),
    Connection(io::Error),
}

impl<'a> Outgoing<'a> {
    pub(super) const fn new(head: &'a [u8], chunked: bool) -> Self {
        Self { head, untouched: true, queue: VecDeque::new(), queued: 0, all: &ALL, chunked, ended: false }
    }

    /// True while nothing has left.
    pub(super) const fn is_untouched(&self) -> bool {
        self.untouched
    }

    /// Ready when everything has left.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, wire: &Wire, body: &mut Ready) -> Poll<Result<(), Broken>> {
        loop {
            self.fill(cx, body)?;
            if self.queue.is_empty() && !self.ended {
                // The head waits for the first piece, and leaves with it.
                return Poll::Pending;
            }
            if self.head.is_empty() && self.queue.is_empty() {
                return wire.poll_flush(cx).map_err(Broken::Connection);
            }
            let mut slices = [IoSlice::new(b""); SLICES];
            let parts = std::iter::once(self.head).chain(self.queue.iter().map(|piece| &**piece));
            let mut used = 0;
            for (slice, part) in slices.iter_mut().zip(parts.filter(|part| !part.is_empty())) {
                *slice = IoSlice::new(part);
                used += 1;
            }
            let written = wire.poll_write(cx, slices.get(..used).unwrap_or_default());
            let written = ready!(written).map_err(Broken::Connection)?;
            self.advance(written);
        }
    }

    /// Takes pieces while there are some and there is room.
    fn fill(&mut self, cx: &mut Context<'_>, body: &mut Ready) -> Result<(), Broken> {
        while !self.ended && self.queued < room(self.all.load(Ordering::Relaxed)) {
            match body.poll_piece(cx) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Some(Err(error))) => return Err(Broken::Content(error)),
                Poll::Ready(Some(Ok(piece))) if piece.is_empty() => {}
                Poll::Ready(Some(Ok(piece))) => {
                    body.sent(&piece);
                    if self.chunked {
                        self.push(Bytes::from(format!("{:x}\r\n", piece.len())));
                        self.push(piece);
                        self.push(Bytes::from_static(b"\r\n"));
                    } else {
                        self.push(piece);
                    }
                }
                Poll::Ready(None) => {
                    self.ended = true;
                    if self.chunked {
                        self.push(Bytes::from_static(b"0\r\n\r\n"));
                    }
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, piece: Bytes) {
        self.queued += piece.len();
        self.all.fetch_add(piece.len(), Ordering::Relaxed);
        self.queue.push_back(piece);
    }

    /// So many bytes are not kept any more.
    fn forget(&mut self, bytes: usize) {
        let bytes = bytes.min(self.queued);
        self.queued -= bytes;
        self.all.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn advance(&mut self, written: usize) {
        self.untouched = false;
        let of_head = written.min(self.head.len());
        self.head = self.head.get(of_head..).unwrap_or_default();
        let mut left = written - of_head;
        self.forget(left);
        while let Some(piece) = self.queue.front_mut() {
            if left < piece.len() {
                piece.advance(left);
                return;
            }
            left -= piece.len();
            self.queue.pop_front();
        }
    }
}

impl Drop for Outgoing<'_> {
    fn drop(&mut self) {
        self.forget(self.queued);
    }
}

/// What one answer may keep while all together keep this much.
const fn room(all: usize) -> usize {
    if all < ALL_BYTES { QUEUE_BYTES } else { CROWDED_BYTES }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_counted_until_it_has_left_or_is_given_up() {
        static KEPT: AtomicUsize = AtomicUsize::new(0);
        let kept = || KEPT.load(Ordering::Relaxed);
        let mut outgoing = Outgoing::new(b"head", false);
        outgoing.all = &KEPT;
        for _ in 0..3 {
            outgoing.push(Bytes::from_static(&[7; 1000]));
        }
        assert_eq!(kept(), 3000);
        outgoing.advance(4);
        assert_eq!(kept(), 3000, "the head is not counted");
        outgoing.advance(1500);
        assert_eq!((kept(), outgoing.queue.len()), (1500, 2));
        drop(outgoing);
        assert_eq!(kept(), 0);
    }

    #[test]
    fn who_comes_to_a_crowd_keeps_less() {
        assert_eq!(room(0), QUEUE_BYTES);
        assert_eq!(room(ALL_BYTES - 1), QUEUE_BYTES);
        assert_eq!(room(ALL_BYTES), CROWDED_BYTES);
    }
}
