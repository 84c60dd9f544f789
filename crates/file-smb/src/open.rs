//! What a session has open: what SMB remembers of a handle besides what the table of opens of the File service knows.
//!
//! **Invariant.** A handle is closed once. Whoever uses it holds it for reading, so a close waits for what is under way.

use std::sync::{
    Arc, Mutex as Lock, MutexGuard, PoisonError,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

use bytes::Bytes;
use concurrency::durable::Kind;
use file::{
    Files,
    kept::Kept,
    opens::{Handle, HandleId},
};
use tokio::sync::{Mutex, RwLock, RwLockReadGuard};

use crate::{
    NtStatus,
    creates::{Created, Made},
    directory::Cursor,
    durable::Durable,
    errors::status_of,
    notify::Watching,
    pipes::Pipe,
    rights::Rights,
    sequences::{ChannelSequence, LockSequences},
    view::View,
    wire::FileId,
};

/// One open.
pub(crate) struct Open {
    pub(crate) id: FileId,
    /// The tree connect that it was made in.
    pub(crate) tree: u32,
    pub(crate) rights: Rights,
    /// Every write is durable before it is answered.
    pub(crate) write_through: bool,
    pub(crate) remembered: Arc<Remembered>,
    pub(crate) what: What,
}

/// What is remembered of an open, also when its connection is lost.
#[derive(Default)]
pub(crate) struct Remembered {
    /// How it outlives its connection, if it does.
    durable: Option<Arc<Durable>>,
    /// What its CREATE did.
    pub(crate) action: u32,
    /// The key of the lease that it caches under.
    pub(crate) lease: Option<[u8; 16]>,
    /// The guid of its CREATE, until the client has shown that it knows the answer.
    created: Lock<Option<Created>>,
    /// It was made resilient.
    resilient: Lock<Option<Arc<Durable>>>,
    lock_sequences: Lock<LockSequences>,
    channel: Lock<ChannelSequence>,
}

impl Remembered {
    pub(crate) fn new(
        durable: Option<Durable>,
        action: u32,
        created: Option<Created>,
        lease: Option<[u8; 16]>,
    ) -> Self {
        Self { durable: durable.map(Arc::new), action, lease, created: Lock::new(created), ..Self::default() }
    }

    /// How it outlives its connection, if it does.
    pub(crate) fn kept(&self) -> Option<(Kind, Arc<Durable>)> {
        let resilient = self.resilient.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let durable = || self.durable.clone().map(|durable| (Kind::Durable, durable));
        resilient.map(|resilient| (Kind::Resilient, resilient)).or_else(durable)
    }

    /// As it was when it was opened.
    pub(crate) fn durable(&self) -> Option<&Durable> {
        self.durable.as_deref()
    }

    /// From now on it outlives its connection in this way.
    pub(crate) fn becomes_resilient(&self, how: Durable) {
        *self.resilient.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(how));
    }

    /// Something is asked of the open: whoever sends its CREATE again from now on wants another one.
    pub(crate) fn is_used(&self) {
        drop(self.created().take());
    }

    fn created(&self) -> MutexGuard<'_, Option<Created>> {
        self.created.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The guid of its CREATE leads here.
    pub(crate) fn made(&self, made: Made) {
        if let Some(created) = &*self.created() {
            created.made(made);
        }
    }

    pub(crate) fn lock_sequences(&self) -> MutexGuard<'_, LockSequences> {
        self.lock_sequences.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn channel(&self) -> MutexGuard<'_, ChannelSequence> {
        self.channel.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is open.
pub(crate) enum What {
    Disk(Disk),
    Pipe(Mutex<Pipe>),
}

/// A directory or a file.
pub(crate) struct Disk {
    pub(crate) is_directory: bool,
    /// The number of its handle; what a snapshot keeps has none.
    pub(crate) number: Option<HandleId>,
    /// What a snapshot keeps, if that is open.
    kept: Option<Kept>,
    handle: RwLock<Option<Handle>>,
    /// Where the listing of a directory is.
    pub(crate) cursor: Mutex<Cursor>,
    /// What a client set and asks for again; nothing happens by it.
    pub(crate) position: AtomicU64,
    pub(crate) mode: AtomicU32,
    /// Who is told what changes in it.
    pub(crate) watching: Watching,
}

impl Disk {
    pub(crate) fn new(handle: Handle, is_directory: bool) -> Self {
        Self {
            is_directory,
            number: Some(handle.id()),
            kept: None,
            handle: RwLock::new(Some(handle)),
            cursor: Mutex::default(),
            position: AtomicU64::default(),
            mode: AtomicU32::default(),
            watching: Watching::default(),
        }
    }

    /// What its client had set, before it was gone.
    pub(crate) fn with(self, position: u64, mode: u32) -> Self {
        Self { position: AtomicU64::new(position), mode: AtomicU32::new(mode), ..self }
    }

    /// What a snapshot keeps.
    pub(crate) fn of_kept(kept: Kept, is_directory: bool) -> Self {
        Self {
            is_directory,
            number: None,
            kept: Some(kept),
            handle: RwLock::new(None),
            cursor: Mutex::default(),
            position: AtomicU64::default(),
            mode: AtomicU32::default(),
            watching: Watching::default(),
        }
    }

    /// What is open, to be looked at.
    ///
    /// # Errors
    /// It was closed.
    pub(crate) async fn view(&self) -> Result<View<'_>, NtStatus> {
        match &self.kept {
            Some(kept) => Ok(View::Kept(kept)),
            None => self.handle().await.map(View::Present),
        }
    }

    /// Bytes were read or written.
    pub(crate) fn moved(&self, offset: u64, length: usize) {
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        self.position.store(offset.saturating_add(length), Ordering::Relaxed);
    }

    /// The handle, for as long as it is used.
    ///
    /// # Errors
    /// It was closed, or a snapshot keeps it.
    pub(crate) async fn handle(&self) -> Result<Used<'_>, NtStatus> {
        if self.kept.is_some() {
            return Err(NtStatus::MEDIA_WRITE_PROTECTED);
        }
        let guard = self.handle.read().await;
        RwLockReadGuard::try_map(guard, Option::as_ref).map(Used).map_err(|_| NtStatus::FILE_CLOSED)
    }

    /// Takes the handle away: its connection is lost.
    pub(crate) async fn detach(&self) -> Option<Handle> {
        self.handle.write().await.take()
    }

    /// Puts it back, to be closed.
    pub(crate) async fn attach(&self, handle: Handle) {
        *self.handle.write().await = Some(handle);
    }

    /// Closes it, with what was written.
    ///
    /// # Errors
    /// It was closed already, or what was written could not be stored.
    pub(crate) async fn close(&self, files: &Files) -> Result<(), NtStatus> {
        self.watching.end();
        if self.kept.is_some() {
            return Ok(());
        }
        let handle = self.handle.write().await.take().ok_or(NtStatus::FILE_CLOSED)?;
        files.close(handle).await.map_err(|error| status_of(&error))
    }
}

