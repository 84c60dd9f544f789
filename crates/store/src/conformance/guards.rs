//! Guards: what the read set cannot see. Phantoms and write skew are closed by them.

use bytes::Bytes;

use super::{Subject, support::*};
use crate::{
    Txn,
    key::KeyRange,
    read::{Direction, Read},
    transact::{Scope, Store},
};

#[derive(Clone, Copy)]
enum Kind {
    Shared,
    Exclusive,
    Both,
}

fn take(txn: &Txn, kind: Kind, name: &str) {
    match kind {
        Kind::Shared => txn.guard_shared(key(name)),
        Kind::Exclusive => txn.guard_exclusive(key(name)),
        Kind::Both => {
            txn.guard_shared(key(name));
            txn.guard_exclusive(key(name));
        }
    }
}

/// How often `outer` runs when `inner` takes its guard of the same key meanwhile.
async fn attempts(store: &Store, outer: Kind, inner: Kind) -> u32 {
    interrupted(
        store,
        |txn| async move {
            take(&txn, outer, "guard");
            txn.put(key("outer"), "");
            Ok(())
        },
        |txn| async move {
            take(&txn, inner, "guard");
            txn.put(key("inner"), "");
            Ok(())
        },
    )
    .await
}

pub async fn shared_and_shared_pass(subject: Box<dyn Subject>) {
    assert_eq!(attempts(&subject.store(), Kind::Shared, Kind::Shared).await, 1);
}

pub async fn shared_after_exclusive_conflicts(subject: Box<dyn Subject>) {
    assert_eq!(attempts(&subject.store(), Kind::Shared, Kind::Exclusive).await, 2);
}

pub async fn exclusive_after_shared_conflicts(subject: Box<dyn Subject>) {
    assert_eq!(attempts(&subject.store(), Kind::Exclusive, Kind::Shared).await, 2);
}

pub async fn exclusive_and_exclusive_conflict(subject: Box<dyn Subject>) {
    assert_eq!(attempts(&subject.store(), Kind::Exclusive, Kind::Exclusive).await, 2);
}

pub async fn both_kinds_in_one_transaction_count_as_exclusive(subject: Box<dyn Subject>) {
    let store = subject.store();
    assert_eq!(attempts(&store, Kind::Both, Kind::Shared).await, 2);
    assert_eq!(attempts(&store, Kind::Shared, Kind::Both).await, 2);
}

pub async fn a_guard_taken_before_does_not_conflict(subject: Box<dyn Subject>) {
    let store = subject.store();
    for kind in [Kind::Shared, Kind::Exclusive, Kind::Both] {
        commit(&store, |txn| async move {
            take(&txn, kind, "guard");
            txn.put(key("before"), "");
            Ok(())
        })
        .await;
        assert_eq!(attempts(&store, Kind::Shared, Kind::Shared).await, 1);
    }
}

pub async fn guards_of_different_keys_pass(subject: Box<dyn Subject>) {
    let store = subject.store();
    let made = interrupted(
        &store,
        |txn| async move {
            take(&txn, Kind::Exclusive, "one");
            txn.put(key("outer"), "");
            Ok(())
        },
        |txn| async move {
            take(&txn, Kind::Exclusive, "other");
            txn.put(key("inner"), "");
            Ok(())
        },
    )
    .await;
    assert_eq!(made, 1);
}

pub async fn a_guard_is_not_a_row(subject: Box<dyn Subject>) {
    let store = subject.store();
    let made = interrupted(
        &store,
        |txn| async move {
            take(&txn, Kind::Exclusive, "name");
            txn.put(key("outer"), "");
            Ok(())
        },
        |txn| async move {
            txn.put(key("name"), "a row of the same key");
            Ok(())
        },
    )
    .await;
    assert_eq!(made, 1);
    let made = interrupted(
        &store,
        |txn| async move {
            get(&txn, "name").await;
            txn.put(key("outer"), "");
            Ok(())
        },
        |txn| async move {
            take(&txn, Kind::Exclusive, "name");
            txn.put(key("inner"), "");
            Ok(())
        },
    )
    .await;
    assert_eq!(made, 1);
    assert_eq!(now(&store, "name").await.unwrap(), "a row of the same key");
}

pub async fn a_refusal_takes_no_guard(subject: Box<dyn Subject>) {
    let store = &subject.store();
    let made = &std::sync::atomic::AtomicU32::new(0);
    commit(store, |txn| async move {
        made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        take(&txn, Kind::Shared, "guard");
        txn.put(key("outer"), "");
        let refusal: Result<(), Outcome> = store
            .transact(Scope::new(), |txn| async move {
                take(&txn, Kind::Exclusive, "guard");
                txn.put(key("inner"), "");
                Err(Outcome::Refused("no"))
            })
            .await;
        assert!(refusal.is_err());
        Ok(())
    })
    .await;
    assert_eq!(made.load(std::sync::atomic::Ordering::Relaxed), 1);
}

fn children() -> KeyRange {
    KeyRange::between(key("directory/"), key("directory0"))
}

pub async fn a_phantom_is_closed_by_guards(subject: Box<dyn Subject>) {
    let store = subject.store();
    put(&store, "directory", "here").await;
    // The directory is deleted if it is empty, while somebody makes a file in it.
    let made = interrupted(
        &store,
        |txn| async move {
            take(&txn, Kind::Exclusive, "directory");
            let is_empty = txn.scan(children(), Direction::Ascending).next().await?.is_none();
            if is_empty {
                txn.delete(key("directory"));
            } else {
                txn.put(key("note"), "not empty");
            }
            Ok(())
        },
        |txn| async move {
            take(&txn, Kind::Shared, "directory");
            txn.put(key("directory/file"), "");
            Ok(())
        },
    )
    .await;
    assert_eq!(made, 2);
    assert_eq!(now(&store, "directory").await.unwrap(), "here");
    assert_eq!(now(&store, "note").await.unwrap(), "not empty");
}

pub async fn write_skew_is_closed_by_guards(subject: Box<dyn Subject>) {
    let store = subject.store();
    put(&store, "on call 1", "").await;
    put(&store, "on call 2", "").await;
    // Each doctor leaves if another is on call, and counts by a scan.
    let leave = |name: &'static str| {
        move |txn: Txn| async move {
            take(&txn, Kind::Exclusive, "on call");
            let on_call = values(&txn, Direction::Ascending).await.len();
            if on_call > 1 {
                txn.delete(key(name));
            }
            Ok(())
        }
    };
    interrupted(&store, leave("on call 1"), leave("on call 2")).await;
    assert_eq!(values(&store.snapshot(), Direction::Ascending).await, [Bytes::new()]);
}
