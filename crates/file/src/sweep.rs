//! The background of the File service: what is gone gives its rows and its space back, in bounded steps whose state is in
//! rows. After a crash a step is simply done again.

use jobs::{Job, Progress, Work, on};
use store::{Direction, Read, Row, Scope, Store, key::KeyRange};

use crate::errors::FileError;

mod expiry;
mod history;
mod maps;
mod share;

/// The transactions of the background give space back, so they go on while the disk is full.
const fn scope<'a>() -> Scope<'a> {
    Scope::new().reclaims()
}

/// The first rows of a range.
async fn first(store: &Store, range: KeyRange, limit: usize) -> Result<Vec<Row>, FileError> {
    Ok(store.snapshot().scan(range, Direction::Ascending).take(limit).await?)
}

/// Where the steps are that walk over more than they can look at in one. Memory only.
#[derive(Clone, Debug, Default)]
pub struct Cursor {
    maps: maps::MapCursor,
}

/// Does one bounded step of everything. True when another would find something to do. What fails holds up nothing else: its
/// error is told when everything had its turn.
///
/// # Errors
/// The store failed.
pub async fn step(store: &Store, cursor: &mut Cursor) -> Result<bool, FileError> {
    let steps = [
        expiry::step(store).await,
        share::step(store).await,
        history::step(store).await,
        maps::prune(store, &mut cursor.maps).await,
        maps::trim(store).await,
    ];
    steps.into_iter().try_fold(false, |more, step| Ok(more | step?))
}

/// All of it as a job. What is done are steps that found something.
#[derive(Debug)]
pub struct SweepFiles;

impl Job for SweepFiles {
    const NAME: &'static str = "files";
    type Cursor = Cursor;
    type Error = FileError;

    async fn step(store: &Store, cursor: &mut Cursor) -> Result<Progress, FileError> {
        let more = step(store, cursor).await?;
        Ok(Progress { done: u64::from(more), more })
    }
}

pub(crate) fn jobs(store: &Store) -> Vec<Box<dyn Work>> {
    vec![on::<SweepFiles>(store)]
}
