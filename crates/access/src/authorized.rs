//! The proof that somebody may do an operation.
//!
//! **Invariant.** A [`Grant`] is made only by this crate, from a verified credential; an [`Authorized`] only from a grant.

use types::UnitId;

/// Something that can be authorised.
pub trait Operation {
    /// The account it is about.
    fn account(&self) -> UnitId;
}

/// What a verified credential allows.
#[derive(Clone, Debug)]
pub struct Grant {
    account: UnitId,
}

/// The grant is not for this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this credential does not authorise the operation")]
pub struct NotAuthorized;

impl Grant {
    /// The holder of an account's key may do everything in it.
    pub(crate) const fn owner(account: UnitId) -> Self {
        Self { account }
    }

    /// A grant without a credential, for tests of the services.
    #[cfg(feature = "testing")]
    #[must_use]
    pub const fn for_tests(account: UnitId) -> Self {
        Self::owner(account)
    }

    /// The proof for one operation.
    ///
    /// # Errors
    /// The credential does not cover it.
    pub fn authorize<Op: Operation>(&self, operation: Op) -> Result<Authorized<Op>, NotAuthorized> {
        if operation.account() == self.account { Ok(Authorized(operation)) } else { Err(NotAuthorized) }
    }
}

/// An operation that somebody may do.
#[derive(Clone, Debug)]
pub struct Authorized<Op>(Op);

impl<Op> std::ops::Deref for Authorized<Op> {
    type Target = Op;

    fn deref(&self) -> &Op {
        &self.0
    }
}
