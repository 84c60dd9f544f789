//! Delete File and Delete Directory: both are done at once, and never leave anything pending.

use access::{Asked, Operation, need::Need};
use concurrency::{
    lease::LeaseUse,
    rest_open::{RestOperation, RestRequest},
};
use store::Txn;
use types::Inode;

use crate::{
    Files,
    changes::{ChangeAction, ChangeKinds},
    content, copy,
    errors::FileError,
    needs,
    object::Address,
    state::Node,
    tree::Tree,
    usage,
    write::{Changing, OnPath, Preconditions},
};

/// Delete File or Delete Directory.
#[derive(Clone, Debug)]
pub struct Delete<'a> {
    /// What is deleted.
    pub address: Address,
    /// What it is decided by.
    pub preconditions: Preconditions<'a>,
    /// Whether it is a directory, as the request says.
    pub is_directory: bool,
}

impl Operation for Delete<'_> {
    fn need(&self) -> Need<'_> {
        self.address.need(needs::DELETE)
    }
}

impl OnPath for Delete<'_> {
    fn address(&self) -> &Address {
        &self.address
    }

    fn open(&self) -> RestRequest {
        RestRequest { operation: RestOperation::DeleteFile, range: None, ignores_read_only: false }
    }

    fn tells(&self, is_directory: bool) -> Option<(ChangeAction, ChangeKinds)> {
        Some((ChangeAction::Removed, ChangeKinds::name(is_directory)))
    }
}

impl Files {
    /// Deletes a file, or a directory that is empty.
    ///
    /// # Errors
    /// It does not exist or is of the other kind, a directory is not empty or is the topmost one, what is open, a lease, a condition or the
    /// read-only attribute stands against it, or the store failed.
    pub async fn delete(&self, asked: &Asked<Delete<'_>>) -> Result<(), FileError> {
        self.change_reclaiming(asked, |changing| async move {
            let request = asked.authorize(&changing.txn).await?;
            let tree = changing.tree();
            let Changing { txn, found, .. } = changing;
            let mut node = found.node;
            if node.is_directory() != request.is_directory {
                return Err(FileError::ResourceTypeMismatch);
            }
            request.preconditions.admit(LeaseUse::Delete, &mut node, txn.now())?;
            if node.is_directory() && !tree.is_empty(&txn, node.inode).await? {
                return Err(FileError::DirectoryNotEmpty);
            }
            let Some(parent) = found.ancestors.last() else { return Err(FileError::RootDirectory) };
            remove(&txn, &tree, parent.inode, &found.name, &node).await
        })
        .await
    }
}

/// Removes a node and its entry. The caller knows that a directory is empty.
pub(crate) async fn remove(txn: &Txn, tree: &Tree, parent: Inode, name: &str, node: &Node) -> Result<(), FileError> {
    tree.delete_entry(txn, parent, name).await?;
    let kept = tree.delete_node(txn, node.inode).await?;
    if let Some(file) = &node.file {
        if file.is_copying() {
            copy::give_up(txn, tree.share, node.inode).await?;
        }
        usage::shrink(txn, tree.share, node.inode, file.allocated).await?;
        content::let_go(txn, tree, node.inode, file, kept).await?;
    }
    Ok(())
}
