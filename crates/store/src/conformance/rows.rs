//! Reading rows: own writes, order, ranges, snapshots that stand still.

use bytes::Bytes;

use super::{Subject, support::*};
use crate::{
    key::{KeyBuilder, KeyRange},
    read::{Direction, Read},
    space::Space,
};

pub async fn a_transaction_reads_its_own_writes(subject: Box<dyn Subject>) {
    let store = subject.store();
    put(&store, "kept", "old").await;
    put(&store, "gone", "old").await;
    commit(&store, |txn| async move {
        txn.put(key("kept"), "new");
        txn.put(key("made"), "first");
        txn.put(key("made"), "second");
        txn.delete(key("gone"));
        assert_eq!(get(&txn, "kept").await.as_deref(), Some(&b"new"[..]));
        assert_eq!(get(&txn, "made").await.as_deref(), Some(&b"second"[..]));
        assert_eq!(get(&txn, "gone").await, None);
        txn.put(key("gone"), "back");
        assert_eq!(get(&txn, "gone").await.as_deref(), Some(&b"back"[..]));
        txn.delete(key("gone"));
        Ok(())
    })
    .await;
    assert_eq!(values(&store.snapshot(), Direction::Ascending).await, ["new", "second"]);
}

pub async fn a_scan_lays_own_writes_over_the_view_in_both_directions(subject: Box<dyn Subject>) {
    let store = subject.store();
    for name in ["b", "d", "f", "h"] {
        put(&store, name, name.to_uppercase()).await;
    }
    commit(&store, |txn| async move {
        txn.put(key("a"), "new a"); // before all
        txn.put(key("d"), "new d"); // replaced
        txn.put(key("e"), "new e"); // between
        txn.delete(key("f")); // removed
        txn.delete(key("g")); // never there
        txn.put(key("i"), "new i"); // behind all
        let mut expected = vec!["new a", "B", "new d", "new e", "H", "new i"];
        assert_eq!(values(&txn, Direction::Ascending).await, expected);
        expected.reverse();
        assert_eq!(values(&txn, Direction::Descending).await, expected);
        let middle = || KeyRange::between(key("b"), key("h"));
        let found = rows(&txn, middle(), Direction::Ascending).await;
        assert_eq!(found.iter().map(|row| &row.value).collect::<Vec<_>>(), ["B", "new d", "new e"]);
        let found = rows(&txn, middle(), Direction::Descending).await;
        assert_eq!(found.iter().map(|row| &row.value).collect::<Vec<_>>(), ["new e", "new d", "B"]);
        for name in ["b", "d", "h", "a", "e", "i"] {
            txn.delete(key(name));
        }
        assert_eq!(values(&txn, Direction::Ascending).await, Vec::<Bytes>::new());
        Ok(())
    })
    .await;
    assert_eq!(values(&store.snapshot(), Direction::Ascending).await, Vec::<Bytes>::new());
}

pub async fn a_scan_keeps_to_its_range_and_its_order(subject: Box<dyn Subject>) {
    let store = subject.store();
    // Keys whose bytes are awkward: empty, zeros, 0xFF, and one that continues another.
    let names: [&[u8]; 8] = [b"", b"\0", b"\0\0", b"\0\xFF", b"a", b"a\0", b"a\xFF", b"\xFF\xFF"];
    let keys = names.map(|name| KeyBuilder::new(Space::Test, 1).bytes(name).build());
    let keys = &keys;
    commit(&store, |txn| async move {
        for key in keys.iter().rev() {
            txn.put(key.clone(), key.clone());
        }
        txn.put(KeyBuilder::new(Space::Test, 0).build(), "before");
        txn.put(KeyBuilder::new(Space::Test, 2).build(), "behind");
        Ok(())
    })
    .await;
    let snapshot = store.snapshot();
    assert_eq!(values(&snapshot, Direction::Ascending).await, keys);
    for (first, start) in keys.iter().enumerate() {
        for (last, end) in keys.iter().enumerate() {
            let range = || KeyRange::between(start.clone(), end.clone());
            let expected = keys.get(first..last).unwrap_or_default();
            let ascending = rows(&snapshot, range(), Direction::Ascending).await;
            assert!(ascending.iter().map(|row| &row.key).eq(expected), "{start:?} to {end:?}");
            let descending = rows(&snapshot, range(), Direction::Descending).await;
            assert!(descending.iter().map(|row| &row.key).eq(expected.iter().rev()), "{end:?} to {start:?}");
            let resumed = rows(&snapshot, range().after(start), Direction::Ascending).await;
            assert!(resumed.iter().map(|row| &row.key).eq(expected.iter().skip(1)), "after {start:?}");
        }
    }
    let open_ended = KeyRange { start: keys[6].clone(), end: None };
    let last = rows(&snapshot, open_ended, Direction::Descending).await;
    assert_eq!(last.iter().map(|row| &row.value).collect::<Vec<_>>(), [&b"behind"[..], &keys[7], &keys[6]]);
}

