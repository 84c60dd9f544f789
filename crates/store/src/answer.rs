//! A future that is usually ready: reads of a local engine answer at once and allocate nothing, a remote engine's wait.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

/// A boxed future that can cross threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The answer to a read: here now, or later.
#[must_use = "an answer does nothing unless awaited"]
pub enum Answer<'a, T> {
    /// Already known. `None` once it has been taken.
    Now(Option<T>),
    /// Still on its way.
    Later(BoxFuture<'a, T>),
}

impl<T> Answer<'_, T> {
    /// An answer that is known now.
    pub fn now(value: T) -> Self {
        Self::Now(Some(value))
    }
}

impl<T> Unpin for Answer<'_, T> {}

impl<T> Future for Answer<'_, T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        match self.get_mut() {
            // Polling after completion breaks the contract of Future; never waking is the answer that harms nobody.
            Self::Now(value) => value.take().map_or(Poll::Pending, Poll::Ready),
            Self::Later(future) => future.as_mut().poll(cx),
        }
    }
}
