//! REST operations ask for their claims here.

use std::sync::Arc;

use concurrency::{
    range_lock::RangeLocks,
    rest_open::{FileInUse, RestRefusal, RestRequest, RestStep, decide_rest},
};
use types::Timestamp;

use super::{
    Opens,
    claims::{Claim, ClaimKind},
    place::FileKey,
    places::OpenBelow,
    refusal::{ClaimRefusal, TooManyWaiters},
    state::{FileState, Wants},
    table::{Act, Table},
    ticket::{Ticket, Turn},
};

impl Opens {
    /// Decides a REST operation on a file against everything that is open, and claims the file for it.
    ///
    /// The file was found by a look at the rows, and so was its read-only attribute: the transaction under the claim
    /// looks again, and if the name leads elsewhere now, everything starts over. A claim of the source of a rename
    /// is refused when something is open below the directory.
    ///
    /// # Errors
    /// A [`ClaimRefusal`].
    pub fn claim(
        &self,
        file: FileKey,
        request: RestRequest,
        read_only: bool,
        now: Timestamp,
    ) -> Result<Turn<Claim>, ClaimRefusal> {
        let kind = ClaimKind::of(request.operation);
        if let Some(kind) = kind {
            let decided = self.table.with(file, |state, act| state.claim(kind, request, read_only, now, act))?;
            if let Some(ticket) = decided.into_ticket(&self.table)? {
                return Ok(Turn::Wait(ticket));
            }
        }
        Ok(Turn::Granted(Claim::new(Arc::clone(&self.table), file, kind)))
    }
}

/// How a decision goes on.
pub(super) enum Decided {
    /// It is counted.
    Go,
    /// Waits at the file.
    Wait(Ticket),
    /// Waits at another file.
    WaitAt(FileKey, Wants),
}

impl Decided {
    /// What to wait for, `None` to go on.
    pub(super) fn into_ticket(self, table: &Arc<Table>) -> Result<Option<Ticket>, TooManyWaiters> {
        match self {
            Self::Go => Ok(None),
            Self::Wait(ticket) => Ok(Some(ticket)),
            Self::WaitAt(file, wants) => table.wait_at(file, wants).map(Some),
        }
    }
}

impl FileState {
    fn claim(
        &mut self,
        kind: ClaimKind,
        request: RestRequest,
        read_only: bool,
        now: Timestamp,
        act: &mut Act<'_>,
    ) -> Result<Decided, ClaimRefusal> {
        if self.in_use.is_some() {
            if let Some(wants) = self.decide_claim(kind, request, read_only, now, act)? {
                return Ok(Decided::Wait(Table::wait(self, wants, act)?));
            }
        } else {
            let file = FileInUse { delete_mark: Default::default(), read_only, locks: &RangeLocks::default() };
            decide_rest(request, file, [])?;
        }
        if kind == ClaimKind::Move
            && let Err(open) = act.table.places().begin_move(act.file.share, act.file.inode)
        {
            return match open {
                OpenBelow::Handle => Err(RestRefusal::SharingViolation.into()),
                OpenBelow::Tentative(inode) => Ok(self.wait_for_tentative_below(inode, act)),
            };
        }
        self.claims.add(kind);
        Ok(Decided::Go)
    }

    /// What a claim of a file in use waits for, `None` when it is granted.
    fn decide_claim(
        &mut self,
        kind: ClaimKind,
        request: RestRequest,
        read_only: bool,
        now: Timestamp,
        act: &mut Act<'_>,
    ) -> Result<Option<Wants>, RestRefusal> {
        let used = self.in_use();
        used.settle(now, act);
        if used.somebody_has_the_turn() {
            return Ok(Some(Wants::Turn));
        }
        let tentative = used.first_tentative();
        let step = match (used.decide_rest(request, read_only, true), tentative) {
            (Ok(_), Some(id)) if kind.excludes_tentative() => return Ok(Some(Wants::Settled(id))),
            (Ok(step), _) => step,
            (Err(refusal), None) => return Err(refusal),
            // Perhaps the open that is in the way comes to nothing.
            (Err(refusal), Some(id)) => match used.decide_rest(request, read_only, false) {
                Err(certain) if certain == refusal => return Err(refusal),
                _ => return Ok(Some(Wants::Settled(id))),
            },
        };
        if step == RestStep::Proceed {
            return Ok(None);
        }
        if used.orphans_give_way_to_rest(request.operation, act) {
            return self.decide_claim(kind, request, read_only, now, act);
        }
        Ok(used.break_for_rest(request.operation, now, act).map(Wants::Answered))
    }

    /// Waits for an open below a directory; there is one, but not which handle of the file it is.
    pub(super) fn wait_for_tentative_below(&self, inode: types::Inode, act: &Act<'_>) -> Decided {
        Decided::WaitAt(FileKey { inode, ..act.file }, Wants::NoTentative)
    }
}
