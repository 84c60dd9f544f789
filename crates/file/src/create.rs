//! Create Directory and Create File.
//!
//! **Invariant.** A file that is created over another keeps its inode and its lease, and gets a content of its own: what a
//! snapshot or a download needs of the old one stays.

use access::{Asked, Authorized, Operation, need::Need};
use concurrency::{
    lease::{Lease, LeaseUse},
    rest_open::{RestOperation, RestRequest},
};
use store::{Read, Scope, Txn};
use types::{ContentId, ETag, HttpHeaders, Inode, Metadata, limits};

use crate::{
    Files,
    body::{Begun, Body},
    changes::{Change, ChangeAction, ChangeKinds, Telling},
    content,
    errors::FileError,
    history::At,
    needs,
    object::{Address, NodeProperties},
    opens::Place,
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
        let watched = self.changes.telling();
        let telling = &watched;
        let made = self.transact(|txn| async move {
            let request = asked.authorize(&txn).await?;
            about(telling, &txn, &request.address).await?;
            create_directory(&txn, &request).await
        });
        let made = made.await.inspect_err(|error| telling.failed(error))?;
        watched.told(|place| vec![Change::new(place, ChangeAction::Added, ChangeKinds::DIRECTORY_NAME)]);
        Ok(made)
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
        let open = RestRequest { operation: RestOperation::CreateFile, range: None, ignores_read_only: false };
        self.make_file(asked, &asked.address, open, |txn, replaced| async move {
            create_file(&txn, &asked.authorize(&txn).await?, replaced, body).await
        })
        .await
    }

    /// Makes a file, or one in the place of another. `body` is told which one it replaces, and gives nothing when that is
    /// not what is there.
    pub(crate) async fn make_file<Op, T, F, Fut>(
        &self,
        asked: &Asked<Op>,
        address: &Address,
        open: RestRequest,
        body: F,
    ) -> Result<T, FileError>
    where
        Op: Operation,
        F: Fn(Txn, Option<Inode>) -> Fut,
        Fut: Future<Output = Result<Option<T>, FileError>>,
    {
        for _ in 0..ATTEMPTS {
            let (rows, _) = self.view();
            asked.authorize(&rows).await?;
            let (share, spot, old) = there(&rows, address).await?;
            if let Some(old) = &old {
                self.settle(share.unit, old).await?;
            }
            let _claim = old.as_ref().map(|old| self.claim(share.unit, old, open)).transpose()?;
            let replaced = spot.entry.as_ref().map(|entry| entry.inode);
            // Creators of one name queue on the directory's side of it; who replaces, on the file.
            let latch = Tree::of(&share).latch(replaced.unwrap_or(spot.parent));
            let watched = self.changes.telling();
            let (telling, body) = (&watched, &body);
            let made = self.store.transact(Scope::of(&latch), |txn| async move {
                about(telling, &txn, address).await?;
                body(txn, replaced).await
            });
            if let Some(made) = made.await.inspect_err(|error| telling.failed(error))? {
                watched.told(|place| {
                    let (action, kinds) = match replaced {
                        None => (ChangeAction::Added, ChangeKinds::FILE_NAME),
                        Some(_) => (ChangeAction::Modified, ChangeKinds::REPLACED),
                    };
                    vec![Change::new(place, action, kinds)]
                });
                return Ok(made);
            }
            telling.undone();
        }
        Err(FileError::ChangesTooOften)
    }
}

/// Says where something is about to be made: a look at the way, when somebody watches.
pub(crate) async fn about(telling: &Telling<'_, Place>, rows: &impl Read, address: &Address) -> Result<(), FileError> {
    if telling.about_nothing_watched() {
        return Ok(());
    }
    let share = address.share.writable(rows).await?;
    let tree = Tree::of(&share);
    let spot = tree.spot(rows, address.components(), At::Present).await?;
    let inode = |spot: &Spot| spot.entry.as_ref().map_or(tree.root, |entry| entry.inode);
    telling.about(share.unit, || spot.map(|spot| tree.place(&spot.ancestors, inode(&spot), spot.name.as_str())));
    Ok(())
}

/// Where a file is to be made, and the one that it replaces.
pub(crate) async fn there(rows: &impl Read, address: &Address) -> Result<(Share, Spot, Option<Node>), FileError> {
    let share = address.share.writable(rows).await?;
    let tree = Tree::of(&share);
    let spot = tree.spot(rows, address.components(), At::Present).await?;
    let spot = spot.ok_or(FileError::ResourceTypeMismatch)?;
    let old = match &spot.entry {
        Some(entry) if entry.is_directory => return Err(FileError::ResourceTypeMismatch),
        Some(entry) => tree.node(rows, entry.inode, At::Present).await?,
        None => None,
    };
    Ok((share, spot, old))
}

