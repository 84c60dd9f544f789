//! What a snapshot of a share keeps, open for reading: previous versions, as SMB calls them. Nobody can write it, so the table
//! of opens does not know it.
//!
//! **Invariant.** It can be read as long as its snapshot is there.

use std::collections::HashMap;

use access::{Asked, Operation, need::Need};
use bytes::Bytes;
use store::{Direction, Read, Snapshot};
use types::{FilePath, Timestamp};

use crate::{
    Files, SecurityDescriptor,
    errors::FileError,
    handle_io::found,
    history::At,
    keys,
    list::{Listing, Page},
    needs,
    object::{Address, NodeProperties},
    opens::FileKey,
    permission,
    share::ShareAddress,
    state::{Node, Share},
};

/// Snapshots that are told at once: as many as a share can have.
const SNAPSHOTS_MAX: usize = types::limits::SHARE_SNAPSHOTS_MAX;

/// Opens what a snapshot keeps.
#[derive(Clone, Debug)]
pub struct OpenKept {
    /// What is opened: the address names a snapshot.
    pub address: Address,
}

impl Operation for OpenKept {
    fn need(&self) -> Need<'_> {
        self.address.need(needs::READ)
    }
}

/// A directory or file of a snapshot that is open.
#[derive(Clone, Debug)]
pub struct Kept {
    file: FileKey,
    snapshot: Timestamp,
    epoch: u64,
    path: String,
}

impl Kept {
    /// Which one it is.
    #[must_use]
    pub const fn file(&self) -> FileKey {
        self.file
    }

    /// Its path below the share, with `/` between names.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// Asks for the snapshots of a share.
#[derive(Clone, Debug)]
pub struct ListSnapshots {
    /// The share.
    pub share: ShareAddress,
}

impl Operation for ListSnapshots {
    fn need(&self) -> Need<'_> {
        self.share.need(needs::GET_SHARE)
    }
}

impl Files {
    /// Opens a directory or a file of a snapshot.
    ///
    /// # Errors
    /// There is no such share, snapshot, directory or file, or the store failed.
    pub async fn open_kept(&self, asked: &Asked<OpenKept>) -> Result<(Kept, NodeProperties), FileError> {
        let (rows, now) = self.view();
        let request = asked.authorize(&rows).await?;
        let snapshot = request.address.share.snapshot.ok_or(FileError::ShareSnapshotNotFound)?;
        let (share, at, found) = request.address.read(&rows).await?;
        let At::Epoch(epoch) = at else { return Err(FileError::ShareSnapshotNotFound) };
        let file = FileKey { share: share.unit, inode: found.node.inode };
        let path = request.address.path.as_ref().map(FilePath::to_string).unwrap_or_default();
        Ok((Kept { file, snapshot, epoch, path }, NodeProperties::of(found.node, now)))
    }

    /// The snapshots of a share, the newest first.
    ///
    /// # Errors
    /// There is no such share, or the store failed.
    pub async fn share_snapshots(&self, asked: &Asked<ListSnapshots>) -> Result<Vec<Timestamp>, FileError> {
        let (rows, _) = self.view();
        let share = asked.authorize(&rows).await?.share.writable(&rows).await?;
        let mut scan = rows.scan(keys::share_snapshots(share.unit), Direction::Descending);
        let mut times = Vec::new();
        while let Some(row) = scan.next().await? {
            times.push(keys::parse_share_snapshot(&row.key)?.1);
            if times.len() >= SNAPSHOTS_MAX {
                break;
            }
        }
        Ok(times)
    }

    /// Reads up to `length` bytes, in pieces; fewer at the end of the file, none behind it.
    ///
    /// # Errors
    /// It is a directory, the snapshot is gone, or the store failed.
    pub async fn read_kept(&self, kept: &Kept, offset: u64, length: usize) -> Result<Vec<Bytes>, FileError> {
        self.look_at_kept(kept).await?;
        self.read_file(kept.file, At::Epoch(kept.epoch), offset, length).await
    }

    /// What it says about itself.
    ///
    /// # Errors
    /// The snapshot is gone, or the store failed.
    pub async fn kept_properties(&self, kept: &Kept) -> Result<NodeProperties, FileError> {
        let (_, _, node) = self.look_at_kept(kept).await?;
        Ok(NodeProperties::of(node, self.now()))
    }

    /// Its security descriptor.
    ///
    /// # Errors
    /// The snapshot is gone, or the store failed.
    pub async fn kept_security(&self, kept: &Kept) -> Result<SecurityDescriptor, FileError> {
        let (rows, share, node) = self.look_at_kept(kept).await?;
        permission::find(&rows, share.unit, node.smb.permission).await
    }

    /// The next entries of a directory, from a place on that a page before named.
    ///
    /// # Errors
    /// It is a file, the snapshot is gone, or the store failed.
    pub async fn list_kept(
        &self,
        kept: &Kept,
        prefix: &str,
        marker: Option<&str>,
        limit: usize,
    ) -> Result<Listing, FileError> {
        let (rows, share, node) = self.look_at_kept(kept).await?;
        if !node.is_directory() {
            return Err(FileError::ResourceTypeMismatch);
        }
        let (page, nothing) = (Page { prefix, marker, limit }, HashMap::new());
        self.page(&rows, &share, At::Epoch(kept.epoch), node, page, (self.now(), &nothing)).await
    }

    async fn look_at_kept(&self, kept: &Kept) -> Result<(Snapshot, Share, Node), FileError> {
        let (rows, _) = self.view();
        let there = rows.get(&keys::share_snapshot(kept.file.share, kept.snapshot)).await?;
        there.ok_or(FileError::ShareSnapshotNotFound)?;
        let (share, node) = found(&rows, kept.file, At::Epoch(kept.epoch)).await?;
        Ok((rows, share, node))
    }
}
