//! Several SMB clients and REST on one file, against a plain model: who may open, what each may cache, who is told of a
//! break and who waits for it, with clients that answer, answer less, answer late or never, locks, pending deletes and
//! handles that are closed by force. The rules are written here a second time, with bits and lists.

use concurrency::{
    file_open::{OpenRefusal, Reach},
    oplock::{BREAK_TIMEOUT, CacheGrant, Caching, OplockLevel},
    range_lock::{ByteRange, Io, LockKind},
    rest_open::{RestOperation, RestRefusal},
    share_mode::Access,
};
use file::opens::{
    Asking, CacheKey, Census, ClaimRefusal, Closed, Handle, HandleScope, IoRefusal, LeaseKey, Locking, NotLocked,
    NotMarked, NotOpened, Notice, Opens, Ticket, Turn,
};
use proptest::prelude::*;
use types::Timestamp;

mod plain;

use self::plain::{Does, H, Held, Key, Known, Model, R, W, clash};
use crate::support::{FREE, NOW, SHARE, Session, a_file, asking, caching, on_close, request};

const CLIENTS: usize = 3;

#[derive(Clone, Copy, Debug)]
enum Action {
    /// Client, access, share mode, what it wants to cache: by a lease or by an oplock.
    Open {
        client: usize,
        access: u8,
        share: u8,
        lease: bool,
        wanted: u8,
        overwrites: bool,
        on_close: bool,
    },
    Close(prop::sample::Index),
    ForceClose(prop::sample::Index),
    /// What is kept, of what is left.
    Answer(prop::sample::Index, u8),
    /// So many seconds pass.
    Time(u64),
    Write(prop::sample::Index),
    Lock(prop::sample::Index, bool),
    Unlock(prop::sample::Index),
    Mark(prop::sample::Index, bool),
    Rest(RestOperation),
    GiveUp(prop::sample::Index),
}

const OPERATIONS: [RestOperation; 5] = [
    RestOperation::GetFile,
    RestOperation::GetProperties,
    RestOperation::PutRange,
    RestOperation::CreateFile,
    RestOperation::DeleteFile,
];

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let index = any::<prop::sample::Index>;
    let share = prop_oneof![4 => Just(7_u8), 1 => 0..8_u8];
    let wanted = prop::sample::select(vec![0, R, R | H, R | W, R | W | H]);
    let opened = (0..CLIENTS, 0..8_u8, share, any::<bool>(), wanted, any::<[bool; 3]>(), any::<[bool; 3]>());
    let open = opened.prop_map(|(client, access, share, lease, wanted, rare, rarer)| Action::Open {
        client,
        access,
        share,
        lease,
        // There is no such oplock.
        wanted: if !lease && wanted == R | H { R } else { wanted },
        overwrites: rare == [true; 3],
        on_close: rarer == [true; 3] && access & 4 != 0,
    });
    let action = prop_oneof![
        8 => open,
        4 => index().prop_map(Action::Close),
        1 => index().prop_map(Action::ForceClose),
        6 => (index(), prop_oneof![4 => Just(7_u8), 1 => Just(R), 1 => Just(0), 1 => Just(99)])
            .prop_map(|(cache, kept)| Action::Answer(cache, kept)),
        2 => (0..20_u64).prop_map(Action::Time),
        3 => index().prop_map(Action::Write),
        1 => (index(), any::<bool>()).prop_map(|(handle, exclusive)| Action::Lock(handle, exclusive)),
        1 => index().prop_map(Action::Unlock),
        1 => (index(), any::<bool>()).prop_map(|(handle, delete)| Action::Mark(handle, delete)),
        5 => prop::sample::select(OPERATIONS.to_vec()).prop_map(Action::Rest),
        2 => index().prop_map(Action::GiveUp),
    ];
    prop::collection::vec(action, 1..60)
}

fn caching_of(bits: u8) -> Caching {
    Caching::new(bits & R != 0, bits & W != 0, bits & H != 0).unwrap()
}

