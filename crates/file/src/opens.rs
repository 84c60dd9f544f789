//! The one table of opens: every open handle of every protocol, with what it shares, locks, caches and is going to delete.
//! Memory of this process; opens, and so pending deletes, end with it.
//!
//! It holds state and asks; every rule is a pure function of `concurrency`. It does no I/O, reads no clock and knows no
//! runtime: whoever has to wait gets a [`Ticket`], a plain future.
//!
//! **Rows and opens meet in tokens.** Rows are disk and have transactions, opens are memory and have none. So a token is
//! taken before the transaction, decided against everything that is open, and held until the outcome is known:
//!
//! ```text
//!              decided                      transaction
//!   REST   ---- claim() ----> Claim ------------------------> drop
//!                             an open, lock or delete mark that conflicts waits
//!
//!   open   ---- open() -----> TentativeOpen ----------------> confirm() -> Handle    the rows have the file
//!                             counts for other opens;         drop                   they have not
//!                             REST that it refuses waits
//!
//!   handle ---- begin_io(), begin_rename() ---> Claim ------> drop
//!
//!   close  ---- last one, marked -------------> Removal ----> removed() or kept()
//!                             pending for REST and opens, hidden from listings
//! ```
//!
//! What was found in the rows before the token (the inode of a name, the read-only attribute, the REST lease, the path) is
//! looked at again in the transaction; if it differs, the token is dropped and everything starts over. Names need no
//! tokens: the transaction decides who creates a name, and nobody knows a new inode before it.
//!
//! One file goes through these states. Claims come and go in the first two of them.
//!
//! ```text
//!             confirm                  disposition set,
//!             delete on close          delete-on-close handle open
//!   unused ------------------> open ------------------------------> pending
//!     ^                         | ^                                   |  |
//!     |  last close             | |        mark cleared               |  | last close
//!     +-------------------------+ +-----------------------------------+  v
//!     +---------------------------------------------------------- removing
//!                    removed, kept
//! ```
//!
//! **Waiting.** Claims never conflict with each other. Claims wait for: an answer to a break; the outcome of an open that
//! would refuse them; and those who wait for claims to end, so that nobody starves. Opens, locks and marks wait for
//! answers and for claims. Nobody who holds a tentative open asks for anything, and whoever has to wait lets go of its
//! claims, so waiting never goes in a circle. Every wait for an answer ends with [`Opens::expire`].

mod caching;
mod claims;
mod handle;
mod lease_keys;
mod listing;
mod locking;
mod opening;
mod orphans;
mod place;
mod places;
mod refusal;
mod rest;
mod state;
mod table;
mod ticket;

use std::{collections::BTreeSet, sync::Arc};

use concurrency::{delete_pending::DeleteIntent, oplock::CacheGrant, share_mode::OpenMode};
use types::{Inode, Timestamp, UnitId};

pub use self::{
    caching::{Notice, Owner},
    claims::Claim,
    handle::{Closed, Handle, Removal},
    listing::{ForceClosed, HandleInfo, HandlePage, HandleScope},
    locking::{LockWait, Locking},
    opening::{Asking, TentativeOpen},
    orphans::Keeping,
    place::{CacheKey, FileKey, HandleId, LeaseKey, Place},
    refusal::{
        ClaimRefusal, HandleClosed, IoRefusal, NotAcknowledged, NotLocked, NotMarked, NotMoved, NotOpened, NotUnlocked,
        TooManyWaiters,
    },
    table::Census,
    ticket::{Ticket, Turn},
};

use self::table::Table;
pub(crate) use self::ticket::{Bell, Rung};

/// The table; clones share it.
///
/// ```
/// use concurrency::{
///     delete_pending::{DeleteIntent, Obstacles}, file_open::{OpenRequest, Reach}, lease::LeaseState,
///     oplock::{CacheGrant, Caching}, rest_open::{RestOperation, RestRefusal, RestRequest},
///     share_mode::{Access, OpenMode, ShareMode},
/// };
/// use file::opens::{Asking, ClaimRefusal, Opens, Owner, Place, Turn};
/// use std::sync::Arc;
/// use types::{Inode, Timestamp, UnitId};
///
/// let (opens, now) = (Opens::default(), Timestamp::from_seconds(100));
/// let place = Place::root(UnitId::new(1), Inode::new(2)).child(Inode::new(3), "a.txt");
/// let owner = Owner { session: 1, client: ([127, 0, 0, 1], 5000).into(), client_name: "a".into(), notify: Box::new(|_| {}) };
/// let mode = OpenMode { access: Access::WRITE, share: ShareMode::NONE };
/// let request = OpenRequest { mode, reach: Reach::File, overwrites: false, delete: DeleteIntent::default() };
/// let asking = Asking {
///     place: place.clone(), request, lease: LeaseState::Available, cache: CacheGrant::Lease(Caching::None),
///     lease_key: None, epoch: None, is_directory: false, owner: Arc::new(owner),
/// };
/// let tentative = opens.open(&asking, now)?.granted().ok_or("nothing is in the way")?;
/// // … the transaction finds the file …
/// let handle = tentative.confirm()?;
/// let get = RestRequest { operation: RestOperation::GetFile, range: None, ignores_read_only: false };
/// let refused = opens.claim(place.file(), get, false, now);
/// assert_eq!(refused.err(), Some(ClaimRefusal::Rest(RestRefusal::SharingViolation)));
/// handle.close(Obstacles::default());
/// assert!(matches!(opens.claim(place.file(), get, false, now)?, Turn::Granted(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Opens {
    table: Arc<Table>,
}

