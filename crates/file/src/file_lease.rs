//! Lease File: infinite leases, by the rules of `concurrency`. To take one counts as an open that lets others only read.

use access::{Asked, Operation, need::Need};
use concurrency::{
    lease::{Leasable, LeaseOperation, LeaseOutcome},
    rest_open::{RestOperation, RestRequest},
};

use crate::{
    Files,
    changes::{ChangeAction, ChangeKinds},
    errors::FileError,
    needs,
    object::Address,
    ranges::refuse_while_copying,
    write::{Changing, OnPath, Written},
};

/// Lease File.
#[derive(Clone, Debug)]
pub struct LeaseFile {
    /// The file that is leased.
    pub address: Address,
    /// What to do.
    pub operation: LeaseOperation,
}

impl Operation for LeaseFile {
    fn need(&self) -> Need<'_> {
        let rule = match self.operation {
            LeaseOperation::Break { .. } => needs::BREAK_FILE_LEASE,
            _ => needs::LEASE_FILE,
        };
        self.address.need(rule)
    }
}

impl OnPath for LeaseFile {
    fn address(&self) -> &Address {
        &self.address
    }

    fn open(&self) -> RestRequest {
        // Only who takes a lease meets what is open; to give one up or to break it changes nothing for others' handles.
        let operation = match self.operation {
            LeaseOperation::Acquire { .. } => RestOperation::LeaseFile,
            _ => RestOperation::GetProperties,
        };
        RestRequest { operation, range: None, ignores_read_only: false }
    }

    fn tells(&self, _: bool) -> Option<(ChangeAction, ChangeKinds)> {
        None
    }
}

/// What a lease operation answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseAnswer {
    /// ETag and Last-Modified, unchanged.
    pub written: Written,
    /// The lease id, or the time that is left of it.
    pub outcome: LeaseOutcome,
}

impl Files {
    /// Does a lease operation on a file. Its ETag stays.
    ///
    /// # Errors
    /// The file does not exist or is a directory, its lease or what is open stands against it, or the store failed.
    pub async fn lease_file(&self, asked: &Asked<LeaseFile>) -> Result<LeaseAnswer, FileError> {
        self.change(asked, |changing| async move {
            let request = asked.authorize(&changing.txn).await?;
            let tree = changing.tree();
            let Changing { txn, found, .. } = changing;
            let mut node = found.node;
            tree.renew(&mut node);
            let Some(file) = &mut node.file else { return Err(FileError::ResourceTypeMismatch) };
            refuse_while_copying(file)?;
            let change = file.lease.apply(Leasable::File, request.operation, txn.now());
            let change = change.map_err(FileError::LeaseOperation)?;
            file.lease = change.lease;
            tree.put_node(&txn, &node).await?;
            Ok(LeaseAnswer { written: Written::of(&node), outcome: change.outcome })
        })
        .await
    }
}
