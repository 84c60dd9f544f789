//! Copy File. A file of this server gives its map: the rows are copied and the bytes are shared, so that a copy is done at
//! once, whatever its length. A map of very many parts, and what has to be fetched, is a pending copy: a row that says how
//! far it is, so that it goes on after a crash.
//!
//! **Invariants.** The source is its own authorised read, decided in the transaction of the copy. A file that is being
//! copied into is empty until the copy has ended, and nobody else writes, opens or moves it.

use access::{Asked, Authorized, Operation, need::Need};
use concurrency::{
    lease::LeaseUse,
    rest_open::{RestOperation, RestRequest},
};
use store::{
    Read, Txn,
    content_map::{self, MapWriter, Segment},
    epoch::Epochs,
};
use types::{ContentId, CopyState, CopyStatus, HttpHeaders, Inode, Metadata, Timestamp, limits};

use crate::{
    Files,
    body::{Begun, Body},
    create::{self, MadeAt, NewFile},
    download::GetFile,
    errors::FileError,
    history::At,
    needs,
    object::Address,
    ranges::{self, refuse_while_copying},
    smb_change::SmbChange,
    state::{File, Node, Share},
    usage,
    write::{Preconditions, Written},
};

mod job;
mod maps;
mod smb;

pub use job::{AbortCopy, CopyCursor, ForeignSource, PendingCopy};
pub(crate) use job::{give_up, let_go};
pub use maps::CopyMaps;
pub use smb::{CopiedSmb, Taken};

/// Parts of a map that are copied in the transaction of the request.
const AT_ONCE: usize = 16 * 1024;
/// How often a copy is begun again because its source changed places.
const ATTEMPTS: usize = 64;
/// The epochs of a map that is new.
const NEW_MAP: Epochs = Epochs { current: 0, newest_snapshot: None };

/// Copy File: the destination.
#[derive(Clone, Debug)]
pub struct CopyFile<'a> {
    /// The file that is copied into.
    pub address: Address,
    /// What it is decided by.
    pub preconditions: Preconditions<'a>,
    /// The source as the client named it, without a signature.
    pub source_url: String,
    /// A fresh id for the copy.
    pub copy_id: String,
    /// Its metadata; that of the source when there is none.
    pub metadata: Option<Metadata>,
    /// Its attributes, times and security descriptor.
    pub smb: CopiedSmb,
    /// Whether a file that is read-only is replaced too.
    pub ignores_read_only: bool,
}

impl Operation for CopyFile<'_> {
    fn need(&self) -> Need<'_> {
        self.address.need(needs::CREATE)
    }
}

impl CopyFile<'_> {
    const fn open(&self) -> RestRequest {
        let ignores_read_only = self.ignores_read_only;
        RestRequest { operation: RestOperation::CopyDestination, range: None, ignores_read_only }
    }

    fn state(&self, status: CopyStatus, total: u64, now: Timestamp) -> CopyState {
        let done = status == CopyStatus::Success;
        CopyState {
            id: self.copy_id.clone(),
            source: self.source_url.clone(),
            status,
            description: None,
            copied: if done { total } else { 0 },
            total,
            completed: done.then_some(now),
        }
    }
}

/// What a copy answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The ETag of the destination, and when.
    pub written: Written,
    /// The id of the copy.
    pub copy_id: String,
    /// Done, or pending.
    pub status: CopyStatus,
}