/// Where something is made: the share, its tree, the place, and the directory.
pub(crate) type MadeAt = (Share, Tree, Spot, Node);

/// Where something is to be made, in a directory that is there; `None` for the topmost directory.
pub(crate) async fn place(txn: &Txn, address: &Address) -> Result<Option<MadeAt>, FileError> {
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

/// The same for a file in the place of another, or of none; `None` when that is not what is there.
pub(crate) async fn place_of(
    txn: &Txn,
    address: &Address,
    replaced: Option<Inode>,
) -> Result<Option<MadeAt>, FileError> {
    let found = place(txn, address).await?;
    Ok(found.filter(|(_, _, spot, _)| spot.entry.as_ref().map(|entry| entry.inode) == replaced))
}

/// What a file is made with, besides its bytes.
pub(crate) struct NewFile<'a> {
    pub(crate) preconditions: &'a Preconditions<'a>,
    /// Whether the caller may replace what exists.
    pub(crate) may_overwrite: bool,
    pub(crate) smb: &'a SmbChange,
    pub(crate) metadata: &'a Metadata,
}

/// The node of a file that is made, without a content yet, and what was there in its place: the node has let go of it.
pub(crate) async fn new_file(
    txn: &Txn,
    (share, tree, _, parent): &MadeAt,
    replaced: Option<Inode>,
    new: &NewFile<'_>,
) -> Result<(Node, Option<Box<File>>), FileError> {
    let (mut node, old) = match replaced {
        None => {
            new.preconditions.admit_absent()?;
            let inode = Inode::new(txn.fresh_id());
            (made(txn, share, inode, parent, new.smb, false).await?, None)
        }
        Some(inode) => {
            let old = tree.node(txn, inode, At::Present).await?.ok_or(FileError::ResourceNotFound)?;
            let (node, old) = replace(txn, new, tree, parent, old).await?;
            (node, Some(old))
        }
    };
    node.metadata.clone_from(new.metadata);
    Ok((node, old))
}

/// Stores a file that was made.
pub(crate) async fn put_file(txn: &Txn, (_, tree, spot, _): &MadeAt, node: &Node) -> Result<(), FileError> {
    tree.put_node(txn, node).await?;
    Ok(tree.put_entry(txn, spot.parent, &spot.name, node).await?)
}

/// The lease of a file that was made in the place of this one.
pub(crate) fn kept_lease(old: Option<&File>) -> Lease {
    old.map(|old| old.lease).unwrap_or_default()
}

/// `None` when what is there is not what was asked about.
async fn create_file(
    txn: &Txn,
    request: &Authorized<'_, CreateFile<'_>>,
    replaced: Option<Inode>,
    body: Option<&Body>,
) -> Result<Option<NodeProperties>, FileError> {
    let Some(place) = place_of(txn, &request.address, replaced).await? else { return Ok(None) };
    let new = NewFile {
        preconditions: &request.preconditions,
        may_overwrite: request.may_overwrite(),
        smb: &request.smb,
        metadata: &request.metadata,
    };
    let (mut node, old) = new_file(txn, &place, replaced, &new).await?;
    let lease = kept_lease(old.as_deref());
    node.file = Some(Box::new(empty(txn, request.length, request.headers.clone(), lease)));
    if let Some(body) = body {
        ranges::fill(txn, &place.0, &mut node, body).await?;
    }
    put_file(txn, &place, &node).await?;
    Ok(Some(NodeProperties::of(node, txn.now())))
}

/// Lets go of what a file held that is created anew. Returns its node, without a content yet, and that.
async fn replace(
    txn: &Txn,
    new: &NewFile<'_>,
    tree: &Tree,
    parent: &Node,
    mut node: Node,
) -> Result<(Node, Box<File>), FileError> {
    if !new.may_overwrite {
        return Err(FileError::UnauthorizedOverwrite);
    }
    let now = txn.now();
    new.preconditions.admit(LeaseUse::Write, &mut node, now)?;
    let Some(old) = node.file.take() else { return Err(FileError::ResourceTypeMismatch) };
    ranges::refuse_while_copying(&old)?;
    let kept = tree.epochs.keeps(node.since);
    usage::shrink(txn, tree.share, node.inode, old.allocated).await?;
    content::let_go(txn, tree, node.inode, &old, kept).await?;
    node.since = tree.epochs.current;
    node.smb = new.smb.made(txn, tree.share, false, parent.smb.permission).await?;
    node.touch(now, txn.fresh_id());
    Ok((node, old))
}
