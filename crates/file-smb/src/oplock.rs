//! Oplocks and leases: what a client may cache is granted with an open, broken by a message of the server, and given up by one
//! of the client. The table of opens decides all of it.

use std::{sync::Arc, time::Duration};

use concurrency::oplock::{AcknowledgeRefusal, CacheGrant, CacheState, Caching, OplockLevel};
use file::opens::{CacheKey, FileKey, HandleId, LeaseKey, NotAcknowledged, Notice};

use crate::{
    NtStatus,
    answers::{self, Answer},
    connection::Connection,
    open::Reply,
    request::Cx,
    session::Session,
    wire::{
        FileId,
        create::{CreateRequest, oplock_level},
        create_contexts::{LEASE_FLAG_BREAK_IN_PROGRESS, LEASE_FLAG_PARENT_KEY_SET, Lease, LeaseV2, lease_state},
        header::{Command, Header, Route, flags},
        lock::{BreakAck, LEASE_BREAK_ACK_REQUIRED, LeaseBreakAck, LeaseBreakNotification, OplockBreak},
        negotiate::dialect,
    },
};

/// How long a break waits for the answer to the CREATE that it breaks.
const UNTIL_OPENED: Duration = Duration::from_secs(5);
/// How long until it looks whether there is still something to break.
const LOOKS_AGAIN: Duration = Duration::from_millis(50);
/// The number of messages that answer no request.
const UNSOLICITED: u64 = u64::MAX;

/// What a CREATE asks to cache.
#[derive(Clone, Copy, Default)]
pub(crate) struct Wanted {
    pub(crate) cache: CacheGrant,
    /// Under which key.
    pub(crate) lease_key: Option<LeaseKey>,
    /// From where on the client counts; a lease of version 1 counts nothing.
    pub(crate) epoch: Option<u16>,
}

/// What a CREATE asks to cache, and under which key. Leases are there since 2.1, those that count since 3.0.
pub(crate) fn wanted(cx: &Cx<'_>, request: &CreateRequest<'_>) -> Wanted {
    let oplock = |level| Wanted { cache: CacheGrant::Oplock(level), ..Wanted::default() };
    match (request.requested_oplock_level, request.contexts.lease) {
        (oplock_level::LEASE, Some(lease)) if speaks(cx, &lease) => Wanted {
            // Writes or handles without reads do not exist.
            cache: CacheGrant::Lease(caching_of(lease.state).unwrap_or_default()),
            lease_key: Some(lease_key(cx, lease.key)),
            epoch: lease.v2.map(|more| more.epoch),
        },
        (oplock_level::II, _) => oplock(OplockLevel::Two),
        (oplock_level::EXCLUSIVE, _) => oplock(OplockLevel::Exclusive),
        (oplock_level::BATCH, _) => oplock(OplockLevel::Batch),
        _ => Wanted::default(),
    }
}

fn speaks(cx: &Cx<'_>, lease: &Lease) -> bool {
    let since = if lease.v2.is_some() { dialect::SMB_3_0 } else { dialect::SMB_2_1 };
    cx.logon.dialect >= since
}

fn lease_key(cx: &Cx<'_>, key: [u8; 16]) -> LeaseKey {
    LeaseKey { account: cx.logon.grant.account().unit, client: cx.connection.client_guid(), key }
}

/// The level that is answered.
pub(crate) const fn level_of(grant: CacheGrant, is_lease: bool) -> u8 {
    match grant {
        _ if is_lease => oplock_level::LEASE,
        CacheGrant::Oplock(OplockLevel::Two) => oplock_level::II,
        CacheGrant::Oplock(OplockLevel::Exclusive) => oplock_level::EXCLUSIVE,
        CacheGrant::Oplock(OplockLevel::Batch) => oplock_level::BATCH,
        CacheGrant::Oplock(OplockLevel::None) | CacheGrant::Lease(_) => oplock_level::NONE,
    }
}

/// The state of a lease, in bits.
pub(crate) fn state_of(grant: CacheGrant) -> u32 {
    let caching = grant.caching();
    let bit = |has: bool, bit: u32| if has { bit } else { 0 };
    bit(caching.has_read(), lease_state::READ)
        | bit(caching.has_handle(), lease_state::HANDLE)
        | bit(caching.has_write(), lease_state::WRITE)
}

