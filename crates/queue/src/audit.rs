//! The audit of the service's rows: everything parses, every message has its text and its expiry and they have it, every
//! count is right, and nothing belongs to nobody.
//!
//! One pass in key order. What it remembers are the queues, not their messages.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{BuildHasher, RandomState},
};

use store::{Direction, Read, Row, StoreError};

use crate::{
    keys::{self, MessageIndex},
    message, records,
    records::StoredMessage,
};

/// What an audit found.
#[derive(Debug, Default)]
pub struct Audit {
    /// Rows of the service.
    pub rows: u64,
    /// Messages.
    pub messages: u64,
    /// What is wrong, at most [`store::audit::PROBLEMS`].
    pub problems: Vec<String>,
}

impl Audit {
    fn problem(&mut self, what: String) {
        if self.problems.len() < store::audit::PROBLEMS {
            self.problems.push(what);
        }
    }
}

/// What must agree in the end.
#[derive(Default)]
struct Books {
    hasher: RandomState,
    /// The message indexes of queues.
    live: BTreeSet<MessageIndex>,
    /// The indexes that are being swept: their counts are not kept.
    swept: BTreeSet<MessageIndex>,
    /// Messages found less messages counted.
    open: BTreeMap<MessageIndex, i64>,
    texts: u64,
    texts_of_messages: u64,
    expiries: u64,
}

/// Audits all rows of the service.
///
/// # Errors
/// The engine could not read.
pub async fn audit(rows: &impl Read) -> Result<Audit, StoreError> {
    let (mut audit, mut books) = (Audit::default(), Books::default());
    let mut sweeps = rows.scan(keys::sweeps(), Direction::Ascending);
    while let Some(row) = sweeps.next().await? {
        books.swept.extend(keys::parse_sweep(&row.key).ok());
    }
    let mut scan = rows.scan(keys::everything(), Direction::Ascending);
    while let Some(row) = scan.next().await? {
        audit.rows += 1;
        match look(rows, &row, &mut audit, &mut books).await {
            Ok(()) => {}
            Err(StoreError::Corrupt(what)) => audit.problem(format!("row {}: {what}", hex(&row.key))),
            Err(other) => return Err(other),
        }
    }
    for (index, difference) in books.open {
        if difference != 0 && !books.swept.contains(&index) {
            audit.problem(format!("the count of {index:?} is off by {difference}"));
        }
    }
    if books.texts != books.texts_of_messages {
        audit.problem("long texts and their messages do not agree".into());
    }
    if books.expiries != 0 {
        audit.problem("messages and their expiries do not agree".into());
    }
    Ok(audit)
}

async fn look(rows: &impl Read, row: &Row, audit: &mut Audit, books: &mut Books) -> Result<(), StoreError> {
    let add = |sum: &mut u64, what: u64| *sum = sum.wrapping_add(what);
    match row.key.get(1).copied().unwrap_or_default() {
        keys::QUEUE => {
            keys::parse_queue(&row.key)?;
            books.live.insert(records::decode_queue(&row.value)?.index());
            Ok(())
        }
        keys::MESSAGE => {
            let (index, place) = keys::parse_message(&row.key)?;
            let stored = StoredMessage::decode(place, &row.value)?;
            audit.messages += 1;
            *books.open.entry(index).or_default() += 1;
            // A long text has a row of its own, and what expires is listed by its expiry: sums compare both at the end.
            if stored.text.is_none() {
                add(&mut books.texts_of_messages, books.hasher.hash_one((index, place.number)));
            }
            if message::expires(&stored) {
                add(&mut books.expiries, books.hasher.hash_one((stored.message.expiry, index, place)));
            }
            books.belongs(index)
        }
        keys::TEXT => {
            let (index, number) = keys::parse_text(&row.key)?;
            records::decode_text(&row.value)?;
            add(&mut books.texts, books.hasher.hash_one((index, number)));
            books.belongs(index)
        }
        keys::EXPIRY => {
            let (expiry, index, number) = keys::parse_expiry(&row.key)?;
            let place = records::decode_place(&row.value)?;
            let hash = books.hasher.hash_one((expiry, index, place));
            books.expiries = books.expiries.wrapping_sub(hash);
            if place.number != number || rows.get(&keys::message(index, place)).await?.is_none() {
                return Err(StoreError::corrupt("an expiry that leads to no message"));
            }
            Ok(())
        }
        keys::TALLY => {
            let (index, _) = keys::parse_tally(&row.key)?;
            // Counted up by the messages, down by the shards of the count: nothing is left when both are right.
            let open = books.open.entry(index).or_default();
            *open = open.saturating_sub(records::decode_tally(&row.value)?);
            books.belongs(index)
        }
        keys::MARK => {
            records::decode_place(&row.value)?;
            books.belongs(keys::parse_mark(&row.key)?)
        }
        keys::SWEEP => {
            keys::parse_sweep(&row.key)?;
            records::decode_place(&row.value).map(|_| ())
        }
        other => Err(StoreError::corrupt(format!("its kind {other:#04x} is unknown"))),
    }
}

impl Books {
    fn belongs(&self, index: MessageIndex) -> Result<(), StoreError> {
        if self.live.contains(&index) || self.swept.contains(&index) {
            Ok(())
        } else {
            Err(StoreError::corrupt("it belongs to no queue"))
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
