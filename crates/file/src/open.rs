//! Handles: opening a directory or a file, which may make it, closing it, which may remove it, and marking it for deletion. What SMB does; REST
//! opens only for the moment of an operation.
//!
//! **Invariant.** An open is in the table before the transaction that looks at the rows, and becomes a handle only when that
//! has found or made the very node: a delete that runs beside it either sees the open, or has removed what it looks for.

use std::sync::Arc;

use access::{Asked, Operation, need::Need};
use concurrency::{
    delete_pending::Obstacles,
    file_open::OpenRequest,
    lease::{Lease, LeaseState},
    oplock::CacheGrant,
};
use jobs::{BoxFuture, Failure, Progress, Work};
use store::{Read, Scope, Txn};
use types::{HttpHeaders, Inode};

use crate::{
    Files, content, create, delete,
    errors::FileError,
    history::At,
    needs,
    object::{Address, NodeProperties},
    opens::{Asking, Closed, FileKey, Handle, LeaseKey, NotOpened, Owner, Removal, Turn},
    ranges::refuse_while_copying,
    smb_change::SmbChange,
    state::{FileAttributes, Node, Share},
    tree::{Spot, Tree},
    usage,
};

/// How often an open is begun again because its path led elsewhere.
const ATTEMPTS: usize = 64;

/// What an open does when there is something, and when there is nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// Opens what is there.
    Open,
    /// Makes it.
    Create,
    /// Opens it, or makes it.
    OpenIf,
    /// Opens it, and empties it.
    Overwrite,
    /// Empties it, or makes it.
    OverwriteIf,
}

impl Disposition {
    const fn makes(self) -> bool {
        matches!(self, Self::Create | Self::OpenIf | Self::OverwriteIf)
    }

    const fn overwrites(self) -> bool {
        matches!(self, Self::Overwrite | Self::OverwriteIf)
    }
}

/// An open that stays until it is closed.
#[derive(Clone, Debug)]
pub struct OpenFile {
    /// What is opened.
    pub address: Address,
    /// What to do when it is there, and when it is not.
    pub disposition: Disposition,
    /// Whether it must be a directory (`true`), or a file; what is made is one.
    pub is_directory: Option<bool>,
    /// Access, share mode and whether it is going to delete.
    pub request: OpenRequest,
    /// Attributes and times of what is made.
    pub smb: SmbChange,
    /// What the client wants to cache.
    pub cache: CacheGrant,
    /// Under which key, if it is a lease.
    pub lease_key: Option<LeaseKey>,
    /// From where on the client counts the changes of the lease; `None` when it does not.
    pub epoch: Option<u16>,
    /// Who opens.
    pub owner: Arc<Owner>,
}

impl Operation for OpenFile {
    fn need(&self) -> Need<'_> {
        let access = self.request.mode.access;
        let rule = match (self.disposition, access.write || access.delete) {
            (Disposition::Open, false) => needs::READ,
            (Disposition::Create | Disposition::OpenIf, _) => needs::CREATE,
            _ => needs::WRITE,
        };
        self.address.need(rule)
    }
}

/// What an open did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It was there.
    Opened,
    /// It was made.
    Created,
    /// It was there, and is empty now.
    Overwritten,
}

/// An open that has come about.
#[derive(Debug)]
pub struct Opened {
    /// The handle.
    pub handle: Handle,
    /// What was opened.
    pub properties: NodeProperties,
    /// What was done for it.
    pub action: Action,
}

impl OpenFile {
    fn asking(
        &self,
        tree: &Tree,
        spot: Option<&Spot>,
        (there, inode, lease): (Option<&Node>, Inode, LeaseState),
        name: &str,
    ) -> Asking {
        let ancestors = spot.map(|spot| spot.ancestors.as_slice()).unwrap_or_default();
        Asking {
            place: tree.place(ancestors, inode, name),
            request: self.request,
            lease,
            cache: self.cache,
            lease_key: self.lease_key,
            epoch: self.epoch,
            is_directory: there.map_or(self.is_directory == Some(true), Node::is_directory),
            owner: Arc::clone(&self.owner),
        }
    }

    /// Refuses what is there when the open is not for it.
    fn check(&self, node: &Node) -> Result<(), FileError> {
        if self.disposition == Disposition::Create {
            return Err(FileError::ResourceAlreadyExists);
        }
        if self.is_directory.is_some_and(|wanted| wanted != node.is_directory()) {
            return Err(FileError::ResourceTypeMismatch);
        }
        if self.disposition.overwrites() && node.is_directory() {
            return Err(FileError::ResourceTypeMismatch);
        }
        // What a handle would read or cache becomes another file when the copy ends.
        if let Some(file) = &node.file {
            refuse_while_copying(file)?;
        }
        let read_only = node.smb.attributes.has(FileAttributes::READ_ONLY);
        let writes = self.request.mode.access.write || self.disposition.overwrites();
        if read_only && writes && !node.is_directory() {
            return Err(concurrency::rest_open::RestRefusal::ReadOnlyAttribute.into());
        }
        self.request.delete.check(read_only).map_err(|refusal| FileError::NotMarked(refusal.into()))
    }
}

