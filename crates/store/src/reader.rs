//! Reading the bytes of a content: one reader over every way in which they are kept, zeros where nothing was written.
//!
//! Who opens one sees to it that what it reads stays: an open chunk never changes, a manifest's content is held, a map is
//! opened as a whole or read at an epoch that its writers keep.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use bytes::{Bytes, BytesMut};
use types::ContentId;

use crate::{
    chunk::{ChunkRef, ChunkSource},
    content::PinGuard,
    content_map::{self, Segment},
    error::StoreError,
    manifest::{Block, Manifest},
    transact::Store,
};

/// Blocks and parts looked up at a time.
const WINDOW: usize = 64;
/// How often a part is looked up when its chunk is gone.
const LOOKS: u32 = 3;
/// The most that one read of a hole gives.
const ZEROS: usize = 64 * 1024;

/// The bytes of one state of a content.
pub struct ContentReader {
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

impl ContentReader {
    fn new(store: &Store, end: u64, body: Body) -> Self {
        Self { store: store.clone(), body, end, ahead: Ahead::default(), current: None, _pin: None }
    }

    /// Zeros up to `end`.
    #[must_use]
    pub fn zeros(store: &Store, end: u64) -> Self {
        Self::new(store, end, Body::Nothing)
    }

    /// One chunk, up to `end`. `None` when it was freed meanwhile.
    ///
    /// # Errors
    /// The store failed.
    pub async fn chunk(store: &Store, chunk: ChunkRef, end: u64) -> Result<Option<Self>, StoreError> {
        let Some(source) = open_chunk(store, chunk).await? else { return Ok(None) };
        let whole = Piece { start: 0, end: chunk.length, chunk, skip: 0 };
        Ok(Some(Self { current: Some((whole, source)), ..Self::new(store, end, Body::Chunk) }))
    }

    /// The blocks of a manifest, up to `end`; `pin` holds the content. `None` when it was freed meanwhile.
    ///
    /// # Errors
    /// The store failed.
    pub async fn manifest(
        store: &Store,
        manifest: ChunkRef,
        end: u64,
        pin: Arc<PinGuard>,
    ) -> Result<Option<Self>, StoreError> {
        let Some(source) = open_chunk(store, manifest).await? else { return Ok(None) };
        Ok(Some(Self { _pin: Some(pin), ..Self::new(store, end, Body::Manifest(source)) }))
    }

    /// These parts of a map, which are all that there are up to `end`. `None` when one was freed meanwhile.
    ///
    /// # Errors
    /// The store failed.
    pub async fn opened(store: &Store, segments: Vec<Segment>, end: u64) -> Result<Option<Self>, StoreError> {
        let mut opened = Vec::with_capacity(segments.len());
        for segment in segments {
            let piece = Piece::of(&segment);
            let Some(source) = open_chunk(store, piece.chunk).await? else { return Ok(None) };
            opened.push((piece, source));
        }
        Ok(Some(Self::new(store, end, Body::Opened(opened))))
    }

    /// A map as it is at an epoch that its writers keep, up to `end`; `pin` holds the content.
    #[must_use]
    pub fn map(store: &Store, content: ContentId, epoch: u64, end: u64, pin: Arc<PinGuard>) -> Self {
        Self { _pin: Some(pin), ..Self::new(store, end, Body::Map { content, epoch }) }
    }
}

/// Opens a chunk; `None` when it was freed, which a content that changed meanwhile can do to it.
async fn open_chunk(store: &Store, chunk: ChunkRef) -> Result<Option<Box<dyn ChunkSource>>, StoreError> {
    match store.open_chunk(chunk).await {
        Err(StoreError::ChunkGone(_)) => Ok(None),
        opened => opened.map(Some),
    }
}

impl Piece {
    const fn of(segment: &Segment) -> Self {
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

impl ContentReader {
    /// Up to `length` bytes from `offset`; fewer where the store prefers smaller pieces, none at the end. Reading on from
    /// where the last read ended is the quick way.
    ///
    /// # Errors
    /// The store failed.
    pub async fn read(&mut self, offset: u64, length: usize) -> Result<Bytes, StoreError> {
        let wanted = self.end.saturating_sub(offset).min(u64::try_from(length).unwrap_or(u64::MAX));
        if wanted == 0 {
            return Ok(Bytes::new());
        }
        if let Body::Opened(pieces) = &self.body {
            let next = pieces.partition_point(|(piece, _)| piece.end <= offset);
            return match pieces.get(next) {
                Some((piece, source)) if piece.holds(offset) => piece.read(&**source, offset, wanted).await,
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
                Err(error) => return Err(error),
            }
        }
        match &self.current {
            Some((piece, source)) => piece.read(&**source, offset, wanted).await,
            None => Ok(zeros(None, offset, wanted)),
        }
    }

    /// A range as a whole, which must fit into memory.
    ///
    /// # Errors
    /// The store failed.
    pub async fn collect(&mut self, range: Range<u64>) -> Result<Bytes, StoreError> {
        Ok(whole(self.pieces(range).await?))
    }

    /// A range in the pieces in which it is read, none of them copied. All of it must fit into memory.
    ///
    /// # Errors
    /// The store failed.
    pub async fn pieces(&mut self, range: Range<u64>) -> Result<Vec<Bytes>, StoreError> {
        let (mut pieces, mut place) = (Vec::new(), range.start);
        while place < range.end {
            let piece = self.read(place, usize::try_from(range.end - place).unwrap_or(usize::MAX)).await?;
            if piece.is_empty() {
                break;
            }
            place += u64::try_from(piece.len()).unwrap_or(u64::MAX);
            pieces.push(piece);
        }
        Ok(pieces)
    }

    /// The piece that holds the offset, or the next one behind it.
    async fn look_up(&mut self, offset: u64) -> Result<Option<Piece>, StoreError> {
        if let Some(known) = self.ahead.at(offset) {
            return Ok(known);
        }
        self.ahead = self.fetch(offset).await?;
        Ok(self.ahead.pieces.front().copied())
    }

    async fn fetch(&self, offset: u64) -> Result<Ahead, StoreError> {
        let (pieces, complete) = match &self.body {
            Body::Manifest(source) => {
                let manifest = Manifest::open(&**source).await?;
                let first = manifest.find(offset).await?;
                let blocks = manifest.blocks(first, WINDOW).await?;
                let piece = |block: Block| Piece {
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

/// Pieces as one. A single one is not copied.
#[must_use]
pub fn whole(mut pieces: Vec<Bytes>) -> Bytes {
    if pieces.len() <= 1 {
        return pieces.pop().unwrap_or_default();
    }
    let mut whole = BytesMut::with_capacity(pieces.iter().map(Bytes::len).sum());
    pieces.iter().for_each(|piece| whole.extend_from_slice(piece));
    whole.freeze()
}

/// A hole up to the next piece.
fn zeros(next: Option<u64>, offset: u64, wanted: u64) -> Bytes {
    static HOLE: [u8; ZEROS] = [0; ZEROS];
    let hole = next.map_or(u64::MAX, |next| next - offset);
    let length = usize::try_from(wanted.min(hole)).unwrap_or(ZEROS).min(ZEROS);
    Bytes::from_static(HOLE.get(..length).unwrap_or(&HOLE))
}
