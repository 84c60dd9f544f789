//! Operations that wait for other clients: the client is told that it takes a while, and may give up.
//!
//! **Invariant.** A wait ends: what is waited for has a deadline in the table of opens, and the client or the end of its
//! connection can cancel.

use file::FileError;

use crate::{NtStatus, errors::status_of, request::Cx};

/// Does an operation, again and again while it has to wait.
///
/// # Errors
/// The status of its refusal, or that it was cancelled.
pub(crate) async fn done<T, F, Fut>(cx: &Cx<'_>, mut operation: F) -> Result<T, NtStatus>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, FileError>>,
{
    let mut place = None;
    loop {
        let outcome = operation().await;
        // The place in the queue is kept until the question has been asked again.
        drop(place.take());
        let mut ticket = match outcome {
            Err(FileError::Wait(ticket)) => ticket,
            outcome => return outcome.map_err(|error| status_of(&error)),
        };
        cx.pend().await;
        tokio::select! {
            () = &mut ticket => {}
            () = cx.cancelled() => return Err(NtStatus::CANCELLED),
        }
        place = Some(ticket);
    }
}
