//! The way of an operation that changes a directory or a file that exists: found by its path, asked of the table of opens,
//! changed, in one transaction.
//!
//! **Invariant.** What was found open or not stays so until the transaction is over. The table is asked between the look at
//! the rows and the commit: what became of the file before it was asked is in the rows that were looked at, or makes the
//! transaction begin anew, because they changed; what wants to open it afterwards waits for the claim.

use std::sync::{Mutex, PoisonError};

use access::{Asked, Operation};
use concurrency::{
    conditions::{Conditions, Resource, WriteRule},
    lease::{Leasable, Lease, LeaseId, LeaseUse},
    rest_open::RestRequest,
};
use store::{Scope, Txn};
use types::{ETag, ServiceVersion, Timestamp, UnitId};

use crate::{
    Files,
    changes::{Change, ChangeAction, ChangeKinds},
    errors::{About, FileError},
    history::At,
    object::Address,
    opens::{Claim, FileKey, Turn},
    state::{FileAttributes, Node, Share},
    tree::{Found, Tree},
};

/// How often an operation is begun again because its path led elsewhere.
const ATTEMPTS: usize = 64;

/// The new ETag, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its ETag.
    pub etag: ETag,
    /// When it last changed.
    pub last_modified: Timestamp,
}

impl Written {
    pub(crate) const fn of(node: &Node) -> Self {
        Self { etag: node.etag, last_modified: node.last_modified }
    }
}

/// What a change is decided by besides what is open.
#[derive(Clone, Debug)]
pub struct Preconditions<'a> {
    /// The service version.
    pub version: ServiceVersion,
    /// The lease id that was sent.
    pub lease_id: Option<LeaseId>,
    /// The conditions.
    pub conditions: Conditions<'a>,
}

impl Default for Preconditions<'_> {
    fn default() -> Self {
        Self { version: ServiceVersion::NEWEST, lease_id: None, conditions: Conditions::default() }
    }
}

impl Preconditions<'_> {
    /// Decides a change of something that exists, and gives a file its lease to store.
    pub(crate) fn admit(&self, usage: LeaseUse, node: &mut Node, now: Timestamp) -> Result<(), FileError> {
        let lease = self.decide(usage, node, now)?;
        if let Some(file) = &mut node.file {
            file.lease = lease;
        }
        Ok(())
    }

    fn decide(&self, usage: LeaseUse, node: &Node, now: Timestamp) -> Result<Lease, FileError> {
        let lease = match &node.file {
            Some(file) => file.lease.admit(Leasable::File, usage, self.lease_id, now),
            None => Lease::default().admit(Leasable::File, usage, self.lease_id, now),
        };
        let lease = lease.map_err(|refusal| FileError::Lease(About::File, refusal))?;
        let resource = Resource::Present { etag: node.etag, last_modified: node.last_modified };
        let met = self.conditions.check_write(WriteRule::EXISTING, resource, false);
        met.map_err(FileError::Condition)?;
        Ok(lease)
    }

    /// Decides a change that makes what is not there.
    pub(crate) fn admit_absent(&self) -> Result<(), FileError> {
        Lease::check_absent(self.version, self.lease_id).map_err(|refusal| FileError::Lease(About::File, refusal))?;
        self.conditions.check_write(WriteRule::CREATING, Resource::Absent, false).map_err(FileError::Condition)
    }

    /// Decides a read.
    pub(crate) fn admit_read(&self, node: &Node, now: Timestamp) -> Result<(), FileError> {
        self.decide(LeaseUse::Read, node, now).map(|_| ())
    }
}

/// An operation on a path, as the table of opens is asked about it.
pub(crate) trait OnPath: Operation {
    fn address(&self) -> &Address;

    /// What it counts as beside the opens of SMB.
    fn open(&self) -> RestRequest;

    /// What those are told who watch, of a directory (`true`) or a file; `None` when it changes nothing that they can ask for.
    fn tells(&self, is_directory: bool) -> Option<(ChangeAction, ChangeKinds)>;
}

/// What an operation changes.
pub(crate) struct Changing {
    pub(crate) txn: Txn,
    pub(crate) share: Share,
    pub(crate) found: Found,
}

impl Changing {
    pub(crate) fn tree(&self) -> Tree {
        Tree::of(&self.share)
    }
}

