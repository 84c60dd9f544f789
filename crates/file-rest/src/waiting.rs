//! Operations that wait for SMB clients: somebody who caches what a request needs is asked to give it up, and the request
//! is done when that has happened.
//!
//! **Invariant.** A wait is bounded: by half a minute, and by the time that the request has.

use concurrency::oplock::REST_BREAK_TIMEOUT;
use file::FileError;
use rest::{Request, ServiceError};

use crate::errors;

/// Does an operation, and turns its refusal into an answer.
pub(crate) async fn done<T, F, Fut>(request: &Request, operation: F) -> Result<T, ServiceError>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, FileError>>,
{
    tried(request, operation).await.map_err(errors::of)
}

/// Does an operation, again and again while it has to wait. One that has waited long enough is refused with the wait.
pub(crate) async fn tried<T, F, Fut>(request: &Request, mut operation: F) -> Result<T, FileError>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, FileError>>,
{
    let (mut limit, mut place) = (None, None);
    loop {
        let outcome = operation().await;
        // The place in the queue is kept until the question has been asked again.
        drop(place.take());
        let mut ticket = match outcome {
            Err(FileError::Wait(ticket)) => ticket,
            outcome => return outcome,
        };
        let limit = *limit.get_or_insert_with(|| request.wait_limit(REST_BREAK_TIMEOUT));
        if limit.wait(&mut ticket).await.is_none() {
            return Err(FileError::Wait(ticket));
        }
        place = Some(ticket);
    }
}
