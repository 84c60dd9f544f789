//! CHANGE_NOTIFY: a client waits for changes in a directory. The change feed of the File service tells them; here they are
//! written as SMB has them.
//!
//! What is watched is decided by the first request on a handle: later ones cannot have another filter or depth, nor keep more
//! between two of them.
//!
//! **Invariants.** A request is answered by changes, by its cancel, by the end of its handle, tree or session, or when its
//! directory is going to be deleted. What waits is not in work, holds no room for answers, and is bounded for each session.

use std::sync::{Mutex, MutexGuard, PoisonError};

use file::changes::{ChangeAction, ChangeKinds, Next, Seen, Told, TooManyWatchers, Watch, WatchEnd, Watcher};
use types::limits;

use crate::{
    NtStatus,
    errors::status_of,
    negotiate::Negotiated,
    open::{Open, Reply},
    request::Cx,
    view::View,
    wire::{
        create::access,
        info::notify::{NotifyBuffer, action},
        query::{BufferResponse, ChangeNotifyRequest, WATCH_TREE},
    },
};

/// A frame that is longer does not wait for changes: it is held as long as it waits.
const FRAME_BYTES: usize = 64 * 1024;

/// Who is told of the changes in a directory that is open.
#[derive(Default)]
pub(crate) struct Watching(Mutex<State>);

#[derive(Default)]
enum State {
    /// Nobody, so far.
    #[default]
    Nobody,
    /// Its client, since its first request.
    Client(Watcher),
    /// Nobody any more.
    Ended,
}

impl Watching {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody is told any more; who waits is told so.
    pub(crate) fn end(&self) {
        let before = std::mem::replace(&mut *self.state(), State::Ended);
        drop(before);
    }

    /// A request, of the watcher that the first one made.
    fn next(&self, watch: impl FnOnce() -> Result<Watcher, TooManyWatchers>) -> Result<Next, NtStatus> {
        let mut state = self.state();
        if matches!(*state, State::Nobody) {
            *state = State::Client(watch().map_err(|_| NtStatus::INSUFFICIENT_RESOURCES)?);
        }
        match &*state {
            State::Client(watcher) => watcher.next().map_err(|_| NtStatus::INSUFFICIENT_RESOURCES),
            State::Nobody | State::Ended => Err(NtStatus::FILE_CLOSED),
        }
    }
}

/// Waits for changes in a directory.
pub(crate) async fn notify(cx: &Cx<'_>, open: &Open, request: &ChangeNotifyRequest) -> Result<Reply, NtStatus> {
    let disk = open.disk().map_err(|_| NtStatus::INVALID_PARAMETER)?;
    let most = cx.connection.negotiated.get().map_or(0, Negotiated::most_transact_bytes);
    if !disk.is_directory || request.output_buffer_length > most {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    open.needs(access::READ_DATA)?;
    let limit = usize::try_from(request.output_buffer_length).unwrap_or(usize::MAX);
    // The handle is not held meanwhile: its close ends the wait.
    let (directory, is_present) = {
        let view = disk.view().await?;
        (view.file(), matches!(view, View::Present(_)))
    };
    let watch = Watch {
        directory,
        tree: request.flags & WATCH_TREE != 0,
        // What a snapshot keeps does not change.
        kinds: ChangeKinds(if is_present { request.completion_filter } else { 0 }),
        limit,
        owner: cx.session.id,
    };
    let mut next = disk.watching.next(|| cx.files().watch(watch))?;
    if let Some(told) = next.take() {
        return answer(told, limit);
    }
    if is_present {
        cx.files().check_watched(directory).await.map_err(|error| status_of(&error))?;
    }
    if !cx.is_last {
        // What is behind it in its frame cannot wait.
        return Err(NtStatus::INTERNAL_ERROR);
    }
    if cx.frame.bytes > FRAME_BYTES {
        return Err(NtStatus::INSUFFICIENT_RESOURCES);
    }
    cx.pend().await;
    tokio::select! {
        biased;
        () = &mut next => {}
        () = cx.cancelled() => return Err(NtStatus::CANCELLED),
    }
    // Until there is room for the answer, the changes count as not taken.
    cx.frame.set_room(cx.connection.room_to_answer(limit.min(limits::WATCHER_MAX_BYTES)).await);
    next.take().map_or(Err(NtStatus::CANCELLED), |told| answer(told, limit))
}

fn answer(told: Told, limit: usize) -> Result<Reply, NtStatus> {
    match told {
        Told::Changes(changes) => written(&changes, limit),
        Told::Enumerate => Err(NtStatus::NOTIFY_ENUM_DIR),
        Told::Ended(WatchEnd::Closed) => Err(NtStatus::NOTIFY_CLEANUP),
        Told::Ended(WatchEnd::Deleted) => Err(NtStatus::DELETE_PENDING),
    }
}

fn written(changes: &[Seen], limit: usize) -> Result<Reply, NtStatus> {
    let mut buffer = NotifyBuffer::new(limit);
    for Seen { action, path } in changes {
        if !buffer.push(number_of(*action), &path.replace('/', "\\")) {
            return Err(NtStatus::NOTIFY_ENUM_DIR);
        }
    }
    let bytes = buffer.into_bytes();
    Ok(Reply::body(|body| BufferResponse { buffer: &bytes }.encode(body)))
}

const fn number_of(changed: ChangeAction) -> u32 {
    match changed {
        ChangeAction::Added => action::ADDED,
        ChangeAction::Removed => action::REMOVED,
        ChangeAction::Modified => action::MODIFIED,
        ChangeAction::RenamedFrom => action::RENAMED_OLD_NAME,
        ChangeAction::RenamedTo => action::RENAMED_NEW_NAME,
    }
}