fn bits_of(grant: CacheGrant) -> u8 {
    let caching = grant.caching();
    u8::from(caching.has_read()) | u8::from(caching.has_handle()) << 1 | u8::from(caching.has_write()) << 2
}

fn grant(oplock: bool, bits: u8) -> CacheGrant {
    if !oplock {
        return CacheGrant::Lease(caching_of(bits));
    }
    let levels = [OplockLevel::None, OplockLevel::Two, OplockLevel::Exclusive, OplockLevel::Batch];
    CacheGrant::Oplock(levels.into_iter().find(|level| bits_of(CacheGrant::Oplock(*level)) == bits).unwrap())
}

fn lease_key(client: usize) -> LeaseKey {
    LeaseKey { account: SHARE, client: [u8::try_from(client).unwrap(); 16], key: [1; 16] }
}

struct World {
    opens: Opens,
    model: Model,
    now: Timestamp,
    clients: Vec<Session>,
    handles: Vec<(usize, Handle)>,
    tickets: Vec<(Ticket, Key, bool)>,
}

impl World {
    fn new() -> Self {
        let clients = (0..CLIENTS).map(|number| Session::new(u64::try_from(number).unwrap())).collect();
        let (opens, model) = (Opens::default(), Model::default());
        Self { opens, model, now: NOW, clients, handles: Vec::new(), tickets: Vec::new() }
    }

    /// What was granted or is waited for, beside what the model says.
    fn turn<T>(&mut self, turn: Turn<T>, waits_for: Option<Key>) -> Option<T> {
        match (turn, waits_for) {
            (Turn::Granted(granted), None) => Some(granted),
            (Turn::Wait(ticket), Some(key)) => {
                assert!(!ticket.is_rung());
                self.tickets.push((ticket, key, false));
                None
            }
            (Turn::Granted(_), Some(key)) => panic!("it has to wait for {key:?}"),
            (Turn::Wait(_), None) => panic!("there is nothing to wait for"),
        }
    }

    fn step(&mut self, action: Action) {
        match action {
            Action::Open { .. } => self.open(action),
            Action::Rest(operation) => self.rest(operation),
            Action::Time(seconds) => {
                self.now = self.now.saturating_add(std::time::Duration::from_secs(seconds));
                self.opens.expire(self.now);
                self.model.settle(self.now);
            }
            Action::Answer(index, kept) if !self.model.caches.is_empty() => {
                let at = index.index(self.model.caches.len());
                self.answer(at, kept);
            }
            Action::GiveUp(index) if !self.tickets.is_empty() => {
                drop(self.tickets.swap_remove(index.index(self.tickets.len())));
            }
            Action::Close(index) | Action::ForceClose(index) if !self.handles.is_empty() => {
                let forced = matches!(action, Action::ForceClose(_));
                let (number, handle) = self.handles.swap_remove(index.index(self.handles.len()));
                self.close(number, handle, forced);
            }
            Action::Write(index) if !self.handles.is_empty() => self.write(index.index(self.handles.len())),
            Action::Lock(index, exclusive) if !self.handles.is_empty() => {
                self.lock(index.index(self.handles.len()), exclusive);
            }
            Action::Unlock(index) if !self.handles.is_empty() => {
                let (number, handle) = &self.handles[index.index(self.handles.len())];
                let open = self.model.opens.iter_mut().find(|open| open.number == *number).unwrap();
                let unlocked = handle.unlock(ByteRange::new(0, 10).unwrap()).is_ok();
                assert_eq!(unlocked, !open.locks.is_empty());
                let at = open.locks.iter().position(|exclusive| *exclusive).unwrap_or(0);
                if unlocked {
                    open.locks.remove(at);
                }
            }
            Action::Mark(index, delete) if !self.handles.is_empty() => {
                self.mark(index.index(self.handles.len()), delete);
            }
            _ => return,
        }
        self.check();
    }

