//! Values too large for the index: the engine puts them elsewhere, and nobody can tell.

use bytes::Bytes;

use super::{Subject, support::*};
use crate::{
    limits::{SPILL_BYTES, VALUE_BYTES},
    read::Direction,
    testing::Random,
    transact::Store,
};

/// Lengths around every border.
pub const LENGTHS: [usize; 7] = [0, 1, SPILL_BYTES - 1, SPILL_BYTES, SPILL_BYTES + 1, 5 * SPILL_BYTES + 3, VALUE_BYTES];

/// A value of this length, unlike any other.
#[must_use]
pub fn value(length: usize) -> Bytes {
    Bytes::from(Random::new(u64::try_from(length).unwrap()).bytes(length))
}

/// Writes one row per length.
pub async fn put_all(store: &Store) {
    commit(store, |txn| async move {
        for length in LENGTHS {
            txn.put(key(&format!("{length:08}")), value(length));
        }
        Ok(())
    })
    .await;
}

/// Reads them back, one by one and in both directions.
pub async fn check_all(store: &Store) {
    for length in LENGTHS {
        assert!(now(store, &format!("{length:08}")).await == Some(value(length)), "a value of {length} bytes");
    }
    let mut expected = LENGTHS.map(value);
    assert!(values(&store.snapshot(), Direction::Ascending).await == expected);
    expected.reverse();
    assert!(values(&store.snapshot(), Direction::Descending).await == expected);
}

pub async fn values_around_the_spill_limit_come_back(subject: Box<dyn Subject>) {
    let store = subject.store();
    for length in LENGTHS {
        put(&store, "row", value(length)).await;
        assert!(now(&store, "row").await == Some(value(length)), "a value of {length} bytes");
        commit(&store, |txn| async move {
            assert!(get(&txn, "row").await == Some(value(length)), "a value of {length} bytes");
            Ok(())
        })
        .await;
    }
}

pub async fn a_spilled_value_is_replaced_by_any_other(subject: Box<dyn Subject>) {
    let store = subject.store();
    for before in LENGTHS {
        for after in LENGTHS {
            put(&store, "row", value(before)).await;
            put(&store, "row", value(after)).await;
            assert!(now(&store, "row").await == Some(value(after)), "{after} bytes over {before}");
        }
    }
}

pub async fn a_spilled_value_is_deleted(subject: Box<dyn Subject>) {
    let store = subject.store();
    for length in LENGTHS {
        put(&store, "row", value(length)).await;
        delete(&store, "row").await;
        assert_eq!(now(&store, "row").await, None);
    }
    assert_eq!(values(&store.snapshot(), Direction::Ascending).await, Vec::<Bytes>::new());
}

pub async fn a_snapshot_keeps_the_spilled_value_that_was_replaced(subject: Box<dyn Subject>) {
    let store = subject.store();
    put(&store, "row", value(VALUE_BYTES)).await;
    let snapshot = store.snapshot();
    for length in LENGTHS {
        put(&store, "row", value(length)).await;
    }
    delete(&store, "row").await;
    assert!(get(&snapshot, "row").await == Some(value(VALUE_BYTES)));
    assert!(values(&snapshot, Direction::Descending).await == [value(VALUE_BYTES)]);
}

pub async fn spilled_values_are_scanned_in_both_directions(subject: Box<dyn Subject>) {
    let store = subject.store();
    put_all(&store).await;
    check_all(&store).await;
}
