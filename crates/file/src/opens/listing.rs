//! List Handles and Force Close Handles: pages of handles of a file, a directory, or everything below it.
//!
//! A page looks at a bounded number of handles and says behind which one to go on; it may be empty and not the last.

use std::{net::SocketAddr, sync::Arc};

use concurrency::{delete_pending::Obstacles, share_mode::Access};
use types::{Inode, Timestamp, limits};

use super::{
    Opens,
    handle::{Closed, Removal},
    place::{FileKey, HandleId},
    table::Table,
};

/// Which handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandleScope {
    /// Those of this file or directory.
    pub file: FileKey,
    /// And of everything below it.
    pub recursive: bool,
}

/// What List Handles says of one handle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandleInfo {
    /// HandleId.
    pub id: HandleId,
    /// Path, below the share.
    pub path: String,
    /// FileId.
    pub file: Inode,
    /// ParentId; the root has none.
    pub parent: Option<Inode>,
    /// SessionId.
    pub session: u64,
    /// ClientIp.
    pub client: SocketAddr,
    /// ClientName.
    pub client_name: String,
    /// OpenTime.
    pub opened_at: Timestamp,
    /// LastReconnectTime.
    pub reconnected_at: Option<Timestamp>,
    /// AccessRightList.
    pub access: Access,
}

/// A page of List Handles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandlePage {
    /// By id.
    pub handles: Vec<HandleInfo>,
    /// There may be more behind this one.
    pub next: Option<HandleId>,
}

/// A step of Force Close Handles.
#[derive(Debug, Default)]
pub struct ForceClosed {
    /// How many were closed.
    pub closed: usize,
    /// There may be more behind this one.
    pub next: Option<HandleId>,
    /// Files whose last handle that was and that are marked: to be removed by the caller.
    pub removals: Vec<Removal>,
}

impl Opens {
    /// The next handles behind a marker, by id.
    #[must_use]
    pub fn list_handles(&self, scope: HandleScope, after: Option<HandleId>, limit: usize) -> HandlePage {
        let (found, next) = self.find(scope, after, limit);
        HandlePage { handles: found.into_iter().filter_map(|(file, id)| self.table.describe(file, id)).collect(), next }
    }

    /// Closes one handle, if it is in the scope.
    #[must_use]
    pub fn force_close(&self, scope: HandleScope, id: HandleId) -> ForceClosed {
        let FileKey { share, inode } = scope.file;
        let found = {
            let places = self.table.places();
            let at = places.find(share, id);
            at.filter(|at| *at == inode || (scope.recursive && places.is_at_or_below(share, *at, inode)))
        };
        self.close_all(found.map(|inode| (FileKey { share, inode }, id)).into_iter().collect(), None)
    }

    /// Closes the next handles behind a marker: ask again with the marker until there is none.
    #[must_use]
    pub fn force_close_all(&self, scope: HandleScope, after: Option<HandleId>, limit: usize) -> ForceClosed {
        let (found, next) = self.find(scope, after, limit);
        self.close_all(found, next)
    }

    fn close_all(&self, found: Vec<(FileKey, HandleId)>, next: Option<HandleId>) -> ForceClosed {
        let mut done = ForceClosed { next, ..ForceClosed::default() };
        for (file, id) in found {
            match self.table.close(file, id, Obstacles::default(), true) {
                Closed::Already => continue,
                Closed::Kept => {}
                Closed::Remove(removal) => done.removals.push(removal),
            }
            done.closed += 1;
        }
        done
    }

    fn find(
        &self,
        scope: HandleScope,
        after: Option<HandleId>,
        limit: usize,
    ) -> (Vec<(FileKey, HandleId)>, Option<HandleId>) {
        let (FileKey { share, inode }, limit) = (scope.file, limit.min(limits::LIST_PAGE_MAX));
        if scope.recursive {
            let (found, next) = self.table.places().handles_below(share, inode, after, limit);
            return (found.into_iter().map(|(id, inode)| (FileKey { share, inode }, id)).collect(), next);
        }
        let mut ids = self.table.handles_of(scope.file, after, limit.saturating_add(1));
        let more = ids.len() > limit;
        ids.truncate(limit);
        let next = if more { ids.last().copied().or(after) } else { None };
        (ids.into_iter().map(|id| (scope.file, id)).collect(), next)
    }
}

impl Table {
    fn handles_of(self: &Arc<Self>, file: FileKey, after: Option<HandleId>, limit: usize) -> Vec<HandleId> {
        self.with(file, |state, _| {
            let Some(used) = &state.in_use else { return Vec::new() };
            let listed = used.opens.iter().filter(|open| open.confirmed && Some(open.id) > after);
            listed.take(limit).map(|open| open.id).collect()
        })
    }

    fn describe(self: &Arc<Self>, file: FileKey, id: HandleId) -> Option<HandleInfo> {
        let located = self.places().locate(file.share, file.inode)?;
        self.with(file, |state, _| {
            let open = state.in_use.as_ref()?.handle(id)?;
            Some(HandleInfo {
                id,
                path: located.path,
                file: file.inode,
                parent: located.parent,
                session: open.owner.session,
                client: open.owner.client,
                client_name: open.owner.client_name.clone(),
                opened_at: open.opened_at,
                reconnected_at: open.reconnected_at,
                access: open.mode.access,
            })
        })
    }
}
