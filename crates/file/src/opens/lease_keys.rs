//! Which file each lease key is used for.
//!
//! Invariant: a key has an entry as long as an open is under it, tentative or not, and all of them are of one file.

use std::collections::{HashMap, hash_map::Entry};

use super::{
    place::{CacheKey, FileKey, LeaseKey},
    refusal::NotOpened,
    rest::Decided,
    state::Wants,
    table::Act,
};

/// An empty table that had more room than this gives it back.
const ROOM_KEPT: usize = 256;

/// The keys in use.
#[derive(Debug, Default)]
pub(super) struct LeaseKeys {
    used: HashMap<LeaseKey, Used>,
}

#[derive(Clone, Copy, Debug)]
struct Used {
    file: FileKey,
    opens: usize,
    /// Those of them that are handles.
    confirmed: usize,
}

impl LeaseKeys {
    /// The file that a key is used for.
    pub(super) fn file(&self, key: LeaseKey) -> Option<FileKey> {
        self.used.get(&key).map(|used| used.file)
    }

    /// An open of the file becomes a handle.
    pub(super) fn confirm(&mut self, key: CacheKey) {
        if let CacheKey::Lease(key) = key
            && let Some(used) = self.used.get_mut(&key)
        {
            used.confirmed = used.confirmed.saturating_add(1);
        }
    }

    /// An open is given up, or a handle closed.
    pub(super) fn leave(&mut self, key: CacheKey, confirmed: bool) {
        let CacheKey::Lease(key) = key else { return };
        let Entry::Occupied(mut entry) = self.used.entry(key) else { return };
        let used = entry.get_mut();
        used.opens = used.opens.saturating_sub(1);
        used.confirmed = used.confirmed.saturating_sub(usize::from(confirmed));
        if used.opens == 0 {
            entry.remove();
        }
        if self.used.is_empty() && self.used.capacity() > ROOM_KEPT {
            self.used.shrink_to_fit();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.used.len()
    }
}

impl Act<'_> {
    /// Whether the file may be opened under a key, which is then used for it. What to wait for when the key is used
    /// for another one that may come to nothing: whoever opens a new file twice at once picks two inodes.
    ///
    /// # Errors
    /// The key is used for another file.
    pub(super) fn enter_key(&self, key: Option<CacheKey>, enters: bool) -> Result<Option<Decided>, NotOpened> {
        let Some(CacheKey::Lease(key)) = key else { return Ok(None) };
        let mut keys = self.table.lease_keys();
        match keys.used.get_mut(&key) {
            Some(used) if used.file != self.file => {
                let maybe = Decided::WaitAt(used.file, Wants::NoTentative);
                if used.confirmed == 0 { Ok(Some(maybe)) } else { Err(NotOpened::LeaseKeyOfAnotherFile) }
            }
            Some(used) => {
                used.opens = used.opens.saturating_add(usize::from(enters));
                Ok(None)
            }
            None => {
                if enters {
                    keys.used.insert(key, Used { file: self.file, opens: 1, confirmed: 0 });
                }
                Ok(None)
            }
        }
    }
}