impl Opens {
    /// The client answers a break with what it keeps, `None` for a combination that does not exist.
    ///
    /// # Errors
    /// [`NotAcknowledged`].
    pub fn acknowledge(
        &self,
        file: FileKey,
        key: CacheKey,
        kept: impl Into<Option<CacheGrant>>,
        now: Timestamp,
    ) -> Result<(), NotAcknowledged> {
        let kept = kept.into();
        self.table.with(file, |state, act| {
            let used = state.in_use();
            used.settle(now, act);
            let cache = used.caches.iter_mut().find(|cache| cache.key == key).ok_or(NotAcknowledged::UnknownKey)?;
            Ok(cache.acknowledge(kept, file, now, &mut act.table.deadlines(), &mut act.notices)?)
        })
    }

    /// The file that a lease key is used for.
    #[must_use]
    pub fn leased(&self, key: LeaseKey) -> Option<FileKey> {
        self.table.lease_keys().file(key)
    }

    /// Whether a handle is open.
    #[must_use]
    pub fn holds(&self, file: FileKey, handle: HandleId) -> bool {
        self.table.with(file, |state, _| state.in_use.as_ref().is_some_and(|used| used.handle(handle).is_some()))
    }

    /// Clients that have not answered by now lose what they cached; those who waited go on. Handles whose clients have not
    /// come back by now are closed.
    pub fn expire(&self, now: Timestamp) {
        self.expire_orphans(now);
        let over = self.table.deadlines().over(now);
        for file in over {
            self.table.with(file, |state, act| state.in_use().settle(now, act));
        }
    }

    /// When [`Opens::expire`] has something to do next.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let (answer, orphan) = (self.table.deadlines().next(), self.table.orphans().next());
        answer.into_iter().chain(orphan).min()
    }

    /// A file or directory has another place since its rename was committed. Call it before the claim is dropped.
    pub fn moved(&self, place: &Place) {
        self.table.places().moved(place);
    }

    /// The path of a file that is open, below the share, with `/` between names.
    #[must_use]
    pub fn path(&self, file: FileKey) -> Option<String> {
        self.table.places().locate(file.share, file.inode).map(|located| located.path)
    }

    /// Whether a file has a handle.
    #[must_use]
    pub fn is_open(&self, file: FileKey) -> bool {
        self.table.with(file, |state, _| {
            state.in_use.as_ref().is_some_and(|used| used.opens.iter().any(|open| open.confirmed))
        })
    }

    /// Whether a file goes with its last handle, whatever that is: it was marked, not only opened to be deleted on close.
    #[must_use]
    pub fn is_marked(&self, file: FileKey) -> bool {
        self.table.with(file, |state, _| {
            state.in_use.as_ref().is_some_and(|used| used.mark.open(DeleteIntent::default()).is_err())
        })
    }

    /// Where something is that is open.
    #[must_use]
    pub fn place_of(&self, file: FileKey) -> Option<Place> {
        self.table.places().place(file.share, file.inode)
    }

    /// Whether an open of this kind could not stand beside the handles of a file.
    #[must_use]
    pub fn conflicts(&self, file: FileKey, mode: OpenMode) -> bool {
        self.table.with(file, |state, _| {
            let used = state.in_use.as_ref();
            used.is_some_and(|used| used.opens.iter().any(|open| open.confirmed && open.mode.conflicts_with(mode)))
        })
    }

    /// How many handles are open below a directory, not on it.
    #[must_use]
    pub fn open_below(&self, directory: FileKey) -> usize {
        self.table.places().below(directory.share, directory.inode).confirmed
    }

    /// What listings of a directory leave out: files that are marked for deletion. Costs one load when there are none.
    #[must_use]
    pub fn hidden(&self, share: UnitId, directory: Inode) -> BTreeSet<Inode> {
        self.table.hidden(share, directory)
    }

    /// How much the table holds.
    #[must_use]
    pub fn census(&self) -> Census {
        self.table.census()
    }
}
