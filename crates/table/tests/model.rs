//! Random histories on both engines, compared with a plain map; and random filters, compared with looking at every
//! entity.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use std::collections::BTreeMap;

use common::*;
use concurrency::table_etag::{EntityOperation, EntityRefusal, IfMatch};
use jobs::Job as _;
use proptest::prelude::*;
use table::{
    DateTime, Guid, Value, ValueRef,
    errors::TableError,
    properties::Properties,
    query::{Filter, Operator},
    sweep::SweepTables,
};

/// What a history does next.
#[derive(Clone, Debug)]
enum Step {
    Change { operation: EntityOperation, condition: Condition, row: u8, properties: Vec<(u8, i32)> },
    Batch(Vec<(EntityOperation, u8, i32)>),
    DropTable,
    Sweep,
    Query { top: usize },
}

#[derive(Clone, Copy, Debug)]
enum Condition {
    None,
    Any,
    Current,
    Stale,
}

fn operation() -> impl Strategy<Value = EntityOperation> {
    prop_oneof![
        Just(EntityOperation::Insert),
        Just(EntityOperation::Replace),
        Just(EntityOperation::Merge),
        Just(EntityOperation::Delete),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let condition =
        prop_oneof![Just(Condition::None), Just(Condition::Any), Just(Condition::Current), Just(Condition::Stale)];
    let properties = proptest::collection::vec((0_u8..4, any::<i32>()), 0..3);
    prop_oneof![
        8 => (operation(), condition, 0_u8..6, properties)
            .prop_map(|(operation, condition, row, properties)| Step::Change { operation, condition, row, properties }),
        3 => proptest::collection::vec((operation(), 0_u8..6, any::<i32>()), 1..4).prop_map(Step::Batch),
        1 => Just(Step::DropTable),
        1 => Just(Step::Sweep),
        2 => (1_usize..4).prop_map(|top| Step::Query { top }),
    ]
}

type Model = BTreeMap<String, (String, BTreeMap<String, i32>)>;

fn unique(properties: &[(u8, i32)]) -> BTreeMap<String, i32> {
    properties.iter().map(|(name, value)| (format!("p{name}"), *value)).collect()
}

fn checked(properties: &BTreeMap<String, i32>) -> Properties {
    Properties::new(properties.iter().map(|(name, value)| (name.clone(), Value::Int32(*value))).collect()).unwrap()
}

/// The rules once more, in the plainest way.
fn expected(
    model: &Model,
    operation: EntityOperation,
    condition: Condition,
    row: &str,
    new: &BTreeMap<String, i32>,
) -> Result<Option<BTreeMap<String, i32>>, EntityRefusal> {
    let old = model.get(row);
    match (operation, old) {
        (EntityOperation::Insert, Some(_)) => return Err(EntityRefusal::AlreadyExists),
        (EntityOperation::Insert, None) => return Ok(Some(new.clone())),
        (EntityOperation::Delete, _) if matches!(condition, Condition::None) => {
            return Err(EntityRefusal::IfMatchRequired);
        }
        (_, None) if !matches!(condition, Condition::None) => return Err(EntityRefusal::NotFound),
        (_, Some(_)) if matches!(condition, Condition::Stale) => return Err(EntityRefusal::ConditionNotSatisfied),
        _ => {}
    }
    Ok(match operation {
        EntityOperation::Delete => None,
        EntityOperation::Merge => {
            let mut merged = old.map(|(_, properties)| properties.clone()).unwrap_or_default();
            merged.extend(new.clone());
            Some(merged)
        }
        _ => Some(new.clone()),
    })
}

async fn history(place: &Place, steps: Vec<Step>) {
    let (store, tables) = (&place.store, &place.tables);
    create(tables, address()).await.unwrap();
    let mut model = Model::new();
    let stale = "W/\"datetime'2001-01-01T00%3A00%3A00.0000000Z'\"";
    for step in steps {
        match step {
            Step::Change { operation, condition, row, properties } => {
                let row = format!("r{row}");
                let new = unique(&properties);
                let current = model.get(&row).map_or(stale.to_owned(), |(etag, _)| etag.clone());
                let if_match = match condition {
                    Condition::None => IfMatch::Absent,
                    Condition::Any => IfMatch::Any,
                    Condition::Current => IfMatch::ETag(&current),
                    Condition::Stale => IfMatch::ETag(stale),
                };
                let expected = expected(&model, operation, condition, &row, &new);
                let found = tables.change_entity(&change(operation, if_match, key("p", &row), checked(&new))).await;
                match (expected, found) {
                    (Ok(None), Ok(None)) => drop(model.remove(&row)),
                    (Ok(Some(properties)), Ok(Some(entity))) => {
                        let etag = entity.etag().to_string();
                        if let Some((old, _)) = model.get(&row) {
                            assert!(etag > *old, "{etag} is not after {old}");
                        }
                        model.insert(row, (etag, properties));
                    }
                    (Err(expected), Err(TableError::Entity(found))) => assert_eq!(expected, found),
                    (expected, found) => panic!("{expected:?} and {found:?}"),
                }
            }
            Step::Batch(changes) => {
                let mut after = model.clone();
                let mut fails = false;
                let (mut seen, mut requests) = (Vec::new(), Vec::new());
                for (operation, row, value) in changes {
                    let row = format!("r{row}");
                    let new = unique(&[(0, value)]);
                    fails |= seen.contains(&row);
                    seen.push(row.clone());
                    match expected(&after, operation, Condition::Any, &row, &new) {
                        Ok(Some(properties)) => drop(after.insert(row.clone(), (String::new(), properties))),
                        Ok(None) => drop(after.remove(&row)),
                        Err(_) => fails = true,
                    }
                    requests.push(change(operation, IfMatch::Any, key("p", &row), checked(&new)));
                }
                let done = execute(tables, &requests).await;
                assert_eq!(done.is_err(), fails, "{done:?}");
                if let Ok(done) = done {
                    for (changed, row) in done.into_iter().zip(seen) {
                        if let (Some(entity), Some((etag, _))) = (changed, after.get_mut(&row)) {
                            *etag = entity.etag().to_string();
                        }
                    }
                    model = after;
                }
            }
            Step::DropTable => {
                delete(tables, address()).await.unwrap();
                create(tables, address()).await.unwrap();
                model.clear();
            }
            Step::Sweep => drop(SweepTables::step(store, &mut ()).await.unwrap()),
            Step::Query { top } => {
                let found = everything(tables, None, top).await;
                let found: Model = found
                    .iter()
                    .map(|entity| {
                        let properties = entity.properties().map(|property| match property.unwrap() {
                            (name, ValueRef::Int32(value)) => (name.to_owned(), value),
                            other => panic!("{other:?}"),
                        });
                        (entity.key().row().to_owned(), (entity.etag().to_string(), properties.collect()))
                    })
                    .collect();
                assert_eq!(found, model);
            }
        }
    }
    let audit = table::audit::audit(&store.snapshot()).await.unwrap();
    assert_eq!(audit.problems, Vec::<String>::new());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn histories_on_the_reference_engine(steps in proptest::collection::vec(step(), 1..60)) {
        run(history(&memory(), steps));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, ..ProptestConfig::default() })]
    #[test]
    fn histories_on_the_embedded_engine(steps in proptest::collection::vec(step(), 1..40)) {
        run(history(&embedded(), steps));
    }
}

