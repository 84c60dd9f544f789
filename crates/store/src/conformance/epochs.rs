//! Epoch rows: a snapshot is one raised number, and what it saw stays.

use std::collections::{BTreeMap, BTreeSet};

use super::{Subject, support::*};
use crate::{
    epoch::{self, Epochs},
    key::KeyBuilder,
    read::Direction,
    space::Space,
    testing::Random,
    transact::Store,
};

fn row(name: u64) -> KeyBuilder {
    KeyBuilder::new(Space::Test, 1).number(name)
}

async fn put_at(store: &Store, name: u64, epochs: Epochs, value: &str) {
    commit(store, |txn| async move { epoch::put(&txn, &row(name), epochs, value.as_bytes()).await }).await;
}

async fn delete_at(store: &Store, name: u64, epochs: Epochs) {
    commit(store, |txn| async move { epoch::delete(&txn, &row(name), epochs).await }).await;
}

async fn get_at(store: &Store, name: u64, epoch: u64) -> Option<String> {
    let value = epoch::get(&store.snapshot(), &row(name), epoch).await.unwrap();
    value.map(|value| String::from_utf8(value.to_vec()).unwrap())
}

async fn count(store: &Store) -> usize {
    values(&store.snapshot(), Direction::Ascending).await.len()
}

pub async fn a_reader_sees_the_newest_row_of_its_epoch(subject: Box<dyn Subject>) {
    let store = subject.store();
    for current in [2, 4, 6] {
        let epochs = Epochs { current, newest_snapshot: Some(current - 1) };
        put_at(&store, 1, epochs, &format!("written at {current}")).await;
    }
    let seen = [None, None, Some(2), Some(2), Some(4), Some(4), Some(6), Some(6)];
    for (epoch, expected) in (0..).zip(seen) {
        let expected = expected.map(|at| format!("written at {at}"));
        assert_eq!(get_at(&store, 1, epoch).await, expected, "at {epoch}");
    }
    assert_eq!(get_at(&store, 0, 9).await, None);
    assert_eq!(get_at(&store, 2, 9).await, None);
}

pub async fn without_snapshots_one_row_is_kept(subject: Box<dyn Subject>) {
    let store = subject.store();
    for current in 1..10 {
        put_at(&store, 1, Epochs { current, newest_snapshot: None }, "value").await;
        assert_eq!(count(&store).await, 1);
    }
    delete_at(&store, 1, Epochs { current: 10, newest_snapshot: None }).await;
    assert_eq!(count(&store).await, 0);
}

pub async fn a_delete_leaves_a_tombstone_only_over_kept_rows(subject: Box<dyn Subject>) {
    let store = subject.store();
    put_at(&store, 1, Epochs { current: 1, newest_snapshot: None }, "seen by the snapshot").await;
    let after_snapshot = Epochs { current: 2, newest_snapshot: Some(1) };
    put_at(&store, 2, after_snapshot, "never seen").await;
    delete_at(&store, 1, after_snapshot).await;
    delete_at(&store, 2, after_snapshot).await;
    assert_eq!(count(&store).await, 2, "the kept row and its tombstone");
    assert_eq!(get_at(&store, 1, 1).await.unwrap(), "seen by the snapshot");
    assert_eq!(get_at(&store, 1, 2).await, None);
    put_at(&store, 1, after_snapshot, "back").await;
    assert_eq!(get_at(&store, 1, 2).await.unwrap(), "back");
    assert_eq!(get_at(&store, 1, 1).await.unwrap(), "seen by the snapshot");
}

pub async fn random_epoch_rows_match_a_map_per_snapshot(subject: Box<dyn Subject>) {
    let store = subject.store();
    let mut random = Random::new(11);
    let mut present: BTreeMap<u64, String> = BTreeMap::new();
    let mut snapshots: BTreeMap<u64, BTreeMap<u64, String>> = BTreeMap::new();
    let mut current = 1;
    for step in 0..400 {
        let epochs = Epochs { current, newest_snapshot: snapshots.keys().next_back().copied() };
        let name = random.below(6);
        match random.below(10) {
            0..=4 => {
                let value = format!("step {step}");
                put_at(&store, name, epochs, &value).await;
                present.insert(name, value);
            }
            5..=7 => {
                delete_at(&store, name, epochs).await;
                present.remove(&name);
            }
            8 => {
                snapshots.insert(current, present.clone());
                current += 1;
            }
            _ => {
                let gone = snapshots.keys().nth(random.index(snapshots.len().max(1))).copied();
                gone.map(|epoch| snapshots.remove(&epoch));
                prune(&store, snapshots.keys().copied().collect()).await;
            }
        }
        for (epoch, expected) in snapshots.iter().chain([(&current, &present)]) {
            for name in 0..6 {
                let seen = get_at(&store, name, *epoch).await;
                assert_eq!(seen.as_ref(), expected.get(&name), "row {name} at {epoch}, step {step}");
            }
        }
    }
    snapshots.clear();
    prune(&store, BTreeSet::new()).await;
    assert_eq!(count(&store).await, present.len(), "without snapshots only the present is left");
}

/// Removes what nobody can see, as the sweeper of a share tree would.
async fn prune(store: &Store, snapshots: BTreeSet<u64>) {
    let snapshots: &Vec<u64> = &snapshots.into_iter().collect();
    commit(store, |txn| async move {
        for name in 0..6 {
            let group = rows(&txn, row(name).range(), Direction::Ascending).await;
            let epochs: Vec<(u64, bool)> = group
                .iter()
                .map(|row| (epoch::epoch_of(&row.key).unwrap(), epoch::decode(row.value.clone()).unwrap().is_none()))
                .collect();
            for unseen in epoch::unseen(&epochs, snapshots, true) {
                txn.delete(row(name).descending(unseen).build());
            }
        }
        Ok(())
    })
    .await;
}