const fn caching_of(state: u32) -> Option<Caching> {
    let (read, handle, write) =
        (state & lease_state::READ != 0, state & lease_state::HANDLE != 0, state & lease_state::WRITE != 0);
    Caching::new(read, write, handle)
}

/// The lease that a CREATE is answered with: in the version in which it was first asked for.
pub(crate) fn granted(asked: &Lease, cache: &CacheState) -> Lease {
    let breaking = if cache.is_breaking() { LEASE_FLAG_BREAK_IN_PROGRESS } else { 0 };
    let parent = asked.v2.filter(|_| asked.flags & LEASE_FLAG_PARENT_KEY_SET != 0 && cache.epoch().is_some());
    let flags = breaking | if parent.is_some() { LEASE_FLAG_PARENT_KEY_SET } else { 0 };
    let v2 =
        cache.epoch().map(|epoch| LeaseV2 { parent_key: parent.map_or([0; 16], |parent| parent.parent_key), epoch });
    Lease { key: asked.key, state: state_of(cache.held()), flags, v2 }
}

/// Tells a client what happened to its handles.
pub(crate) async fn tell(connection: &Arc<Connection>, session_id: u64, notice: Notice) {
    let (file, key, from, to, must_acknowledge, epoch) = match notice {
        Notice::Break { file, key, from, to, must_acknowledge, epoch } => {
            (file, key, from, to, must_acknowledge, epoch)
        }
        Notice::Closed { handle, .. } => {
            // Its client is told when it uses it; who waits is told at once.
            let open = connection.session(session_id).and_then(|session| session.with_handle(handle));
            return open.iter().filter_map(|open| open.disk().ok()).for_each(|disk| disk.watching.end());
        }
    };
    let mut body = Vec::new();
    let (connection, session) = match key {
        CacheKey::Oplock(handle) => {
            let Some(session) = connection.session(session_id) else { return };
            let Some(open) = opened_by(connection, &session, file, handle).await else { return };
            OplockBreak { oplock_level: level_of(to, false), file_id: open }.write(&mut body);
            (Arc::clone(connection), session)
        }
        CacheKey::Lease(lease) => {
            // A lease is the client's, not the connection's: it is told on the one that it had first, as Windows does.
            let own = || Some((Arc::clone(connection), connection.session(session_id)?));
            let Some(told) = connection.shared.clients.first(lease).or_else(own) else { return };
            let notification = LeaseBreakNotification {
                new_epoch: epoch.unwrap_or(0),
                flags: if must_acknowledge { LEASE_BREAK_ACK_REQUIRED } else { 0 },
                lease_key: lease.key,
                current_lease_state: state_of(from),
                new_lease_state: state_of(to),
            };
            notification.write(&mut body);
            told
        }
    };
    let Ok(logon) = session.logon() else { return };
    let header = Header {
        command: Command::OplockBreak.number(),
        flags: flags::SERVER_TO_REDIR,
        message_id: UNSOLICITED,
        route: Route::Sync { process_id: 0, tree_id: 0 },
        ..Header::default()
    };
    let answer = Answer { header, reply: Reply { body, ..Reply::default() }, signer: None };
    // Not signed: it belongs to no session's order. Where everything is encrypted, it is too.
    let sealer = logon.must_encrypt.then_some(&*session);
    if let Some(frame) = answers::frame(vec![answer], sealer) {
        connection.send(frame, None).await;
    }
}

/// The id of the open with this handle, which may be about to come. `None` when it is closed.
async fn opened_by(connection: &Connection, session: &Session, file: FileKey, handle: HandleId) -> Option<FileId> {
    let begun = tokio::time::Instant::now();
    loop {
        let opened = session.opened();
        if let Some(open) = session.with_handle(handle) {
            return Some(open.id);
        }
        if begun.elapsed() > UNTIL_OPENED || !connection.shared.files.opens().holds(file, handle) {
            return None;
        }
        // It may be closed meanwhile, too.
        let _opened_or_not = tokio::time::timeout(LOOKS_AGAIN, opened).await;
    }
}

/// The client answers a break.
pub(crate) async fn acknowledge(cx: &Cx<'_>, ack: &BreakAck) -> Result<Reply, NtStatus> {
    match ack {
        BreakAck::Oplock(ack) => of_oplock(cx, ack).await,
        BreakAck::Lease(ack) => of_lease(cx, ack),
    }
}

