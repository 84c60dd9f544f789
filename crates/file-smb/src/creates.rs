//! Opens by the guids that their clients gave them: a CREATE that comes twice opens once.
//!
//! **Invariants.** A guid stands here from the moment on in which its CREATE begins, until its open is closed; so there are at
//! most as many as requests and opens. A guid is one client's.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::wire::FileId;

/// The guid of a client, and the one that it gave an open.
type Key = ([u8; 16], [u8; 16]);

/// All guids; clones share them.
#[derive(Clone, Default)]
pub(crate) struct Creates(Arc<Mutex<HashMap<Key, Option<Made>>>>);

/// What a CREATE has opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) session: u64,
    pub(crate) id: FileId,
}

/// A CREATE with a guid.
pub(crate) enum Beginning {
    /// It is the first one.
    First(Created),
    /// The first one is not done yet.
    UnderWay,
    /// It was done.
    Done(Made),
}

impl Creates {
    fn table(&self) -> MutexGuard<'_, HashMap<Key, Option<Made>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A CREATE begins.
    pub(crate) fn begin(&self, client: [u8; 16], guid: [u8; 16]) -> Beginning {
        match self.table().entry((client, guid)) {
            Entry::Vacant(vacant) => {
                vacant.insert(None);
                Beginning::First(Created { of: self.clone(), key: (client, guid) })
            }
            Entry::Occupied(known) => match known.get() {
                None => Beginning::UnderWay,
                Some(made) => Beginning::Done(*made),
            },
        }
    }
}

/// A guid that stands in the table, until this is dropped.
pub(crate) struct Created {
    of: Creates,
    key: Key,
}

impl Created {
    /// It is the guid of this open.
    pub(crate) fn made(&self, made: Made) {
        self.of.table().insert(self.key, Some(made));
    }
}

impl Drop for Created {
    fn drop(&mut self) {
        self.of.table().remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guid_stands_until_its_open_is_closed() {
        let (creates, ours, theirs, guid) = (Creates::default(), [1; 16], [2; 16], [3; 16]);
        let Beginning::First(created) = creates.begin(ours, guid) else { panic!("nobody has it") };
        assert!(matches!(creates.begin(ours, guid), Beginning::UnderWay));
        assert!(matches!(creates.begin(theirs, guid), Beginning::First(_)), "of another client");
        let made = Made { session: 5, id: FileId { persistent: 6, volatile: 7 } };
        created.made(made);
        assert!(matches!(creates.begin(ours, guid), Beginning::Done(found) if found == made));
        drop(created);
        assert!(matches!(creates.begin(ours, guid), Beginning::First(_)));
        assert!(creates.table().is_empty());
    }
}
