//! An answer on its way: its head, and pieces of its body that were produced and not yet taken.
//!
//! A few pieces are kept ready, so that reading the next one and sending the last one go on at the same time, and several
//! leave in one write. Invariant: never more than [`QUEUE_BYTES`] and one piece are kept.

use std::{
    collections::VecDeque,
    io::{self, IoSlice},
    task::{Context, Poll, ready},
};

use bytes::{Buf as _, Bytes};

use super::Wire;
use crate::{StreamError, answer::Ready};

const QUEUE_BYTES: usize = 256 * 1024;
/// Pieces in one write.
const SLICES: usize = 16;

pub(super) struct Outgoing<'a> {
    head: &'a [u8],
    untouched: bool,
    queue: VecDeque<Bytes>,
    queued: usize,
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
        Self { head, untouched: true, queue: VecDeque::new(), queued: 0, chunked, ended: false }
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
        while !self.ended && self.queued < QUEUE_BYTES {
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
        self.queue.push_back(piece);
    }

    fn advance(&mut self, written: usize) {
        self.untouched = false;
        let of_head = written.min(self.head.len());
        self.head = self.head.get(of_head..).unwrap_or_default();
        let mut left = written - of_head;
        self.queued -= left.min(self.queued);
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