impl Files {
    /// Begins a copy of what has to be fetched: decides early whether the destination may be copied into, before a source is
    /// asked for. What it allows is decided again when the copy is made.
    ///
    /// # Errors
    /// As [`Self::copy_file`], of the destination.
    pub async fn begin_copy(&self, asked: &Asked<CopyFile<'_>>) -> Result<Begun<'_>, FileError> {
        let (rows, now) = self.view();
        let request = asked.authorize(&rows).await?;
        let (share, _, old) = create::there(&rows, &request.address).await?;
        match old {
            None => request.preconditions.admit_absent()?,
            Some(mut old) => {
                let _claim = self.claim(share.unit, &old, request.open())?;
                request.preconditions.admit(LeaseUse::Write, &mut old, now)?;
                old.file.as_deref().map_or(Ok(()), refuse_while_copying)?;
            }
        }
        Ok(self.begun())
    }

    /// Copies a file of this server, or the state of one that a snapshot of its share keeps, by sharing its bytes. Done at
    /// once, unless its map has very many parts: then it is pending, and the background goes on with it.
    ///
    /// # Errors
    /// The source may not be read, does not exist, does not meet its conditions, is open in a way that stands against it or
    /// is itself being copied into ([`FileError::Source`]); the destination's parent does not exist, a directory or a copy
    /// is in its place, what is open, a lease, a condition or the read-only attribute stands against replacing it, the
    /// share is full, or the store failed.
    pub async fn copy_file(
        &self,
        asked: &Asked<CopyFile<'_>>,
        source: &Asked<GetFile<'_>>,
    ) -> Result<Copied, FileError> {
        for _ in 0..ATTEMPTS {
            // Who may not copy here is told so, whatever is wrong with the source.
            self.admit(asked).await?;
            // With what was written through handles; whether it may be read is decided in the transaction.
            let from = self.look(source, &source.address).await.map_err(FileError::of_source)?;
            let claimed = self.claim_at(from.at, from.share.unit, &from.node, source.open());
            let _claim = claimed.map_err(FileError::of_source)?;
            let read = from.node.inode;
            let copied =
                self.make_file(asked, &asked.address, asked.open(), Option::is_some, |txn, replaced| async move {
                    let request = asked.authorize(&txn).await?;
                    copy(&txn, &request, (source, read), replaced).await
                });
            if let Some(copied) = copied.await? {
                return Ok(copied);
            }
        }
        Err(FileError::ChangesTooOften)
    }

    /// Makes a file of bytes that were brought, at once.
    ///
    /// # Errors
    /// As [`Self::copy_file`], of the destination.
    pub async fn put_copied(
        &self,
        asked: &Asked<CopyFile<'_>>,
        source: &ForeignSource,
        body: &Body,
    ) -> Result<Copied, FileError> {
        self.make_file(asked, &asked.address, asked.open(), |_| true, |txn, replaced| async move {
            put_copied(&txn, &asked.authorize(&txn).await?, source, body, replaced).await
        })
        .await
    }

    /// Begins a copy from elsewhere. The file is there at once, and empty; its bytes are brought with
    /// [`Self::append_copied`].
    ///
    /// # Errors
    /// As [`Self::copy_file`], of the destination; or the source is longer than a file can be.
    pub async fn begin_pending_copy(
        &self,
        asked: &Asked<CopyFile<'_>>,
        source: &ForeignSource,
    ) -> Result<(Copied, PendingCopy), FileError> {
        if source.length > limits::FILE_MAX_BYTES {
            return Err(FileError::FileTooLarge(source.length).of_source());
        }
        self.make_file(asked, &asked.address, asked.open(), |_| true, |txn, replaced| async move {
            job::begin_foreign(&txn, &asked.authorize(&txn).await?, source, replaced).await
        })
        .await
    }
}

/// A file that is read from.
struct SourceFile {
    share: Share,
    at: At,
    node: Node,
}

impl SourceFile {
    async fn find(rows: &impl Read, asked: &Asked<GetFile<'_>>, now: Timestamp) -> Result<Self, FileError> {
        let request = asked.authorize(rows).await?;
        let (share, at, found) = request.address.read(rows).await?;
        let node = found.node;
        let file = node.file.as_deref().ok_or(FileError::ResourceTypeMismatch)?;
        request.preconditions.admit_read(&node, now)?;
        refuse_while_copying(file)?;
        Ok(Self { share, at, node })
    }

    fn file(&self) -> Result<&File, FileError> {
        self.node.file.as_deref().ok_or(FileError::ResourceTypeMismatch)
    }