    fn open(&mut self, action: Action) {
        let Action::Open { client, access, share, lease, wanted, overwrites, on_close: deletes } = action else {
            return;
        };
        let letters = |bits: u8| ["R", "W", "D"].iter().enumerate().filter(move |(at, _)| bits & 1 << at != 0);
        let text = |bits: u8| letters(bits).map(|(_, letter)| *letter).collect::<String>();
        let mut asked = asking(&a_file(9), &self.clients[client], &text(access), &text(share));
        if deletes {
            asked = on_close(asked);
        }
        asked = caching(asked, grant(!lease, wanted));
        asked.request.overwrites = overwrites;
        asked.request.mode.access.write |= overwrites;
        asked.request.reach = if asked.request.mode.access == Access::NONE { Reach::Attributes } else { Reach::File };
        let asked = Asking { lease_key: lease.then(|| lease_key(client)), epoch: lease.then_some(0), ..asked };
        let (access, number) = (access | if overwrites { 2 } else { 0 }, self.model.last + 1);
        let key = if lease { Key::Lease(client) } else { Key::Handle(number) };

        let turn = self.opens.open(&asked, self.now);
        let model = &mut self.model;
        if model.disposition {
            assert_eq!(turn.err(), Some(NotOpened::Refused(OpenRefusal::DeletePending)));
            return;
        }
        let conflicts = |open: &Known| clash((access, share), (open.access, open.share));
        let certain = |open: &&Known| conflicts(open) && (open.key == key || model.bits(open.key) & H == 0);
        if model.opens.iter().any(|open| certain(&open)) {
            assert_eq!(turn.err(), Some(NotOpened::Refused(OpenRefusal::SharingViolation)));
            return;
        }
        let mut waits_for = None;
        for open in model.opens.clone() {
            let bits = model.bits(open.key);
            let does = match () {
                () if open.key == key || access == 0 => continue,
                () if conflicts(&open) && bits & H != 0 => Does::Conflict,
                () if overwrites => Does::Change,
                () if deletes && bits & W == 0 => Does::Delete,
                () => Does::Read,
            };
            if model.breaks(open.key, does, self.now) {
                waits_for = waits_for.or(Some(open.key));
            }
        }
        let Some(tentative) = self.turn(turn.unwrap(), waits_for) else { return };
        let handle = tentative.confirm().unwrap();
        let model = &mut self.model;
        let given = model.granted(key, wanted);
        model.last = number;
        model.opens.push(Known { number, client, access, share, on_close: deletes, key, locks: Vec::new() });
        match model.caches.iter_mut().find(|cache| cache.key == key) {
            Some(cache) => {
                let more = given == wanted && cache.bits & !given == 0 && cache.bits != given;
                if more && cache.breaking.is_none() {
                    (cache.bits, cache.epoch) = (given, cache.epoch + 1);
                }
            }
            None if given == 0 && !lease => {}
            None => model.caches.push(Held { key, client, bits: given, epoch: 1, breaking: None }),
        }
        self.handles.push((number, handle));
        if access != 0 {
            self.nobody_else_caches_writes(Some(key));
        }
    }

    fn rest(&mut self, operation: RestOperation) {
        let turn = self.opens.claim(a_file(9).file(), request(operation), false, self.now);
        let model = &mut self.model;
        let refused = |refusal| Some(ClaimRefusal::Rest(refusal));
        if model.disposition || model.opens.iter().any(|open| open.on_close) {
            assert_eq!(turn.err(), refused(RestRefusal::DeletePending));
            return;
        }
        let (access, does) = match operation {
            RestOperation::GetFile => (1, Does::Read),
            RestOperation::PutRange => (2, Does::Change),
            RestOperation::CreateFile => (6, Does::Replace),
            RestOperation::DeleteFile => (4, Does::Delete),
            _ => (0, Does::Read),
        };
        let conflicts =
            |open: &Known| operation == RestOperation::DeleteFile || clash((access, 7), (open.access, open.share));
        if model.opens.iter().any(|open| conflicts(open) && model.bits(open.key) & H == 0) {
            assert_eq!(turn.err(), refused(RestRefusal::SharingViolation));
            return;
        }
        let writes = matches!(does, Does::Change | Does::Replace);
        let is_locked = |open: &Known| open.locks.iter().any(|exclusive| writes || (access == 1 && *exclusive));
        if !model.opens.iter().any(conflicts) && model.opens.iter().any(is_locked) {
            assert_eq!(turn.err(), refused(RestRefusal::FileLockConflict));
            return;
        }
        let mut waits_for = None;
        for open in model.opens.clone() {
            let cached = conflicts(&open) && model.bits(open.key) & H != 0;
            if model.breaks(open.key, if cached { Does::Conflict } else { does }, self.now) {
                waits_for = waits_for.or(Some(open.key));
            }
        }
        if self.turn(turn.unwrap(), waits_for).is_some() {
            self.nobody_else_caches_writes(None);
        }
    }

