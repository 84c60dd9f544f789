//! The tree of a share: `(parent, component) -> inode`, and the nodes by inode.
//!
//! A directory is moved by moving its one entry, however much is below. How components compare is a property of the tree:
//! a share compares them upcased; a tree that compares them exactly can stand on the same rows. Inodes are unique in the
//! account, so a node keeps its identity wherever it is moved.
//!
//! **Invariants.** Every entry names a node whose `parent` is the directory of the entry, and no other entry does. An entry is made
//! only while its directory is there and not being removed: the maker holds the directory's guard shared and reads its
//! node; whoever rests on a directory being empty holds the guard exclusive.

use bytes::Bytes;
use store::{Direction, Read, StoreError, Txn, epoch::Epochs};
use types::{ContentId, FileComponent, Inode, UnitId};

use crate::{
    errors::FileError,
    history::{self, At, Place},
    keys,
    state::{Entry, Node, Share},
    upcase::upcase,
};

/// How the components of a tree compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// Without their case, by one frozen table.
    Upcased,
}

impl Comparison {
    /// The form of a component that stands in keys.
    pub(crate) fn key(self, component: &str) -> String {
        match self {
            Self::Upcased => upcase(component),
        }
    }
}

/// The tree of one share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tree {
    pub(crate) share: UnitId,
    pub(crate) root: Inode,
    pub(crate) comparison: Comparison,
    pub(crate) epochs: Epochs,
}

/// What a path leads to.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The directories on the way, the topmost first, with the names by which they were entered; the last is the one
    /// that holds it. Empty for the topmost directory itself.
    pub(crate) ancestors: Vec<Ancestor>,
    pub(crate) node: Node,
    /// Its name with its case; empty for the topmost directory.
    pub(crate) name: String,
}

/// A directory on the way to something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ancestor {
    pub(crate) inode: Inode,
    /// Empty for the topmost directory.
    pub(crate) name: String,
}

/// Where an entry is or would be.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    /// The directories on the way, the topmost first; the last is the parent.
    pub(crate) ancestors: Vec<Ancestor>,
    pub(crate) parent: Inode,
    /// The name that was asked for, with its case.
    pub(crate) name: FileComponent,
    /// What is there.
    pub(crate) entry: Option<Entry>,
}

impl Tree {
    /// The tree of a share, as it is written now.
    pub(crate) fn of(share: &Share) -> Self {
        Self { share: share.unit, root: share.root, comparison: Comparison::Upcased, epochs: share.epochs() }
    }

    fn entry_place(&self, parent: Inode, key: &str) -> Place {
        Place {
            present: keys::entry(keys::ENTRY, self.share, parent, key).build(),
            history: keys::entry(keys::ENTRY_HISTORY, self.share, parent, key),
        }
    }

    fn node_place(&self, inode: Inode) -> Place {
        Place {
            present: keys::node(keys::NODE, self.share, inode).build(),
            history: keys::node(keys::NODE_HISTORY, self.share, inode),
        }
    }

    /// What a name in a directory means there.
    pub(crate) async fn entry(
        &self,
        rows: &impl Read,
        parent: Inode,
        component: &str,
        at: At,
    ) -> Result<Option<Entry>, StoreError> {
        let row = history::get(rows, &self.entry_place(parent, &self.comparison.key(component)), at).await?;
        row.map(|row| Entry::decode(&row)).transpose()
    }

    /// The node with this inode.
    pub(crate) async fn node(&self, rows: &impl Read, inode: Inode, at: At) -> Result<Option<Node>, StoreError> {
        let row = history::get(rows, &self.node_place(inode), at).await?;
        row.map(|row| Node::decode(&row)).transpose()
    }

    /// The node that an entry names.
    pub(crate) async fn named(&self, rows: &impl Read, entry: &Entry, at: At) -> Result<Node, StoreError> {
        let node = self.node(rows, entry.inode, at).await?;
        node.ok_or_else(|| StoreError::corrupt(format!("an entry names {:?}, which is not there", entry.inode)))
    }

