//! The background of the Blob service: what is gone gives its rows and its space back, in bounded steps whose state is in
//! rows. After a crash a step is simply done again.

use jobs::{Work, on};
use store::{Direction, Read, Row, Scope, Store};

use crate::{copy::CopyMaps, errors::BlobError};

mod container;
mod contents;
mod expiry;
mod uploads;

pub use self::{
    container::SweepContainers,
    contents::{AdoptBlocks, PruneMaps, TrimMaps},
    expiry::ExpireBlobs,
    uploads::{ExpireUploads, SweepUploads},
};

/// The transactions of the background belong to no unit. They give space back, so they go on while the disk is full.
const fn scope<'a>() -> Scope<'a> {
    Scope::new().reclaims()
}

/// The first rows of a kind.
async fn first(store: &Store, range: store::key::KeyRange, limit: usize) -> Result<Vec<Row>, BlobError> {
    Ok(store.snapshot().scan(range, Direction::Ascending).take(limit).await?)
}

/// All of it, in the order in which one prepares the next.
pub(crate) fn jobs(store: &Store) -> Vec<Box<dyn Work>> {
    vec![
        on::<SweepContainers>(store),
        on::<ExpireBlobs>(store),
        on::<ExpireUploads>(store),
        on::<SweepUploads>(store),
        on::<AdoptBlocks>(store),
        on::<PruneMaps>(store),
        on::<TrimMaps>(store),
        on::<CopyMaps>(store),
    ]
}