const PARTITIONS: [&str; 5] = ["", "a", "b", "\u{e000}", "\u{1F600}"];
const ROWS: [&str; 5] = ["", "1", "10", "2", "ä"];

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-2_i32..3).prop_map(Value::Int32),
        (-2_i64..3).prop_map(Value::Int64),
        prop_oneof![Just(-0.5), Just(0.0), Just(1.0), Just(2.5), Just(f64::NAN), Just(f64::INFINITY)]
            .prop_map(Value::Double),
        any::<bool>().prop_map(Value::Boolean),
        proptest::sample::select(&["", "a", "b", "\u{e000}", "\u{1F600}"][..])
            .prop_map(|text| Value::String(text.into())),
        (0_u128..3).prop_map(|bits| Value::Guid(Guid::new(bits))),
        (0_u64..3).prop_map(|ticks| Value::DateTime(DateTime::from_ticks(600_000_000_000_000_000 + ticks).unwrap())),
        proptest::collection::vec(0_u8..3, 0..2).prop_map(|bytes| Value::Binary(bytes.into())),
    ]
}

fn comparison() -> impl Strategy<Value = Filter> {
    use Operator::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    let operator = proptest::sample::select(&[Equal, NotEqual, Greater, GreaterOrEqual, Less, LessOrEqual][..]);
    let text =
        |values: &'static [&'static str]| proptest::sample::select(values).prop_map(|text| Value::String(text.into()));
    let side = prop_oneof![
        4 => text(&PARTITIONS).prop_map(|constant| ("PartitionKey", constant)),
        4 => text(&ROWS).prop_map(|constant| ("RowKey", constant)),
        1 => value().prop_map(|constant| ("PartitionKey", constant)),
        4 => (proptest::sample::select(&["x", "y", "absent"][..]), value()),
    ];
    (side, operator).prop_map(|((property, constant), operator)| Filter::Compare {
        property: property.into(),
        operator,
        constant,
    })
}

