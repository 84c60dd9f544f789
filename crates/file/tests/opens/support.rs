//! What the tests share: an owner that remembers its notices, and short ways to open and claim.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};
use std::task::Wake;

use concurrency::{
    delete_pending::{DeleteIntent, Obstacles},
    file_open::{OpenRequest, Reach},
    lease::LeaseState,
    oplock::{CacheGrant, Caching},
    rest_open::{RestOperation, RestRequest},
    share_mode::{Access, OpenMode, ShareMode},
};
use file::opens::{Asking, Claim, ClaimRefusal, Handle, Notice, Opens, Owner, Place, TentativeOpen, Turn};
use types::{Inode, Timestamp, UnitId};

pub(crate) const SHARE: UnitId = UnitId::new(7);
pub(crate) const ROOT: Inode = Inode::new(1);
pub(crate) const NO_CACHE: CacheGrant = CacheGrant::Lease(Caching::None);
pub(crate) const FREE: Obstacles = Obstacles { read_only: false, not_empty: false };

pub(crate) fn at(seconds: u64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

pub(crate) const NOW: Timestamp = Timestamp::from_seconds(1000);

/// A session whose notices can be read.
#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) owner: Arc<Owner>,
    notices: Arc<Mutex<Vec<Notice>>>,
}

impl Session {
    pub(crate) fn new(number: u64) -> Self {
        let notices = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&notices);
        let owner = Owner {
            session: number,
            client: ([10, 0, 0, 1], 4000).into(),
            client_name: format!("client-{number}"),
            notify: Box::new(move |notice| kept.lock().unwrap().push(notice)),
        };
        Self { owner: Arc::new(owner), notices }
    }

    pub(crate) fn take_notices(&self) -> Vec<Notice> {
        std::mem::take(&mut self.notices.lock().unwrap())
    }
}

pub(crate) fn root() -> Place {
    Place::root(SHARE, ROOT)
}

pub(crate) fn a_file(number: u64) -> Place {
    root().child(Inode::new(number), &format!("file-{number}"))
}

pub(crate) fn mode(access: Access, share: ShareMode) -> OpenMode {
    OpenMode { access, share }
}

pub(crate) fn letters(text: &str) -> (bool, bool, bool) {
    (text.contains('R'), text.contains('W'), text.contains('D'))
}

pub(crate) fn access(text: &str) -> Access {
    let (read, write, delete) = letters(text);
    Access { read, write, delete }
}

pub(crate) fn share(text: &str) -> ShareMode {
    let (read, write, delete) = letters(text);
    ShareMode { read, write, delete }
}

/// Opens with this access and share mode, each letters of R, W and D.
pub(crate) fn asking(place: &Place, session: &Session, accesses: &str, shares: &str) -> Asking {
    let mode = mode(access(accesses), share(shares));
    let delete = DeleteIntent { delete_on_close: false, delete_access: mode.access.delete };
    let reach = if mode.access.is_none() { Reach::Attributes } else { Reach::File };
    Asking {
        place: place.clone(),
        request: OpenRequest { mode, reach, overwrites: false, delete },
        lease: LeaseState::Available,
        cache: NO_CACHE,
        lease_key: None,
        epoch: None,
        is_directory: false,
        owner: Arc::clone(&session.owner),
    }
}

pub(crate) fn caching(asking: Asking, cache: CacheGrant) -> Asking {
    Asking { cache, ..asking }
}

pub(crate) fn on_close(mut asking: Asking) -> Asking {
    asking.request.delete = DeleteIntent { delete_on_close: true, delete_access: true };
    asking
}

pub(crate) fn tentative(opens: &Opens, asking: &Asking) -> TentativeOpen {
    opens.open(asking, NOW).unwrap().granted().expect("nothing is in the way")
}

pub(crate) fn open(opens: &Opens, asking: &Asking) -> Handle {
    tentative(opens, asking).confirm().unwrap()
}

pub(crate) fn request(operation: RestOperation) -> RestRequest {
    RestRequest { operation, range: None, ignores_read_only: false }
}

pub(crate) fn claim(opens: &Opens, place: &Place, operation: RestOperation) -> Result<Turn<Claim>, ClaimRefusal> {
    opens.claim(place.file(), request(operation), false, NOW)
}

pub(crate) fn claimed(opens: &Opens, place: &Place, operation: RestOperation) -> Claim {
    claim(opens, place, operation).unwrap().granted().expect("nothing is in the way")
}

pub(crate) fn ticket<T>(turn: Turn<T>) -> file::opens::Ticket {
    match turn {
        Turn::Granted(_) => panic!("something is in the way"),
        Turn::Wait(ticket) => ticket,
    }
}

/// Counts how often it was woken.
#[derive(Default)]
pub(crate) struct Woken(pub(crate) AtomicUsize);

impl Woken {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}