impl Files {
    /// Opens a directory or a file.
    ///
    /// # Errors
    /// There is none, or there is one and it must not be, it is of the other kind, what is open, a lease or the read-only
    /// attribute stands against it, or the store failed. [`FileError::Wait`] asks to wait and to open again.
    pub async fn open(&self, asked: &Asked<OpenFile>) -> Result<Opened, FileError> {
        for _ in 0..ATTEMPTS {
            let (rows, now) = self.view();
            asked.authorize(&rows).await?;
            let share = asked.address.share.writable(&rows).await?;
            let tree = Tree::of(&share);
            let spot = tree.spot(&rows, asked.address.components(), At::Present).await?;
            let there = match &spot {
                None => tree.node(&rows, tree.root, At::Present).await?,
                Some(Spot { entry: Some(entry), .. }) => tree.node(&rows, entry.inode, At::Present).await?,
                Some(Spot { entry: None, .. }) => None,
            };
            let name = spot.as_ref().map(|spot| match &spot.entry {
                Some(entry) => entry.name.clone(),
                None => spot.name.as_str().to_owned(),
            });
            let (inode, lease) = match &there {
                Some(node) => {
                    asked.check(node)?;
                    let lease = node.file.as_ref().map(|file| file.lease.state(now));
                    (node.inode, lease.unwrap_or(LeaseState::Available))
                }
                None if asked.disposition.makes() => (Inode::new(self.store.fresh_id()), LeaseState::Available),
                None => return Err(FileError::ResourceNotFound),
            };
            let asking =
                asked.asking(&tree, spot.as_ref(), (there.as_ref(), inode, lease), name.as_deref().unwrap_or_default());
            let tentative = match self.opens.open(&asking, now)? {
                Turn::Granted(tentative) => tentative,
                Turn::Wait(ticket) => return Err(FileError::Wait(ticket)),
            };
            let (latch, exists) = (tree.latch(inode), there.is_some());
            let done = self.store.transact(Scope::of(&latch), |txn| async move {
                asked.authorize(&txn).await?;
                open(&txn, asked, inode, exists, lease).await
            });
            if let Some((properties, action)) = done.await? {
                let handle = tentative.confirm().map_err(NotOpened::from)?;
                return Ok(Opened { handle, properties, action });
            }
        }
        Err(FileError::ChangesTooOften)
    }

    /// Closes a handle, with what was written flushed. A file that was marked for deletion goes with its last handle.
    ///
    /// # Errors
    /// The share is full, or the store failed; the handle is closed, and a removal that was due is done later.
    pub async fn close(&self, handle: Handle) -> Result<(), FileError> {
        let file = handle.file();
        let flushed = self.flush_file(file).await;
        let obstacles = self.obstacles(file).await?;
        match handle.close(obstacles) {
            Closed::Remove(removal) => return self.remove(removal).await,
            Closed::Kept | Closed::Already => {}
        }
        if flushed.is_err() && !self.opens.is_open(file) {
            // Its client is told, and nobody is left who could try again.
            self.unflushed.discard(file);
        }
        flushed
    }

    /// Marks what a handle is on for deletion with the last handle, or clears the mark.
    ///
    /// # Errors
    /// The handle may not delete, it is read-only or a directory that is not empty, or the store failed. [`FileError::Wait`]
    /// asks to wait and to try again.
    pub async fn set_disposition(&self, handle: &Handle, delete: bool) -> Result<(), FileError> {
        let obstacles = self.obstacles(handle.file()).await?;
        match handle.set_disposition(delete, obstacles, self.now())? {
            Turn::Granted(()) => Ok(()),
            Turn::Wait(ticket) => Err(FileError::Wait(ticket)),
        }
    }

    /// Does what is left to do about opens: bytes that were not flushed in time, removals whose handle was lost, and clients
    /// that did not answer. Returns
    /// whether anything was done.
    ///
    /// # Errors
    /// The store failed.
    pub async fn tend_opens(&self) -> Result<bool, FileError> {
        self.opens.expire(self.now());
        self.flush_old().await?;
        let Some(removal) = self.opens.unfinished() else { return Ok(false) };
        self.remove(removal).await?;
        Ok(true)
    }

    /// [`Self::tend_opens`] as background work.
    #[must_use]
    pub fn tending(&self) -> Box<dyn Work> {
        Box::new(Tending(self.clone()))
    }

    /// What stands in the way of deleting what is open.
    async fn obstacles(&self, file: FileKey) -> Result<Obstacles, FileError> {
        self.transact(|txn| async move {
            let key = crate::keys::node(crate::keys::NODE, file.share, file.inode).build();
            let Some(row) = txn.get(&key).await? else { return Ok(Obstacles::default()) };
            let node = Node::decode(&row)?;
            let entries = crate::keys::entries(crate::keys::ENTRY, file.share, file.inode, "");
            let not_empty =
                node.is_directory() && txn.scan(entries, store::Direction::Ascending).next().await?.is_some();
            Ok(Obstacles { read_only: node.smb.attributes.has(FileAttributes::READ_ONLY), not_empty })
        })
        .await
    }

