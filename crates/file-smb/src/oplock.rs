//! Oplocks and leases: what a client may cache is granted with an open, broken by a message of the server, and given up by one
//! of the client. The table of opens decides all of it.

use std::{sync::Arc, time::Duration};

use concurrency::oplock::{CacheGrant, Caching, OplockLevel};
use file::opens::{CacheKey, LeaseKey, NotAcknowledged, Notice};

use crate::{
    NtStatus,
    answers::{self, Answer},
    connection::Connection,
    open::{Open, Reply},
    request::Cx,
    wire::{
        create::{CreateRequest, oplock_level},
        create_contexts::{Lease, lease_state},
        header::{Command, Header, Route, flags},
        lock::{BreakAck, LEASE_BREAK_ACK_REQUIRED, LeaseBreakAck, LeaseBreakNotification, OplockBreak},
    },
};

/// How long a break waits for the answer to the CREATE that it breaks.
const UNTIL_OPENED: Duration = Duration::from_secs(5);
/// The number of messages that answer no request.
const UNSOLICITED: u64 = u64::MAX;

/// What a CREATE asks to cache, and under which key.
pub(crate) fn wanted(request: &CreateRequest<'_>, client: [u8; 16]) -> (CacheGrant, Option<LeaseKey>) {
    match (request.requested_oplock_level, request.contexts.lease) {
        (oplock_level::LEASE, Some(lease)) => {
            let caching = caching_of(lease.state);
            (CacheGrant::Lease(caching), Some(LeaseKey { client, key: lease.key }))
        }
        (oplock_level::II, _) => (CacheGrant::Oplock(OplockLevel::Two), None),
        (oplock_level::EXCLUSIVE, _) => (CacheGrant::Oplock(OplockLevel::Exclusive), None),
        (oplock_level::BATCH, _) => (CacheGrant::Oplock(OplockLevel::Batch), None),
        _ => (CacheGrant::Lease(Caching::None), None),
    }
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

const fn caching_of(state: u32) -> Caching {
    let (read, handle, write) =
        (state & lease_state::READ != 0, state & lease_state::HANDLE != 0, state & lease_state::WRITE != 0);
    match Caching::new(read, write, handle) {
        Some(caching) => caching,
        // Writes or handles without reads do not exist.
        None => Caching::None,
    }
}

/// The lease that a CREATE is answered with.
pub(crate) fn granted(asked: &Lease, grant: CacheGrant) -> Lease {
    Lease { state: state_of(grant), flags: asked.flags & 4, ..*asked }
}

/// Tells a client what happened to its handles.
pub(crate) async fn tell(connection: &Arc<Connection>, session_id: u64, notice: Notice) {
    let Some(session) = connection.session(session_id) else { return };
    let (key, from, to, must_acknowledge) = match notice {
        Notice::Break { key, from, to, must_acknowledge, .. } => (key, from, to, must_acknowledge),
        // Its client is told when it uses it; who waits is told at once.
        Notice::Closed { handle, .. } => return session.unwatch(handle),
    };
    let Ok(logon) = session.logon() else { return };
    let mut body = Vec::new();
    match key {
        CacheKey::Oplock(handle) => {
            let found = tokio::time::timeout(UNTIL_OPENED, session.opened_by(handle)).await;
            let Ok(open) = found else { return };
            OplockBreak { oplock_level: level_of(to, false), file_id: open.id }.write(&mut body);
        }
        CacheKey::Lease(lease) => {
            let notification = LeaseBreakNotification {
                new_epoch: 0,
                flags: if must_acknowledge { LEASE_BREAK_ACK_REQUIRED } else { 0 },
                lease_key: lease.key,
                current_lease_state: state_of(from),
                new_lease_state: state_of(to),
            };
            notification.write(&mut body);
        }
    }
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

/// The client answers a break.
pub(crate) async fn acknowledge(cx: &Cx<'_>, ack: &BreakAck) -> Result<Reply, NtStatus> {
    let (open, key, kept) = match ack {
        BreakAck::Oplock(ack) => {
            let open = cx.session.open(ack.file_id, cx.tree_id()?)?;
            let handle = open.disk()?.handle().await?.id();
            (Arc::clone(&open), CacheKey::Oplock(handle), CacheGrant::Oplock(level(ack.oplock_level)?))
        }
        BreakAck::Lease(ack) => {
            let open = cx.session.leased(ack.lease_key).ok_or(NtStatus::OBJECT_NAME_NOT_FOUND)?;
            let client = cx.connection.client_guid();
            let key = LeaseKey { client, key: ack.lease_key };
            (open, CacheKey::Lease(key), CacheGrant::Lease(caching_of(ack.lease_state)))
        }
    };
    let file = open.disk()?.handle().await?.file();
    cx.files().opens().acknowledge(file, key, kept, cx.files().now()).map_err(|refusal| match (refusal, ack) {
        (NotAcknowledged::UnknownKey, BreakAck::Lease(_)) => NtStatus::OBJECT_NAME_NOT_FOUND,
        (_, BreakAck::Lease(_)) => NtStatus::REQUEST_NOT_ACCEPTED,
        (_, BreakAck::Oplock(_)) => NtStatus::INVALID_OPLOCK_PROTOCOL,
    })?;
    Ok(match ack {
        BreakAck::Oplock(ack) => Reply::body(|body| ack.write(body)),
        BreakAck::Lease(ack) => Reply::body(|body| LeaseBreakAck { flags: 0, lease_duration: 0, ..*ack }.write(body)),
    })
}

const fn level(number: u8) -> Result<OplockLevel, NtStatus> {
    match number {
        oplock_level::NONE => Ok(OplockLevel::None),
        oplock_level::II => Ok(OplockLevel::Two),
        _ => Err(NtStatus::INVALID_PARAMETER),
    }
}

/// Whether an open caches under a lease with this key.
pub(crate) fn is_leased(open: &Open, key: [u8; 16]) -> bool {
    open.disk().is_ok_and(|disk| disk.lease == Some(key))
}

/// The session that a notice is for.
pub(crate) type Told = (u64, Notice);
