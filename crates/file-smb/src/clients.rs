//! The connections of each client, in the order in which they logged on.
//!
//! **Invariant.** A connection is held by its task, not here, and leaves when it is dropped, however that ended.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use file::opens::LeaseKey;

use crate::{connection::Connection, session::Session};

/// By what the client calls itself.
#[derive(Default)]
pub(crate) struct Clients(Mutex<HashMap<[u8; 16], Vec<Weak<Connection>>>>);

impl Clients {
    fn table(&self) -> MutexGuard<'_, HashMap<[u8; 16], Vec<Weak<Connection>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection has logged on, for the first time or again.
    pub(crate) fn enter(&self, connection: &Arc<Connection>) {
        let mut table = self.table();
        let known = table.entry(connection.client_guid()).or_default();
        let connection = Arc::downgrade(connection);
        if !known.iter().any(|known| Weak::ptr_eq(known, &connection)) {
            known.push(connection);
        }
    }

    fn leave(&self, connection: &Connection) {
        if let Entry::Occupied(mut known) = self.table().entry(connection.client_guid()) {
            known.get_mut().retain(|known| !std::ptr::eq(known.as_ptr(), connection));
            if known.get().is_empty() {
                known.remove();
            }
        }
    }

    /// The oldest connection of the holder of a lease, and a session of the same account there: what clients call
    /// themselves is theirs to say, so others may do so too.
    pub(crate) fn first(&self, lease: LeaseKey) -> Option<(Arc<Connection>, Arc<Session>)> {
        let known: Vec<_> = self.table().get(&lease.client)?.iter().filter_map(Weak::upgrade).collect();
        known.into_iter().filter(|connection| !connection.over.is_cancelled()).find_map(|connection| {
            let is_of = |session: &&Arc<Session>| {
                session.logon().is_ok_and(|logon| logon.grant.account().unit == lease.account) && !session.is_over()
            };
            let session = connection.sessions().values().find(is_of).cloned()?;
            Some((connection, session))
        })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.clients.leave(self);
    }
}
