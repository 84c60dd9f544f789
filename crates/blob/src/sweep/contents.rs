//! Contents that hold more than anybody needs: maps with rows of epochs that are gone, maps that reach behind the end of
//! their blob, and block lists that keep a whole former content alive for a few of its blocks.

use jobs::{Job, Progress};
use store::{
    Direction, Read, Row, Store, StoreError, Txn, content,
    content_map::{self, Readers},
    manifest::{Block, Manifest},
};
use types::{ContentId, UnitId};

use super::{first, scope};
use crate::{
    errors::BlobError,
    keys,
    lifecycle::Place,
    page_blob,
    records::{AdoptionRecord, PruneRecord},
    sharing,
    state::Blob,
};

/// Contents looked at in a step.
const BATCH: usize = 64;
/// Rows of a map looked at in one transaction.
const ROWS: usize = 2048;
/// Blocks adopted in one transaction.
const BLOCKS: usize = 512;
/// Former contents that one may still need; one with more keeps its edge.
const SOURCES: usize = 64;

/// The first rows of a kind, without those about a content that a download reads: they wait, and nothing behind them does.
async fn first_unread(
    store: &Store,
    kind: u8,
    content_of: impl Fn(&[u8]) -> Result<ContentId, StoreError>,
) -> Result<Vec<Row>, BlobError> {
    let mut rows = Vec::new();
    let mut scan = store.snapshot().scan(keys::all(kind), Direction::Ascending);
    while rows.len() < BATCH
        && let Some(row) = scan.next().await?
    {
        if !store.pins().is_held(content_of(&row.key)?) {
            rows.push(row);
        }
    }
    Ok(rows)
}

/// Prunes maps. One that a download reads is left alone until it has ended. What is done are maps looked at.
#[derive(Debug)]
pub struct PruneMaps;

impl Job for PruneMaps {
    const NAME: &'static str = "map-epochs";
    type Cursor = ();
    type Error = BlobError;

    async fn step(store: &Store, (): &mut ()) -> Result<Progress, BlobError> {
        prune(store).await
    }
}

/// Cuts maps behind the end of their blobs. What is done are maps.
#[derive(Debug)]
pub struct TrimMaps;

impl Job for TrimMaps {
    const NAME: &'static str = "map-ends";
    type Cursor = ();
    type Error = BlobError;

    async fn step(store: &Store, (): &mut ()) -> Result<Progress, BlobError> {
        trim(store).await
    }
}

/// Lets block lists take over the blocks that they use of a former content, so that the rest of it can go. What is done are
/// lists looked at.
#[derive(Debug)]
pub struct AdoptBlocks;

impl Job for AdoptBlocks {
    const NAME: &'static str = "block-lists";
    type Cursor = ();
    type Error = BlobError;

    async fn step(store: &Store, (): &mut ()) -> Result<Progress, BlobError> {
        adopt(store).await
    }
}

async fn prune(store: &Store) -> Result<Progress, BlobError> {
    let (mut done, mut series) = (0, store.series());
    let content_of = |key: &[u8]| keys::parse_one(key, keys::PRUNE).map(ContentId::new);
    for row in first_unread(store, keys::PRUNE, content_of).await? {
        let content = content_of(&row.key)?;
        let pins = store.pins();
        let pruned = series
            .transact(scope(), |txn| async move {
                // A reader that comes after this look writes the row, and this attempt is worth nothing.
                if pins.is_held(content) { Ok(false) } else { prune_some(&txn, content).await.map(|()| true) }
            })
            .await?;
        done += usize::from(pruned);
    }
    series.durable().await?;
    Ok(Progress::found(done))
}

