//! Reading a blob's bytes: one reader over every way in which they are kept. What it gives is one state of the blob, from
//! its first byte to its last, also while the blob is overwritten, deleted or collected.
//!
//! - One chunk never changes, and stays readable once it is open.
//! - A manifest never changes; its content is held, so that its blocks stay.
//! - Of a map that is short, everything is opened at once. A longer one is read at an epoch: appends never change what is
//!   before them, and a page blob moves to its next epoch for the reader, so that its writers keep what the reader sees.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use access::Asked;
use bytes::{Bytes, BytesMut};
use store::{
    ChunkRef, Read, Scope, Snapshot, Store, StoreError, Txn,
    chunk::ChunkSource,
    content::{Holdings, PinGuard},
    content_map,
    manifest::Manifest,
};
use types::{ContentId, UnitId};

use crate::{
    download::GetBlob,
    errors::BlobError,
    lifecycle::Place,
    object::{self, FoundBlob},
    sharing,
    state::{Blob, BlobKind},
};

/// Parts of a map that are opened at once.
const OPENED_AT_ONCE: usize = 512;
/// Blocks and parts looked up at a time.
const WINDOW: usize = 64;
/// How often a part is looked up when its chunk is gone.
const LOOKS: u32 = 3;
/// The most that one read of a hole gives.
const ZEROS: usize = 64 * 1024;

/// The bytes of one state of a blob.
pub struct BlobReader {
    store: Store,
    body: Body,
    end: u64,
    ahead: Ahead,
    current: Option<(Piece, Box<dyn ChunkSource>)>,
    _pin: Option<Arc<PinGuard>>,
}

enum Body {
    /// Zeros.
    Nothing,
    /// One chunk, which is the current piece.
    Chunk,
    /// Everything that is wanted of a short map.
    Opened(Vec<(Piece, Box<dyn ChunkSource>)>),
    Manifest(Box<dyn ChunkSource>),
    Map {
        content: ContentId,
        epoch: u64,
    },
}

/// A part of a chunk at its place in the blob.
#[derive(Clone, Copy)]
struct Piece {
    start: u64,
    end: u64,
    chunk: ChunkRef,
    skip: u64,
}

/// Pieces that were looked up: all that there are from an offset on, up to the last of them or to the end.
#[derive(Default)]
struct Ahead {
    from: u64,
    pieces: VecDeque<Piece>,
    /// No piece follows them.
    complete: bool,
}

impl Ahead {
    /// The piece that holds the offset, or the next one behind it; `None` when it has to be looked up.
    fn at(&mut self, offset: u64) -> Option<Option<Piece>> {
        while let Some(passed) = self.pieces.front().filter(|piece| piece.end <= offset) {
            self.from = passed.end;
            self.pieces.pop_front();
        }
        let first = self.pieces.front().copied();
        (self.from <= offset && (first.is_some() || self.complete)).then_some(first)
    }
}

/// Opens what was found in `snapshot`, to read `range` of it. `None` when the blob changed meanwhile: find it again.
pub(crate) async fn open(
    store: &Store,
    snapshot: &Snapshot,
    found: &FoundBlob,
    range: Range<u64>,
) -> Result<Option<BlobReader>, BlobError> {
    let mut reader = BlobReader {
        store: store.clone(),
        body: Body::Nothing,
        end: range.end.min(found.properties.length),
        ahead: Ahead::default(),
        current: None,
        _pin: None,
    };
    match found.holdings {
        Holdings::Nothing => {}
        // The snapshot keeps its place until it is open.
        Holdings::Chunk(chunk) => {
            let whole = Piece { start: 0, end: chunk.length, chunk, skip: 0 };
            let Some(source) = open_chunk(store, chunk).await? else { return Ok(None) };
            reader.current = Some((whole, source));
            reader.body = Body::Chunk;
        }
        Holdings::Manifest { manifest, .. } => {
            reader._pin = Some(Arc::new(store.pins().hold(found.content)));
            if !is_still(&store.snapshot(), found).await? {
                return Ok(None);
            }
            let Some(source) = open_chunk(store, manifest).await? else { return Ok(None) };
            reader.body = Body::Manifest(source);
        }
        Holdings::Map => {
            let (content, wanted) = (found.content, (range.start, reader.end));
            if let Some(kept) = &found.kept {
                reader._pin = Some(Arc::clone(kept));
                reader.body = Body::Map { content, epoch: found.epoch };
                return Ok(Some(reader));
            }
            let (segments, more) = content_map::read(snapshot, content, found.epoch, wanted, OPENED_AT_ONCE).await?;
            if more.is_none() {
                let mut opened = Vec::with_capacity(segments.len());
                for segment in segments {
                    let piece = Piece::of(&segment);
                    let Some(source) = open_chunk(store, piece.chunk).await? else { return Ok(None) };
                    opened.push((piece, source));
                }
                reader.body = Body::Opened(opened);
                return Ok(Some(reader));
            }
            reader._pin = Some(Arc::new(store.pins().hold(content)));
            let changes = changes(found);
            let scope = Scope::new().reclaims();
            // Asked of what is sequenced, as the prune asks: what is not durable yet may be pruned already.
            let kept = store.transact(scope, |txn| async move {
                if changes { keep_epoch(&txn, found).await } else { is_still(&txn, found).await }
            });
            let kept = match kept.await {
                // Nobody writes any more, and so nobody prunes.
                Err(BlobError::Store(StoreError::Poisoned(_) | StoreError::OutcomeUnknown(_))) => {
                    is_still(&store.snapshot(), found).await?
                }
                kept => kept?,
            };
            if !kept {
                return Ok(None);
            }
            reader.body = Body::Map { content, epoch: found.epoch };
        }
    }
    Ok(Some(reader))
}