    /// Its written parts, as many as are copied at once; `None` when there are more.
    async fn parts(&self, rows: &impl Read) -> Result<Option<Vec<Segment>>, FileError> {
        let file = self.file()?;
        let range = (0, file.length);
        let (parts, more) = content_map::read(rows, file.content, file.epoch, range, AT_ONCE).await?;
        Ok(more.is_none().then_some(parts))
    }
}

/// A file that is copied into, while it is made.
struct Destination {
    place: MadeAt,
    node: Node,
    /// What it held before.
    held: u64,
    file: File,
}

impl Destination {
    async fn make(
        txn: &Txn,
        request: &Authorized<'_, CopyFile<'_>>,
        replaced: Option<Inode>,
        place: MadeAt,
        (smb, metadata, headers): (&SmbChange, &Metadata, &HttpHeaders),
    ) -> Result<Self, FileError> {
        let new = NewFile {
            preconditions: &request.preconditions,
            may_overwrite: request.may_overwrite(),
            smb,
            metadata: request.metadata.as_ref().unwrap_or(metadata),
        };
        let (node, old) = create::new_file(txn, &place, replaced, &new).await?;
        let held = old.as_ref().map_or(0, |old| old.allocated);
        let file = create::empty(txn, 0, headers.clone(), create::kept_lease(old.as_deref()));
        Ok(Self { place, node, held, file })
    }

    /// Refuses a copy that would hold so much that its share gets too large.
    async fn check_quota(&self, txn: &Txn, holds: u64) -> Result<(), FileError> {
        // What was there does not count any more; a copy that holds no more than that is always fine.
        if holds > self.held { usage::check_quota(txn, &self.place.0, holds).await } else { Ok(()) }
    }

    /// Stores it with how the copy stands.
    async fn put(mut self, txn: &Txn, state: CopyState) -> Result<Copied, FileError> {
        let (copy_id, status) = (state.id.clone(), state.status);
        self.file.copy = Some(state);
        self.node.file = Some(Box::new(self.file));
        create::put_file(txn, &self.place, &self.node).await?;
        Ok(Copied { written: Written::of(&self.node), copy_id, status })
    }
}

/// `None` when the destination is not the one that was asked about, `Some(None)` when the source is not. Until that is
/// known, nothing is written.
async fn copy(
    txn: &Txn,
    request: &Authorized<'_, CopyFile<'_>>,
    (source, read): (&Asked<GetFile<'_>>, Inode),
    replaced: Option<Inode>,
) -> Result<Option<Option<Copied>>, FileError> {
    let now = txn.now();
    let from = SourceFile::find(txn, source, now).await.map_err(FileError::of_source)?;
    if from.node.inode != read {
        return Ok(Some(None));
    }
    let parts = from.parts(txn).await?;
    let Some(place) = create::place_of(txn, &request.address, replaced).await? else { return Ok(None) };
    let staged = ContentId::new(txn.fresh_id());
    // Before the destination lets go of what it holds: it may be the same file.
    if parts.is_none() && !maps::keep(txn, &from, staged).await? {
        return Ok(Some(None));
    }
    let smb = request.smb.of_file(txn, place.0.unit, (from.share.unit, &from.node.smb)).await?;
    let file = from.file()?;
    let with = (&smb, &from.node.metadata, &file.headers);
    let mut made = Destination::make(txn, request, replaced, place, with).await?;
    let Some(parts) = parts else {
        made.check_quota(txn, file.allocated).await?;
        return maps::begin(txn, request, &from, made, staged).await.map(|copied| Some(Some(copied)));
    };
    let mut map = MapWriter::new(txn, staged, NEW_MAP);
    let holds = map.append_all(&parts);
    map.finish().await?;
    usage::replace(txn, &made.place.0, made.node.inode, made.held, holds).await?;
    (made.file.content, made.file.length, made.file.allocated) = (staged, file.length, holds);
    let state = request.state(CopyStatus::Success, file.length, now);
    made.put(txn, state).await.map(|copied| Some(Some(copied)))
}

async fn put_copied(
    txn: &Txn,
    request: &Authorized<'_, CopyFile<'_>>,
    source: &ForeignSource,
    body: &Body,
    replaced: Option<Inode>,
) -> Result<Option<Copied>, FileError> {
    let Some(place) = create::place_of(txn, &request.address, replaced).await? else { return Ok(None) };
    let with = (&request.smb.of_others(), &source.metadata, &source.headers);
    let mut made = Destination::make(txn, request, replaced, place, with).await?;
    made.file.length = body.length();
    made.node.file = Some(Box::new(made.file.clone()));
    ranges::fill(txn, &made.place.0, &mut made.node, body).await?;
    made.file = made.node.file.take().map_or(made.file, |file| *file);
    let state = request.state(CopyStatus::Success, body.length(), txn.now());
    made.put(txn, state).await.map(Some)
}