async fn prune_some(txn: &Txn, content: ContentId) -> Result<(), BlobError> {
    let key = keys::prune(content);
    let Some(row) = txn.get(&key).await? else { return Ok(()) };
    let mut record = PruneRecord::decode(&row)?;
    txn.guard_exclusive(keys::sharer_guard(content));
    let place = Place { account: UnitId::new(0), container: UnitId::new(record.container), name: &record.blob };
    let base = txn.get(&place.key()).await?.map(|row| Blob::decode(&row)).transpose()?;
    let base = base.filter(|base| base.content == content);
    let epochs = sharing::epochs(txn, content).await?;
    if base.is_none() && epochs.is_empty() {
        txn.delete(key); // released, and swept by the store
        return Ok(());
    }
    let readers = Readers { snapshots: &epochs, present: base.is_some() };
    // Before anything else, so that writers leave nothing behind where it has been already.
    if let Some(mut base) = base {
        let needed = (epochs.last().copied(), !epochs.is_empty());
        let extra = base.extra_mut();
        if (extra.newest_shared_epoch, extra.shared) != needed {
            (extra.newest_shared_epoch, extra.shared) = needed;
            place.put(txn, &base);
        }
    }
    match content_map::prune(txn, content, readers, record.from, ROWS).await? {
        Some(next) => {
            record.from = next;
            txn.put(key, record.encode());
        }
        None => txn.delete(key),
    }
    Ok(())
}

async fn trim(store: &Store) -> Result<Progress, BlobError> {
    let rows = first(store, keys::all(keys::TRIM), BATCH).await?;
    let mut series = store.series();
    for row in &rows {
        let (container, name) = &keys::parse_named(&row.key, keys::TRIM)?;
        let place = Place { account: UnitId::new(0), container: *container, name };
        series.transact(scope(), |txn| async move { page_blob::trim(&txn, place).await }).await?;
    }
    series.durable().await?;
    Ok(Progress::found(rows.len()))
}

async fn adopt(store: &Store) -> Result<Progress, BlobError> {
    let (mut done, mut series) = (0, store.series());
    // A download of the former content relies on its blocks staying where they are.
    let source_of = |key: &[u8]| keys::parse_two(key, keys::ADOPTION).map(|(_, source)| ContentId::new(source));
    for row in first_unread(store, keys::ADOPTION, source_of).await? {
        let (user, source) = keys::parse_two(&row.key, keys::ADOPTION)?;
        let (user, source) = (ContentId::new(user), ContentId::new(source));
        let record = AdoptionRecord::decode(&row.value)?;
        let blocks = &match store.open_chunk(record.manifest()).await {
            Ok(manifest) => Manifest::open(&*manifest).await?.blocks(record.next, BLOCKS).await?,
            Err(StoreError::ChunkGone(_)) => Vec::new(), // the user is gone too, and with it the job
            Err(error) => return Err(error.into()),
        };
        let record = &record;
        series.transact(scope(), |txn| async move { adopt_some(&txn, (user, source), record, blocks).await }).await?;
        done += 1;
    }
    series.durable().await?;
    Ok(Progress::found(done))
}

async fn adopt_some(
    txn: &Txn,
    (user, source): (ContentId, ContentId),
    record: &AdoptionRecord,
    blocks: &[Block],
) -> Result<(), BlobError> {
    let key = keys::adoption(user, source);
    if txn.get(&key).await?.as_deref() != Some(&*record.encode()) {
        return Ok(()); // somebody was faster
    }
    if content::heir(txn, source).await? != Some(user) {
        txn.delete(key); // others need it too, or nobody does
        return Ok(());
    }
    for block in blocks {
        content::adopt(txn, block.chunk, source, user).await?;
    }
    if blocks.len() == BLOCKS {
        let next = record.next + u64::try_from(blocks.len()).unwrap_or(u64::MAX);
        txn.put(key, AdoptionRecord::new(record.manifest(), next).encode());
        return Ok(());
    }
    txn.delete(key);
    // A copy onto the blob itself uses the manifest of its source too.
    content::adopt(txn, record.manifest(), source, user).await?;
    // Some blocks may be of contents that the source itself only used. Their own adoption came before this one, unless
    // others use them: then they stay as they are.
    let older = content::sources(txn, source, SOURCES + 1).await?;
    if older.len() > SOURCES {
        return Ok(());
    }
    for older in older {
        if !content::add_edge(txn, older, user).await? {
            return Ok(());
        }
    }
    Ok(content::drop_edge(txn, source, user).await?)
}
