//! The audit of the Table service's rows: every row parses, and every entity belongs to a table or to a sweep.
//!
//! One pass in key order; in memory there is one number a table.

use std::collections::HashSet;

use store::{Direction, Read, StoreError, audit::Audit};
use types::UnitId;

use crate::{Entity, keys, records};

/// Looks at every row of the Table service.
///
/// # Errors
/// The engine could not read.
pub async fn audit(rows: &impl Read) -> Result<Audit, StoreError> {
    let mut audit = Audit::default();
    let mut units = HashSet::new();
    let mut scan = rows.scan(keys::all_tables(), Direction::Ascending);
    while let Some(row) = scan.next().await? {
        audit.rows += 1;
        let table = keys::parse_table(&row.key).and_then(|(_, folded)| {
            let table = records::decode_table(&row.value)?;
            let right = table.name.folded() == folded && units.insert(table.unit);
            if right { Ok(()) } else { Err(StoreError::corrupt(format!("the table {folded} has a wrong row"))) }
        });
        note(&mut audit, table)?;
    }
    let mut scan = rows.scan(keys::sweeps(), Direction::Ascending);
    while let Some(row) = scan.next().await? {
        audit.rows += 1;
        let swept = keys::parse_sweep(&row.key).map(|unit| units.insert(unit));
        note(&mut audit, swept.and_then(|_| records::decode_sweep(&row.value)).map(drop))?;
    }
    let mut scan = rows.scan(keys::all_entities(), Direction::Ascending);
    while let Some(row) = scan.next().await? {
        audit.rows += 1;
        let owner = keys::parse_entity(&row.key).map(|(unit, _)| unit);
        let entity = owner.and_then(|unit| owned(&units, unit)).and_then(|()| Entity::decode(row));
        let read = entity.and_then(|entity| entity.properties().try_for_each(|property| property.map(drop)));
        note(&mut audit, read)?;
    }
    Ok(audit)
}

fn owned(units: &HashSet<UnitId>, unit: UnitId) -> Result<(), StoreError> {
    let known = units.contains(&unit);
    if known { Ok(()) } else { Err(StoreError::corrupt(format!("an entity of a table {unit:?} that does not exist"))) }
}

fn note(audit: &mut Audit, found: Result<(), StoreError>) -> Result<(), StoreError> {
    match found {
        Err(StoreError::Corrupt(what)) => audit.problem(what.to_string()),
        other => other?,
    }
    Ok(())
}
