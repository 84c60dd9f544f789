//! Reading, writing and flushing through a handle.
//!
//! A handle was authorised when it was opened and follows its file through renames, so its file is found by its inode.
//!
//! **Invariant.** A write is answered when it is in the buffer of its file ([`crate::unflushed`]), a flush and a close when
//! everything that was written before is durable. What is read includes everything that was answered.

use access::{Asked, Operation};
use bytes::{Bytes, BytesMut};
use concurrency::range_lock::{ByteRange, Io};
use store::{Read, Scope, Snapshot, Txn, reader::whole};
use types::{FileTime, Timestamp, UnitId, limits};

use crate::{
    Files,
    body::Body,
    content,
    errors::FileError,
    history::At,
    keys,
    object::Address,
    opens::{Claim, FileKey, Handle, Turn},
    ranges, share,
    state::{FileAttributes, Node, Share},
    tree::Tree,
    unflushed::{Flush, Leaving, Overlay, Room},
};

/// How often bytes are opened again because the file changed meanwhile.
const ATTEMPTS: usize = 64;
/// Attempts before the state that is read is kept from its writers.
const UNKEPT: usize = 4;
/// The most that one chunk takes of what is flushed.
const CHUNK_BYTES: u64 = 4 * 1024 * 1024;
/// Bytes are flushed when they have been here so long.
const FLUSHED_AFTER: Timestamp = Timestamp::from_seconds(1);

/// What an operation that reads has found.
pub(crate) struct Look {
    pub(crate) rows: Snapshot,
    pub(crate) now: Timestamp,
    pub(crate) share: Share,
    pub(crate) at: At,
    pub(crate) node: Node,
}

impl Files {
    /// Reads up to `length` bytes; fewer at the end of the file, none behind it.
    ///
    /// # Errors
    /// It is a directory, the range is locked by another handle, the handle is closed, its share is gone, or the store
    /// failed. [`FileError::Wait`] asks to wait and to read again.
    pub async fn read_at(&self, handle: &Handle, offset: u64, length: usize) -> Result<Bytes, FileError> {
        Ok(whole(self.read_pieces_at(handle, offset, length).await?))
    }

    /// The same in pieces, which are not copied.
    ///
    /// # Errors
    /// As [`Self::read_at`].
    pub async fn read_pieces_at(&self, handle: &Handle, offset: u64, length: usize) -> Result<Vec<Bytes>, FileError> {
        let _claim = self.begin_io(handle, offset, length, Io::Read)?;
        self.read_file(handle.file(), At::Present, offset, length).await
    }

    /// Writes bytes, behind the end too. With `through` they are durable when it returns.
    ///
    /// # Errors
    /// As [`Self::read_at`]; the file would be too long, or the share is full.
    pub async fn write_at(&self, handle: &Handle, offset: u64, bytes: Bytes, through: bool) -> Result<(), FileError> {
        let file = handle.file();
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let end = offset.saturating_add(length);
        if end > limits::FILE_MAX_BYTES {
            return Err(FileError::FileTooLarge(end));
        }
        let claim = self.begin_io(handle, offset, bytes.len(), Io::Write)?;
        let room = self.unflushed.write(file, offset, bytes, self.now(), handle.keeps_write_time());
        drop(claim);
        if through || room == Room::FlushFirst { self.flush_file(file).await } else { Ok(()) }
    }

    /// Makes everything durable that was written to the file of a handle.
    ///
    /// # Errors
    /// The share is full or gone, or the store failed. What was written stays in the buffer.
    pub async fn flush(&self, handle: &Handle) -> Result<(), FileError> {
        self.flush_file(handle.file()).await
    }

    fn begin_io(&self, handle: &Handle, offset: u64, length: usize, io: Io) -> Result<Option<Claim>, FileError> {
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        let Some(range) = ByteRange::new(offset, length) else { return Ok(None) };
        match handle.begin_io(range, io, self.now())? {
            Turn::Granted(claim) => Ok(Some(claim)),
            Turn::Wait(ticket) => Err(FileError::Wait(ticket)),
        }
    }

