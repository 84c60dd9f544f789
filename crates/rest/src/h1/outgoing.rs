//! An answer on its way: its head, and pieces of its body that were produced and not yet taken.
//!
//! A few pieces are kept ready, so that reading the next one and sending the last one go on at the same time, and several
//! leave in one write: the more of them, the less often the client is woken for them. Invariant: never more than there is
//! room for in the outbox, and one piece, are kept. A client that is too slow is given up.

use std::{
    collections::VecDeque,
    future::Future,
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Buf as _, Bytes};
use net::{Limits, Pace};
use tokio::time::{Instant, Sleep, sleep_until};

use super::Wire;
use crate::{StreamError, answer::Ready};

/// Pieces in one write.
const SLICES: usize = 16;

pub(super) struct Outgoing<'a> {
    head: &'a [u8],
    untouched: bool,
    queue: VecDeque<Bytes>,
    pace: Pace,
    /// Runs while there is no room for the next piece.
    again: Option<Pin<Box<Sleep>>>,
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
    pub(super) const fn new(head: &'a [u8], chunked: bool, limits: &Limits, known: bool) -> Self {
        let pace = Pace::new(limits, known);
        Self { head, untouched: true, queue: VecDeque::new(), pace, again: None, chunked, ended: false }
    }

    /// True while nothing has left.
    pub(super) const fn is_untouched(&self) -> bool {
        self.untouched
    }

    /// Ready when everything has left.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, wire: &Wire, body: &mut Ready) -> Poll<Result<(), Broken>> {
        loop {
            let room = self.fill(cx, body)?;
            if self.queue.is_empty() && !self.ended {
                if !room {
                    self.look_again(cx)?;
                }
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
            match wire.poll_write(cx, slices.get(..used).unwrap_or_default()) {
                Poll::Ready(written) => self.advance(written.map_err(Broken::Connection)?, body),
                Poll::Pending if self.pace.waited() => return Poll::Ready(Err(too_slow())),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Takes pieces while there are some and there is room. False when there is none.
    fn fill(&mut self, cx: &mut Context<'_>, body: &mut Ready) -> Result<bool, Broken> {
        while !self.ended {
            // What is in memory already takes no more of it.
            if body.body.at_hand() == 0 && body.kept.bytes() >= body.kept.room() {
                return Ok(false);
            }
            match body.poll_piece(cx) {
                Poll::Pending => return Ok(true),
                Poll::Ready(Some(Err(error))) => return Err(Broken::Content(error)),
                Poll::Ready(Some(Ok(piece))) if piece.is_empty() => {}
                Poll::Ready(Some(Ok(piece))) => {
                    body.sent(&piece);
                    if self.chunked {
                        self.push(Bytes::from(format!("{:x}\r\n", piece.len())), body);
                        self.push(piece, body);
                        self.push(Bytes::from_static(b"\r\n"), body);
                    } else {
                        self.push(piece, body);
                    }
                }
                Poll::Ready(None) => {
                    self.ended = true;
                    if self.chunked {
                        self.push(Bytes::from_static(b"0\r\n\r\n"), body);
                    }
                }
            }
        }
        Ok(true)
    }

    /// Others keep all there is: looks again in a moment, but not for ever.
    fn look_again(&mut self, cx: &mut Context<'_>) -> Result<(), Broken> {
        if self.pace.waited() {
            return Err(too_slow());
        }
        let soon = || Box::pin(sleep_until(Instant::now() + net::RETRY_AFTER));
        while self.again.get_or_insert_with(soon).as_mut().poll(cx).is_ready() {
            self.again = None;
        }
        Ok(())
    }

    fn push(&mut self, piece: Bytes, body: &mut Ready) {
        body.kept.add(piece.len());
        self.queue.push_back(piece);
    }

    fn advance(&mut self, written: usize, body: &mut Ready) {
        self.untouched = false;
        self.pace.took(written);
        let of_head = written.min(self.head.len());
        self.head = self.head.get(of_head..).unwrap_or_default();
        let mut left = written - of_head;
        body.kept.forget(left);
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

fn too_slow() -> Broken {
    Broken::Connection(io::Error::new(io::ErrorKind::TimedOut, "the client takes too little"))
}
