//! The limits of the contract: reached, everything works; passed, nothing happens and the error says what was too large.

use bytes::Bytes;

use super::{Subject, support::*};
use crate::{
    error::StoreError,
    limits::{KEY_BYTES, SPILL_BYTES, TRANSACTION_ROW_BYTES, TRANSACTION_SPILL_BYTES, VALUE_BYTES},
    read::{Direction, Read},
    space::Space,
    testing::Random,
    transact::{Scope, Store},
};

/// A key of exactly this length that ends in this number.
fn long_key(length: usize, number: u32) -> Bytes {
    let mut key = vec![b'k'; length];
    key[..2].copy_from_slice(&[Space::Test.byte(), 1]);
    key[length - 4..].copy_from_slice(&number.to_be_bytes());
    Bytes::from(key)
}

async fn try_put(store: &Store, writes: &[(Bytes, Bytes)]) -> Result<(), StoreError> {
    store
        .transact(Scope::new(), |txn| async move {
            for (key, value) in writes {
                txn.put(key.clone(), value.clone());
            }
            Ok(())
        })
        .await
}

/// The writes are refused as too large in `what`, and leave nothing behind.
async fn refused(store: &Store, writes: &[(Bytes, Bytes)], what: &str, actual: usize, limit: usize) {
    match try_put(store, writes).await {
        Err(StoreError::TooLarge { what: found, actual: size, limit: most }) => {
            assert_eq!((found, size, most), (what, actual, limit));
        }
        other => panic!("expected a refusal of {what}, got {other:?}"),
    }
    assert_eq!(values(&store.snapshot(), Direction::Ascending).await, Vec::<Bytes>::new());
    put(store, "small", "still works").await;
    delete(store, "small").await;
}

pub async fn keys_up_to_the_limit_are_stored(subject: Box<dyn Subject>) {
    let store = subject.store();
    let writes: Vec<_> = (0..20).map(|number| (long_key(KEY_BYTES, number), Bytes::from("value"))).collect();
    try_put(&store, &writes).await.unwrap();
    let snapshot = store.snapshot();
    for (key, value) in &writes {
        assert_eq!(snapshot.get(key).await.unwrap().as_ref(), Some(value));
    }
    let found = rows(&snapshot, everything(), Direction::Ascending).await;
    assert!(found.iter().map(|row| &row.key).eq(writes.iter().map(|(key, _)| key)));
}

pub async fn a_longer_key_is_refused(subject: Box<dyn Subject>) {
    let write = (long_key(KEY_BYTES + 1, 0), Bytes::new());
    refused(&subject.store(), &[write], "a key", KEY_BYTES + 1, KEY_BYTES).await;
}

pub async fn values_up_to_the_limit_are_stored(subject: Box<dyn Subject>) {
    let store = subject.store();
    let value = Bytes::from(Random::new(1).bytes(VALUE_BYTES));
    put(&store, "large", value.clone()).await;
    assert_eq!(now(&store, "large").await.unwrap(), value);
}

pub async fn a_longer_value_is_refused(subject: Box<dyn Subject>) {
    let write = (key("large"), Bytes::from(vec![1; VALUE_BYTES + 1]));
    refused(&subject.store(), &[write], "a value", VALUE_BYTES + 1, VALUE_BYTES).await;
}

/// Rows of 16 KiB that fill a transaction to the last byte, and `extra` bytes more.
fn full_of_rows(extra: usize) -> Vec<(Bytes, Bytes)> {
    let value = Bytes::from(Random::new(2).bytes(SPILL_BYTES));
    let key_length = 16;
    let whole = TRANSACTION_ROW_BYTES / (SPILL_BYTES + key_length);
    let rest = TRANSACTION_ROW_BYTES % (SPILL_BYTES + key_length) - key_length + extra;
    let whole = u32::try_from(whole).unwrap();
    let mut writes: Vec<_> = (0..whole).map(|number| (long_key(key_length, number), value.clone())).collect();
    writes.push((long_key(key_length, whole), value.slice(..rest)));
    writes
}

pub async fn rows_up_to_the_limit_are_stored_in_one_transaction(subject: Box<dyn Subject>) {
    let store = subject.store();
    let writes = full_of_rows(0);
    try_put(&store, &writes).await.unwrap();
    let found = rows(&store.snapshot(), everything(), Direction::Ascending).await;
    assert!(found.into_iter().map(|row| (row.key, row.value)).eq(writes));
}

pub async fn more_rows_are_refused(subject: Box<dyn Subject>) {
    let (what, limit) = ("the rows of a transaction", TRANSACTION_ROW_BYTES);
    refused(&subject.store(), &full_of_rows(1), what, limit + 1, limit).await;
}

fn full_of_spills(count: usize) -> Vec<(Bytes, Bytes)> {
    let value = Bytes::from(Random::new(3).bytes(VALUE_BYTES));
    (0..u32::try_from(count).unwrap()).map(|number| (long_key(16, number), value.clone())).collect()
}

pub async fn spilled_values_up_to_the_limit_are_stored_in_one_transaction(subject: Box<dyn Subject>) {
    let store = subject.store();
    let writes = full_of_spills(TRANSACTION_SPILL_BYTES / VALUE_BYTES);
    try_put(&store, &writes).await.unwrap();
    let snapshot = store.snapshot();
    for (key, value) in &writes {
        assert!(snapshot.get(key).await.unwrap().as_ref() == Some(value));
    }
}

pub async fn more_spilled_values_are_refused(subject: Box<dyn Subject>) {
    let limit = TRANSACTION_SPILL_BYTES;
    let mut writes = full_of_spills(limit / VALUE_BYTES);
    writes.push((key("one more"), Bytes::from(vec![1; SPILL_BYTES + 1])));
    let what = "the spilled values of a transaction";
    refused(&subject.store(), &writes, what, limit + SPILL_BYTES + 1, limit).await;
}

pub async fn a_key_outside_every_space_is_refused(subject: Box<dyn Subject>) {
    let store = subject.store();
    for key in [Bytes::new(), Bytes::from(vec![Space::Engine.byte(), 1])] {
        let outcome = try_put(&store, &[(key, Bytes::from("value"))]).await;
        assert!(matches!(outcome, Err(StoreError::Corrupt(_))), "{outcome:?}");
    }
}
