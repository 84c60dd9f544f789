//! An operation that somebody asks for, and the proof that they may do it.
//!
//! **Invariant.** An [`Authorized`] is made only from an [`Asked`], and only by what the rows of one view or transaction say: the
//! one that does the operation. What was revoked before that instant counts, however long an upload took; what is revoked
//! after it comes too late.

use store::Read;

use crate::{
    grant::{Denied, Grant, Operation},
    sas::EntityRange,
};

/// An operation and the credential it is asked for with. Nothing is decided yet.
#[derive(Clone, Debug)]
pub struct Asked<Op> {
    operation: Op,
    /// `None` only in tests of the services.
    grant: Option<Grant>,
}

impl<Op> Asked<Op> {
    pub(crate) const fn new(grant: Grant, operation: Op) -> Self {
        Self { operation, grant: Some(grant) }
    }

    /// Asked for by somebody who may do everything, for tests of the services.
    #[cfg(feature = "testing")]
    #[must_use]
    pub const fn for_tests(operation: Op) -> Self {
        Self { operation, grant: None }
    }
}

impl<Op: Operation> Asked<Op> {
    /// Decides by what these rows say: the keys of the account, the stored access policy, the level of public access. The
    /// time is the one at which the request began.
    ///
    /// # Errors
    /// The credential does not cover it, or the store failed.
    pub async fn authorize(&self, rows: &impl Read) -> Result<Authorized<'_, Op>, Denied> {
        let may_overwrite = match &self.grant {
            Some(grant) => grant.decide(rows, &self.operation.need()).await?,
            None => true,
        };
        Ok(Authorized { asked: self, may_overwrite })
    }
}

impl<Op> std::ops::Deref for Asked<Op> {
    type Target = Op;

    fn deref(&self) -> &Op {
        &self.operation
    }
}

/// An operation that somebody may do, by what one view says.
#[derive(Debug)]
pub struct Authorized<'a, Op> {
    asked: &'a Asked<Op>,
    may_overwrite: bool,
}

impl<Op> Authorized<'_, Op> {
    /// True if what exists may be replaced: a signature that may only create may not.
    #[must_use]
    pub const fn may_overwrite(&self) -> bool {
        self.may_overwrite
    }

    /// The entities of a table that may be touched; `None` for all of them.
    #[must_use]
    pub fn entities(&self) -> Option<&EntityRange> {
        let entities = self.asked.grant.as_ref().and_then(Grant::signature).map(|sas| &sas.entities);
        entities.filter(|entities| !entities.is_everything())
    }

    /// The encryption scope that the credential demands of writes.
    #[must_use]
    pub fn encryption_scope(&self) -> Option<&str> {
        self.asked.grant.as_ref().and_then(Grant::encryption_scope)
    }
}

impl<Op> std::ops::Deref for Authorized<'_, Op> {
    type Target = Op;

    fn deref(&self) -> &Op {
        &self.asked.operation
    }
}
