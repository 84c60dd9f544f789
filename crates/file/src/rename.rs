//! Rename File and Rename Directory: what is moved keeps its inode, so two entries and one node change, however much is below
//! a directory.
//!
//! **Invariant.** A directory is never moved below itself: the way to the destination is read in the same transaction, so two
//! moves that would make a ring conflict.

use access::{Asked, Authorized, Operation, need::Need};
use concurrency::{
    conditions::Conditions,
    lease::{LeaseId, LeaseUse},
    rest_open::{RestOperation, RestRequest},
};
use store::{Scope, Txn};
use types::{HttpHeaders, Inode, Metadata, ServiceVersion};

use crate::{
    Files,
    changes::{self, Telling},
    delete,
    errors::FileError,
    history::At,
    needs,
    object::{Address, NodeProperties},
    opens::Place,
    ranges::refuse_while_copying,
    smb_change::SmbChange,
    state::Node,
    tree::Tree,
    write::Preconditions,
};

/// How often a move is begun again because a path led elsewhere.
const ATTEMPTS: usize = 64;

/// Rename File or Rename Directory.
#[derive(Clone, Debug)]
pub struct Rename {
    /// What is moved.
    pub source: Address,
    /// Where to, in the same share.
    pub destination: Address,
    /// Whether it is a directory, as the request says.
    pub is_directory: bool,
    /// Whether a file that is there is replaced.
    pub replaces: bool,
    /// Whether one that is read-only is replaced too.
    pub ignores_read_only: bool,
    /// The lease id of the source.
    pub source_lease: Option<LeaseId>,
    /// The lease id of the destination.
    pub destination_lease: Option<LeaseId>,
    /// Attributes and times that it gets.
    pub smb: SmbChange,
    /// The metadata that it gets; `None` leaves it.
    pub metadata: Option<Metadata>,
    /// The content type that a file gets.
    pub content_type: Option<String>,
}

impl Operation for Rename {
    fn need(&self) -> Need<'_> {
        self.destination.need(needs::WRITE)
    }
}

impl Files {
    /// Moves a file or a directory. `source` is what has to be allowed where it is moved from.
    ///
    /// # Errors
    /// The source does not exist or is of the other kind, the destination's parent does not exist, something is there that is not
    /// replaced, a directory would be moved below itself, what is open, a lease or the read-only attribute stands against
    /// it, or the store failed.
    pub async fn rename<Source: Operation>(
        &self,
        asked: &Asked<Rename>,
        source: &Asked<Source>,
    ) -> Result<NodeProperties, FileError> {
        let of_source = source;
        for _ in 0..ATTEMPTS {
            let (rows, _) = self.view();
            asked.authorize(&rows).await?;
            of_source.authorize(&rows).await?;
            let share = asked.destination.share.writable(&rows).await?;
            let tree = Tree::of(&share);
            let source = tree.find(&rows, asked.source.components(), At::Present).await?.node;
            let there = match tree.spot(&rows, asked.destination.components(), At::Present).await? {
                Some(spot) => match spot.entry {
                    Some(entry) if entry.inode != source.inode => tree.node(&rows, entry.inode, At::Present).await?,
                    _ => None,
                },
                None => return Err(FileError::ResourceAlreadyExists),
            };
            let open = |operation, ignores_read_only| RestRequest { operation, range: None, ignores_read_only };
            let _source = self.claim(share.unit, &source, open(RestOperation::RenameSource, true))?;
            let onto = open(RestOperation::RenameDestination, asked.ignores_read_only);
            let replaced = there.as_ref().filter(|_| asked.replaces);
            let _there = replaced.map(|there| self.claim(share.unit, there, onto)).transpose()?;
            let (moved, replaced) = (source.inode, there.map(|there| there.inode));
            let (latch, watched) = (tree.latch(moved), self.changes.telling());
            let telling = &watched;
            let renamed = self.store.transact(Scope::of(&latch), |txn| async move {
                of_source.authorize(&txn).await?;
                rename(&txn, &asked.authorize(&txn).await?, moved, replaced, telling).await
            });
            if let Some((renamed, place)) = renamed.await.inspect_err(|error| telling.failed(error))? {
                // While the claims are held: nobody opens it by its old place meanwhile.
                self.opens.moved(&place);
                watched.told(|from| changes::renamed(from, place, asked.is_directory, replaced.is_some()));
                return Ok(renamed);
            }
            telling.undone();
        }
        Err(FileError::ChangesTooOften)
    }
}