    fn write(&mut self, at: usize) {
        let (number, handle) = &self.handles[at];
        let turn = handle.begin_io(ByteRange::new(0, 10).unwrap(), Io::Write, self.now);
        let open = self.model.opens.iter().find(|open| open.number == *number).unwrap().clone();
        let mut locks = self.model.opens.iter().flat_map(|open| open.locks.iter().map(|lock| (open.number, *lock)));
        if locks.any(|(owner, exclusive)| !exclusive || owner != open.number) {
            assert!(matches!(turn, Err(IoRefusal::Locked(_))));
            return;
        }
        let waits_for = self.model.breaks_others(open.key, Does::Change, self.now);
        if self.turn(turn.unwrap(), waits_for).is_some() {
            self.nobody_else_caches_writes(Some(open.key));
        }
    }

    fn lock(&mut self, at: usize, exclusive: bool) {
        let (number, handle) = &self.handles[at];
        let kind = if exclusive { LockKind::Exclusive } else { LockKind::Shared };
        let locking = handle.lock(&[(ByteRange::new(0, 10).unwrap(), kind)], false, self.now);
        let (model, number) = (&mut self.model, *number);
        let key = model.opens.iter().find(|open| open.number == number).unwrap().key;
        let waits_for = model.breaks_others(key, Does::Change, self.now);
        let mut locks = model.opens.iter().flat_map(|open| open.locks.iter().map(|lock| (open.number, *lock)));
        let conflict = locks.any(|(owner, held)| exclusive || (held && owner != number));
        match (locking, waits_for) {
            (Ok(Locking::Wait(ticket)), Some(key)) => self.tickets.push((ticket, key, false)),
            (Err(NotLocked::Refused(_)), None) => assert!(conflict),
            (Ok(Locking::Locked), None) => {
                assert!(!conflict);
                model.opens.iter_mut().find(|open| open.number == number).unwrap().locks.push(exclusive);
            }
            other => panic!("{other:?}"),
        }
    }

    fn mark(&mut self, at: usize, delete: bool) {
        let (number, handle) = &self.handles[at];
        let turn = handle.set_disposition(delete, FREE, self.now);
        let open = self.model.opens.iter().find(|open| open.number == *number).unwrap().clone();
        if open.access & 4 == 0 {
            assert!(matches!(turn, Err(NotMarked::Refused(_))));
            return;
        }
        let waits_for = if delete { self.model.breaks_others(open.key, Does::Delete, self.now) } else { None };
        if self.turn(turn.unwrap(), waits_for).is_some() {
            self.model.disposition = delete;
        }
    }

    fn answer(&mut self, at: usize, kept: u8) {
        let cache = &self.model.caches[at];
        // More than anybody was ever left, or what is left, or a part of it.
        let left = cache.breaking.map_or(cache.bits, |(to, _, _)| to);
        let kept = if kept == 99 { R | W | H } else { left & kept };
        let kept = if cache.is_oplock() && kept & W == 0 { kept & R } else { kept };
        let (oplock, key) = (cache.is_oplock(), self.real(cache.key));
        let done = self.opens.acknowledge(a_file(9).file(), key, grant(oplock, kept), self.now);
        assert_eq!(done.is_ok(), self.model.answer(at, kept, self.now));
    }