    /// Reads a file by its inode, with what is not flushed.
    pub(crate) async fn read_file(
        &self,
        file: FileKey,
        at: At,
        offset: u64,
        length: usize,
    ) -> Result<Vec<Bytes>, FileError> {
        let wanted = offset.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
        for attempt in 0..ATTEMPTS {
            // Before the rows: what is flushed in between is then in both.
            let overlay = match at {
                At::Present => self.unflushed.overlay(file, offset, wanted),
                At::Epoch(_) => Overlay::default(),
            };
            let (rows, _) = self.view();
            let (share, node) = found(&rows, file, at).await?;
            let stored = node.file.as_ref().ok_or(FileError::ResourceTypeMismatch)?.length;
            let end = wanted.min(stored.max(overlay.length));
            if offset >= end {
                return Ok(Vec::new());
            }
            if let [(start, bytes)] = overlay.pieces.as_slice()
                && *start == offset
                && u64::try_from(bytes.len()).is_ok_and(|length| length == end - offset)
            {
                return Ok(vec![bytes.clone()]);
            }
            let stored = offset..end.min(stored.max(offset));
            let below = if stored.is_empty() {
                Vec::new()
            } else {
                let opened = self.open_content(&rows, &share, at, &node, stored.clone(), attempt >= UNKEPT).await?;
                let Some(mut reader) = opened else { continue };
                reader.pieces(stored).await?
            };
            return Ok(laid_over(below, offset, end, &overlay));
        }
        Err(FileError::ChangesTooOften)
    }

    /// Stores what was written to a file and is not stored yet. When another flush runs, waits for it and then stores the rest.
    pub(crate) async fn flush_file(&self, file: FileKey) -> Result<(), FileError> {
        loop {
            match self.unflushed.flush(file) {
                Flush::Nothing => return Ok(()),
                Flush::Busy(rung) => rung.await,
                Flush::Begun(leaving) => return self.store_written(file, leaving).await,
            }
        }
    }

    /// Flushes a file that somebody is about to look at by its rows. True when there was something: look again.
    pub(crate) async fn settle(&self, share: UnitId, node: &Node) -> Result<bool, FileError> {
        let file = FileKey { share, inode: node.inode };
        if !self.unflushed.holds(file) {
            return Ok(false);
        }
        self.flush_unless_copied_into(file).await
    }

