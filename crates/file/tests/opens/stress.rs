//! Many threads on few files: what must hold whatever the order.

use std::sync::{
    Barrier,
    atomic::{AtomicUsize, Ordering},
};

use concurrency::{
    oplock::{CacheGrant, Caching},
    range_lock::{ByteRange, Io, LockKind},
    rest_open::RestOperation,
};
use file::opens::{Census, Closed, Handle, Locking, Opens, Turn};

use crate::support::{FREE, NOW, Session, a_file, asking, caching, claim, on_close};

/// A small generator of our own; the seed is the thread.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// What the threads know of one file without asking the table.
#[derive(Default)]
struct Truth {
    writers: AtomicUsize,
    readers: AtomicUsize,
    deleting: AtomicUsize,
    locked: AtomicUsize,
}

/// Counts itself while it lives.
struct Held<'a>(&'a AtomicUsize);

impl<'a> Held<'a> {
    fn new(count: &'a AtomicUsize) -> (Self, usize) {
        let before = count.fetch_add(1, Ordering::SeqCst);
        (Self(count), before)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn many_threads_never_break_a_share_mode_or_a_lock() {
    let (opens, session) = (Opens::default(), Session::new(1));
    let truths: Vec<Truth> = (0..3).map(|_| Truth::default()).collect();
    let barrier = Barrier::new(8);
    std::thread::scope(|scope| {
        for thread in 0..8_u64 {
            let (opens, session, truths, barrier) = (&opens, &session, &truths, &barrier);
            scope.spawn(move || {
                barrier.wait();
                let mut dice = Dice(thread + 1);
                for _ in 0..4_000 {
                    let which = dice.roll(3);
                    one_step(opens, session, &mut dice, which, &truths[usize::try_from(which).unwrap()]);
                }
            });
        }
    });
    while let Some(removal) = opens.unfinished() {
        removal.kept();
    }
    assert_eq!(opens.census(), Census::default());
}

fn one_step(opens: &Opens, session: &Session, dice: &mut Dice, which: u64, truth: &Truth) {
    let place = a_file(100 + which);
    match dice.roll(8) {
        // An exclusive writer: nobody else is there while it is.
        0 => {
            let Ok(Turn::Granted(opening)) = opens.open(&asking(&place, session, "RW", ""), NOW) else { return };
            if dice.roll(4) == 0 {
                return;
            }
            let Ok(handle) = opening.confirm() else { return };
            let (held, writers) = Held::new(&truth.writers);
            assert_eq!((writers, truth.readers.load(Ordering::SeqCst)), (0, 0));
            assert_eq!(truth.deleting.load(Ordering::SeqCst), 0);
            drop(held);
            close(handle);
        }
        // A reader that shares reading.
        1 | 2 => {
            let cache = CacheGrant::Lease(Caching::R);
            let asking = caching(asking(&place, session, "R", "RD"), cache);
            let Ok(Turn::Granted(opening)) = opens.open(&asking, NOW) else { return };
            let Ok(handle) = opening.confirm() else { return };
            let (held, _) = Held::new(&truth.readers);
            assert_eq!(truth.writers.load(Ordering::SeqCst), 0);
            assert_eq!(truth.deleting.load(Ordering::SeqCst), 0);
            lock_and_unlock(&handle, truth);
            drop(held);
            close(handle);
        }
        // One that deletes on close.
        3 => {
            let asking = on_close(asking(&place, session, "RD", "RD"));
            let Ok(Turn::Granted(opening)) = opens.open(&asking, NOW) else { return };
            let Ok(handle) = opening.confirm() else { return };
            // Refused, or asked to wait for the turn of somebody who was here before.
            let claimed = claim(opens, &place, RestOperation::GetProperties);
            assert!(!matches!(claimed, Ok(Turn::Granted(_))), "{claimed:?}");
            drop(claimed);
            close(handle);
        }
        // A REST read or write.
        4 | 5 => {
            let operation = [RestOperation::GetFile, RestOperation::PutRange][usize::try_from(dice.roll(2)).unwrap()];
            let Ok(Turn::Granted(claim)) = claim(opens, &place, operation) else { return };
            assert_eq!(truth.writers.load(Ordering::SeqCst), 0);
            drop(claim);
        }
        // A REST delete: while it is decided, nobody has a handle.
        6 => {
            let Ok(Turn::Granted(claim)) = claim(opens, &place, RestOperation::DeleteFile) else { return };
            let (held, _) = Held::new(&truth.deleting);
            assert_eq!((truth.writers.load(Ordering::SeqCst), truth.readers.load(Ordering::SeqCst)), (0, 0));
            drop(held);
            drop(claim);
        }
        // Somebody waits, and gives up.
        _ => {
            if let Ok(Turn::Wait(ticket)) = opens.open(&asking(&place, session, "RW", ""), NOW) {
                drop(ticket);
            }
        }
    }
}

fn lock_and_unlock(handle: &Handle, truth: &Truth) {
    let range = ByteRange::new(0, 10).unwrap();
    if let Ok(Locking::Locked) = handle.lock(&[(range, LockKind::Exclusive)], false, NOW) {
        let (held, before) = Held::new(&truth.locked);
        assert_eq!(before, 0, "one holder of an exclusive lock");
        assert!(handle.begin_io(range, Io::Read, NOW).is_ok(), "its own reads pass");
        drop(held);
        handle.unlock(range).unwrap();
    }
}

fn close(handle: Handle) {
    if let Closed::Remove(removal) = handle.close(FREE) {
        removal.removed();
    }
}

/// Blocks the thread until the future is ready.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = std::task::Waker::from(std::sync::Arc::new(Unpark(std::thread::current())));
    let mut future = std::pin::pin!(future);
    loop {
        if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
            return output;
        }
        std::thread::park();
    }
}

