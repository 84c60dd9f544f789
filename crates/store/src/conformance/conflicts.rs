//! Validation: who is first commits, everybody else runs again on newer state. Refusals change nothing.

use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;

use super::{Subject, support::*};
use crate::{
    error::StoreError,
    limits,
    read::{Direction, Read as _},
    transact::{Scope, Store},
};

/// How often a transaction runs that reads `row`, when `inner` writes it meanwhile.
async fn attempts_of_reader(store: &Store, inner_value: Option<&'static str>) -> u32 {
    interrupted(
        store,
        |txn| async move {
            let seen = get(&txn, "row").await.unwrap_or_default();
            txn.put(key("seen"), seen);
            Ok(())
        },
        |txn| async move {
            match inner_value {
                Some(value) => txn.put(key("row"), value),
                None => txn.delete(key("row")),
            }
            Ok(())
        },
    )
    .await
}

pub async fn a_changed_read_runs_the_transaction_again(subject: Box<dyn Subject>) {
    let store = subject.store();
    put(&store, "row", "old").await;
    assert_eq!(attempts_of_reader(&store, Some("new")).await, 2);
    assert_eq!(now(&store, "seen").await.unwrap(), "new");
}

pub async fn a_read_of_an_absent_row_conflicts_with_its_creation(subject: Box<dyn Subject>) {
    let store = subject.store();
    assert_eq!(attempts_of_reader(&store, Some("new")).await, 2);
    assert_eq!(now(&store, "seen").await.unwrap(), "new");
}

pub async fn a_read_conflicts_with_a_deletion(subject: Box<dyn Subject>) {
    let store = subject.store();
    put(&store, "row", "old").await;
    assert_eq!(attempts_of_reader(&store, None).await, 2);
    assert_eq!(now(&store, "seen").await.unwrap(), "");
}

pub async fn a_read_conflicts_with_an_equal_value_written_again(subject: Box<dyn Subject>) {
    let store = subject.store();
    put(&store, "row", "same").await;
    assert_eq!(attempts_of_reader(&store, Some("same")).await, 2);
}

pub async fn a_blind_write_conflicts_with_another(subject: Box<dyn Subject>) {
    let store = subject.store();
    put(&store, "row", "old").await;
    let write = |value: &'static str| {
        move |txn: crate::Txn| async move {
            txn.put(key("row"), value);
            Ok(())
        }
    };
    assert_eq!(interrupted(&store, write("outer"), write("inner")).await, 2);
    assert_eq!(now(&store, "row").await.unwrap(), "outer");
}

pub async fn a_blind_delete_of_an_absent_row_conflicts_with_its_creation(subject: Box<dyn Subject>) {
    let store = subject.store();
    let attempts = interrupted(
        &store,
        |txn| async move {
            txn.delete(key("row"));
            Ok(())
        },
        |txn| async move {
            txn.put(key("row"), "inner");
            Ok(())
        },
    )
    .await;
    assert_eq!(attempts, 2);
    assert_eq!(now(&store, "row").await, None);
}

pub async fn scans_do_not_join_the_read_set(subject: Box<dyn Subject>) {
    let store = subject.store();
    put(&store, "a", "old").await;
    let attempts = interrupted(
        &store,
        |txn| async move {
            let seen = values(&txn, Direction::Ascending).await.len();
            txn.put(key("z"), format!("{seen} rows"));
            Ok(())
        },
        |txn| async move {
            txn.put(key("a"), "changed");
            txn.put(key("b"), "made");
            Ok(())
        },
    )
    .await;
    assert_eq!(attempts, 1);
    assert_eq!(now(&store, "z").await.unwrap(), "1 rows");
}

pub async fn a_peek_does_not_join_the_read_set_and_sees_own_writes(subject: Box<dyn Subject>) {
    let store = subject.store();
    put(&store, "a", "old").await;
    let attempts = interrupted(
        &store,
        |txn| async move {
            let seen = txn.peek(&key("a")).await?;
            txn.put(key("z"), seen.unwrap_or_default());
            assert_eq!(txn.peek(&key("z")).await?.unwrap(), "old");
            Ok(())
        },
        |txn| async move {
            txn.put(key("a"), "changed");
            Ok(())
        },
    )
    .await;
    assert_eq!(attempts, 1);
    assert_eq!(now(&store, "z").await.unwrap(), "old");
}

pub async fn what_happened_before_the_transaction_does_not_conflict(subject: Box<dyn Subject>) {
    let store = subject.store();
    for number in 0..50 {
        put(&store, "row", format!("{number}")).await;
        let attempts = AtomicU32::new(0);
        let made = &attempts;
        commit(&store, |txn| async move {
            made.fetch_add(1, Ordering::Relaxed);
            assert_eq!(get(&txn, "row").await.unwrap(), format!("{number}"));
            txn.put(key("row"), "read");
            Ok(())
        })
        .await;
        assert_eq!(attempts.load(Ordering::Relaxed), 1);
    }
}

pub async fn unrelated_rows_do_not_conflict(subject: Box<dyn Subject>) {
    let store = subject.store();
    let attempts = interrupted(
        &store,
        |txn| async move {
            get(&txn, "read").await;
            txn.put(key("written"), "outer");
            Ok(())
        },
        |txn| async move {
            txn.put(key("rea"), "inner");
            txn.put(key("readier"), "inner");
            txn.delete(key("write"));
            Ok(())
        },
    )
    .await;
    assert_eq!(attempts, 1);
}

