//! The operations of the Table service, one behaviour a test, on the reference engine.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use access::Asked;
use common::*;
use concurrency::table_etag::{
    EntityOperation::{Delete, Insert, Merge, Replace},
    EntityRefusal, IfMatch,
};
use jobs::Job as _;
use store::Scope;
use table::{
    Value, ValueRef,
    batch::BatchRefusal,
    errors::TableError,
    properties::Properties,
    query,
    sweep::SweepTables,
    table::{QueryTables, TableAddress},
};
use types::names::TableName;

fn named(name: &str) -> TableAddress {
    TableAddress::new(ACCOUNT, TableName::parse(name).unwrap())
}

async fn list(place: &Place, filter: Option<&str>, top: usize, next: Option<String>) -> (Vec<String>, Option<String>) {
    let filter = filter.map(|filter| query::parse(filter).unwrap());
    let request = Asked::for_tests(QueryTables { account: ACCOUNT, filter, top, next });
    let page = place.tables.query_tables(&request).await.unwrap();
    (page.names.iter().map(|name| name.as_str().to_owned()).collect(), page.next)
}

#[test]
fn a_name_is_one_whatever_its_case_and_keeps_the_first() {
    run(async {
        let place = memory();
        create(&place.tables, named("People")).await.unwrap();
        assert!(matches!(create(&place.tables, named("PEOPLE")).await, Err(TableError::TableAlreadyExists)));
        assert_eq!(list(&place, Some("TableName eq 'peOPle'"), 10, None).await.0, ["People"]);
        delete(&place.tables, named("people")).await.unwrap();
        assert!(matches!(delete(&place.tables, named("People")).await, Err(TableError::TableNotFound)));
        create(&place.tables, named("pEOPLE")).await.unwrap();
        assert_eq!(list(&place, None, 10, None).await.0, ["pEOPLE"]);
    });
}

#[test]
fn tables_are_listed_in_order_in_pages_and_by_filter() {
    run(async {
        let place = memory();
        for name in ["delta", "Alpha", "charlie", "Bravo"] {
            create(&place.tables, named(name)).await.unwrap();
        }
        let (first, next) = list(&place, None, 3, None).await;
        assert_eq!(first, ["Alpha", "Bravo", "charlie"]);
        assert_eq!(list(&place, None, 3, next).await, (vec!["delta".to_owned()], None));
        let table: [(&str, &[&str]); 4] = [
            ("TableName ge 'b' and TableName lt 'd'", &["Bravo", "charlie"]),
            ("TableName eq 'delta' or TableName eq 'ALPHA'", &["Alpha", "delta"]),
            ("not (TableName gt 'alpha')", &["Alpha"]),
            ("Other eq 5", &[]),
        ];
        for (filter, expected) in table {
            assert_eq!(list(&place, Some(filter), 10, None).await.0, expected, "{filter}");
        }
    });
}

#[test]
fn a_deleted_table_is_empty_at_once_and_swept_in_steps() {
    run(async {
        let place = memory();
        create(&place.tables, address()).await.unwrap();
        for number in 0..1200 {
            upsert(&place.tables, key("p", &format!("{number}")), Properties::default()).await;
        }
        delete(&place.tables, address()).await.unwrap();
        assert!(matches!(page(&place.tables, None, 10, None).await, Err(TableError::TableNotFound)));
        create(&place.tables, address()).await.unwrap();
        assert!(everything(&place.tables, None, 1000).await.is_empty());
        upsert(&place.tables, key("p", "new"), Properties::default()).await;
        let mut steps = 0;
        while SweepTables::step(&place.store, &mut ()).await.unwrap().more {
            steps += 1;
        }
        assert!((3..6).contains(&steps), "{steps}");
        assert_eq!(everything(&place.tables, None, 1000).await.len(), 1);
        let audit = table::audit::audit(&place.store.snapshot()).await.unwrap();
        assert_eq!((audit.rows, audit.problems), (2, vec![]));
    });
}

