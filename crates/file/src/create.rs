//! Create Directory and Create File.
//!
//! **Invariant.** A file that is created over another keeps its inode and its lease, and gets a content of its own: what a
//! snapshot or a download needs of the old one stays.

use access::{Asked, Authorized, Operation, need::Need};
use concurrency::{
    lease::{Lease, LeaseUse},
    rest_open::{RestOperation, RestRequest},
};
use store::{Scope, Txn};
use types::{ContentId, ETag, HttpHeaders, Inode, Metadata, limits};

use crate::{
    Files,
    body::{Begun, Body},
    content,
    errors::FileError,
    history::At,
    needs,
    object::{Address, NodeProperties},
    ranges,
    smb_change::SmbChange,
    state::{File, Node, Share},
    tree::{Spot, Tree},
    usage,
    write::Preconditions,
};

/// How often a file is created again because what was there changed meanwhile.
const ATTEMPTS: usize = 64;

/// Create Directory.
#[derive(Clone, Debug)]
pub struct CreateDirectory {
    /// The directory to create.
    pub address: Address,
    /// Its metadata.
    pub metadata: Metadata,
    /// Its attributes and times.
    pub smb: SmbChange,
}

impl Operation for CreateDirectory {
    fn need(&self) -> Need<'_> {
        self.address.need(needs::CREATE)
    }
}

/// Create File.
#[derive(Clone, Debug)]
pub struct CreateFile<'a> {
    /// The file to create or replace.
    pub address: Address,
    /// What it is decided by.
    pub preconditions: Preconditions<'a>,
    /// Its metadata.
    pub metadata: Metadata,
    /// Its attributes and times.
    pub smb: SmbChange,
    /// How it is served.
    pub headers: HttpHeaders,
    /// Its length. Nothing is written, so nothing is held.
    pub length: u64,
}

impl Operation for CreateFile<'_> {
    fn need(&self) -> Need<'_> {
        self.address.need(needs::CREATE)
    }
}

impl Files {
    /// Creates a directory.
    ///
    /// # Errors
    /// Its parent does not exist, something of that name does, or the store failed.
    pub async fn create_directory(&self, asked: &Asked<CreateDirectory>) -> Result<NodeProperties, FileError> {
        self.transact(|txn| async move { create_directory(&txn, &asked.authorize(&txn).await?).await }).await
    }

