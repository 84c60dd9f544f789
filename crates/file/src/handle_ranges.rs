//! Which parts of a file hold bytes, through a handle: asked for, given back, and whether its client wants to know.
//!
//! A file never holds what was not written. One that is not marked as sparse says that it does, as clients expect.
//!
//! **Invariant.** The length of a file stays what it is.

use concurrency::range_lock::Io;

use crate::{
    Files,
    changes::{Change, ChangeAction, ChangeKinds},
    content,
    errors::FileError,
    handle_info::OpenNode,
    handle_io::found,
    history::At,
    list_ranges::written_ranges,
    opens::Handle,
    ranges::refuse_while_copying,
    state::FileAttributes,
};

/// Parts of a file, each from and to, in order; and whether there are more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocated {
    /// Start and end.
    pub ranges: Vec<(u64, u64)>,
    /// There are more behind these.
    pub more: bool,
}

impl Files {
    /// The parts of `start..end` that hold bytes, at most `limit` of them.
    ///
    /// # Errors
    /// It is a directory, its share is gone, or the store failed.
    pub async fn allocated_ranges(
        &self,
        handle: &Handle,
        (start, end): (u64, u64),
        limit: usize,
    ) -> Result<Allocated, FileError> {
        self.flush(handle).await?;
        let (rows, _) = self.view();
        let (_, node) = found(&rows, handle.file(), At::Present).await?;
        let file = node.file.as_ref().ok_or(FileError::ResourceTypeMismatch)?;
        let end = end.min(file.length);
        if start >= end {
            return Ok(Allocated::default());
        }
        if !node.smb.attributes.has(FileAttributes::SPARSE) {
            let fits = limit > 0;
            return Ok(Allocated { ranges: fits.then_some((start, end)).into_iter().collect(), more: !fits });
        }
        let (found, next) = written_ranges(&rows, file, (start, end), limit).await?;
        Ok(Allocated {
            ranges: found.into_iter().map(|range| (range.start, range.end)).collect(),
            more: next.is_some(),
        })
    }

    /// Makes `start..end` zeros that hold nothing, as far as the file goes.
    ///
    /// # Errors
    /// It is a directory, the range is locked by another handle, the handle is closed, its share is gone, or the store
    /// failed. [`FileError::Wait`] asks to wait and to try again.
    pub async fn zero_range(&self, handle: &Handle, start: u64, end: u64) -> Result<(), FileError> {
        let length = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
        let _claim = self.begin_io(handle, start, length, Io::Write)?;
        self.flush(handle).await?;
        let (file, mut place) = (handle.file(), start);
        loop {
            let watched = self.changes.telling();
            let telling = &watched;
            let next = self.change_open(file, |open| async move {
                let OpenNode { txn, tree, mut node, .. } = open;
                tree.renew(&mut node);
                let (inode, now) = (node.inode, txn.now());
                let cleared = node.file.as_mut().ok_or(FileError::ResourceTypeMismatch)?;
                refuse_while_copying(cleared)?;
                let end = end.min(cleared.length);
                if place >= end {
                    telling.undone();
                    return Ok(None);
                }
                telling.about(file.share, || self.opens.place_of(file));
                let next = content::clear(&txn, &tree, inode, cleared, (place, end)).await?;
                if !handle.keeps_write_time() {
                    node.smb.written = now.into();
                }
                node.smb.changed = now.into();
                node.touch(now, txn.fresh_id());
                tree.put_node(&txn, &node).await?;
                Ok(next)
            });
            let next = next.await.inspect_err(|error| telling.failed(error))?;
            watched.told(|place| vec![Change::new(place, ChangeAction::Modified, ChangeKinds::WRITTEN)]);
            match next {
                Some(next) => place = next,
                None => return Ok(()),
            }
        }
    }

    /// Marks a file as sparse, or not: see [`Self::allocated_ranges`].
    ///
    /// # Errors
    /// It is a directory, its share is gone, or the store failed.
    pub async fn set_sparse(&self, handle: &Handle, is_sparse: bool) -> Result<(), FileError> {
        let (file, watched) = (handle.file(), self.changes.telling());
        let telling = &watched;
        let set = self.change_open(file, |open| async move {
            let OpenNode { txn, tree, mut node, .. } = open;
            if node.is_directory() {
                return Err(FileError::ResourceTypeMismatch);
            }
            if node.smb.attributes.has(FileAttributes::SPARSE) == is_sparse {
                telling.undone();
                return Ok(());
            }
            telling.about(file.share, || self.opens.place_of(file));
            tree.renew(&mut node);
            node.smb.attributes = node.smb.attributes.with_sparse(is_sparse);
            node.smb.changed = txn.now().into();
            node.touch(txn.now(), txn.fresh_id());
            Ok(tree.put_node(&txn, &node).await?)
        });
        set.await.inspect_err(|error| telling.failed(error))?;
        watched.told(|place| vec![Change::new(place, ChangeAction::Modified, ChangeKinds::ATTRIBUTES)]);
        Ok(())
    }
}
