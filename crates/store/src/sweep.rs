//! The sweeper: frees the chunks of contents that are gone, ends pins whose time has passed, and repacks chunks of which
//! little is used, in bounded steps.
//!
//! Its state is in rows, so a crash repeats at most one step; every step is harmless when repeated, also by another
//! sweeper at the same time.

use types::{ContentId, UnitId};

use crate::{
    content::{self, Holdings, SWEEP},
    content_map,
    error::StoreError,
    key::KeyParser,
    manifest::Manifest,
    read::{Direction, Read},
    space::Space,
    transact::{Scope, Store},
    txn::Txn,
};

/// Contents looked at, and chunks freed in one transaction, in a step.
const BATCH: usize = 256;

/// Chunks repacked in a step: each is read and written.
const REPACKED: usize = 8;

/// The sweeper's transactions belong to no unit of a service.
const UNIT: UnitId = UnitId::new(0);

/// What a step did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Contents whose sweep ended.
    pub finished: usize,
    /// Contents left alone because a download reads them.
    pub held: usize,
    /// Pins that ended because their time had passed.
    pub expired_pins: usize,
    /// Chunks of which only the used part was kept.
    pub repacked: usize,
    /// True when another step would find something to do.
    pub more: bool,
}

/// Does one bounded step.
///
/// # Errors
/// The store failed.
pub async fn step(store: &Store) -> Result<Progress, StoreError> {
    let mut progress = Progress::default();
    let snapshot = store.snapshot();
    let overdue = snapshot.scan(content::pin_deadlines(store.now()), Direction::Ascending).take(BATCH).await?;
    let mut sweeps = Vec::new();
    let mut scan = snapshot.scan(content::sweeps(), Direction::Ascending);
    while sweeps.len() < BATCH
        && let Some(row) = scan.next().await?
    {
        let mut parser = KeyParser::new(&row.key, Space::Store, SWEEP)?;
        let gone = ContentId::new(parser.number()?);
        if store.pins().is_held(gone) {
            progress.held += 1; // it waits, and nothing behind it does
        } else {
            sweeps.push((gone, Holdings::decode(&row.value)?));
        }
    }
    drop(scan);
    let sparse = snapshot.scan(content::sparse_chunks(), Direction::Ascending).take(REPACKED).await?;
    drop(snapshot);
    progress.more = overdue.len() == BATCH || sweeps.len() == BATCH || sparse.len() == REPACKED;

    for row in overdue {
        let (until, source, pin) = content::parse_pin_deadline_key(&row.key)?;
        let scope = Scope::unit(UNIT).reclaims();
        store.transact(scope, |txn| async move { content::expire_pin(&txn, until, source, pin).await }).await?;
        progress.expired_pins += 1;
        progress.more = true; // the source may have become sweepable
    }
    for (gone, holdings) in sweeps {
        match sweep(store, gone, holdings).await? {
            Swept::Part => progress.more = true,
            Swept::All { sources } => {
                progress.finished += 1;
                progress.more |= sources > 0; // they may have become sweepable
            }
        }
    }
    for row in sparse {
        let (owner, chunk) = content_map::parse_sparse(&row)?;
        progress.repacked += usize::from(content_map::repack(store, owner, chunk).await?);
    }
    Ok(progress)
}

/// How far the sweep of a content came.
enum Swept {
    /// Something is left of it.
    Part,
    /// It is gone for good, and so is its use of so many others.
    All { sources: usize },
}

/// Frees one batch.
async fn sweep(store: &Store, gone: ContentId, holdings: Holdings) -> Result<Swept, StoreError> {
    let scope = Scope::unit(UNIT).reclaims();
    match holdings {
        Holdings::Nothing => {
            store
                .transact(scope, |txn| async move {
                    if !is_at(&txn, gone, holdings).await? {
                        return Ok(Swept::Part);
                    }
                    let sources = content::sources_of(&txn, gone, BATCH).await?;
                    for source in &sources {
                        content::drop_edge(&txn, *source, gone).await?;
                    }
                    if sources.len() == BATCH {
                        return Ok(Swept::Part);
                    }
                    txn.delete(content::sweep_key(gone));
                    Ok(Swept::All { sources: sources.len() })
                })
                .await
        }
        Holdings::Chunk(chunk) => {
            store
                .transact(scope, |txn| async move {
                    if !is_at(&txn, gone, holdings).await? {
                        return Ok(Swept::Part);
                    }
                    content::free(&txn, chunk, gone).await?;
                    go_on(&txn, gone, Holdings::Nothing);
                    Ok(Swept::Part)
                })
                .await
        }
        Holdings::Map => {
            store
                .transact(scope, |txn| async move {
                    if !is_at(&txn, gone, holdings).await? {
                        return Ok(Swept::Part);
                    }
                    if content_map::remove_all(&txn, gone, BATCH).await? {
                        go_on(&txn, gone, Holdings::Nothing);
                    }
                    Ok(Swept::Part)
                })
                .await
        }
        Holdings::Manifest { manifest, next } => {
            let blocks = &match store.open_chunk(manifest).await {
                Ok(source) => Manifest::open(&*source).await?.blocks(next, BATCH).await?,
                // Freed last, so all of its blocks are: somebody was faster, or the content was released twice.
                Err(StoreError::ChunkGone(_)) => Vec::new(),
                Err(error) => return Err(error),
            };
            store
                .transact(scope, |txn| async move {
                    if !is_at(&txn, gone, holdings).await? {
                        return Ok(Swept::Part);
                    }
                    for block in blocks {
                        content::free(&txn, block.chunk, gone).await?;
                    }
                    let freed = u64::try_from(blocks.len()).unwrap_or(u64::MAX);
                    let rest = Holdings::Manifest { manifest, next: next.saturating_add(freed) };
                    go_on(&txn, gone, if blocks.len() < BATCH { Holdings::Chunk(manifest) } else { rest });
                    Ok(Swept::Part)
                })
                .await
        }
    }
}

/// True while the sweep of a content is where we found it. Another sweeper may have gone on, or even ended it: to write
/// down our progress then would begin it anew.
async fn is_at(txn: &Txn, gone: ContentId, holdings: Holdings) -> Result<bool, StoreError> {
    let found = txn.get(&content::sweep_key(gone)).await?;
    Ok(found.as_deref() == Some(&*holdings.encode()))
}

fn go_on(txn: &Txn, gone: ContentId, rest: Holdings) {
    txn.put(content::sweep_key(gone), rest.encode());
}
