//! What can be read and set on a directory or a file besides its bytes: properties, metadata, the length of a file.

use access::{Asked, Operation, need::Need};
use concurrency::{
    lease::LeaseUse,
    rest_open::{RestOperation, RestRequest},
};
use types::{HttpHeaders, Inode, Metadata, limits};

use crate::{
    Files, content,
    errors::FileError,
    handle_io::Look,
    needs,
    object::{Address, NodeProperties},
    ranges::refuse_while_copying,
    smb_change::{SmbChange, TimeChange},
    tree::Tree,
    write::{Changing, OnPath, Preconditions},
};

/// Get Directory Properties, Get File Properties and the like.
#[derive(Clone, Debug)]
pub struct GetProperties<'a> {
    /// What is read.
    pub address: Address,
    /// What it is decided by.
    pub preconditions: Preconditions<'a>,
    /// Whether it is a directory, as the request says.
    pub is_directory: bool,
}

impl Operation for GetProperties<'_> {
    fn need(&self) -> Need<'_> {
        self.address.need(needs::READ)
    }
}

impl Files {
    /// Reads what a directory or a file says about itself.
    ///
    /// # Errors
    /// It does not exist or is of the other kind, it is going to be deleted, a lease or condition stands against it, or
    /// the store failed.
    pub async fn get_properties(&self, asked: &Asked<GetProperties<'_>>) -> Result<NodeProperties, FileError> {
        let Look { now, share, at, node, .. } = self.look(asked, &asked.address).await?;
        if node.is_directory() != asked.is_directory {
            return Err(FileError::ResourceNotFound);
        }
        let open = RestRequest { operation: RestOperation::GetProperties, range: None, ignores_read_only: false };
        let _claim = self.claim_at(at, share.unit, &node, open)?;
        asked.preconditions.admit_read(&node, now)?;
        Ok(NodeProperties::of(node, now))
    }
}

/// Set File Properties and Set Directory Properties.
#[derive(Clone, Debug)]
pub struct SetProperties<'a> {
    /// What gets the properties.
    pub address: Address,
    /// What it is decided by.
    pub preconditions: Preconditions<'a>,
    /// Whether it is a directory, as the request says.
    pub is_directory: bool,
    /// Attributes and times.
    pub smb: SmbChange,
    /// All HTTP properties that a file shall have; `None` leaves them.
    pub headers: Option<HttpHeaders>,
    /// The length that a file shall have.
    pub length: Option<u64>,
}

impl Operation for SetProperties<'_> {
    fn need(&self) -> Need<'_> {
        self.address.need(needs::WRITE)
    }
}

impl OnPath for SetProperties<'_> {
    fn address(&self) -> &Address {
        &self.address
    }

    fn open(&self) -> RestRequest {
        let ignores_read_only = self.smb.sets_attributes();
        RestRequest { operation: RestOperation::SetProperties, range: None, ignores_read_only }
    }
}

/// Set File Metadata and Set Directory Metadata.
#[derive(Clone, Debug)]
pub struct SetMetadata<'a> {
    /// What gets the metadata.
    pub address: Address,
    /// What it is decided by.
    pub preconditions: Preconditions<'a>,
    /// Whether it is a directory, as the request says.
    pub is_directory: bool,
    /// All metadata it shall have.
    pub metadata: Metadata,
}

impl Operation for SetMetadata<'_> {
    fn need(&self) -> Need<'_> {
        self.address.need(needs::WRITE)
    }
}

impl OnPath for SetMetadata<'_> {
    fn address(&self) -> &Address {
        &self.address
    }

    fn open(&self) -> RestRequest {
        RestRequest { operation: RestOperation::SetMetadata, range: None, ignores_read_only: false }
    }
}

enum Step {
    Done(Box<NodeProperties>),
    TrimFirst(Tree, Inode),
}

impl Files {
    /// Sets properties, and the length of a file.
    ///
    /// # Errors
    /// It does not exist or is of the other kind, the length is too large, what is open, a lease, a condition or the read-only
    /// attribute stands against it, or the store failed.
    pub async fn set_properties(&self, asked: &Asked<SetProperties<'_>>) -> Result<NodeProperties, FileError> {
        if let Some(length) = asked.length.filter(|length| *length > limits::FILE_MAX_BYTES) {
            return Err(FileError::FileTooLarge(length));
        }
        loop {
            let set = self.change(asked, |changing| async move {
                asked.authorize(&changing.txn).await?;
                set(changing, asked).await
            });
            match set.await? {
                Step::Done(done) => return Ok(*done),
                // What a shorter length once cut off must be gone before the file grows over it.
                Step::TrimFirst(tree, inode) => {
                    self.transact(|txn| async move { content::trim(&txn, &tree, inode).await }).await?;
                }
            }
        }
    }

    /// Replaces the metadata of a directory or a file.
    ///
    /// # Errors
    /// As [`Self::set_properties`].
    pub async fn set_metadata(&self, asked: &Asked<SetMetadata<'_>>) -> Result<NodeProperties, FileError> {
        self.change(asked, |changing| async move {
            let request = asked.authorize(&changing.txn).await?;
            let tree = changing.tree();
            let Changing { txn, found, .. } = changing;
            let mut node = found.node;
            if node.is_directory() != request.is_directory {
                return Err(FileError::ResourceNotFound);
            }
            request.preconditions.admit(LeaseUse::Write, &mut node, txn.now())?;
            if let Some(file) = &node.file {
                refuse_while_copying(file)?;
            }
            tree.renew(&mut node);
            node.metadata.clone_from(&request.metadata);
            node.smb.changed = txn.now().into();
            node.touch(txn.now(), txn.fresh_id());
            tree.put_node(&txn, &node).await?;
            Ok(NodeProperties::of(node, txn.now()))
        })
        .await
    }
}

async fn set(changing: Changing, request: &SetProperties<'_>) -> Result<Step, FileError> {
    let tree = changing.tree();
    let Changing { txn, found, .. } = changing;
    let mut node = found.node;
    if node.is_directory() != request.is_directory {
        return Err(FileError::ResourceNotFound);
    }
    let now = txn.now();
    request.preconditions.admit(LeaseUse::Write, &mut node, now)?;
    if let Some(file) = &node.file {
        refuse_while_copying(file)?;
    }
    tree.renew(&mut node);
    let resized = request.length.is_some_and(|length| node.file.as_ref().is_some_and(|file| file.length != length));
    if let Some(length) = request.length
        && !content::resize(&txn, &tree, &mut node, length).await?
    {
        return Ok(Step::TrimFirst(tree, node.inode));
    }
    if let Some(file) = &mut node.file {
        if let Some(headers) = &request.headers {
            file.headers.clone_from(headers);
        }
        file.copy = None; // it is not what was copied any more
    }
    request.smb.apply(&txn, tree.share, &mut node).await?;
    // Bytes were cut off or added: to keep the time would hide it.
    if resized && !matches!(request.smb.written, Some(TimeChange::At(_))) {
        node.smb.written = now.into();
    }
    node.touch(now, txn.fresh_id());
    tree.put_node(&txn, &node).await?;
    Ok(Step::Done(Box::new(NodeProperties::of(node, now))))
}