/// Finds a blob for Get Blob and keeps it as it is found, however often it is written: what is open afterwards is that. It
/// queues with the writers, so it is for a blob that changed whenever it was to be opened.
pub(crate) async fn find_and_keep(store: &Store, asked: &Asked<GetBlob<'_>>) -> Result<FoundBlob, BlobError> {
    let address = &asked.read.address;
    let latch = address.latch();
    let scope = Scope::of(&latch).reclaims();
    store
        .transact(scope, |txn| async move {
            let allowed = asked.authorize(&txn).await?;
            let mut found = object::read_content(&txn, &allowed.read, txn.now()).await?;
            if found.holdings == Holdings::Map && changes(&found) {
                found.kept = Some(Arc::new(store.pins().hold(found.content)));
                keep_epoch(&txn, &found).await?;
            }
            Ok(found)
        })
        .await
}

/// True for what is written in place.
fn changes(found: &FoundBlob) -> bool {
    found.properties.kind == BlobKind::Page && found.properties.part.is_base()
}

/// Opens a chunk; `None` when it was freed, which a blob that changed meanwhile can do to it.
async fn open_chunk(store: &Store, chunk: ChunkRef) -> Result<Option<Box<dyn ChunkSource>>, StoreError> {
    match store.open_chunk(chunk).await {
        Err(StoreError::ChunkGone(_)) => Ok(None),
        opened => opened.map(Some),
    }
}

/// True while the row still names the content: its sweep has not begun, and will see that it is held.
async fn is_still(rows: &impl Read, found: &FoundBlob) -> Result<bool, BlobError> {
    let row = rows.get(&found.row).await?;
    let blob = row.map(|row| Blob::decode(&row)).transpose()?;
    let grows = found.properties.kind == BlobKind::Append;
    Ok(blob.is_some_and(|blob| blob.content == found.content && (grows || blob.holdings == found.holdings)))
}

/// Moves a page blob to its next epoch, so that its writers keep what is read. What they kept is pruned once the content
/// is not held any more. False when the blob changed.
async fn keep_epoch(txn: &Txn, found: &FoundBlob) -> Result<bool, BlobError> {
    let (container, name) = &found.place;
    let place = Place { account: UnitId::new(0), container: *container, name };
    let row = txn.get(&found.row).await?;
    let Some(mut blob) = row.map(|row| Blob::decode(&row)).transpose()? else { return Ok(false) };
    if blob.content != found.content || blob.etag != found.properties.etag || blob.extra().epoch != found.epoch {
        return Ok(false);
    }
    let extra = blob.extra_mut();
    extra.epoch = found.epoch + 1;
    extra.newest_shared_epoch = Some(found.epoch);
    place.put(txn, &blob);
    sharing::ask_to_prune(txn, place, blob.content)?;
    Ok(true)
}

impl Piece {
    const fn of(segment: &content_map::Segment) -> Self {
        let slice = segment.slice;
        Self { start: segment.offset, end: segment.end(), chunk: slice.chunk, skip: slice.skip }
    }

    const fn holds(&self, offset: u64) -> bool {
        self.start <= offset && offset < self.end
    }

    async fn read(&self, source: &dyn ChunkSource, offset: u64, wanted: u64) -> Result<Bytes, StoreError> {
        let length = usize::try_from(wanted.min(self.end - offset)).unwrap_or(usize::MAX);
        let bytes = source.read(self.skip + (offset - self.start), length).await?;
        if bytes.is_empty() {
            return Err(StoreError::corrupt(format!("chunk {} ends too early", self.chunk)));
        }
        Ok(bytes)
    }
}