    /// Flushes a file. False when a copy into it is under way: then what was written waits in the buffer for its end, and stands in
    /// nobody's way.
    pub(crate) async fn flush_unless_copied_into(&self, file: FileKey) -> Result<bool, FileError> {
        match self.flush_file(file).await {
            Ok(()) => Ok(true),
            Err(FileError::PendingCopyOperation) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// What an operation reads, in one view, with everything that was written through handles before it began.
    pub(crate) async fn look<Op: Operation>(&self, asked: &Asked<Op>, address: &Address) -> Result<Look, FileError> {
        // Before the view: what is stored behind it is not in it.
        let (quiet, mut settled) = (self.unflushed.bytes() == 0, None);
        for _ in 0..ATTEMPTS {
            let (rows, now) = self.view();
            asked.authorize(&rows).await?;
            let (share, at, found) = address.read(&rows).await?;
            let file = FileKey { share: share.unit, inode: found.node.inode };
            if quiet || at != At::Present || settled == Some(file) {
                return Ok(Look { rows, now, share, at, node: found.node });
            }
            self.flush_unless_copied_into(file).await?;
            settled = Some(file);
        }
        Err(FileError::ChangesTooOften)
    }

    /// Flushes what has been in the buffers for a while. The number of files.
    pub(crate) async fn flush_old(&self) -> Result<u64, FileError> {
        let before = Timestamp::from_ticks(self.now().ticks().saturating_sub(FLUSHED_AFTER.ticks()));
        let mut flushed = 0;
        for file in self.unflushed.older_than(before) {
            let outcome = self.flush_unless_copied_into(file).await;
            if !matches!(outcome, Ok(true)) && !self.opens.is_open(file) {
                // Nobody is left who could try again, or be told.
                self.unflushed.discard(file);
            }
            flushed += u64::from(outcome?);
        }
        Ok(flushed)
    }

    /// Flushes the files of a share, before its state is kept.
    pub(crate) async fn flush_share(&self, share: UnitId) -> Result<(), FileError> {
        for file in self.unflushed.of_share(share) {
            self.flush_unless_copied_into(file).await?;
        }
        Ok(())
    }

    async fn store_written(&self, file: FileKey, leaving: Leaving) -> Result<(), FileError> {
        let mut bodies = Vec::new();
        let mut rest = leaving.pieces.as_slice();
        while let Some(((start, _), _)) = rest.split_first() {
            let (run, behind) = rest.split_at(run_of(rest));
            bodies.push((*start, self.stored_run(run).await?));
            rest = behind;
        }
        let (bodies, written) = (&bodies, leaving.written);
        let latch = keys::node(keys::NODE, file.share, file.inode).build();
        loop {
            let stored = self.store.transact(Scope::of(&latch), |txn| store_bodies(txn, file, bodies, written)).await;
            match stored {
                Ok(true) => break,
                // What a shorter length once cut off must be gone before the file grows over it.
                Ok(false) => self.trim(file).await?,
                // There is no file any more that they could be in.
                Err(FileError::ResourceNotFound | FileError::ShareNotFound) => break,
                Err(error) => return Err(error),
            }
        }
        leaving.stored();
        Ok(())
    }

    pub(crate) async fn trim(&self, file: FileKey) -> Result<(), FileError> {
        self.transact(|txn| async move {
            let share = share::live(&txn, file.share).await?;
            content::trim(&txn, &Tree::of(&share), file.inode).await
        })
        .await
        .map(|_| ())
    }

    async fn stored_run(&self, run: &[(u64, Bytes)]) -> Result<Body, FileError> {
        let length = run.iter().map(|(_, bytes)| u64::try_from(bytes.len()).unwrap_or(u64::MAX)).sum();
        let mut writer = self.begun().writer(length)?;
        for (_, bytes) in run {
            writer.write(bytes.clone()).await?;
        }
        Ok(writer.finish().await?)
    }
}

/// How many pieces follow each other without a gap, as far as one chunk goes.
fn run_of(pieces: &[(u64, Bytes)]) -> usize {
    let (mut end, mut total, mut count) = (None, 0_u64, 0);
    for (start, bytes) in pieces {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let follows = end.is_none_or(|end| end == *start);
        if !follows || (count > 0 && total.saturating_add(length) > CHUNK_BYTES) {
            break;
        }
        end = Some(start.saturating_add(length));
        total = total.saturating_add(length);
        count += 1;
    }
    count
}

/// Links bytes into their file. False when it cannot grow yet.
async fn store_bodies(
    txn: Txn,
    file: FileKey,
    bodies: &[(u64, Body)],
    written: Option<Timestamp>,
) -> Result<bool, FileError> {
    let (share, mut node) = found(&txn, file, At::Present).await?;
    let tree = Tree::of(&share);
    ranges::refuse_while_copying(node.file.as_ref().ok_or(FileError::ResourceTypeMismatch)?)?;
    tree.renew(&mut node);
    let end = bodies.iter().map(|(start, body)| start.saturating_add(body.length())).max().unwrap_or(0);
    let length = node.file.as_ref().map_or(0, |file| file.length);
    if end > length && !content::resize(&txn, &tree, &mut node, end).await? {
        return Ok(false);
    }
    for (start, body) in bodies {
        ranges::write(&txn, &share, &mut node, *start, body).await?;
    }
    let now = txn.now();
    node.smb.written = written.map_or(node.smb.written, FileTime::of);
    node.smb.changed = now.into();
    node.smb.attributes = node.smb.attributes.with_archive();
    node.touch(now, txn.fresh_id());
    tree.put_node(&txn, &node).await?;
    Ok(true)
}

/// A file by its inode, in a share that is there.
pub(crate) async fn found(rows: &impl Read, file: FileKey, at: At) -> Result<(Share, Node), FileError> {
    let share = share::live(rows, file.share).await?;
    let node = Tree::of(&share).node(rows, file.inode, at).await?.ok_or(FileError::ResourceNotFound)?;
    Ok((share, node))
}

/// The bytes of `offset..end`: what is stored, zeros behind it, and what is not stored yet on top.
fn laid_over(below: Vec<Bytes>, offset: u64, end: u64, overlay: &Overlay) -> Vec<Bytes> {
    let length = usize::try_from(end - offset).unwrap_or(usize::MAX);
    if overlay.pieces.is_empty() && below.iter().map(Bytes::len).sum::<usize>() == length {
        return below;
    }
    let mut bytes = BytesMut::with_capacity(length);
    below.iter().for_each(|piece| bytes.extend_from_slice(piece));
    bytes.resize(length, 0);
    for (start, piece) in &overlay.pieces {
        let from = usize::try_from(start.saturating_sub(offset)).unwrap_or(usize::MAX);
        if let Some(place) = bytes.get_mut(from..from.saturating_add(piece.len()).min(length)) {
            let count = place.len();
            place.copy_from_slice(piece.get(..count).unwrap_or_default());
        }
    }
    vec![bytes.freeze()]
}

impl FileAttributes {
    /// Changed since the last backup; not normal any more.
    const fn with_archive(self) -> Self {
        Self((self.0 & !Self::NORMAL.0) | Self::ARCHIVE.0)
    }
}