/// `None` when a path leads elsewhere by now.
async fn rename(
    txn: &Txn,
    request: &Authorized<'_, Rename>,
    moved: Inode,
    replaced: Option<Inode>,
    telling: &Telling<'_, Place>,
) -> Result<Option<(NodeProperties, Place)>, FileError> {
    let share = request.destination.share.writable(txn).await?;
    let tree = Tree::of(&share);
    let found = tree.find(txn, request.source.components(), At::Present).await?;
    let Some(from) = found.ancestors.last() else { return Err(FileError::RootDirectory) };
    let Some(to) = tree.spot(txn, request.destination.components(), At::Present).await? else { return Ok(None) };
    let there = to.entry.as_ref().map(|entry| entry.inode).filter(|there| *there != moved);
    if found.node.inode != moved || there != replaced {
        return Ok(None);
    }
    telling.about(share.unit, || Some(tree.place(&found.ancestors, moved, &found.name)));
    let mut node = found.node;
    if node.is_directory() != request.is_directory {
        return Err(FileError::ResourceTypeMismatch);
    }
    if to.ancestors.iter().any(|ancestor| ancestor.inode == moved) {
        return Err(FileError::MoveBelowItself);
    }
    let now = txn.now();
    under(request.source_lease).admit(LeaseUse::Write, &mut node, now)?;
    if let Some(file) = &node.file {
        refuse_while_copying(file)?;
    }
    if let Some(there) = there {
        let mut there = tree.node(txn, there, At::Present).await?.ok_or(FileError::ResourceNotFound)?;
        replace(request, &mut there, txn)?;
        delete::remove(txn, &tree, to.parent, to.name.as_str(), &there).await?;
    } else {
        refuse_absent_lease(request)?;
    }
    let parent = tree.node(txn, to.parent, At::Present).await?.ok_or(FileError::ParentNotFound)?;
    tree.delete_entry(txn, from.inode, &found.name).await?;
    tree.renew(&mut node);
    node.parent = parent.inode;
    if let Some(metadata) = &request.metadata {
        node.metadata.clone_from(metadata);
    }
    if let (Some(content_type), Some(file)) = (&request.content_type, &mut node.file) {
        file.headers = HttpHeaders { content_type: Some(content_type.clone()), ..file.headers.clone() };
    }
    request.smb.apply(txn, share.unit, &mut node).await?;
    node.touch(now, txn.fresh_id());
    tree.put_node(txn, &node).await?;
    tree.put_entry(txn, to.parent, &to.name, &node).await?;
    let place = tree.place(&to.ancestors, node.inode, to.name.as_str());
    Ok(Some((NodeProperties::of(node, now), place)))
}

fn under<'a>(lease_id: Option<LeaseId>) -> Preconditions<'a> {
    Preconditions { version: ServiceVersion::NEWEST, lease_id, conditions: Conditions::default() }
}

/// Decides whether what is there may be replaced: a file, by whatever is moved.
fn replace(request: &Rename, there: &mut Node, txn: &Txn) -> Result<(), FileError> {
    if !request.replaces {
        return Err(FileError::ResourceAlreadyExists);
    }
    if there.is_directory() {
        return Err(FileError::ResourceTypeMismatch);
    }
    under(request.destination_lease).admit(LeaseUse::Delete, there, txn.now())
}

/// A lease id for a destination that is not there holds nothing.
fn refuse_absent_lease(request: &Rename) -> Result<(), FileError> {
    under(request.destination_lease).admit_absent()
}