    fn close(&mut self, number: usize, handle: Handle, forced: bool) {
        let id = handle.id();
        let client = self.model.opens.iter().find(|open| open.number == number).unwrap().client;
        self.model.close(number);
        if forced {
            let scope = HandleScope { file: a_file(9).file(), recursive: false };
            let mut done = self.opens.force_close(scope, id);
            assert_eq!(done.closed, 1);
            done.removals.drain(..).for_each(file::opens::Removal::removed);
            assert!(matches!(handle.close(FREE), Closed::Already));
            let told = self.clients[client].take_notices();
            let is_it = |notice: &Notice| matches!(notice, Notice::Closed { handle, .. } if *handle == id);
            assert!(told.len() == 1 && told.iter().all(is_it), "{told:?}");
        } else if let Closed::Remove(removal) = handle.close(FREE) {
            removal.removed();
        }
    }

    fn real(&self, key: Key) -> CacheKey {
        match key {
            Key::Lease(client) => CacheKey::Lease(lease_key(client)),
            Key::Handle(number) => {
                CacheKey::Oplock(self.handles.iter().find(|(known, _)| *known == number).unwrap().1.id())
            }
        }
    }

    /// Whoever was let through to the bytes does not miss what somebody has written into its cache.
    fn nobody_else_caches_writes(&self, own: Option<Key>) {
        for (number, handle) in &self.handles {
            let key = self.model.opens.iter().find(|open| open.number == *number).unwrap().key;
            assert!(Some(key) == own || !handle.caching().caching().has_write());
        }
    }

    /// What can be seen from outside.
    fn check(&mut self) {
        for (number, handle) in &self.handles {
            let key = self.model.opens.iter().find(|open| open.number == *number).unwrap().key;
            let cache = self.model.caches.iter().find(|cache| cache.key == key);
            let seen = handle.cache();
            let breaks = cache.is_some_and(|cache| cache.breaking.is_some());
            assert_eq!((bits_of(seen.held()), seen.is_breaking()), (cache.map_or(0, |cache| cache.bits), breaks));
            assert_eq!(seen.epoch(), cache.filter(|cache| !cache.is_oplock()).map(|cache| cache.epoch));
        }
        let mut expected: Vec<_> = self.model.told.drain(..).collect();
        for client in 0..CLIENTS {
            for notice in self.clients[client].take_notices() {
                let Notice::Break { key, from, to, must_acknowledge, .. } = notice else { panic!("{notice:?}") };
                let found = expected.iter().position(|(of, known, held, left, answers)| {
                    let known = match (known, key) {
                        (Key::Lease(client), CacheKey::Lease(key)) => key == lease_key(*client),
                        (Key::Handle(number), CacheKey::Oplock(id)) => {
                            self.handles.iter().any(|(known, handle)| known == number && handle.id() == id)
                        }
                        _ => false,
                    };
                    known && (*of, *held, *left, *answers) == (client, bits_of(from), bits_of(to), must_acknowledge)
                });
                expected.swap_remove(found.unwrap_or_else(|| panic!("{notice:?} not in {expected:?}")));
            }
        }
        assert!(expected.is_empty(), "not told: {expected:?}");
        for (ticket, key, rung) in &mut self.tickets {
            *rung |= !self.model.caches.iter().any(|cache| cache.key == *key && cache.breaking.is_some());
            assert_eq!(ticket.is_rung(), *rung, "{key:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, ..ProptestConfig::default() })]

    #[test]
    fn several_clients_and_rest_do_what_a_plain_model_says(actions in actions()) {
        let mut world = World::new();
        for action in actions {
            world.step(action);
        }
        // Whoever waits gets on: nobody keeps anybody longer than the time that it has to answer.
        world.step(Action::Time(BREAK_TIMEOUT.as_secs()));
        prop_assert!(world.tickets.iter().all(|(ticket, ..)| ticket.is_rung()));
        let opens = world.opens.clone();
        drop(world);
        while let Some(removal) = opens.unfinished() {
            removal.removed();
        }
        prop_assert_eq!(opens.census(), Census::default());
    }
}