/// An open against a REST delete, 10,000 times: one of the two wins, and nobody waits for ever.
#[test]
fn an_open_races_a_rest_delete_and_one_of_them_wins() {
    let (opens, session) = (Opens::default(), Session::new(1));
    let barrier = Barrier::new(2);
    // What the rows would say, and who won.
    let (exists, deleted, opened) = (AtomicUsize::new(1), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..10_000_u64 {
                barrier.wait();
                let place = a_file(100 + round);
                loop {
                    match claim(&opens, &place, RestOperation::DeleteFile) {
                        Ok(Turn::Wait(mut ticket)) => block_on(&mut ticket),
                        Ok(Turn::Granted(claim)) => {
                            exists.store(0, Ordering::SeqCst);
                            deleted.fetch_add(1, Ordering::SeqCst);
                            drop(claim);
                            break;
                        }
                        Err(_) => break,
                    }
                }
                barrier.wait();
            }
        });
        scope.spawn(|| {
            for round in 0..10_000_u64 {
                exists.store(1, Ordering::SeqCst);
                let (before, before_opened) = (deleted.load(Ordering::SeqCst), opened.load(Ordering::SeqCst));
                barrier.wait();
                let asking = asking(&a_file(100 + round), &session, "R", "RWD");
                let handle = loop {
                    match opens.open(&asking, NOW).unwrap() {
                        Turn::Wait(mut ticket) => block_on(&mut ticket),
                        Turn::Granted(opening) => {
                            // The transaction: is the file there?
                            break (exists.load(Ordering::SeqCst) == 1).then(|| opening.confirm().unwrap());
                        }
                    }
                };
                if handle.is_some() {
                    opened.fetch_add(1, Ordering::SeqCst);
                    assert_eq!(exists.load(Ordering::SeqCst), 1, "nobody deletes under a handle");
                }
                barrier.wait();
                let wins = (deleted.load(Ordering::SeqCst) - before, opened.load(Ordering::SeqCst) - before_opened);
                assert!(wins == (1, 0) || wins == (0, 1), "round {round}: {wins:?}");
                drop(handle);
            }
        });
    });
    assert_eq!(opens.census(), Census::default());
    assert_eq!(deleted.load(Ordering::SeqCst) + opened.load(Ordering::SeqCst), 10_000);
}