impl Files {
    /// Changes what a path leads to.
    ///
    /// # Errors
    /// The credential does not cover it, nothing is there, what is open or the operation itself stands against it, or the
    /// store failed.
    pub(crate) async fn change<Op, T, F, Fut>(&self, asked: &Asked<Op>, body: F) -> Result<T, FileError>
    where
        Op: OnPath,
        F: Fn(Changing) -> Fut,
        Fut: Future<Output = Result<T, FileError>>,
    {
        self.change_found(asked, false, |_| true, body).await
    }

    /// The same for what gives space back: it is done while the disk is full.
    pub(crate) async fn change_reclaiming<Op, T, F, Fut>(&self, asked: &Asked<Op>, body: F) -> Result<T, FileError>
    where
        Op: OnPath,
        F: Fn(Changing) -> Fut,
        Fut: Future<Output = Result<T, FileError>>,
    {
        self.change_found(asked, true, |_| true, body).await
    }

    /// `is_change` says whether the operation is done with what `body` returns; otherwise it has yet to begin.
    pub(crate) async fn change_found<Op, T, F, Fut>(
        &self,
        asked: &Asked<Op>,
        reclaims: bool,
        is_change: impl Fn(&T) -> bool,
        body: F,
    ) -> Result<T, FileError>
    where
        Op: OnPath,
        F: Fn(Changing) -> Fut,
        Fut: Future<Output = Result<T, FileError>>,
    {
        let (address, body) = (asked.address(), &body);
        let (latch, claimed) = (address.latch(), &Mutex::new(None));
        let scope = if reclaims { Scope::of(&latch).reclaims() } else { Scope::of(&latch) };
        let (quiet, mut settled) = (self.unflushed.bytes() == 0, None);
        for _ in 0..ATTEMPTS {
            let watched = self.changes.telling();
            let telling = &watched;
            let changed = self.store.transact(scope, |txn| async move {
                asked.authorize(&txn).await?;
                let share = address.share.writable(&txn).await?;
                let found = Tree::of(&share).find(&txn, address.components(), At::Present).await?;
                let file = FileKey { share: share.unit, inode: found.node.inode };
                // What was written through handles before this began comes first. Whether it is still to be stored is not asked
                // here: it may have been stored behind this look.
                if !quiet && settled != Some(file) {
                    return Ok(Err(file));
                }
                let claim = self.claim_as_of(txn.now(), share.unit, &found.node, asked.open())?;
                // Held until the outcome is known. One of an attempt that came to nothing is given up for this one.
                *claimed.lock().unwrap_or_else(PoisonError::into_inner) = Some(claim);
                if let Some(told) = asked.tells(found.node.is_directory()) {
                    let place = || Tree::of(&share).place(&found.ancestors, found.node.inode, &found.name);
                    telling.about(share.unit, || Some((place(), told)));
                }
                body(Changing { txn, share, found }).await.map(Ok)
            });
            match changed.await.inspect_err(|error| telling.failed(error))? {
                Ok(done) if is_change(&done) => {
                    watched.told(|(place, (action, kinds))| vec![Change::new(place, action, kinds)]);
                    return Ok(done);
                }
                Ok(not_yet) => {
                    telling.undone();
                    return Ok(not_yet);
                }
                Err(file) => {
                    self.flush_unless_copied_into(file).await?;
                    settled = Some(file);
                }
            }
        }
        Err(FileError::ChangesTooOften)
    }

    /// Asks the table of opens about a REST operation, and holds it to its answer as long as the claim is held.
    pub(crate) fn claim(&self, share: UnitId, node: &Node, request: RestRequest) -> Result<Claim, FileError> {
        self.claim_as_of(self.now(), share, node, request)
    }

    fn claim_as_of(
        &self,
        now: Timestamp,
        share: UnitId,
        node: &Node,
        request: RestRequest,
    ) -> Result<Claim, FileError> {
        let read_only = node.smb.attributes.has(FileAttributes::READ_ONLY);
        let file = FileKey { share, inode: node.inode };
        match self.opens.claim(file, request, read_only, now)? {
            Turn::Granted(claim) => Ok(claim),
            Turn::Wait(ticket) => Err(FileError::Wait(ticket)),
        }
    }

    /// The same for a read: what a snapshot keeps, nobody has open.
    pub(crate) fn claim_at(
        &self,
        at: At,
        share: UnitId,
        node: &Node,
        request: RestRequest,
    ) -> Result<Option<Claim>, FileError> {
        match at {
            At::Present => self.claim(share, node, request).map(Some),
            At::Epoch(_) => Ok(None),
        }
    }
}
