//! The sweeper: frees the chunks of contents that are gone, ends pins whose time has passed, and repacks chunks of which
//! little is used, in bounded steps.
//!
//! Its state is in rows, so a crash repeats at most one step; every step is harmless when repeated, also by another
//! sweeper at the same time.

use std::sync::atomic::{AtomicU64, Ordering};

use types::ContentId;

use crate::{
    content::{self, Holdings, SWEEP},
    content_map,
    error::StoreError,
    key::{KeyParser, KeyRange},
    manifest::Manifest,
    read::{Direction, Read, Snapshot},
    space::Space,
    transact::{Scope, Series, Store},
    txn::Txn,
};

/// Contents looked at in a step.
const STEP: usize = 2048;

/// Contents of one chunk swept, or chunks of a content freed, in one transaction.
const BATCH: usize = 256;

/// Chunks repacked in a step: each is read and written.
const REPACKED: usize = 8;

const fn scope<'a>() -> Scope<'a> {
    Scope::new().reclaims()
}

/// Every so many steps the sweeper begins anew, because a content may go that is older than those before it.
const ROUND: u64 = 64;

/// Up to which content a sweeper has come. Only saves walking over the tombstones of those before: a new one finds the same.
#[derive(Debug, Default)]
pub(crate) struct SweptTo {
    content: AtomicU64,
    steps: AtomicU64,
}

impl SweptTo {
    /// Where the next step begins.
    fn next(&self) -> u64 {
        let begin = self.steps.fetch_add(1, Ordering::Relaxed).is_multiple_of(ROUND);
        if begin { 0 } else { self.content.load(Ordering::Relaxed) }
    }

    fn reached(&self, content: ContentId) {
        self.content.store(content.number(), Ordering::Relaxed);
    }
}

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

/// Does one bounded step. Its transactions follow each other without waiting for the disk, which is waited for once: what
/// is overwritten must not come faster than it can be swept.
///
/// # Errors
/// The store failed.
pub async fn step(store: &Store) -> Result<Progress, StoreError> {
    let mut progress = Progress::default();
    let snapshot = store.snapshot();
    let overdue = snapshot.scan(content::pin_deadlines(store.now()), Direction::Ascending).take(BATCH).await?;
    let mut from = store.swept().next();
    let mut found = Found::from(store, &snapshot, from).await?;
    if from > 0 && found.is_empty() {
        from = 0;
        found = Found::from(store, &snapshot, from).await?;
    }
    let Found { single, compound, held } = found;
    progress.held = held;
    let sparse = snapshot.scan(content::sparse_chunks(), Direction::Ascending).take(REPACKED).await?;
    drop(snapshot);
    // What is older than where it began was not looked at.
    progress.more = from > 0
        || overdue.len() == BATCH
        || single.len() == STEP
        || compound.len() == BATCH
        || sparse.len() == REPACKED;

    let mut series = store.series();
    for row in overdue {
        let (until, source, pin) = content::parse_pin_deadline_key(&row.key)?;
        series.transact(scope(), |txn| async move { content::expire_pin(&txn, until, source, pin).await }).await?;
        progress.expired_pins += 1;
        progress.more = true; // the source may have become sweepable
    }
    for batch in single.chunks(BATCH) {
        let swept = series.transact(scope(), |txn| async move { sweep_singles(&txn, batch).await }).await?;
        progress.count(swept);
    }
    for (gone, holdings) in compound {
        let swept = sweep_compound(store, &mut series, gone, holdings).await?;
        progress.count(swept);
    }
    series.durable().await?;
    for row in sparse {
        let (owner, chunk) = content_map::parse_sparse(&row)?;
        progress.repacked += usize::from(content_map::repack(store, owner, chunk).await?);
    }
    Ok(progress)
}

/// The sweeps of a step.
#[derive(Default)]
struct Found {
    /// Contents of at most one chunk.
    single: Vec<(ContentId, Holdings)>,
    /// Others.
    compound: Vec<(ContentId, Holdings)>,
    held: usize,
}

