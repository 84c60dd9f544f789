//! What concurrent clients see: pages of one state, and exactly one winner.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]
#![expect(clippy::disallowed_methods, reason = "clients run at once")]

mod common;

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use common::*;
use concurrency::table_etag::{
    EntityOperation::{Merge, Replace},
    EntityRefusal, IfMatch,
};
use jobs::Job as _;
use table::{Value, ValueRef, errors::TableError, sweep::SweepTables};

const ACCOUNTS: usize = 20;
const EACH: i64 = 100;

fn balance(amount: i64) -> table::properties::Properties {
    properties([("amount", Value::Int64(amount))])
}

fn amount(entity: &table::Entity) -> i64 {
    match entity.get("amount").unwrap() {
        Some(ValueRef::Int64(amount)) => amount,
        other => panic!("{other:?}"),
    }
}

/// Writers move amounts between entities in batches while readers add them up: every page has the same sum.
async fn sums(place: Arc<Place>, moves: usize) {
    create(&place.tables, address()).await.unwrap();
    for number in 0..ACCOUNTS {
        upsert(&place.tables, key("bank", &format!("{number:02}")), balance(EACH)).await;
    }
    let (stop, pages) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (place, stop, pages) = (Arc::clone(&place), Arc::clone(&stop), Arc::clone(&pages));
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let page = page(&place.tables, Some("PartitionKey eq 'bank'"), 1000, None).await.unwrap();
                    let sum: i64 = page.entities.iter().map(amount).sum();
                    assert_eq!(sum, EACH * i64::try_from(ACCOUNTS).unwrap(), "a page shows half a batch");
                    pages.fetch_add(1, Ordering::Relaxed);
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    let writers: Vec<_> = (0..4)
        .map(|writer: usize| {
            let place = Arc::clone(&place);
            tokio::spawn(async move {
                for number in 0..moves {
                    let (from, to) = ((writer * 7 + number) % ACCOUNTS, (writer * 5 + number * 3 + 1) % ACCOUNTS);
                    if from == to {
                        continue;
                    }
                    // Optimistic: read both, write both with their ETags, start again when somebody was first.
                    loop {
                        let (from, to) = (key("bank", &format!("{from:02}")), key("bank", &format!("{to:02}")));
                        let a = get(&place.tables, from.clone()).await.unwrap();
                        let b = get(&place.tables, to.clone()).await.unwrap();
                        let (etag_a, etag_b) = (a.etag().to_string(), b.etag().to_string());
                        let changes = [
                            change(Replace, IfMatch::ETag(&etag_a), from, balance(amount(&a) - 1)),
                            change(Merge, IfMatch::ETag(&etag_b), to, balance(amount(&b) + 1)),
                        ];
                        if execute(&place.tables, &changes).await.is_ok() {
                            break;
                        }
                    }
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.await.unwrap();
    }
    assert!(pages.load(Ordering::Relaxed) > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_page_has_the_same_sum_on_the_reference_engine() {
    sums(Arc::new(memory()), 200).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_page_has_the_same_sum_on_the_embedded_engine() {
    sums(Arc::new(embedded()), 60).await;
}

/// Two writers with one ETag, many times: exactly one succeeds, and the other learns of it.
async fn duels(place: Arc<Place>, rounds: usize) {
    create(&place.tables, address()).await.unwrap();
    let mut etag = upsert(&place.tables, key("p", "r"), balance(0)).await.unwrap().etag().to_string();
    for round in 0..rounds {
        let attempt = |side: i64| {
            let (place, etag) = (Arc::clone(&place), etag.clone());
            tokio::spawn(async move {
                let request = change(Replace, IfMatch::ETag(&etag), key("p", "r"), balance(side));
                place.tables.change_entity(&request).await.map(|entity| entity.unwrap())
            })
        };
        let (left, right) = (attempt(1), attempt(2));
        let winner = match (left.await.unwrap(), right.await.unwrap()) {
            (Ok(winner), Err(TableError::Entity(EntityRefusal::ConditionNotSatisfied)))
            | (Err(TableError::Entity(EntityRefusal::ConditionNotSatisfied)), Ok(winner)) => winner,
            other => panic!("round {round}: {other:?}"),
        };
        let stored = get(&place.tables, key("p", "r")).await.unwrap();
        assert_eq!((stored.etag(), amount(&stored)), (winner.etag(), amount(&winner)));
        etag = winner.etag().to_string();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_writers_with_one_etag_exactly_one_wins_ten_thousand_times() {
    duels(Arc::new(memory()), 10_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_writers_with_one_etag_exactly_one_wins_on_disk() {
    duels(Arc::new(embedded()), 300).await;
}

/// A table that is deleted while entities are inserted: no entity of the old table appears in the new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn inserts_into_a_table_that_is_deleted_never_reach_its_successor() {
    let place = Arc::new(memory());
    create(&place.tables, address()).await.unwrap();
    let writer = {
        let place = Arc::clone(&place);
        tokio::spawn(async move {
            for number in 0..2000 {
                let request = change(Replace, IfMatch::Absent, key("p", &number.to_string()), balance(number));
                match place.tables.change_entity(&request).await {
                    Ok(_) | Err(TableError::TableNotFound) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        })
    };
    for _ in 0..20 {
        delete(&place.tables, address()).await.unwrap();
        create(&place.tables, address()).await.unwrap();
        tokio::task::yield_now().await;
    }
    writer.await.unwrap();
    while SweepTables::step(&place.store, &mut ()).await.unwrap().more {}
    let audit = table::audit::audit(&place.store.snapshot()).await.unwrap();
    assert_eq!(audit.problems, Vec::<String>::new());
}