pub async fn every_read_of_an_attempt_is_of_one_instant(subject: Box<dyn Subject>) {
    let store = subject.store();
    put(&store, "first", "0").await;
    put(&store, "second", "0").await;
    let (store, attempts) = (&store, &AtomicU32::new(0));
    commit(store, |txn| async move {
        let first = get(&txn, "first").await;
        if attempts.fetch_add(1, Ordering::Relaxed) == 0 {
            commit(store, |txn| async move {
                txn.put(key("first"), "1");
                txn.put(key("second"), "1");
                Ok(())
            })
            .await;
        }
        assert_eq!(first, get(&txn, "second").await);
        let scanned = values(&txn, Direction::Descending).await;
        assert!(scanned.iter().all(|value| Some(value) == first.as_ref()), "{scanned:?}");
        txn.put(key("third"), first.unwrap_or_default());
        Ok(())
    })
    .await;
    assert_eq!(now(store, "third").await.unwrap(), "1");
}

pub async fn a_transaction_that_is_never_first_answers_busy(subject: Box<dyn Subject>) {
    let store = &subject.store();
    let attempts = &AtomicU32::new(0);
    let outcome: Result<(), StoreError> = store
        .transact(Scope::new(), |txn| async move {
            let attempt = attempts.fetch_add(1, Ordering::Relaxed);
            get(&txn, "row").await;
            txn.put(key("written"), "never");
            put(store, "row", format!("{attempt}")).await;
            Ok(())
        })
        .await;
    assert!(matches!(outcome, Err(StoreError::Busy { attempts: limits::ATTEMPTS })), "{outcome:?}");
    assert_eq!(attempts.load(Ordering::Relaxed), limits::ATTEMPTS);
    assert_eq!(now(store, "written").await, None);
}

pub async fn a_read_only_transaction_never_runs_again(subject: Box<dyn Subject>) {
    let store = subject.store();
    put(&store, "row", "old").await;
    let attempts = interrupted(
        &store,
        |txn| async move {
            assert_eq!(get(&txn, "row").await.unwrap(), "old");
            txn.guard_exclusive(key("guard"));
            Ok(())
        },
        |txn| async move {
            txn.put(key("row"), "new");
            txn.guard_exclusive(key("guard"));
            Ok(())
        },
    )
    .await;
    assert_eq!(attempts, 1);
}

pub async fn refusals_change_nothing(subject: Box<dyn Subject>) {
    let store = subject.store();
    put(&store, "row", "old").await;
    let instant = store.snapshot().instant();
    let outcome: Result<(), Outcome> = store
        .transact(Scope::of(b"row"), |txn| async move {
            txn.put(key("row"), "new");
            txn.put(key("made"), Bytes::from(vec![1; limits::SPILL_BYTES + 1]));
            Err(Outcome::Refused("on second thoughts"))
        })
        .await;
    assert!(matches!(outcome, Err(Outcome::Refused("on second thoughts"))), "{outcome:?}");
    assert_eq!(values(&store.snapshot(), Direction::Ascending).await, ["old"]);
    assert_eq!(store.snapshot().instant(), instant);
}

pub async fn a_refused_attempt_leaves_no_trace_in_the_next(subject: Box<dyn Subject>) {
    let store = &subject.store();
    let attempts = &AtomicU32::new(0);
    commit(store, |txn| async move {
        let attempt = attempts.fetch_add(1, Ordering::Relaxed);
        get(&txn, "row").await;
        txn.put(key(&format!("attempt {attempt}")), "made");
        if attempt == 0 {
            put(store, "row", "changed").await;
        }
        Ok(())
    })
    .await;
    assert_eq!(now(store, "attempt 0").await, None);
    assert_eq!(now(store, "attempt 1").await.unwrap(), "made");
}

pub async fn a_hook_runs_once_for_the_attempt_that_got_its_place(subject: Box<dyn Subject>) {
    let store = &subject.store();
    let (attempts, ran) = (&AtomicU32::new(0), &std::sync::Arc::new(AtomicU32::new(0)));
    commit(store, |txn| async move {
        let attempt = attempts.fetch_add(1, Ordering::Relaxed);
        get(&txn, "row").await;
        txn.put(key("made"), "made");
        let ran = std::sync::Arc::clone(ran);
        txn.on_sequenced(move || {
            ran.fetch_add(1 << (8 * attempt), Ordering::Relaxed);
        });
        if attempt == 0 {
            put(store, "row", "changed").await;
        }
        Ok(())
    })
    .await;
    assert_eq!((attempts.load(Ordering::Relaxed), ran.load(Ordering::Relaxed)), (2, 1 << 8));
    let refused: Result<(), Outcome> = store
        .transact(Scope::new(), |txn| async move {
            let ran = std::sync::Arc::clone(ran);
            txn.on_sequenced(move || ran.store(0, Ordering::Relaxed));
            Err(Outcome::Refused("no"))
        })
        .await;
    assert!(refused.is_err() && ran.load(Ordering::Relaxed) != 0, "a refusal has no place");
}