pub async fn a_deleted_row_is_gone_and_can_come_back(subject: Box<dyn Subject>) {
    let store = subject.store();
    put(&store, "row", "first").await;
    delete(&store, "row").await;
    assert_eq!(now(&store, "row").await, None);
    assert_eq!(values(&store.snapshot(), Direction::Ascending).await, Vec::<Bytes>::new());
    delete(&store, "row").await; // deleting an absent row is no error
    put(&store, "row", "second").await;
    assert_eq!(now(&store, "row").await.as_deref(), Some(&b"second"[..]));
}

pub async fn an_empty_value_is_a_value(subject: Box<dyn Subject>) {
    let store = subject.store();
    put(&store, "row", "").await;
    assert_eq!(now(&store, "row").await, Some(Bytes::new()));
    assert_eq!(values(&store.snapshot(), Direction::Descending).await, [Bytes::new()]);
}

pub async fn a_snapshot_does_not_move(subject: Box<dyn Subject>) {
    let store = subject.store();
    put(&store, "changed", "old").await;
    put(&store, "deleted", "old").await;
    let snapshot = store.snapshot();
    for round in 0..100 {
        put(&store, "changed", format!("new {round}")).await;
        put(&store, "made", "new").await;
        delete(&store, "deleted").await;
        put(&store, &format!("more {round}"), "new").await;
    }
    assert_eq!(get(&snapshot, "changed").await.as_deref(), Some(&b"old"[..]));
    assert_eq!(get(&snapshot, "deleted").await.as_deref(), Some(&b"old"[..]));
    assert_eq!(get(&snapshot, "made").await, None);
    for direction in [Direction::Ascending, Direction::Descending] {
        assert_eq!(values(&snapshot, direction).await, ["old", "old"]);
    }
    let later = store.snapshot();
    assert!(later.instant() > snapshot.instant());
    assert_eq!(get(&later, "changed").await.as_deref(), Some(&b"new 99"[..]));
}

pub async fn a_scan_in_progress_does_not_move(subject: Box<dyn Subject>) {
    let store = subject.store();
    for number in 0..100 {
        put(&store, &format!("{number:03}"), "old").await;
    }
    for direction in [Direction::Ascending, Direction::Descending] {
        let mut scan = store.snapshot().scan(everything(), direction); // outlives its snapshot
        let mut seen = scan.take(50).await.unwrap();
        for number in 0..100 {
            put(&store, &format!("{number:03}"), "new").await;
            put(&store, &format!("{number:03} more"), "new").await;
        }
        seen.extend(scan.take(usize::MAX).await.unwrap());
        drop(scan);
        assert_eq!(seen.len(), 100);
        assert!(seen.iter().all(|row| row.value == "old"));
        for number in 0..100 {
            put(&store, &format!("{number:03}"), "old").await;
            delete(&store, &format!("{number:03} more")).await;
        }
    }
}

pub async fn what_is_answered_is_in_the_next_snapshot(subject: Box<dyn Subject>) {
    let store = subject.store();
    for number in 0..200 {
        let value = format!("{number}");
        put(&store, "row", value.clone()).await;
        assert_eq!(now(&store, "row").await, Some(Bytes::from(value)));
    }
}

pub async fn the_rows_of_the_engine_are_out_of_reach(subject: Box<dyn Subject>) {
    let store = subject.store();
    put(&store, "row", "value").await;
    linked(&store, content_id(&store), "a chunk, so that the engine has something to count").await;
    let everything = || KeyRange { start: Bytes::new(), end: None };
    let is_ours = |key: &[u8]| key.first().is_some_and(|space| *space != Space::Engine.byte());
    let snapshot = store.snapshot();
    for direction in [Direction::Ascending, Direction::Descending] {
        assert!(rows(&snapshot, everything(), direction).await.iter().all(|row| is_ours(&row.key)));
    }
    commit(&store, |txn| async move {
        for direction in [Direction::Ascending, Direction::Descending] {
            assert!(rows(&txn, everything(), direction).await.iter().all(|row| is_ours(&row.key)));
        }
        assert_eq!(txn.get(b"").await?, None);
        Ok(())
    })
    .await;
}