fn filter() -> impl Strategy<Value = Filter> {
    let leaf = prop_oneof![12 => comparison(), 1 => any::<bool>().prop_map(Filter::Constant)];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|inner| Filter::Not(Box::new(inner))),
            proptest::collection::vec(inner.clone(), 2..4).prop_map(Filter::And),
            proptest::collection::vec(inner, 2..4).prop_map(Filter::Or),
        ]
    })
}

type Stored = Vec<((usize, usize), Vec<(String, Value)>)>;

fn stored() -> impl Strategy<Value = Stored> {
    let one = ((0..PARTITIONS.len(), 0..ROWS.len()), (proptest::option::of(value()), proptest::option::of(value())));
    proptest::collection::vec(one, 0..20).prop_map(|entities| {
        let named = |(x, y): (Option<Value>, Option<Value>)| {
            [("x", x), ("y", y)].into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
        };
        entities.into_iter().map(|(place, values)| (place, named(values))).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]
    /// The plan, the pages and the evaluation against one look at every entity.
    #[test]
    fn random_filters_find_what_a_look_at_everything_finds(entities in stored(), filter in filter(), top in 1_usize..5) {
        run(async {
            let place = memory();
            create(&place.tables, address()).await.unwrap();
            for ((partition, row), properties) in entities {
                let key = key(PARTITIONS.get(partition).unwrap(), ROWS.get(row).unwrap());
                upsert(&place.tables, key, Properties::new(properties).unwrap()).await;
            }
            let everything = everything(&place.tables, None, 1000).await;
            let expected: Vec<_> = everything
                .iter()
                .filter(|entity| filter.matches(&|name: &str| entity.get(name)).unwrap())
                .map(|entity| entity.key().clone())
                .collect();
            let (mut found, mut next) = (Vec::new(), None);
            loop {
                let request = table::query::QueryEntities { table: address(), filter: Some(filter.clone()), top, next };
                let request = access::Asked::for_tests(request);
                let page = place.tables.query_entities(&request).await.unwrap();
                found.extend(page.entities.iter().map(|entity| entity.key().clone()));
                next = page.next;
                if next.is_none() {
                    break;
                }
            }
            assert_eq!(found, expected, "{filter:?}");
        });
    }
}
