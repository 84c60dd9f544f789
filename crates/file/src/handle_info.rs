//! What is read and set through a handle besides bytes: properties, the length, the security descriptor, and the entries of a
//! directory.
//!
//! **Invariant.** What is told includes what is not flushed yet. What is set is durable when it is answered.

use store::{Scope, Txn};
use types::{Inode, UnitId, limits};

use crate::{
    Files, SecurityDescriptor, SmbChange, content,
    errors::FileError,
    handle_io::found,
    history::At,
    keys,
    list::{Listing, Page},
    object::NodeProperties,
    opens::{Claim, FileKey, Handle, Turn},
    permission,
    ranges::refuse_while_copying,
    share,
    state::{Node, Share},
    tree::Tree,
    usage,
};

/// How large a share is, and how much of that is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareSpace {
    /// Its name.
    pub name: String,
    /// The share.
    pub share: UnitId,
    /// Its topmost directory.
    pub root: Inode,
    /// The most bytes that it may hold.
    pub quota_bytes: u64,
    /// Bytes that its files hold.
    pub used_bytes: u64,
}

/// What a transaction through a handle changes.
pub(crate) struct OpenNode {
    pub(crate) txn: Txn,
    pub(crate) share: Share,
    pub(crate) tree: Tree,
    pub(crate) node: Node,
}

impl Files {
    /// What the file of a handle says about itself.
    ///
    /// # Errors
    /// Its share is gone, or the store failed.
    pub async fn open_properties(&self, handle: &Handle) -> Result<NodeProperties, FileError> {
        let file = handle.file();
        let overlay = self.unflushed.overlay(file, 0, 0);
        let (rows, now) = self.view();
        let (_, node) = found(&rows, file, At::Present).await?;
        let mut properties = NodeProperties::of(node, now);
        properties.lay_over(&overlay);
        Ok(properties)
    }

    /// Sets attributes, times and the security descriptor.
    ///
    /// # Errors
    /// Its share is gone, or the store failed.
    pub async fn set_open_properties(&self, handle: &Handle, change: &SmbChange) -> Result<NodeProperties, FileError> {
        // The times of what is written must not come behind those that are set here.
        self.flush_file(handle.file()).await?;
        self.change_open(handle.file(), |open| async move {
            let OpenNode { txn, share, tree, mut node } = open;
            tree.renew(&mut node);
            change.apply(&txn, share.unit, &mut node).await?;
            node.touch(txn.now(), txn.fresh_id());
            tree.put_node(&txn, &node).await?;
            Ok(NodeProperties::of(node, txn.now()))
        })
        .await
    }

    fn begin_resize(&self, handle: &Handle) -> Result<Claim, FileError> {
        match handle.begin_resize(self.now())? {
            Turn::Granted(claim) => Ok(claim),
            Turn::Wait(ticket) => Err(FileError::Wait(ticket)),
        }
    }

    /// Takes room for so many bytes: a file that is longer is cut off, else nothing changes but what others cache.
    ///
    /// # Errors
    /// As [`Self::set_open_length`].
    pub async fn set_open_allocation(&self, handle: &Handle, length: u64) -> Result<(), FileError> {
        let properties = self.open_properties(handle).await?;
        if properties.file.is_some_and(|file| length < file.length) {
            return self.set_open_length(handle, length).await;
        }
        self.begin_resize(handle).map(drop)
    }

    /// Gives a file another length.
    ///
    /// # Errors
    /// It is a directory, it would be too long, its share is gone, or the store failed. [`FileError::Wait`] asks to wait
    /// and to try again.
    pub async fn set_open_length(&self, handle: &Handle, length: u64) -> Result<(), FileError> {
        if length > limits::FILE_MAX_BYTES {
            return Err(FileError::FileTooLarge(length));
        }
        let file = handle.file();
        let _claim = self.begin_resize(handle)?;
        self.flush_file(file).await?;
        loop {
            let set = self.change_open(file, |open| async move {
                let OpenNode { txn, tree, mut node, .. } = open;
                refuse_while_copying(node.file.as_ref().ok_or(FileError::ResourceTypeMismatch)?)?;
                if node.file.as_ref().is_some_and(|file| file.length == length) {
                    return Ok(true);
                }
                tree.renew(&mut node);
                if !content::resize(&txn, &tree, &mut node, length).await? {
                    return Ok(false);
                }
                let now = txn.now();
                if !handle.keeps_write_time() {
                    node.smb.written = now.into();
                }
                node.smb.changed = now.into();
                node.touch(now, txn.fresh_id());
                tree.put_node(&txn, &node).await?;
                Ok(true)
            });
            if set.await? {
                return Ok(());
            }
            self.trim(file).await?;
        }
    }

    /// The security descriptor.
    ///
    /// # Errors
    /// Its share is gone, or the store failed.
    pub async fn open_security(&self, handle: &Handle) -> Result<SecurityDescriptor, FileError> {
        let (rows, _) = self.view();
        let (share, node) = found(&rows, handle.file(), At::Present).await?;
        permission::find(&rows, share.unit, node.smb.permission).await
    }

    /// The next entries of a directory, from a place on that a page before named.
    ///
    /// # Errors
    /// It is a file, its share is gone, or the store failed.
    pub async fn list_open(
        &self,
        handle: &Handle,
        prefix: &str,
        marker: Option<&str>,
        limit: usize,
    ) -> Result<Listing, FileError> {
        let written = self.unflushed.lengths();
        let (rows, now) = self.view();
        let (share, node) = found(&rows, handle.file(), At::Present).await?;
        if !node.is_directory() {
            return Err(FileError::ResourceTypeMismatch);
        }
        self.page(&rows, &share, At::Present, node, Page { prefix, marker, limit }, (now, &written)).await
    }

    /// How large a share is.
    ///
    /// # Errors
    /// It is gone, or the store failed.
    pub async fn share_space(&self, share: UnitId) -> Result<ShareSpace, FileError> {
        let (rows, _) = self.view();
        let (name, share) = share::live_named(&rows, share).await?;
        let used_bytes = usage::total(&rows, share.unit).await?.saturating_add(self.unflushed.bytes());
        Ok(ShareSpace { name, share: share.unit, root: share.root, quota_bytes: usage::quota(&share), used_bytes })
    }

    /// Changes what is open, in one transaction.
    pub(crate) async fn change_open<T, F, Fut>(&self, file: FileKey, body: F) -> Result<T, FileError>
    where
        F: Fn(OpenNode) -> Fut,
        Fut: Future<Output = Result<T, FileError>>,
    {
        let (body, latch) = (&body, keys::node(keys::NODE, file.share, file.inode).build());
        let changed = self.store.transact(Scope::of(&latch), |txn| async move {
            let (share, node) = found(&txn, file, At::Present).await?;
            let tree = Tree::of(&share);
            body(OpenNode { txn, share, tree, node }).await
        });
        changed.await
    }
}