impl BlobReader {
    /// Up to `length` bytes from `offset`; fewer where the store prefers smaller pieces, none at the end. Reading on from
    /// where the last read ended is the quick way.
    ///
    /// # Errors
    /// The store failed.
    pub async fn read(&mut self, offset: u64, length: usize) -> Result<Bytes, BlobError> {
        let wanted = self.end.saturating_sub(offset).min(u64::try_from(length).unwrap_or(u64::MAX));
        if wanted == 0 {
            return Ok(Bytes::new());
        }
        if let Body::Opened(pieces) = &self.body {
            let next = pieces.partition_point(|(piece, _)| piece.end <= offset);
            return match pieces.get(next) {
                Some((piece, source)) if piece.holds(offset) => Ok(piece.read(&**source, offset, wanted).await?),
                next => Ok(zeros(next.map(|(piece, _)| piece.start), offset, wanted)),
            };
        }
        let mut looks = LOOKS;
        while !self.current.as_ref().is_some_and(|(piece, _)| piece.holds(offset)) {
            let piece = match self.look_up(offset).await? {
                Some(piece) if piece.holds(offset) => piece,
                next => return Ok(zeros(next.map(|piece| piece.start), offset, wanted)),
            };
            looks -= 1;
            match self.store.open_chunk(piece.chunk).await {
                Ok(source) => self.current = Some((piece, source)),
                // It was repacked since it was looked up: the map knows where its bytes are now.
                Err(StoreError::ChunkGone(_)) if looks > 0 => self.ahead = Ahead::default(),
                Err(error) => return Err(error.into()),
            }
        }
        match &self.current {
            Some((piece, source)) => Ok(piece.read(&**source, offset, wanted).await?),
            None => Ok(zeros(None, offset, wanted)),
        }
    }

    /// A range as a whole, which must fit into memory.
    ///
    /// # Errors
    /// The store failed.
    pub async fn collect(&mut self, range: Range<u64>) -> Result<Bytes, BlobError> {
        let length = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        let first = self.read(range.start, length).await?;
        if first.len() == length {
            return Ok(first);
        }
        let mut whole = BytesMut::from(&*first);
        while whole.len() < length {
            let place = range.start + u64::try_from(whole.len()).unwrap_or(u64::MAX);
            let piece = self.read(place, length - whole.len()).await?;
            if piece.is_empty() {
                break;
            }
            whole.extend_from_slice(&piece);
        }
        Ok(whole.freeze())
    }

    /// The piece that holds the offset, or the next one behind it.
    async fn look_up(&mut self, offset: u64) -> Result<Option<Piece>, BlobError> {
        if let Some(known) = self.ahead.at(offset) {
            return Ok(known);
        }
        self.ahead = self.fetch(offset).await?;
        Ok(self.ahead.pieces.front().copied())
    }

    async fn fetch(&self, offset: u64) -> Result<Ahead, BlobError> {
        let (pieces, complete) = match &self.body {
            Body::Manifest(source) => {
                let manifest = Manifest::open(&**source).await?;
                let first = manifest.find(offset).await?;
                let blocks = manifest.blocks(first, WINDOW).await?;
                let piece = |block: store::manifest::Block| Piece {
                    start: block.end - block.chunk.length,
                    end: block.end,
                    chunk: block.chunk,
                    skip: 0,
                };
                (blocks.into_iter().map(piece).filter(|piece| piece.end > offset).collect(), false)
            }
            Body::Map { content, epoch } => {
                let range = (offset, self.end);
                let found = content_map::read(&self.store.snapshot(), *content, *epoch, range, WINDOW).await?;
                (found.0.iter().map(Piece::of).collect(), found.1.is_none())
            }
            Body::Nothing | Body::Chunk | Body::Opened(_) => (VecDeque::new(), true),
        };
        Ok(Ahead { from: offset, pieces, complete })
    }
}

/// A hole up to the next piece.
fn zeros(next: Option<u64>, offset: u64, wanted: u64) -> Bytes {
    static HOLE: [u8; ZEROS] = [0; ZEROS];
    let hole = next.map_or(u64::MAX, |next| next - offset);
    let length = usize::try_from(wanted.min(hole)).unwrap_or(ZEROS).min(ZEROS);
    Bytes::from_static(HOLE.get(..length).unwrap_or(&HOLE))
}

#[cfg(test)]
mod tests;
