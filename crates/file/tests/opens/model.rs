//! Random interleavings of claims, opens, confirmations, closes, marks and locks against a plain model: lists, and the
//! rules of the documentation written a second time.

use concurrency::{
    delete_pending::DeleteIntent,
    file_open::OpenRefusal,
    range_lock::{ByteRange, LockKind},
    rest_open::{RestOperation, RestRefusal},
    share_mode::{Access, ShareMode},
};
use file::opens::{
    Census, Claim, ClaimRefusal, Closed, Handle, HandleScope, Locking, NotLocked, NotMarked, NotOpened, Opens, Removal,
    TentativeOpen, Ticket, Turn,
};
use proptest::prelude::*;

use crate::support::{FREE, NOW, ROOT, SHARE, Session, a_file, asking, claim, root};

const OPERATIONS: [RestOperation; 10] = [
    RestOperation::GetProperties,
    RestOperation::GetFile,
    RestOperation::ListRanges,
    RestOperation::SetProperties,
    RestOperation::PutRange,
    RestOperation::CreateFile,
    RestOperation::DeleteFile,
    RestOperation::RenameSource,
    RestOperation::CopyDestination,
    RestOperation::LeaseFile,
];

#[derive(Clone, Copy, Debug)]
enum Action {
    Claim(usize, RestOperation),
    EndClaim(prop::sample::Index),
    Open(usize, u8, u8, bool),
    Confirm(prop::sample::Index),
    Abort(prop::sample::Index),
    Close(prop::sample::Index),
    Mark(prop::sample::Index, bool),
    Lock(prop::sample::Index, u64, u64, bool),
    Unlock(prop::sample::Index, u64, u64),
    DropTicket(prop::sample::Index),
    EndRemoval(prop::sample::Index, bool),
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let index = any::<prop::sample::Index>;
    let operation = prop::sample::select(OPERATIONS.to_vec());
    // Nearly everything is shared most of the time, else nearly everything is refused.
    let shares = prop_oneof![3 => Just(7_u8), 2 => 0..8_u8];
    let action = prop_oneof![
        6 => (0..2_usize, operation).prop_map(|(file, operation)| Action::Claim(file, operation)),
        5 => index().prop_map(Action::EndClaim),
        6 => (0..2_usize, 0..8_u8, shares, prop::bool::weighted(0.15))
            .prop_map(|(file, access, share, on_close)| Action::Open(file, access, share, on_close)),
        5 => index().prop_map(Action::Confirm),
        2 => index().prop_map(Action::Abort),
        3 => index().prop_map(Action::Close),
        2 => (index(), any::<bool>()).prop_map(|(handle, delete)| Action::Mark(handle, delete)),
        3 => (index(), 0..4_u64, 1..4_u64, any::<bool>()).prop_map(|(h, at, len, own)| Action::Lock(h, at, len, own)),
        2 => (index(), 0..4_u64, 1..4_u64).prop_map(|(handle, at, len)| Action::Unlock(handle, at, len)),
        3 => index().prop_map(Action::DropTicket),
        2 => (index(), any::<bool>()).prop_map(|(removal, removed)| Action::EndRemoval(removal, removed)),
    ];
    prop::collection::vec(action, 1..80)
}

fn bits(bits: u8) -> [bool; 3] {
    [bits & 1 != 0, bits & 2 != 0, bits & 4 != 0]
}

/// An open as the model sees it: bits of read, write, delete.
#[derive(Clone, Debug)]
struct Known {
    number: usize,
    file: usize,
    access: u8,
    share: u8,
    on_close: bool,
    confirmed: bool,
    doomed: bool,
    locks: Vec<(u64, u64, bool)>,
}

fn clash(a: (u8, u8), b: (u8, u8)) -> bool {
    a.0 != 0 && b.0 != 0 && (a.0 & !b.1 != 0 || b.0 & !a.1 != 0)
}

/// Access and share mode of an operation, from the documentation.
fn stands_for(operation: RestOperation) -> (u8, u8) {
    match operation {
        RestOperation::GetProperties => (0, 7),
        RestOperation::GetFile | RestOperation::ListRanges => (1, 7),
        RestOperation::SetProperties | RestOperation::PutRange => (2, 7),
        RestOperation::CreateFile | RestOperation::CopyDestination => (6, 7),
        RestOperation::DeleteFile | RestOperation::RenameSource => (4, 7),
        RestOperation::LeaseFile => (7, 1),
        other => panic!("{other:?} is not in the model"),
    }
}

fn writes(operation: RestOperation) -> bool {
    stands_for(operation).0 & 2 != 0 && operation != RestOperation::LeaseFile
}

fn takes_the_name(operation: RestOperation) -> bool {
    matches!(operation, RestOperation::DeleteFile | RestOperation::RenameSource)
}

