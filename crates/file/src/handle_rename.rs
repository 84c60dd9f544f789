//! A rename through a handle: what is moved keeps its inode and stays open.
//!
//! **Invariant.** As for a rename by REST: a directory is never moved below itself, and the table of opens learns of the new
//! place before anybody can open it by the old one.

use access::{Asked, Operation, need::Need};
use concurrency::{
    rest_open::{RestOperation, RestRequest},
    share_mode::{Access, OpenMode, ShareMode},
};
use store::{Scope, Txn};
use types::Inode;

use crate::{
    Files, delete,
    errors::FileError,
    handle_io::found,
    history::At,
    needs,
    object::Address,
    opens::{FileKey, Handle, NotMoved, Place, Turn},
    tree::Tree,
};

/// How often a move is begun again because a path led elsewhere.
const ATTEMPTS: usize = 64;

/// What a rename is to the directories that it changes: an open that deletes and lets others only read and write.
const PARENT: OpenMode =
    OpenMode { access: Access::DELETE, share: ShareMode { read: true, write: true, delete: false } };

/// Where something that is open is moved.
#[derive(Clone, Debug)]
pub struct MoveOpen {
    /// The place, in the share of the handle.
    pub destination: Address,
    /// Whether a file that is there is replaced.
    pub replaces: bool,
}

impl Operation for MoveOpen {
    fn need(&self) -> Need<'_> {
        self.destination.need(needs::WRITE)
    }
}

impl Files {
    /// Moves what is open.
    ///
    /// # Errors
    /// The handle may not, it is the topmost directory, the destination's parent does not exist, something is there that is
    /// not replaced or is open, a directory would be moved below itself, something is open below it, or the store failed.
    /// [`FileError::Wait`] asks to wait and to try again.
    pub async fn rename_open(&self, handle: &Handle, asked: &Asked<MoveOpen>) -> Result<(), FileError> {
        let file = handle.file();
        for _ in 0..ATTEMPTS {
            let (rows, now) = self.view();
            asked.authorize(&rows).await?;
            let share = asked.destination.share.writable(&rows).await?;
            let tree = Tree::of(&share);
            if share.unit != file.share {
                return Err(FileError::ShareNotFound);
            }
            let spot = tree.spot(&rows, asked.destination.components(), At::Present).await?;
            let spot = spot.ok_or(FileError::ResourceAlreadyExists)?;
            if spot.ancestors.iter().any(|above| above.inode == file.inode) {
                return Err(FileError::MoveBelowItself);
            }
            let to = spot.parent;
            let there = match spot.entry {
                Some(entry) if entry.inode != file.inode => tree.node(&rows, entry.inode, At::Present).await?,
                _ => None,
            };
            if there.is_some() && !asked.replaces {
                return Err(FileError::ResourceAlreadyExists);
            }
            let _source = match handle.begin_rename(now)? {
                Turn::Granted(claim) => claim,
                Turn::Wait(ticket) => return Err(FileError::Wait(ticket)),
            };
            let onto =
                RestRequest { operation: RestOperation::RenameDestination, range: None, ignores_read_only: false };
            let _there = there.as_ref().map(|there| self.claim(share.unit, there, onto)).transpose()?;
            let from = handle.name().ok_or(FileError::RootDirectory)?;
            for parent in [from.0, to] {
                if self.opens.conflicts(FileKey { share: share.unit, inode: parent }, PARENT) {
                    return Err(NotMoved::ParentInUse.into());
                }
            }
            let (replaced, latch) = (there.map(|there| there.inode), tree.latch(file.inode));
            let renamed = self.store.transact(Scope::of(&latch), |txn| {
                let from = from.clone();
                async move {
                    asked.authorize(&txn).await?;
                    rename(&txn, asked, file, from, replaced).await
                }
            });
            if let Some(place) = renamed.await? {
                self.opens.moved(&place);
                return Ok(());
            }
        }
        Err(FileError::ChangesTooOften)
    }
}

/// `None` when a path leads elsewhere by now.
async fn rename(
    txn: &Txn,
    request: &MoveOpen,
    file: FileKey,
    (parent, name): (Inode, Box<str>),
    replaced: Option<Inode>,
) -> Result<Option<Place>, FileError> {
    let (share, mut node) = found(txn, file, At::Present).await?;
    let tree = Tree::of(&share);
    let entry = tree.entry(txn, parent, &name, At::Present).await?;
    let Some(entry) = entry.filter(|entry| entry.inode == file.inode) else { return Ok(None) };
    let Some(to) = tree.spot(txn, request.destination.components(), At::Present).await? else { return Ok(None) };
    let there = to.entry.as_ref().map(|entry| entry.inode).filter(|there| *there != file.inode);
    if there != replaced {
        return Ok(None);
    }
    if to.ancestors.iter().any(|ancestor| ancestor.inode == file.inode) {
        return Err(FileError::MoveBelowItself);
    }
    if let Some(there) = there {
        let there = tree.node(txn, there, At::Present).await?.ok_or(FileError::ResourceNotFound)?;
        if there.is_directory() || node.is_directory() {
            return Err(FileError::ResourceTypeMismatch);
        }
        delete::remove(txn, &tree, to.parent, to.name.as_str(), &there).await?;
    }
    let above = tree.node(txn, to.parent, At::Present).await?.ok_or(FileError::ParentNotFound)?;
    tree.delete_entry(txn, parent, &entry.name).await?;
    tree.renew(&mut node);
    node.parent = above.inode;
    node.smb.changed = txn.now().into();
    node.touch(txn.now(), txn.fresh_id());
    tree.put_node(txn, &node).await?;
    tree.put_entry(txn, to.parent, &to.name, &node).await?;
    Ok(Some(tree.place(&to.ancestors, node.inode, to.name.as_str())))
}