    /// Removes what was marked and is not open any more.
    pub(crate) async fn remove(&self, removal: Removal) -> Result<(), FileError> {
        let (file, named) = (removal.file(), removal.name());
        let removed = self.transact_reclaiming(|txn| {
            let named = named.clone();
            async move {
                match named {
                    Some((parent, name)) => remove(&txn, file, parent, &name).await,
                    None => Ok(false),
                }
            }
        });
        // A failure leaves it to the next one who tends to opens.
        if removed.await? {
            removal.removed()
        } else {
            removal.kept()
        }
        Ok(())
    }
}

/// `None` when the path leads elsewhere by now.
async fn open(
    txn: &Txn,
    request: &OpenFile,
    inode: Inode,
    exists: bool,
    lease: LeaseState,
) -> Result<Option<(NodeProperties, Action)>, FileError> {
    let share = request.address.share.writable(txn).await?;
    let tree = Tree::of(&share);
    if !exists {
        let Some((share, tree, spot, parent)) = create::place(txn, &request.address).await? else { return Ok(None) };
        if spot.entry.is_some() {
            return Ok(None);
        }
        let is_directory = request.is_directory.unwrap_or(false);
        let mut node = create::made(txn, &share, inode, &parent, &request.smb, is_directory).await?;
        if !is_directory {
            node.file = Some(Box::new(create::empty(txn, 0, HttpHeaders::default(), Lease::default())));
        }
        tree.put_node(txn, &node).await?;
        tree.put_entry(txn, spot.parent, &spot.name, &node).await?;
        return Ok(Some((NodeProperties::of(node, txn.now()), Action::Created)));
    }
    let found = match tree.find(txn, request.address.components(), At::Present).await {
        Err(FileError::ResourceNotFound | FileError::ParentNotFound) => return Ok(None),
        found => found?,
    };
    let mut node = found.node;
    let leased = node.file.as_ref().map_or(LeaseState::Available, |file| file.lease.state(txn.now()));
    if node.inode != inode || leased != lease {
        return Ok(None);
    }
    request.check(&node)?;
    if !request.disposition.overwrites() {
        return Ok(Some((NodeProperties::of(node, txn.now()), Action::Opened)));
    }
    overwrite(txn, &share, &tree, &mut node, request).await?;
    Ok(Some((NodeProperties::of(node, txn.now()), Action::Overwritten)))
}

/// Empties a file: it gets a content of its own, so that what a snapshot or a download needs of the old one stays.
async fn overwrite(
    txn: &Txn,
    share: &Share,
    tree: &Tree,
    node: &mut Node,
    request: &OpenFile,
) -> Result<(), FileError> {
    let Some(old) = node.file.take() else { return Err(FileError::ResourceTypeMismatch) };
    usage::shrink(txn, share.unit, node.inode, old.allocated).await?;
    content::let_go(txn, tree, node.inode, &old, tree.epochs.keeps(node.since)).await?;
    node.since = tree.epochs.current;
    node.file = Some(Box::new(create::empty(txn, 0, old.headers.clone(), old.lease)));
    request.smb.apply(txn, share.unit, node).await?;
    node.smb.written = txn.now().into();
    node.touch(txn.now(), txn.fresh_id());
    Ok(tree.put_node(txn, node).await?)
}

/// Removes a node by its entry. False when the entry means something else by now, or a directory is not empty.
async fn remove(txn: &Txn, file: FileKey, parent: Inode, name: &str) -> Result<bool, FileError> {
    // What was deleted and can be restored stays as it is.
    if txn.get(&crate::keys::unit(file.share)).await?.is_none() {
        return Ok(false);
    }
    let Some(share) = crate::share::of_unit(txn, file.share).await? else { return Ok(false) };
    let tree = Tree::of(&share);
    let entry = tree.entry(txn, parent, name, At::Present).await?;
    let Some(entry) = entry.filter(|entry| entry.inode == file.inode) else { return Ok(false) };
    let node = tree.named(txn, &entry, At::Present).await?;
    if node.is_directory() && !tree.is_empty(txn, node.inode).await? {
        return Ok(false);
    }
    delete::remove(txn, &tree, parent, name, &node).await?;
    Ok(true)
}

/// Sees to what is left to do about opens. What is done are removals.
struct Tending(Files);

impl Work for Tending {
    fn name(&self) -> &'static str {
        "opens"
    }

    fn step(&mut self) -> BoxFuture<'_, Result<Progress, Failure>> {
        Box::pin(async {
            let more = self.0.tend_opens().await?;
            Ok(Progress { done: u64::from(more), more })
        })
    }
}