#[derive(Clone, Debug)]
enum Reason {
    /// The open with this access, share mode and delete-on-close waits.
    Open(u8, u8, bool),
    Mark,
    Lock(bool),
    Settled(usize),
    Turn,
}

#[derive(Default)]
struct Model {
    opens: Vec<Known>,
    claims: Vec<(usize, RestOperation)>,
    disposition: [bool; 2],
    removing: [bool; 2],
    tickets: Vec<(usize, Reason, bool)>,
    last: usize,
}

impl Model {
    fn of(&self, file: usize) -> impl Iterator<Item = &Known> {
        self.opens.iter().filter(move |open| open.file == file)
    }

    fn tentative(&self, file: usize) -> Option<usize> {
        self.of(file).find(|open| !open.confirmed).map(|open| open.number)
    }

    fn claim_refusal(&self, file: usize, operation: RestOperation, tentative: bool) -> Option<RestRefusal> {
        let opens: Vec<_> = self.of(file).filter(|open| open.confirmed || tentative).collect();
        let deletes = |open: &Known| open.on_close && (open.confirmed || !open.doomed);
        if self.disposition[file] || opens.iter().copied().any(deletes) {
            return Some(RestRefusal::DeletePending);
        }
        let conflicts = |open: &Known| {
            operation == RestOperation::DeleteFile || clash(stands_for(operation), (open.access, open.share))
        };
        if opens.iter().copied().any(conflicts) {
            return Some(RestRefusal::SharingViolation);
        }
        let get = operation == RestOperation::GetFile;
        let locked = opens.iter().any(|open| open.locks.iter().any(|lock| writes(operation) || (get && lock.2)));
        locked.then_some(RestRefusal::FileLockConflict)
    }

    fn has_the_turn(&self, file: usize) -> bool {
        let waits = |reason: &Reason| matches!(reason, Reason::Open(..) | Reason::Mark | Reason::Lock(_));
        self.tickets.iter().any(|(of, reason, _)| *of == file && waits(reason))
    }

    fn claims_in_the_way(&self, file: usize, reason: &Reason) -> bool {
        self.claims.iter().filter(|(of, _)| *of == file).any(|(_, operation)| match reason {
            Reason::Open(access, share, on_close) => {
                *on_close || takes_the_name(*operation) || clash(stands_for(*operation), (*access, *share))
            }
            Reason::Mark => true,
            Reason::Lock(exclusive) => {
                let reads = matches!(operation, RestOperation::GetFile | RestOperation::ListRanges);
                writes(*operation) || (reads && *exclusive)
            }
            Reason::Settled(_) | Reason::Turn => false,
        })
    }

    fn is_over(&self, file: usize, reason: &Reason) -> bool {
        match reason {
            Reason::Settled(number) => !self.opens.iter().any(|open| open.number == *number && !open.confirmed),
            Reason::Turn => !self.has_the_turn(file),
            _ => !self.claims_in_the_way(file, reason),
        }
    }

    fn is_hidden(&self, file: usize) -> bool {
        self.disposition[file] || self.of(file).any(|open| open.confirmed && open.on_close)
    }

    /// `true` when the file is to be removed.
    fn close(&mut self, number: usize) -> bool {
        let at = self.opens.iter().position(|open| open.number == number).unwrap();
        let open = self.opens.remove(at);
        let file = open.file;
        self.disposition[file] |= open.on_close;
        let others = self.of(file).any(|open| open.confirmed);
        if others {
            return false;
        }
        if self.disposition[file] {
            self.removing[file] = true;
            self.opens.iter_mut().filter(|open| open.file == file).for_each(|open| open.doomed = true);
        }
        self.disposition[file]
    }
}

/// The table beside the model, with the tokens that were given out.
#[derive(Default)]
struct World {
    opens: Opens,
    model: Model,
    claims: Vec<Claim>,
    tentative: Vec<(usize, TentativeOpen)>,
    handles: Vec<(usize, Handle)>,
    tickets: Vec<Ticket>,
    removals: Vec<(usize, Removal)>,
}

impl World {
    fn wait(&mut self, file: usize, reason: Reason, ticket: Ticket) {
        assert!(!self.model.is_over(file, &reason), "waits for nothing: {reason:?}");
        self.model.tickets.push((file, reason, false));
        self.tickets.push(ticket);
    }

