//! List Handles and Force Close Handles: those of a file, of a directory, or of everything below it. What a snapshot keeps,
//! nobody has open.

use access::{Asked, Operation, need::Need};
use store::Read;

use crate::{
    Files,
    errors::FileError,
    history::At,
    needs,
    object::Address,
    opens::{FileKey, HandleId, HandlePage, HandleScope},
};

/// List Handles.
#[derive(Clone, Debug)]
pub struct ListHandles {
    /// The directory or file.
    pub address: Address,
    /// And everything below it.
    pub recursive: bool,
    /// Go on behind this one.
    pub after: Option<HandleId>,
    /// At most so many.
    pub limit: usize,
}

impl Operation for ListHandles {
    fn need(&self) -> Need<'_> {
        self.address.need(needs::LIST_HANDLES)
    }
}

/// Force Close Handles.
#[derive(Clone, Debug)]
pub struct CloseHandles {
    /// The directory or file.
    pub address: Address,
    /// And everything below it.
    pub recursive: bool,
    /// The one that is closed; `None` for all of them.
    pub handle: Option<HandleId>,
    /// Go on behind this one.
    pub after: Option<HandleId>,
    /// At most so many.
    pub limit: usize,
}

impl Operation for CloseHandles {
    fn need(&self) -> Need<'_> {
        self.address.need(needs::CLOSE_HANDLES)
    }
}

/// What Force Close Handles answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandlesClosed {
    /// How many were closed.
    pub closed: usize,
    /// There may be more behind this one.
    pub next: Option<HandleId>,
}

impl Files {
    /// Lists the handles that are open, by their ids.
    ///
    /// # Errors
    /// There is no such directory or file, it is a file and what is below is asked for, or the store failed.
    pub async fn list_handles(&self, asked: &Asked<ListHandles>) -> Result<HandlePage, FileError> {
        let (rows, _) = self.view();
        let request = asked.authorize(&rows).await?;
        match scope(&rows, &request.address, request.recursive).await? {
            Some(scope) => Ok(self.opens.list_handles(scope, request.after, request.limit)),
            None => Ok(HandlePage::default()),
        }
    }

    /// Closes handles, whatever their clients do with them. What was marked for deletion goes with its last handle.
    ///
    /// # Errors
    /// As [`Self::list_handles`]; handles may be closed when the store failed.
    pub async fn close_handles(&self, asked: &Asked<CloseHandles>) -> Result<HandlesClosed, FileError> {
        let (rows, _) = self.view();
        let request = asked.authorize(&rows).await?;
        let Some(scope) = scope(&rows, &request.address, request.recursive).await? else {
            return Ok(HandlesClosed::default());
        };
        let done = match request.handle {
            Some(handle) => self.opens.force_close(scope, handle),
            None => self.opens.force_close_all(scope, request.after, request.limit),
        };
        for removal in done.removals {
            self.remove(removal).await?;
        }
        Ok(HandlesClosed { closed: done.closed, next: done.next })
    }
}

/// Which handles are meant; `None` when there can be none.
async fn scope(rows: &impl Read, address: &Address, recursive: bool) -> Result<Option<HandleScope>, FileError> {
    let (share, at, found) = address.read(rows).await?;
    if recursive && !found.node.is_directory() {
        return Err(FileError::NothingBelow);
    }
    let file = FileKey { share: share.unit, inode: found.node.inode };
    Ok((at == At::Present).then_some(HandleScope { file, recursive }))
}
