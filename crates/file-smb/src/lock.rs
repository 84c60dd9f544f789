//! LOCK: ranges of bytes, locked or unlocked. The table of opens decides; a lock that waits is told so, and one that comes
//! twice is done once.

use concurrency::range_lock::{ByteRange, LockKind, LockRefusal};
use file::opens::{Locking, NotLocked, NotUnlocked};

use crate::{
    NtStatus,
    open::{Open, Reply},
    request::Cx,
    wire::{
        create::access,
        lock::{LockElement, LockRequest, lock_flags},
        session::Empty,
    },
};

/// What an element asks for.
enum Asked {
    Lock(LockKind, bool),
    Unlock,
}

/// Locks or unlocks ranges.
pub(crate) async fn lock(cx: &Cx<'_>, open: &Open, request: &LockRequest<'_>) -> Result<Reply, NtStatus> {
    let disk = open.disk()?;
    if disk.is_directory {
        return Err(NtStatus::INVALID_DEVICE_REQUEST);
    }
    let elements: Vec<LockElement> = request.elements().collect();
    let first = elements.first().ok_or(NtStatus::INVALID_PARAMETER)?;
    let (bucket, number) = if open.remembered.kept().is_some() { request.sequence() } else { (0, 0) };
    if open.remembered.lock_sequences().begin(bucket, number) {
        // It was done, and its answer was lost.
        return Ok(Reply::body(|body| Empty {}.write(body)));
    }
    if first.flags & lock_flags::UNLOCK == 0 {
        open.needs(access::READ_DATA | access::WRITE_DATA)?;
        take(cx, open, &elements).await?;
    } else {
        let handle = disk.handle().await?;
        for element in &elements {
            let Asked::Unlock = asked(element)? else { return Err(NtStatus::INVALID_PARAMETER) };
            handle.unlock(range(element)?).map_err(|refusal| match refusal {
                NotUnlocked::NotLocked(_) => NtStatus::RANGE_NOT_LOCKED,
                NotUnlocked::Closed(_) => NtStatus::FILE_CLOSED,
            })?;
        }
    }
    open.remembered.lock_sequences().done(bucket, number);
    Ok(Reply::body(|body| Empty {}.write(body)))
}

async fn take(cx: &Cx<'_>, open: &Open, elements: &[LockElement]) -> Result<(), NtStatus> {
    let (mut ranges, mut waits) = (Vec::with_capacity(elements.len()), false);
    for element in elements {
        let Asked::Lock(kind, fails) = asked(element)? else { return Err(NtStatus::INVALID_PARAMETER) };
        // Who waits, waits for one.
        if !fails && elements.len() > 1 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        waits |= !fails;
        ranges.push((range(element)?, kind));
    }
    let mut place = None;
    loop {
        let locking = {
            let handle = open.disk()?.handle().await?;
            handle.lock(&ranges, waits, cx.files().now())
        };
        drop(place.take());
        match locking.map_err(|refusal| status_of(&refusal))? {
            Locking::Locked => return Ok(()),
            Locking::Queued(queued) => {
                cx.pend().await;
                return tokio::select! {
                    outcome = queued => outcome.map_err(|_| NtStatus::RANGE_NOT_LOCKED),
                    () = cx.cancelled() => Err(NtStatus::CANCELLED),
                };
            }
            Locking::Wait(mut ticket) => {
                cx.pend().await;
                tokio::select! {
                    () = &mut ticket => {}
                    () = cx.cancelled() => return Err(NtStatus::CANCELLED),
                }
                place = Some(ticket);
            }
        }
    }
}

const fn status_of(refusal: &NotLocked) -> NtStatus {
    match refusal {
        NotLocked::Refused(LockRefusal::Conflict(_)) => NtStatus::LOCK_NOT_GRANTED,
        NotLocked::Refused(LockRefusal::TooMany) | NotLocked::TooManyWaiters(_) => NtStatus::INSUFFICIENT_RESOURCES,
        NotLocked::Closed(_) => NtStatus::FILE_CLOSED,
    }
}

const fn asked(element: &LockElement) -> Result<Asked, NtStatus> {
    const SHARED: u32 = lock_flags::SHARED;
    const EXCLUSIVE: u32 = lock_flags::EXCLUSIVE;
    const FAILS: u32 = lock_flags::FAIL_IMMEDIATELY;
    match element.flags & !FAILS {
        SHARED => Ok(Asked::Lock(LockKind::Shared, element.flags & FAILS != 0)),
        EXCLUSIVE => Ok(Asked::Lock(LockKind::Exclusive, element.flags & FAILS != 0)),
        lock_flags::UNLOCK if element.flags & FAILS == 0 => Ok(Asked::Unlock),
        _ => Err(NtStatus::INVALID_PARAMETER),
    }
}

fn range(element: &LockElement) -> Result<ByteRange, NtStatus> {
    ByteRange::new(element.offset, element.length).ok_or(NtStatus::INVALID_LOCK_RANGE)
}