#[test]
fn the_audit_finds_an_entity_without_a_table_and_a_broken_row() {
    run(async {
        let place = memory();
        create(&place.tables, address()).await.unwrap();
        upsert(&place.tables, key("p", "r"), Properties::default()).await;
        let (space, scope) = (store::space::Space::Table, Scope::new());
        let orphan = store::key::KeyBuilder::new(space, 2).number(999).bytes(b"p").bytes(b"r").build();
        let broken = store::key::KeyBuilder::new(space, 1).number(7).bytes(b"broken").build();
        let (orphan, broken) = (&orphan, &broken);
        place
            .store
            .transact(scope, |txn| async move {
                txn.put(orphan.clone(), bytes::Bytes::from_static(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
                txn.put(broken.clone(), bytes::Bytes::from_static(&[9]));
                Ok::<_, store::StoreError>(())
            })
            .await
            .unwrap();
        assert_eq!(table::audit::audit(&place.store.snapshot()).await.unwrap().problems.len(), 2);
    });
}

#[test]
fn every_change_moves_the_etag_forward_and_a_stale_one_is_refused() {
    run(async {
        let place = memory();
        create(&place.tables, address()).await.unwrap();
        let one = || properties([("a", Value::Int32(1)), ("b", Value::String("x".into()))]);
        let first = place.tables.change_entity(&change(Insert, IfMatch::Absent, key("p", "r"), one())).await.unwrap();
        let first = first.unwrap().etag();
        let again = place.tables.change_entity(&change(Insert, IfMatch::Absent, key("p", "r"), one())).await;
        assert!(matches!(again, Err(TableError::Entity(EntityRefusal::AlreadyExists))));
        let text = first.to_string();
        let newer = properties([("a", Value::Int64(2))]);
        let merged =
            place.tables.change_entity(&change(Merge, IfMatch::ETag(&text), key("p", "r"), newer.clone())).await;
        let merged = merged.unwrap().unwrap();
        assert!(merged.etag() > first);
        assert_eq!(
            (merged.get("a").unwrap(), merged.get("b").unwrap()),
            (Some(ValueRef::Int64(2)), Some(ValueRef::String("x")))
        );
        for operation in [Merge, Replace, Delete] {
            let stale =
                place.tables.change_entity(&change(operation, IfMatch::ETag(&text), key("p", "r"), one())).await;
            assert!(matches!(stale, Err(TableError::Entity(EntityRefusal::ConditionNotSatisfied))), "{operation:?}");
            let absent = place.tables.change_entity(&change(operation, IfMatch::Any, key("p", "other"), one())).await;
            assert!(matches!(absent, Err(TableError::Entity(EntityRefusal::NotFound))), "{operation:?}");
        }
        let replaced = upsert(&place.tables, key("p", "r"), newer).await.unwrap();
        assert!(replaced.etag() > merged.etag() && replaced.get("b").unwrap().is_none());
        let read = get(&place.tables, key("p", "r")).await.unwrap();
        assert_eq!((read.etag(), read.properties().count()), (replaced.etag(), 1));
        let gone =
            place.tables.change_entity(&change(Delete, IfMatch::Any, key("p", "r"), Properties::default())).await;
        assert!(gone.unwrap().is_none());
        assert!(matches!(get(&place.tables, key("p", "r")).await, Err(TableError::Entity(EntityRefusal::NotFound))));
    });
}

#[test]
fn a_merge_cannot_make_an_entity_too_large() {
    run(async {
        let place = memory();
        create(&place.tables, address()).await.unwrap();
        let many = |prefix: &str| {
            let one = |number: usize| (format!("{prefix}{number}"), Value::String("x".repeat(32_000)));
            Properties::new((0..10).map(one).collect()).unwrap()
        };
        upsert(&place.tables, key("p", "r"), many("a")).await;
        let merged = place.tables.change_entity(&change(Merge, IfMatch::Any, key("p", "r"), many("b"))).await;
        assert!(matches!(merged, Err(TableError::Properties(_))), "{merged:?}");
        assert_eq!(get(&place.tables, key("p", "r")).await.unwrap().properties().count(), 10);
    });
}

#[test]
fn a_batch_is_all_or_nothing() {
    run(async {
        let place = memory();
        create(&place.tables, address()).await.unwrap();
        upsert(&place.tables, key("p", "there"), Properties::default()).await;
        let insert =
            |partition: &str, row: &str| change(Insert, IfMatch::Absent, key(partition, row), Properties::default());
        let done = execute(&place.tables, &[insert("p", "1"), insert("p", "2")]).await.unwrap();
        assert_eq!(done.len(), 2);
        type Expected = (usize, fn(&BatchRefusal) -> bool);
        let many: Vec<_> = (0..101).map(|number| insert("p", &format!("many{number}"))).collect();
        let table: [(Vec<_>, Expected); 5] = [
            (
                vec![insert("p", "3"), insert("p", "there")],
                (1, |reason| matches!(reason, BatchRefusal::Change(TableError::Entity(EntityRefusal::AlreadyExists)))),
            ),
            (vec![insert("p", "3"), insert("q", "4")], (1, |reason| matches!(reason, BatchRefusal::OtherPartition))),
            (
                vec![insert("p", "3"), insert("p", "4"), insert("p", "3")],
                (2, |reason| matches!(reason, BatchRefusal::Duplicate)),
            ),
            (many, (99, |reason| matches!(reason, BatchRefusal::TooMany))),
            (
                vec![insert("p", "3"), change(Delete, IfMatch::Any, key("p", "absent"), Properties::default())],
                (1, |reason| matches!(reason, BatchRefusal::Change(TableError::Entity(EntityRefusal::NotFound)))),
            ),
        ];
        for (changes, (index, expected)) in table {
            let refused = execute(&place.tables, &changes).await.unwrap_err();
            assert_eq!(refused.index, index, "{refused}");
            assert!(expected(&refused.reason), "{refused}");
        }
        assert_eq!(everything(&place.tables, None, 1000).await.len(), 3);
        delete(&place.tables, address()).await.unwrap();
        let refused = execute(&place.tables, &[insert("p", "1")]).await.unwrap_err();
        assert!(matches!((refused.index, refused.reason), (0, BatchRefusal::Change(TableError::TableNotFound))));
    });
}

#[test]
fn pages_end_at_their_limits_and_go_on_where_they_ended() {
    run(async {
        let place = memory();
        create(&place.tables, address()).await.unwrap();
        let large = || properties([("data", Value::Binary(vec![7; 60_000].into()))]);
        for number in 0..150 {
            upsert(&place.tables, key(&format!("p{}", number % 3), &format!("{number:03}")), large()).await;
        }
        // 4 MiB of rows end a page long before 1,000 entities do.
        let first = page(&place.tables, None, 1000, None).await.unwrap();
        assert!((60..80).contains(&first.entities.len()), "{}", first.entities.len());
        assert!(first.next.is_some());
        for top in [1, 7, 1000] {
            let all = everything(&place.tables, None, top).await;
            let keys: Vec<_> = all.iter().map(|entity| (entity.key().partition(), entity.key().row())).collect();
            assert_eq!(keys.len(), 150);
            assert!(keys.is_sorted() && keys.windows(2).all(|pair| pair[0] != pair[1]));
        }
        let partition = everything(&place.tables, Some("PartitionKey eq 'p1' and RowKey ge '1'"), 5).await;
        assert_eq!(partition.len(), 17);
    });
}

#[test]
fn a_filter_that_matches_nothing_ends_in_bounded_pages() {
    run(async {
        let place = memory();
        create(&place.tables, address()).await.unwrap();
        let rows = query::SCANNED_MAX + 500;
        for start in (0..rows).step_by(100) {
            let changes: Vec<_> = (start..rows.min(start + 100))
                .map(|number| change(Insert, IfMatch::Absent, key("p", &format!("{number:06}")), Properties::default()))
                .collect();
            execute(&place.tables, &changes).await.unwrap();
        }
        let first = page(&place.tables, Some("absent eq 1"), 1000, None).await.unwrap();
        assert!(first.entities.is_empty());
        let second = page(&place.tables, Some("absent eq 1"), 1000, first.next).await.unwrap();
        assert!(second.entities.is_empty() && second.next.is_none());
    });
}

#[test]
fn a_long_filter_makes_short_pages() {
    run(async {
        let place = memory();
        create(&place.tables, address()).await.unwrap();
        for start in (0..1000).step_by(100) {
            let insert =
                |number: i32| change(Insert, IfMatch::Absent, key("p", &format!("{number:06}")), Properties::default());
            execute(&place.tables, &(start..start + 100).map(insert).collect::<Vec<_>>()).await.unwrap();
        }
        let usual = page(&place.tables, Some("a eq 1 or RowKey ge ''"), 1000, None).await.unwrap();
        assert_eq!((usual.entities.len(), usual.next), (1000, None));
        // As many comparisons as a query has room for, none of which holds but the last.
        let long = format!("{}RowKey ge ''", "a eq 1 or ".repeat(3000));
        let first = page(&place.tables, Some(&long), 1000, None).await.unwrap();
        assert!((1..100).contains(&first.entities.len()) && first.next.is_some(), "{}", first.entities.len());
        assert_eq!(everything(&place.tables, Some(&long), 1000).await.len(), 1000);
    });
}
