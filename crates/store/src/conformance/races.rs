//! Many tasks at once: nothing is lost, and nobody sees half of anything.

use bytes::Bytes;

use super::{Subject, support::*};
use crate::{
    read::{Direction, Read},
    testing::Random,
    transact::{Scope, Store},
};

fn number(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().unwrap())
}

fn stored(number: u64) -> Bytes {
    Bytes::copy_from_slice(&number.to_be_bytes())
}

async fn count_up(store: Store, tasks: u64, rounds: u64, object: &'static [u8]) {
    let mut running = Vec::new();
    for _ in 0..tasks {
        let store = store.clone();
        running.push(tokio::spawn(async move {
            for _ in 0..rounds {
                let counted: Result<u64, Outcome> = store
                    .transact(Scope::of(object), |txn| async move {
                        let count = get(&txn, "counter").await.map_or(0, |value| number(&value)) + 1;
                        tokio::task::yield_now().await; // let the others in
                        txn.put(key("counter"), stored(count));
                        Ok(count)
                    })
                    .await;
                counted.unwrap();
            }
        }));
    }
    for task in running {
        task.await.unwrap();
    }
    assert_eq!(number(&now(&store, "counter").await.unwrap()), tasks * rounds);
}

pub async fn increments_of_one_counter_lose_nothing_without_a_latch(subject: Box<dyn Subject>) {
    // Fewer commits in all than attempts of one transaction, so that nobody can be told Busy.
    count_up(subject.store(), 8, 30, b"").await;
}

pub async fn increments_of_one_counter_lose_nothing_behind_a_latch(subject: Box<dyn Subject>) {
    count_up(subject.store(), 32, 50, b"counter").await;
}

const ACCOUNTS: u64 = 8;
const START: u64 = 100;

fn account(which: u64) -> Bytes {
    key(&format!("account {which}"))
}

async fn balance(rows: &impl Read, which: u64) -> u64 {
    number(&rows.get(&account(which)).await.unwrap().unwrap())
}

pub async fn transfers_keep_the_sum_of_a_bank(subject: Box<dyn Subject>) {
    let store = subject.store();
    commit(&store, |txn| async move {
        (0..ACCOUNTS).for_each(|which| txn.put(account(which), stored(START)));
        Ok(())
    })
    .await;
    let mut tellers = Vec::new();
    for teller in 0..6 {
        let store = store.clone();
        tellers.push(tokio::spawn(async move {
            let mut random = Random::new(teller);
            for _ in 0..100 {
                let (from, to) = (random.below(ACCOUNTS), random.below(ACCOUNTS));
                let amount = random.below(2 * START);
                transfer(&store, from, to, amount).await;
            }
        }));
    }
    let auditors = [0; 2].map(|_| {
        let store = store.clone();
        tokio::spawn(async move {
            for _ in 0..100 {
                audit(&store).await;
                tokio::task::yield_now().await;
            }
        })
    });
    for task in tellers.into_iter().chain(auditors) {
        task.await.unwrap();
    }
    audit(&store).await;
}

async fn transfer(store: &Store, from: u64, to: u64, amount: u64) {
    let done: Result<(), Outcome> = store
        .transact(Scope::new(), |txn| async move {
            let left = balance(&txn, from).await.checked_sub(amount).ok_or(Outcome::Refused("overdrawn"))?;
            txn.put(account(from), stored(left));
            tokio::task::yield_now().await;
            let more = balance(&txn, to).await + amount;
            txn.put(account(to), stored(more));
            Ok(())
        })
        .await;
    assert!(matches!(done, Ok(()) | Err(Outcome::Refused(_))), "{done:?}");
}

/// The sum is right in a snapshot by scan, in the same one by get, and in a transaction.
async fn audit(store: &Store) {
    let snapshot = store.snapshot();
    let scanned: u64 = values(&snapshot, Direction::Ascending).await.iter().map(|value| number(value)).sum();
    assert_eq!(scanned, ACCOUNTS * START);
    let mut read = 0;
    for which in 0..ACCOUNTS {
        read += balance(&snapshot, which).await;
    }
    assert_eq!(read, ACCOUNTS * START);
    let decided = commit(store, |txn| async move {
        let mut sum = 0;
        for which in 0..ACCOUNTS {
            sum += balance(&txn, which).await;
            tokio::task::yield_now().await;
        }
        Ok(sum)
    })
    .await;
    assert_eq!(decided, ACCOUNTS * START);
}