    /// Follows a path to the place of its last component.
    ///
    /// # Errors
    /// A directory on the way is missing or is a file ([`FileError::ParentNotFound`]), or the store failed.
    pub(crate) async fn spot(
        &self,
        rows: &impl Read,
        path: &[FileComponent],
        at: At,
    ) -> Result<Option<Spot>, FileError> {
        let Some((last, directories)) = path.split_last() else { return Ok(None) };
        let mut ancestors = Vec::with_capacity(path.len());
        ancestors.push(Ancestor { inode: self.root, name: String::new() });
        let mut parent = self.root;
        for component in directories {
            let entry = self.entry(rows, parent, component.as_str(), at).await?;
            let entry = entry.filter(|entry| entry.is_directory).ok_or(FileError::ParentNotFound)?;
            parent = entry.inode;
            ancestors.push(Ancestor { inode: parent, name: entry.name });
        }
        let entry = self.entry(rows, parent, last.as_str(), at).await?;
        Ok(Some(Spot { ancestors, parent, name: last.clone(), entry }))
    }

    /// Follows a path to what is there.
    ///
    /// # Errors
    /// A directory on the way is missing ([`FileError::ParentNotFound`]), nothing is there
    /// ([`FileError::ResourceNotFound`]), or the store failed.
    pub(crate) async fn find(&self, rows: &impl Read, path: &[FileComponent], at: At) -> Result<Found, FileError> {
        let Some(spot) = self.spot(rows, path, at).await? else {
            let root = self.node(rows, self.root, at).await?.ok_or(FileError::ResourceNotFound)?;
            return Ok(Found { ancestors: Vec::new(), node: root, name: String::new() });
        };
        let entry = spot.entry.ok_or(FileError::ResourceNotFound)?;
        let node = self.named(rows, &entry, at).await?;
        Ok(Found { ancestors: spot.ancestors, node, name: entry.name })
    }

    /// Begins to change a node, before its map is written: from now on it belongs to the current epoch of the share, and its
    /// map moves to an epoch of its own when a snapshot needs what it is now.
    pub(crate) fn renew(&self, node: &mut Node) {
        if self.epochs.keeps(node.since)
            && let Some(file) = &mut node.file
        {
            file.newest_shared_epoch = Some(file.epoch);
            file.epoch += 1;
        }
        node.since = self.epochs.current;
    }

    /// Stores a node as it is now, which was renewed or made.
    pub(crate) async fn put_node(&self, txn: &Txn, node: &Node) -> Result<(), StoreError> {
        debug_assert_eq!(node.since, self.epochs.current);
        history::put(txn, &self.node_place(node.inode), self.epochs, node.encode()).await
    }

    /// Removes a node. True when a snapshot keeps it.
    pub(crate) async fn delete_node(&self, txn: &Txn, inode: Inode) -> Result<bool, StoreError> {
        history::delete(txn, &self.node_place(inode), self.epochs).await
    }

    /// Whether what is kept of a node for snapshots needs a content.
    pub(crate) async fn history_needs(
        &self,
        rows: &impl Read,
        inode: Inode,
        content: ContentId,
    ) -> Result<bool, StoreError> {
        let mut scan = rows.scan(self.node_place(inode).history.range(), Direction::Ascending);
        while let Some(row) = scan.next().await? {
            if Node::decode(&row.value)?.file.is_some_and(|file| file.content == content) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Makes an entry. The caller knows that the parent is there: it has read its node, or made it.
    pub(crate) async fn put_entry(
        &self,
        txn: &Txn,
        parent: Inode,
        name: &FileComponent,
        node: &Node,
    ) -> Result<(), StoreError> {
        txn.guard_shared(keys::directory_guard(self.share, parent));
        let entry = Entry {
            since: self.epochs.current,
            inode: node.inode,
            is_directory: node.is_directory(),
            name: name.as_str().to_owned(),
        };
        let place = self.entry_place(parent, &self.comparison.key(name.as_str()));
        history::put(txn, &place, self.epochs, entry.encode()).await
    }

    /// Removes an entry.
    pub(crate) async fn delete_entry(&self, txn: &Txn, parent: Inode, name: &str) -> Result<(), StoreError> {
        history::delete(txn, &self.entry_place(parent, &self.comparison.key(name)), self.epochs).await.map(|_| ())
    }

    /// Whether a directory has no entries, and will have none until the transaction is over.
    pub(crate) async fn is_empty(&self, txn: &Txn, directory: Inode) -> Result<bool, StoreError> {
        txn.guard_exclusive(keys::directory_guard(self.share, directory));
        let entries = keys::entries(keys::ENTRY, self.share, directory, "");
        Ok(txn.scan(entries, Direction::Ascending).next().await?.is_none())
    }

    /// What writers of a node queue on.
    pub(crate) fn latch(&self, inode: Inode) -> Bytes {
        keys::node(keys::NODE, self.share, inode).build()
    }
}