    /// Begins Create File with bytes: decides whether they may come at all. What it allows is decided again by
    /// [`Self::create_file`].
    ///
    /// # Errors
    /// The credential does not cover it, or the store failed.
    pub async fn begin_create_file(&self, asked: &Asked<CreateFile<'_>>) -> Result<Begun<'_>, FileError> {
        self.admit(asked).await?;
        Ok(self.begun())
    }

    /// Creates a file, or one in the place of another, with bytes at its beginning when a body was sent.
    ///
    /// # Errors
    /// Its parent does not exist, a directory of that name does, it is too long, what is open, a lease, a condition or the read-only attribute
    /// stands against replacing it, or the store failed.
    pub async fn create_file(
        &self,
        asked: &Asked<CreateFile<'_>>,
        body: Option<&Body>,
    ) -> Result<NodeProperties, FileError> {
        if asked.length > limits::FILE_MAX_BYTES {
            return Err(FileError::FileTooLarge(asked.length));
        }
        for _ in 0..ATTEMPTS {
            let (rows, _) = self.view();
            asked.authorize(&rows).await?;
            let share = asked.address.share.writable(&rows).await?;
            let tree = Tree::of(&share);
            let spot = tree.spot(&rows, asked.address.components(), At::Present).await?;
            let spot = spot.ok_or(FileError::ResourceTypeMismatch)?;
            let old = match &spot.entry {
                Some(entry) if entry.is_directory => return Err(FileError::ResourceTypeMismatch),
                Some(entry) => tree.node(&rows, entry.inode, At::Present).await?,
                None => None,
            };
            if let Some(old) = &old {
                self.settle(share.unit, old).await?;
            }
            let open = RestRequest { operation: RestOperation::CreateFile, range: None, ignores_read_only: false };
            let _claim = old.as_ref().map(|old| self.claim(share.unit, old, open)).transpose()?;
            let replaced = spot.entry.as_ref().map(|entry| entry.inode);
            // Creators of one name queue on the directory's side of it; who replaces, on the file.
            let latch = tree.latch(replaced.unwrap_or(spot.parent));
            let created = self.store.transact(Scope::of(&latch), |txn| async move {
                create_file(&txn, &asked.authorize(&txn).await?, replaced, body).await
            });
            if let Some(created) = created.await? {
                return Ok(created);
            }
        }
        Err(FileError::ChangesTooOften)
    }
}

/// Where something is to be made, in a directory that is there; `None` for the topmost directory.
pub(crate) async fn place(txn: &Txn, address: &Address) -> Result<Option<(Share, Tree, Spot, Node)>, FileError> {
    let share = address.share.writable(txn).await?;
    let tree = Tree::of(&share);
    let Some(spot) = tree.spot(txn, address.components(), At::Present).await? else { return Ok(None) };
    let parent = tree.node(txn, spot.parent, At::Present).await?.ok_or(FileError::ParentNotFound)?;
    Ok(Some((share, tree, spot, parent)))
}

async fn create_directory(txn: &Txn, request: &Authorized<'_, CreateDirectory>) -> Result<NodeProperties, FileError> {
    // The topmost directory is always there.
    let found = place(txn, &request.address).await?.ok_or(FileError::ResourceAlreadyExists)?;
    let (share, tree, spot, parent) = found;
    if spot.entry.is_some() {
        return Err(FileError::ResourceAlreadyExists);
    }
    let mut node = made(txn, &share, Inode::new(txn.fresh_id()), &parent, &request.smb, true).await?;
    node.metadata.clone_from(&request.metadata);
    tree.put_node(txn, &node).await?;
    tree.put_entry(txn, spot.parent, &spot.name, &node).await?;
    Ok(NodeProperties::of(node, txn.now()))
}

/// A node that is made in `parent`, without a content yet.
///
/// # Errors
/// The share does not know the security descriptor, or the store failed.
pub(crate) async fn made(
    txn: &Txn,
    share: &Share,
    inode: Inode,
    parent: &Node,
    smb: &SmbChange,
    is_directory: bool,
) -> Result<Node, FileError> {
    let now = txn.now();
    Ok(Node {
        since: share.epoch,
        inode,
        parent: parent.inode,
        etag: ETag::next(None, now, inode.number()),
        last_modified: now,
        smb: smb.made(txn, share.unit, is_directory, parent.smb.permission).await?,
        metadata: Metadata::new(),
        file: None,
    })
}

/// A content that holds nothing.
pub(crate) fn empty(txn: &Txn, length: u64, headers: HttpHeaders, lease: Lease) -> File {
    File {
        content: ContentId::new(txn.fresh_id()),
        length,
        allocated: 0,
        epoch: 0,
        newest_shared_epoch: None,
        untrimmed: false,
        headers,
        lease,
        copy: None,
    }
}

/// `None` when what is there is not what was asked about.
async fn create_file(
    txn: &Txn,
    request: &Authorized<'_, CreateFile<'_>>,
    replaced: Option<Inode>,
    body: Option<&Body>,
) -> Result<Option<NodeProperties>, FileError> {
    let Some((share, tree, spot, parent)) = place(txn, &request.address).await? else { return Ok(None) };
    if spot.entry.as_ref().map(|entry| entry.inode) != replaced {
        return Ok(None);
    }
    let now = txn.now();
    let (mut node, lease) = match replaced {
        None => {
            request.preconditions.admit_absent()?;
            let inode = Inode::new(txn.fresh_id());
            (made(txn, &share, inode, &parent, &request.smb, false).await?, Lease::default())
        }
        Some(inode) => {
            let old = tree.node(txn, inode, At::Present).await?.ok_or(FileError::ResourceNotFound)?;
            replace(txn, request, &tree, &parent, old).await?
        }
    };
    node.metadata.clone_from(&request.metadata);
    node.file = Some(Box::new(empty(txn, request.length, request.headers.clone(), lease)));
    if let Some(body) = body {
        ranges::fill(txn, &share, &mut node, body).await?;
    }
    tree.put_node(txn, &node).await?;
    tree.put_entry(txn, spot.parent, &spot.name, &node).await?;
    Ok(Some(NodeProperties::of(node, now)))
}

/// Lets go of what a file held that is created anew. Returns its node, without a content yet, and its lease.
async fn replace(
    txn: &Txn,
    request: &Authorized<'_, CreateFile<'_>>,
    tree: &Tree,
    parent: &Node,
    mut node: Node,
) -> Result<(Node, Lease), FileError> {
    if !request.may_overwrite() {
        return Err(FileError::UnauthorizedOverwrite);
    }
    let now = txn.now();
    request.preconditions.admit(LeaseUse::Write, &mut node, now)?;
    let Some(old) = node.file.take() else { return Err(FileError::ResourceTypeMismatch) };
    if old.copy.as_ref().is_some_and(|copy| copy.status == types::CopyStatus::Pending) {
        return Err(FileError::PendingCopyOperation);
    }
    let kept = tree.epochs.keeps(node.since);
    usage::shrink(txn, tree.share, node.inode, old.allocated).await?;
    content::let_go(txn, tree, node.inode, &old, kept).await?;
    node.since = tree.epochs.current;
    node.smb = request.smb.made(txn, tree.share, false, parent.smb.permission).await?;
    node.touch(now, txn.fresh_id());
    Ok((node, old.lease))
}