    fn step(&mut self, session: &Session, action: Action) {
        match action {
            Action::Claim(file, operation) => self.claim(file, operation),
            Action::EndClaim(index) if !self.claims.is_empty() => {
                let at = index.index(self.claims.len());
                drop(self.claims.remove(at));
                self.model.claims.remove(at);
            }
            Action::Open(file, access, share, on_close) => self.open(session, file, access, share, on_close),
            Action::Confirm(index) if !self.tentative.is_empty() => {
                let (number, opening) = self.tentative.remove(index.index(self.tentative.len()));
                let at = self.model.opens.iter().position(|open| open.number == number).unwrap();
                let open = &self.model.opens[at];
                let refused = open.doomed || self.model.disposition[open.file];
                match opening.confirm() {
                    Ok(handle) => {
                        assert!(!refused);
                        self.model.opens[at].confirmed = true;
                        self.handles.push((number, handle));
                    }
                    Err(refusal) => {
                        assert_eq!((refused, refusal), (true, OpenRefusal::DeletePending));
                        self.model.opens.remove(at);
                    }
                }
            }
            Action::Abort(index) if !self.tentative.is_empty() => {
                let (number, opening) = self.tentative.remove(index.index(self.tentative.len()));
                drop(opening);
                self.model.opens.retain(|open| open.number != number);
            }
            Action::Close(index) if !self.handles.is_empty() => {
                let (number, handle) = self.handles.remove(index.index(self.handles.len()));
                let file = self.model.opens.iter().find(|open| open.number == number).unwrap().file;
                let removes = self.model.close(number);
                match handle.close(FREE) {
                    Closed::Kept => assert!(!removes),
                    Closed::Remove(removal) => {
                        assert!(removes);
                        self.removals.push((file, removal));
                    }
                    Closed::Already => panic!("it was open"),
                }
            }
            Action::Mark(index, delete) if !self.handles.is_empty() => self.mark(index, delete),
            Action::Lock(index, at, length, exclusive) if !self.handles.is_empty() => {
                self.lock(index, at, length, exclusive);
            }
            Action::Unlock(index, at, length) if !self.handles.is_empty() => {
                let (number, handle) = index.get(&self.handles);
                let open = self.model.opens.iter_mut().find(|open| open.number == *number).unwrap();
                let same = |lock: &(u64, u64, bool)| (lock.0, lock.1) == (at, length);
                let exclusive = open.locks.iter().position(|lock| same(lock) && lock.2);
                let found = exclusive.or_else(|| open.locks.iter().position(same));
                assert_eq!(handle.unlock(ByteRange::new(at, length).unwrap()).is_ok(), found.is_some());
                if let Some(found) = found {
                    open.locks.remove(found);
                }
            }
            Action::DropTicket(index) if !self.tickets.is_empty() => {
                let at = index.index(self.tickets.len());
                drop(self.tickets.remove(at));
                self.model.tickets.remove(at);
            }
            Action::EndRemoval(index, removed) if !self.removals.is_empty() => {
                let (file, removal) = self.removals.remove(index.index(self.removals.len()));
                if removed {
                    removal.removed()
                } else {
                    removal.kept()
                }
                (self.model.removing[file], self.model.disposition[file]) = (false, false);
                self.model.opens.iter_mut().filter(|open| open.file == file).for_each(|open| open.doomed = removed);
            }
            _ => {}
        }
        self.check();
    }

    fn claim(&mut self, file: usize, operation: RestOperation) {
        let (with, without) =
            (self.model.claim_refusal(file, operation, true), self.model.claim_refusal(file, operation, false));
        let tentative = self.model.tentative(file);
        let turn = self.model.has_the_turn(file);
        match claim(&self.opens, &a_file(10 + u64::try_from(file).unwrap()), operation) {
            Ok(Turn::Granted(claim)) => {
                assert!(!turn && with.is_none() && !(takes_the_name(operation) && tentative.is_some()));
                self.model.claims.push((file, operation));
                self.claims.push(claim);
            }
            Ok(Turn::Wait(ticket)) if turn => self.wait(file, Reason::Turn, ticket),
            Ok(Turn::Wait(ticket)) => {
                assert!(with != without || takes_the_name(operation));
                self.wait(file, Reason::Settled(tentative.unwrap()), ticket);
            }
            Err(ClaimRefusal::Rest(refusal)) => {
                assert!(!turn);
                assert_eq!((Some(refusal), Some(refusal)), (with, without), "refused for certain");
            }
            Err(other) => panic!("{other:?}"),
        }
    }