impl Found {
    /// The next ones from a content on.
    async fn from(store: &Store, snapshot: &Snapshot, from: u64) -> Result<Self, StoreError> {
        let mut found = Self::default();
        let all = content::sweeps();
        let range = KeyRange { start: all.start.max(content::sweep_key(ContentId::new(from))), end: all.end };
        let mut scan = snapshot.scan(range, Direction::Ascending);
        while found.single.len() < STEP
            && found.compound.len() < BATCH
            && let Some(row) = scan.next().await?
        {
            let mut parser = KeyParser::new(&row.key, Space::Store, SWEEP)?;
            let gone = ContentId::new(parser.number()?);
            if store.pins().is_held(gone) {
                found.held += 1; // it waits, and nothing behind it does
                continue;
            }
            store.swept().reached(gone);
            match Holdings::decode(&row.value)? {
                holdings @ (Holdings::Nothing | Holdings::Chunk(_)) => found.single.push((gone, holdings)),
                holdings => found.compound.push((gone, holdings)),
            }
        }
        Ok(found)
    }

    fn is_empty(&self) -> bool {
        self.single.is_empty() && self.compound.is_empty()
    }
}

impl Progress {
    fn count(&mut self, swept: Swept) {
        self.finished += swept.finished;
        // What is left of a content, and contents that nothing uses any more, are for another step.
        self.more |= swept.more;
    }
}

/// How far the sweep of some contents came.
#[derive(Default)]
struct Swept {
    /// Contents that are gone for good.
    finished: usize,
    /// Something is left of one, or they used others that may have become sweepable.
    more: bool,
}

/// Sweeps contents of at most one chunk.
async fn sweep_singles(txn: &Txn, batch: &[(ContentId, Holdings)]) -> Result<Swept, StoreError> {
    let mut swept = Swept::default();
    for (gone, holdings) in batch {
        if !is_at(txn, *gone, *holdings).await? {
            swept.more = true;
            continue;
        }
        if let Holdings::Chunk(chunk) = holdings {
            content::free(txn, *chunk, *gone).await?;
            txn.count_unswept(-content::signed(chunk.length));
        }
        end(txn, *gone, &mut swept).await?;
    }
    Ok(swept)
}

/// Frees one batch of a content with many chunks, and ends its sweep when that was all.
async fn sweep_compound(
    store: &Store,
    series: &mut Series<'_>,
    gone: ContentId,
    holdings: Holdings,
) -> Result<Swept, StoreError> {
    let (manifest, next) = match holdings {
        Holdings::Manifest { manifest, next } => (Some(manifest), next),
        _ => (None, 0),
    };
    let blocks = &match manifest {
        None => Vec::new(),
        Some(manifest) => match store.open_chunk(manifest).await {
            Ok(source) => Manifest::open(&*source).await?.blocks(next, BATCH).await?,
            // Freed last, so all of its blocks are: somebody was faster, or the content was released twice.
            Err(StoreError::ChunkGone(_)) => Vec::new(),
            Err(error) => return Err(error),
        },
    };
    let sweep = |txn: Txn| async move {
        let mut swept = Swept { more: true, ..Swept::default() };
        if !is_at(&txn, gone, holdings).await? {
            return Ok(swept);
        }
        for block in blocks {
            content::free(&txn, block.chunk, gone).await?;
        }
        let whole = match manifest {
            None => content_map::remove_all(&txn, gone, BATCH).await?,
            Some(manifest) if blocks.len() == BATCH => {
                let next = next.saturating_add(u64::try_from(blocks.len()).unwrap_or(u64::MAX));
                go_on(&txn, gone, Holdings::Manifest { manifest, next });
                false
            }
            Some(manifest) => {
                content::free(&txn, manifest, gone).await?;
                true
            }
        };
        if whole {
            swept.more = false;
            end(&txn, gone, &mut swept).await?;
        }
        Ok(swept)
    };
    series.transact(scope(), sweep).await
}

/// The content holds nothing any more: ends its use of others, and its sweep.
async fn end(txn: &Txn, gone: ContentId, swept: &mut Swept) -> Result<(), StoreError> {
    let sources = content::sources_of(txn, gone, BATCH).await?;
    for source in &sources {
        content::drop_edge(txn, *source, gone).await?;
        swept.more = true;
    }
    if sources.len() == BATCH {
        go_on(txn, gone, Holdings::Nothing);
    } else {
        txn.delete(content::sweep_key(gone));
        swept.finished += 1;
    }
    Ok(())
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
