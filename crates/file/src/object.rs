//! Directories and files by their paths: how one is named, found, and what it says about itself.

use access::need::{Need, Part, Place, Rule, Service};
use bytes::Bytes;
use concurrency::lease::{LeaseProperties, LeaseState};
use store::Read;
use types::{CopyState, ETag, FilePath, HttpHeaders, Inode, Metadata, Timestamp};

use crate::{
    errors::FileError,
    history::At,
    keys,
    share::ShareAddress,
    state::{Node, Share, SmbProperties},
    tree::{Found, Tree},
    unflushed::Overlay,
    upcase::upcase,
};

/// Names a directory or a file, or the state of one that a snapshot of the share keeps.
#[derive(Clone, Debug)]
pub struct Address {
    /// The share that it is in.
    pub share: ShareAddress,
    /// Its path; `None` for the topmost directory.
    pub path: Option<FilePath>,
    /// The same as text, as the credential is decided by it.
    pub text: String,
}

impl Address {
    /// The address of a path in a share.
    #[must_use]
    pub fn new(share: ShareAddress, path: Option<FilePath>) -> Self {
        let text = path.as_ref().map(FilePath::to_string).unwrap_or_default();
        Self { share, path, text }
    }

    pub(crate) fn components(&self) -> &[types::FileComponent] {
        self.path.as_ref().map(FilePath::components).unwrap_or_default()
    }

    /// What changes of what is there queue on. Those that came by another way, of an open handle or of a rename, conflict
    /// with them where they meet.
    pub(crate) fn latch(&self) -> Bytes {
        let mut latch = keys::share(self.share.account, &self.share.name).to_vec();
        latch.extend_from_slice(upcase(&self.text).as_bytes());
        latch.into()
    }

    pub(crate) fn need(&self, rule: Rule) -> Need<'_> {
        let place = Place::Object { container: self.share.name.as_str(), path: &self.text, part: Part::Base };
        Need { account: self.share.account, service: Service::File, place, rule }
    }

    /// What is there, in the state that is meant.
    ///
    /// # Errors
    /// There is no such share, snapshot, parent, directory or file, or the store failed.
    pub(crate) async fn read(&self, rows: &impl Read) -> Result<(Share, At, Found), FileError> {
        let (share, at) = self.share.readable(rows).await?;
        let found = Tree::of(&share).find(rows, self.components(), at).await?;
        Ok((share, at, found))
    }
}

/// What a directory or a file says about itself.
#[derive(Clone, Debug)]
pub struct NodeProperties {
    /// Its identity, wherever it is moved.
    pub inode: Inode,
    /// The directory that it is in.
    pub parent: Inode,
    /// Its ETag.
    pub etag: ETag,
    /// When it last changed.
    pub last_modified: Timestamp,
    /// Attributes and times.
    pub smb: SmbProperties,
    /// Its metadata.
    pub metadata: Metadata,
    /// What only a file has.
    pub file: Option<FileProperties>,
}

/// What only a file says about itself.
#[derive(Clone, Debug)]
pub struct FileProperties {
    /// Its length.
    pub length: u64,
    /// How it is served.
    pub headers: HttpHeaders,
    /// Its lease.
    pub lease: LeaseProperties,
    /// The last copy into it.
    pub copy: Option<CopyState>,
}

impl NodeProperties {
    pub(crate) fn of(node: Node, now: Timestamp) -> Self {
        let file = node.file.map(|file| FileProperties {
            length: file.length,
            headers: file.headers,
            lease: file.lease.properties(now),
            copy: file.copy,
        });
        Self {
            inode: node.inode,
            parent: node.parent,
            etag: node.etag,
            last_modified: node.last_modified,
            smb: node.smb,
            metadata: node.metadata,
            file,
        }
    }

    /// What is not flushed yet counts too.
    pub(crate) fn lay_over(&mut self, overlay: &Overlay) {
        if let Some(file) = &mut self.file
            && overlay.length > 0
        {
            file.length = file.length.max(overlay.length);
            if let Some(written) = overlay.written {
                self.smb.written = self.smb.written.max(written.into());
            }
        }
    }

    /// The state of a file's lease; a directory has none.
    #[must_use]
    pub fn lease_state(&self) -> LeaseState {
        self.file.as_ref().map_or(LeaseState::Available, |file| file.lease.state)
    }
}
