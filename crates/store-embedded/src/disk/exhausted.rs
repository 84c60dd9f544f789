//! What is wrong when a file cannot be *opened* because the system has no descriptor or no memory left for it: nothing was
//! done, so trying again later is right. The same error of a write or a sync would be final, so it is marked where files
//! are opened, and nowhere else.

use std::{io, sync::Arc};

use rustix::io::Errno;
use store::StoreError;

/// An error that came from opening a file.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Exhausted(#[source] io::Error);

/// Marks the outcome of opening or creating a file.
pub(crate) fn opening<T>(outcome: io::Result<T>) -> io::Result<T> {
    outcome.map_err(mark)
}

/// Marks the error of opening or creating a file.
pub(crate) fn mark(error: io::Error) -> io::Error {
    match Errno::from_io_error(&error) {
        Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => io::Error::new(error.kind(), Exhausted(error)),
        _ => error,
    }
}

/// True for what was marked, also inside of other errors.
pub(crate) fn is_exhausted(error: &io::Error) -> bool {
    let Some(inner) = error.get_ref() else { return false };
    inner.is::<Exhausted>()
        || inner.downcast_ref::<Arc<io::Error>>().is_some_and(|inner| is_exhausted(inner))
        || inner.downcast_ref::<StoreError>().is_some_and(|inner| matches!(inner, StoreError::Exhausted(_)))
}

/// The error of the store for one of opening a file.
pub(crate) fn opened(error: io::Error) -> StoreError {
    if is_exhausted(&error) { StoreError::Exhausted(Arc::new(error)) } else { error.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_marked_is_worth_trying_again() {
        let error = |errno: Errno| io::Error::from_raw_os_error(errno.raw_os_error());
        for (errno, waits) in [
            (Errno::MFILE, true),
            (Errno::NFILE, true),
            (Errno::NOMEM, true),
            (Errno::IO, false),
            (Errno::NOENT, false),
        ] {
            let marked = opening::<()>(Err(error(errno))).unwrap_err();
            assert_eq!(is_exhausted(&marked), waits, "{errno:?}");
            let wrapped = io::Error::new(marked.kind(), Arc::new(marked));
            assert_eq!(is_exhausted(&wrapped), waits, "{errno:?} inside of another");
            assert!(!is_exhausted(&error(errno)), "{errno:?} of a write or a sync");
        }
    }
}