/// A handle that is not closed meanwhile.
pub(crate) struct Used<'a>(RwLockReadGuard<'a, Handle>);

impl std::ops::Deref for Used<'_> {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.0
    }
}

impl Open {
    /// What is open on a disk share.
    ///
    /// # Errors
    /// It is a pipe.
    pub(crate) const fn disk(&self) -> Result<&Disk, NtStatus> {
        match &self.what {
            What::Disk(disk) => Ok(disk),
            What::Pipe(_) => Err(NtStatus::INVALID_DEVICE_REQUEST),
        }
    }

    /// Refuses what the open has no right to.
    ///
    /// # Errors
    /// It has none of these.
    pub(crate) const fn needs(&self, rights: u32) -> Result<(), NtStatus> {
        if self.rights.has(rights) { Ok(()) } else { Err(NtStatus::ACCESS_DENIED) }
    }

    /// Ends it.
    pub(crate) async fn close(&self, files: &Files) -> Result<(), NtStatus> {
        match &self.what {
            What::Disk(disk) => disk.close(files).await,
            What::Pipe(_) => Ok(()),
        }
    }
}

/// The answer to one request, before it is put behind a header.
#[derive(Default)]
pub(crate) struct Reply {
    pub(crate) status: NtStatus,
    pub(crate) body: Vec<u8>,
    /// What follows the body and is not copied.
    pub(crate) payload: Vec<Bytes>,
    /// The tree that a TREE_CONNECT made.
    pub(crate) tree: Option<u32>,
    /// What a CREATE opened: the open of related requests behind it.
    pub(crate) opened: Option<FileId>,
}

impl Reply {
    /// A body, and nothing went wrong.
    pub(crate) fn body(write: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut body = Vec::new();
        write(&mut body);
        Self { body, ..Self::default() }
    }

    /// Bytes of body and payload.
    pub(crate) fn length(&self) -> usize {
        self.payload.iter().map(Bytes::len).sum::<usize>().saturating_add(self.body.len())
    }
}