    fn open(&mut self, session: &Session, file: usize, access: u8, share: u8, on_close: bool) {
        let mut asking = asking(&a_file(10 + u64::try_from(file).unwrap()), session, "", "");
        let [read, write, delete] = bits(access);
        asking.request.mode.access = Access { read, write, delete };
        let [read, write, delete] = bits(share);
        asking.request.mode.share = ShareMode { read, write, delete };
        asking.request.delete = DeleteIntent { delete_on_close: on_close, delete_access: on_close || access & 4 != 0 };
        let clashes = self.model.of(file).any(|open| clash((access, share), (open.access, open.share)));
        let reason = Reason::Open(access, share, on_close);
        match self.opens.open(&asking, NOW) {
            Ok(Turn::Granted(opening)) => {
                assert!(!self.model.disposition[file] && !clashes && self.model.is_over(file, &reason));
                self.model.last += 1;
                let number = self.model.last;
                let (confirmed, doomed, locks) = (false, false, Vec::new());
                self.model.opens.push(Known { number, file, access, share, on_close, confirmed, doomed, locks });
                self.tentative.push((number, opening));
            }
            Ok(Turn::Wait(ticket)) => {
                assert!(!self.model.disposition[file] && !clashes);
                self.wait(file, reason, ticket);
            }
            Err(NotOpened::Refused(OpenRefusal::DeletePending)) => assert!(self.model.disposition[file]),
            Err(NotOpened::Refused(OpenRefusal::SharingViolation)) => assert!(clashes),
            Err(other) => panic!("{other:?}"),
        }
    }

    fn mark(&mut self, index: prop::sample::Index, delete: bool) {
        let (number, handle) = index.get(&self.handles);
        let open = self.model.opens.iter().find(|open| open.number == *number).unwrap();
        let (file, may) = (open.file, open.on_close || open.access & 4 != 0);
        match handle.set_disposition(delete, FREE, NOW) {
            Ok(Turn::Granted(())) => {
                assert!(may && (!delete || self.model.is_over(file, &Reason::Mark)));
                self.model.disposition[file] = delete;
            }
            Ok(Turn::Wait(ticket)) => {
                assert!(may && delete);
                self.wait(file, Reason::Mark, ticket);
            }
            Err(NotMarked::Refused(_)) => assert!(!may),
            Err(other) => panic!("{other:?}"),
        }
    }

    fn lock(&mut self, index: prop::sample::Index, at: u64, length: u64, exclusive: bool) {
        let (number, handle) = index.get(&self.handles);
        let file = self.model.opens.iter().find(|open| open.number == *number).unwrap().file;
        let conflict = self.model.of(file).any(|open| {
            open.locks.iter().any(|lock| {
                let overlaps = lock.0 < at + length && at < lock.0 + lock.1;
                overlaps && (exclusive || (lock.2 && open.number != *number))
            })
        });
        let kind = if exclusive { LockKind::Exclusive } else { LockKind::Shared };
        match handle.lock(&[(ByteRange::new(at, length).unwrap(), kind)], false, NOW) {
            Ok(Locking::Locked) => {
                assert!(!conflict && self.model.is_over(file, &Reason::Lock(exclusive)));
                let open = self.model.opens.iter_mut().find(|open| open.number == *number).unwrap();
                open.locks.push((at, length, exclusive));
            }
            Ok(Locking::Wait(ticket)) => {
                assert!(!conflict);
                self.wait(file, Reason::Lock(exclusive), ticket);
            }
            Ok(Locking::Queued(_)) => panic!("it does not queue"),
            Err(NotLocked::Refused(_)) => assert!(conflict),
            Err(other) => panic!("{other:?}"),
        }
    }

    /// What can be seen from outside.
    fn check(&mut self) {
        for at in 0..self.tickets.len() {
            let (file, reason, rung) = self.model.tickets[at].clone();
            let rung = rung || self.model.is_over(file, &reason);
            self.model.tickets[at].2 = rung;
            assert_eq!(self.tickets[at].is_rung(), rung, "{reason:?}");
        }
        let hidden: Vec<_> = (0..2).filter(|file| self.model.is_hidden(*file)).map(|file| 10 + file).collect();
        let found: Vec<_> = self.opens.hidden(SHARE, ROOT).into_iter().map(|inode| inode.number()).collect();
        assert_eq!(found, hidden.into_iter().map(|file| u64::try_from(file).unwrap()).collect::<Vec<_>>());
        let listed = self.opens.list_handles(HandleScope { file: root().file(), recursive: true }, None, 1000).handles;
        assert_eq!(listed.len(), self.handles.len());
        let removing = self.model.removing.iter().filter(|removing| **removing).count();
        let census = self.opens.census();
        assert_eq!(census.handles, self.handles.len() + self.tentative.len() + removing);
        assert_eq!(census.waiters, self.tickets.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn the_table_does_what_a_plain_model_says(actions in actions()) {
        let (mut world, session) = (World::default(), Session::new(1));
        for action in actions {
            world.step(&session, action);
        }
        let opens = world.opens.clone();
        drop(world);
        while let Some(removal) = opens.unfinished() {
            removal.removed();
        }
        prop_assert_eq!(opens.census(), Census::default());
        prop_assert!(session.take_notices().is_empty(), "nobody caches here");
    }
}
