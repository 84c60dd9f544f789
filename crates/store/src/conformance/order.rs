//! The order of things: latches, events, ids, time.

use std::{
    collections::HashSet,
    future::{Future, poll_fn},
    pin::Pin,
    sync::Mutex,
    task::Poll,
};

use bytes::Bytes;
use tokio::sync::{broadcast::error::TryRecvError, watch};

use super::{Subject, support::*};
use crate::transact::Scope;

/// Polls all futures in their order until all are done.
async fn join_in_order(mut futures: Vec<Pin<Box<dyn Future<Output = ()> + Send + '_>>>) {
    poll_fn(|context| {
        futures.retain_mut(|future| future.as_mut().poll(context).is_pending());
        if futures.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

pub async fn writers_of_one_object_go_first_come_first_served(subject: Box<dyn Subject>) {
    let store = &subject.store();
    let (gate, started) = (watch::Sender::new(false), Mutex::new(Vec::new()));
    let started = &started;
    let mut writers: Vec<Pin<Box<dyn Future<Output = ()> + Send + '_>>> = Vec::new();
    for number in 0..50_u32 {
        let gate = gate.subscribe();
        writers.push(Box::pin(async move {
            let gate = &gate;
            let written: Result<(), Outcome> = store
                .transact(Scope::of(b"one object"), |txn| async move {
                    gate.clone().wait_for(|open| *open).await.unwrap();
                    started.lock().unwrap().push(number);
                    txn.put(key("row"), format!("{number}"));
                    Ok(())
                })
                .await;
            written.unwrap();
        }));
    }
    // All are waiting before the first may go on.
    writers.push(Box::pin(async move {
        gate.send_replace(true);
    }));
    join_in_order(writers).await;
    assert_eq!(*started.lock().unwrap(), (0..50).collect::<Vec<_>>(), "in order, and each ran once");
    assert_eq!(now(store, "row").await.unwrap(), "49");
}

pub async fn a_latch_is_free_again_after_a_refusal(subject: Box<dyn Subject>) {
    let store = subject.store();
    for _ in 0..3 {
        let refused: Result<(), Outcome> =
            store.transact(Scope::of(b"object"), |_| async move { Err(Outcome::Refused("no")) }).await;
        assert!(refused.is_err());
    }
}

pub async fn events_come_after_their_commit_is_visible(subject: Box<dyn Subject>) {
    let store = subject.store();
    let mut events = store.events();
    let listener = tokio::spawn({
        let store = store.clone();
        async move {
            for number in 0..100 {
                let event = events.recv().await.unwrap();
                assert_eq!(event.payload, Bytes::from(format!("{number}")));
                let seen = now(&store, "row").await.unwrap();
                let seen: u32 = std::str::from_utf8(&seen).unwrap().parse().unwrap();
                assert!(seen >= number, "told of {number}, saw {seen}");
            }
        }
    });
    for number in 0..100 {
        commit(&store, |txn| async move {
            txn.put(key("row"), format!("{number}"));
            txn.emit(format!("{number}"));
            Ok(())
        })
        .await;
    }
    listener.await.unwrap();
}

pub async fn events_come_in_the_order_of_commits(subject: Box<dyn Subject>) {
    let store = subject.store();
    let mut events = store.events();
    let (tasks, rounds) = (8, 20);
    let mut running = Vec::new();
    for _ in 0..tasks {
        let store = store.clone();
        running.push(tokio::spawn(async move {
            for _ in 0..rounds {
                let object = Scope::of(b"counter");
                let told: Result<(), Outcome> = store
                    .transact(object, |txn| async move {
                        let count = get(&txn, "counter").await.map_or(0, number);
                        txn.put(key("counter"), Bytes::copy_from_slice(&(count + 1).to_be_bytes()));
                        txn.emit(Bytes::copy_from_slice(&count.to_be_bytes()));
                        txn.emit("and again");
                        Ok(())
                    })
                    .await;
                told.unwrap();
            }
        }));
    }
    for task in running {
        task.await.unwrap();
    }
    for expected in 0..tasks * rounds {
        assert_eq!(number(events.try_recv().unwrap().payload), expected);
        assert_eq!(events.try_recv().unwrap().payload, "and again");
    }
    assert_eq!(events.try_recv(), Err(TryRecvError::Empty));
}

fn number(bytes: Bytes) -> u64 {
    u64::from_be_bytes((*bytes).try_into().unwrap())
}

pub async fn refused_transactions_tell_nothing(subject: Box<dyn Subject>) {
    let store = subject.store();
    let mut events = store.events();
    let refused: Result<(), Outcome> = store
        .transact(Scope::new(), |txn| async move {
            txn.put(key("row"), "");
            txn.emit("never");
            Err(Outcome::Refused("no"))
        })
        .await;
    assert!(refused.is_err());
    let attempts = interrupted(
        &store,
        |txn| async move {
            get(&txn, "row").await;
            txn.put(key("other"), "");
            txn.emit("once");
            Ok(())
        },
        |txn| async move {
            txn.put(key("row"), "");
            Ok(())
        },
    )
    .await;
    assert_eq!(attempts, 2);
    assert_eq!(events.try_recv().unwrap().payload, "once");
    assert_eq!(events.try_recv(), Err(TryRecvError::Empty));
}

pub async fn a_transaction_that_only_tells_is_told(subject: Box<dyn Subject>) {
    let store = subject.store();
    let mut events = store.events();
    commit(&store, |txn| async move {
        txn.emit("something happened");
        Ok(())
    })
    .await;
    assert_eq!(events.try_recv().unwrap().payload, "something happened");
}

pub async fn fresh_ids_never_repeat(subject: Box<dyn Subject>) {
    let store = subject.store();
    let mut running = Vec::new();
    for _ in 0..8 {
        let store = store.clone();
        running.push(tokio::spawn(async move {
            let ids: Vec<u64> = (0..2_500).map(|_| store.fresh_id()).collect();
            commit(&store, |txn| async move { Ok(txn.fresh_id()) }).await;
            ids
        }));
    }
    let mut seen = HashSet::new();
    for task in running {
        assert!(task.await.unwrap().into_iter().all(|id| seen.insert(id)), "an id was given out twice");
    }
    assert_eq!(seen.len(), 20_000);
}

pub async fn time_never_goes_backwards(subject: Box<dyn Subject>) {
    let store = subject.store();
    let mut running = Vec::new();
    for _ in 0..4 {
        let store = store.clone();
        running.push(tokio::spawn(async move {
            let mut last = store.now();
            for _ in 0..200 {
                let object = Scope::of(b"object");
                let decided: Result<_, Outcome> = store
                    .transact(object, |txn| async move {
                        let before = get(&txn, "time").await.map_or(0, number);
                        assert!(txn.now().ticks() >= before, "the row was written later than now");
                        txn.put(key("time"), Bytes::copy_from_slice(&txn.now().ticks().to_be_bytes()));
                        Ok(txn.now())
                    })
                    .await;
                let decided = decided.unwrap();
                assert!(last <= decided && decided <= store.now());
                last = store.now();
            }
        }));
    }
    for task in running {
        task.await.unwrap();
    }
}
