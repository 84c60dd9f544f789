//! The background of the Blob service: what is gone gives its rows and its space back, in bounded steps whose state is in
//! rows. After a crash a step is simply done again.

use store::{Direction, Read, Row, Scope, Store};

use crate::{
    copy::{self, CopyCursor},
    errors::BlobError,
};

mod container;
mod contents;
mod expiry;
mod uploads;

/// The transactions of the background belong to no unit. They give space back, so they go on while the disk is full.
const fn scope<'a>() -> Scope<'a> {
    Scope::new().reclaims()
}

/// The first rows of a kind.
async fn first(store: &Store, range: store::key::KeyRange, limit: usize) -> Result<Vec<Row>, BlobError> {
    Ok(store.snapshot().scan(range, Direction::Ascending).take(limit).await?)
}

/// Where the steps are that walk over more than they can look at in one. Memory only.
#[derive(Clone, Debug, Default)]
pub struct Cursor {
    copies: CopyCursor,
}

/// Does one bounded step of everything. True when another would find something to do. What fails holds up nothing else: its
/// error is told when everything had its turn.
///
/// # Errors
/// The store failed.
pub async fn step(store: &Store, cursor: &mut Cursor) -> Result<bool, BlobError> {
    let steps = [
        container::step(store).await,
        expiry::step(store).await,
        uploads::abandoned(store).await,
        uploads::dropped(store).await,
        contents::adopt(store).await,
        contents::prune(store).await,
        contents::trim(store).await,
        copy::step(store, &mut cursor.copies).await,
    ];
    steps.into_iter().try_fold(false, |more, step| Ok(more | step?))
}
