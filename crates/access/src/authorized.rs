//! The proof that somebody may do an operation.
//!
//! **Invariant.** A [`Grant`] is made only by this crate, from a verified credential; an [`Authorized`] only from a grant.

use store::{Read, StoreError};
use types::UnitId;

use crate::need::Need;

/// Something that can be authorised.
pub trait Operation {
    /// What it needs of a credential.
    fn need(&self) -> Need<'_>;
}

/// What a verified credential allows.
#[derive(Clone, Debug)]
pub struct Grant {
    account: UnitId,
}

/// Why an operation is not allowed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Denied {
    /// The credential is not for this account.
    #[error("this credential does not authorise the operation")]
    NotAuthorized,
    /// Whether it is allowed could not be found out.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Grant {
    /// The holder of an account's key may do everything in it.
    pub(crate) const fn owner(account: UnitId) -> Self {
        Self { account }
    }

    /// The proof for one operation.
    ///
    /// # Errors
    /// The credential does not cover it, or the store failed.
    // A policy or a level of public access has to be read for it; the key of an account does not need to.
    #[expect(clippy::unused_async, reason = "only some credentials rely on rows")]
    pub async fn authorize<Op: Operation>(&self, _: &impl Read, operation: Op) -> Result<Authorized<Op>, Denied> {
        if operation.need().account == self.account { Ok(Authorized(operation)) } else { Err(Denied::NotAuthorized) }
    }
}

/// An operation that somebody may do.
#[derive(Clone, Debug)]
pub struct Authorized<Op>(Op);

impl<Op> Authorized<Op> {
    /// A proof without a credential, for tests of the services.
    #[cfg(feature = "testing")]
    #[must_use]
    pub const fn for_tests(operation: Op) -> Self {
        Self(operation)
    }

    /// Looks again, inside the transaction that does it, at the rows that allowed it: what was revoked during a long
    /// upload counts.
    ///
    /// # Errors
    /// It is not allowed any more, or the store failed.
    #[expect(clippy::unused_async, reason = "only some credentials rely on rows")]
    pub async fn confirm(&self, _: &impl Read) -> Result<(), Denied> {
        Ok(())
    }

    /// True if what exists may be replaced: a signature that may only create may not.
    #[must_use]
    pub const fn may_overwrite(&self) -> bool {
        true
    }
}

impl<Op> std::ops::Deref for Authorized<Op> {
    type Target = Op;

    fn deref(&self) -> &Op {
        &self.0
    }
}