async fn of_oplock(cx: &Cx<'_>, ack: &OplockBreak) -> Result<Reply, NtStatus> {
    let open = cx.session.open(ack.file_id, cx.tree_id()?)?;
    let level = match ack.oplock_level {
        oplock_level::NONE => Some(OplockLevel::None),
        oplock_level::II => Some(OplockLevel::Two),
        oplock_level::EXCLUSIVE | oplock_level::BATCH => None,
        _ => return Err(NtStatus::INVALID_PARAMETER),
    };
    let (file, key) = {
        let handle = open.disk()?.handle().await?;
        (handle.file(), CacheKey::Oplock(handle.id()))
    };
    let answer = |level| {
        let kept = Some(CacheGrant::Oplock(level));
        cx.files().opens().acknowledge(file, key, kept, cx.files().now())
    };
    let kept = level.map_or(Err(NotAcknowledged::Refused(AcknowledgeRefusal::KeepsTooMuch)), answer);
    if let Err(refusal) = kept {
        if matches!(refusal, NotAcknowledged::Refused(AcknowledgeRefusal::KeepsTooMuch)) {
            // Who answers what it was not asked keeps nothing.
            let _nothing_was_broken = answer(OplockLevel::None);
        }
        return Err(NtStatus::INVALID_OPLOCK_PROTOCOL);
    }
    Ok(Reply::body(|body| ack.write(body)))
}

fn of_lease(cx: &Cx<'_>, ack: &LeaseBreakAck) -> Result<Reply, NtStatus> {
    let key = lease_key(cx, ack.lease_key);
    let opens = cx.files().opens();
    let file = opens.leased(key).ok_or(NtStatus::OBJECT_NAME_NOT_FOUND)?;
    let kept = caching_of(ack.lease_state).map(CacheGrant::Lease);
    opens.acknowledge(file, CacheKey::Lease(key), kept, cx.files().now()).map_err(|refusal| match refusal {
        NotAcknowledged::UnknownKey => NtStatus::OBJECT_NAME_NOT_FOUND,
        NotAcknowledged::Refused(AcknowledgeRefusal::NotBreaking) => NtStatus::UNSUCCESSFUL,
        NotAcknowledged::Refused(AcknowledgeRefusal::KeepsTooMuch) => NtStatus::REQUEST_NOT_ACCEPTED,
    })?;
    Ok(Reply::body(|body| LeaseBreakAck { flags: 0, lease_duration: 0, ..*ack }.write(body)))
}

/// The session that a notice is for.
pub(crate) type Told = (u64, Notice);

#[cfg(test)]
mod tests {
    use concurrency::oplock::Trigger;
    use types::Timestamp;

    use super::*;

    #[test]
    fn a_lease_is_answered_in_the_version_in_which_it_was_first_asked_for() {
        let (key, parent_key) = ([7; 16], [8; 16]);
        let asked = |flags, v2| Lease { key, state: 7, flags, v2 };
        let with_parent = Some(LeaseV2 { parent_key, epoch: 4 });
        let held = CacheGrant::Lease(Caching::Rwh);
        let (plain, counted) = (CacheState::new(held), CacheState::counted(held, Some(4)));
        let breaking = counted.trigger(Trigger::Read, Timestamp::from_seconds(1)).0;
        let none = Some(LeaseV2 { parent_key: [0; 16], epoch: 5 });
        let parent = Some(LeaseV2 { parent_key, epoch: 5 });
        let table = [
            (asked(0, None), plain, 0, None),
            (asked(LEASE_FLAG_PARENT_KEY_SET, with_parent), plain, 0, None),
            (asked(0, None), counted, 0, none),
            (asked(0, with_parent), counted, 0, none),
            (asked(LEASE_FLAG_PARENT_KEY_SET, with_parent), counted, LEASE_FLAG_PARENT_KEY_SET, parent),
            (asked(0, None), breaking, LEASE_FLAG_BREAK_IN_PROGRESS, Some(LeaseV2 { parent_key: [0; 16], epoch: 6 })),
        ];
        for (asked, cache, flags, v2) in table {
            assert_eq!(granted(&asked, &cache), Lease { key, state: 7, flags, v2 }, "{asked:?} {cache:?}");
        }
    }

    #[test]
    fn writes_and_handles_are_not_cached_without_reads() {
        for state in 0..8 {
            let caching = caching_of(state);
            assert_eq!(caching.is_none(), matches!(state, 2 | 4 | 6), "{state}");
            if let Some(caching) = caching {
                assert_eq!(state_of(CacheGrant::Lease(caching)), state);
            }
        }
    }
}
