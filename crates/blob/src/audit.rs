//! The audit of the Blob service's rows, for `lazuli check`: every row parses, and what it refers to exists.
//!
//! One pass in key order, in memory that does not grow with the store. What cannot be looked up is compared as a sum of
//! hashes: everything that shares a content against the rows under that content.

use std::hash::{BuildHasher, RandomState};

use store::{
    Direction, Read, Row, StoreError,
    content::{self, Holdings},
};
use types::{ContentId, Timestamp, UnitId};

use crate::{
    keys,
    records::{
        AdoptionRecord, BlockRecord, CopyJob, CopySource, DroppedUpload, PlaceRecord, PruneRecord, SweepRecord,
        UnitRecord, Upload,
    },
    snapshot,
    state::{Blob, Container},
};

/// Problems listed; a store with more of them is broken enough.
const PROBLEMS: usize = 1000;

/// What an audit found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Rows of the Blob service.
    pub rows: u64,
    /// What is wrong, at most 1,000.
    pub problems: Vec<String>,
}

impl Audit {
    fn problem(&mut self, what: String) {
        if self.problems.len() < PROBLEMS {
            self.problems.push(what);
        }
    }
}

/// Sums that must be equal in the end.
#[derive(Default)]
struct Sums {
    sharers: u64,
    shared: u64,
}

/// Audits all rows of the Blob service.
///
/// # Errors
/// The engine could not read.
pub async fn audit(rows: &impl Read) -> Result<Audit, StoreError> {
    let (mut audit, mut sums, hasher) = (Audit::default(), Sums::default(), RandomState::new());
    let mut scan = rows.scan(keys::everything(), Direction::Ascending);
    while let Some(row) = scan.next().await? {
        audit.rows += 1;
        let key = row.key.clone();
        match look(rows, row, &hasher, &mut sums).await {
            Ok(()) => {}
            Err(StoreError::Corrupt(what)) => audit.problem(format!("row {}: {what}", hex(&key))),
            Err(error) => return Err(error),
        }
    }
    if sums.sharers != sums.shared {
        audit.problem("snapshots and copies, and the rows of those who share a content, do not agree".to_owned());
    }
    Ok(audit)
}

async fn look(rows: &impl Read, row: Row, hasher: &RandomState, sums: &mut Sums) -> Result<(), StoreError> {
    let Row { key, value } = row;
    let share = |sum: &mut u64, sharer: (u64, u64, u64)| *sum = sum.wrapping_add(hasher.hash_one(sharer));
    let kind = key.get(1).copied().unwrap_or_default();
    match kind {
        keys::CONTAINER => {
            let (account, name) = keys::parse_container(&key)?;
            let unit = Container::decode(&value)?.unit;
            let named = rows.get(&keys::unit(unit)).await?.map(|row| UnitRecord::decode(&row)).transpose()?;
            expect(named == Some(UnitRecord { account: account.number(), name }), "its unit has another name")
        }
        keys::UNIT => {
            let unit = UnitRecord::decode(&value)?;
            let container = keys::container_marker(UnitId::new(unit.account), &unit.name);
            let container = rows.get(&container).await?.map(|row| Container::decode(&row)).transpose()?;
            let id = keys::parse_one(&key, kind)?;
            expect(container.is_some_and(|container| container.unit.number() == id), "its container does not exist")
        }
        keys::BLOB => {
            let (container, name) = keys::parse_blob(&key)?;
            look_at_blob(rows, container, &name, &Blob::decode(&value)?).await
        }
        // A snapshot and the row of what it shares come together: their sums over the whole table must be equal.
        keys::SNAPSHOT => {
            let (container, _, time) = keys::parse_snapshot(&key)?;
            let blob = Blob::decode(&value)?;
            share(&mut sums.shared, (blob.content.number(), blob.extra().epoch, time.ticks()));
            in_a_container(rows, container).await?;
            has_bytes(rows, &blob).await
        }
        keys::VERSION => {
            let (container, _, _) = keys::parse_version(&key)?;
            in_a_container(rows, container).await?;
            has_bytes(rows, &Blob::decode(&value)?).await
        }
        keys::SHARER => {
            let (content, epoch, who) = keys::parse_sharer(&key)?;
            share(&mut sums.sharers, (content.number(), epoch, who));
            Ok(())
        }
        keys::UPLOAD => {
            let (id, upload) = (keys::parse_one(&key, kind)?, Upload::decode(&value)?);
            let blob = rows.get(&keys::blob(UnitId::new(upload.container), &upload.blob)).await?;
            let blob = blob.map(|row| Blob::decode(&row)).transpose()?;
            expect(blob.is_some_and(|blob| blob.upload() == Some(ContentId::new(id))), "its blob does not know it")?;
            let deadline = Timestamp::from_ticks(upload.deadline);
            exists(rows, &keys::upload_deadline(deadline, ContentId::new(id)), "its deadline").await
        }
        keys::BLOCK => {
            let (upload, _) = keys::parse_block(&key)?;
            let chunk = BlockRecord::decode(&value)?.chunk();
            // The sweep has begun: what is left of the upload goes, in any order.
            if rows.get(&keys::dropped_upload(upload)).await?.is_some() {
                return Ok(());
            }
            exists(rows, &keys::upload(upload), "its upload").await?;
            let live = chunk.length == 0 || content::find(rows, chunk).await?.is_some();
            expect(live, "its bytes were freed")
        }
        keys::UPLOAD_DEADLINE => {
            let (time, upload) = keys::parse_two(&key, kind)?;
            let row = rows.get(&keys::upload(ContentId::new(upload))).await?;
            let upload = row.map(|row| Upload::decode(&row)).transpose()?;
            expect(upload.is_some_and(|upload| upload.deadline == time), "its upload has another deadline")
        }
        keys::TAG => {
            let tag = keys::parse_tag(&key)?;
            let blob = rows.get(&keys::blob(tag.container, &tag.blob)).await?;
            let blob = blob.map(|row| Blob::decode(&row)).transpose()?;
            expect(blob.is_some_and(|blob| blob.tag(&tag.tag) == Some(&tag.value)), "the blob has no such tag")
        }
        keys::COPY => {
            let (container, name) = keys::parse_named(&key, kind)?;
            let job = CopyJob::decode(&value)?;
            if let CopySource::Map { content, epoch, .. } = job.source {
                share(&mut sums.shared, (content, epoch, job.staged));
            }
            let blob = rows.get(&keys::blob(container, &name)).await?.map(|row| Blob::decode(&row)).transpose()?;
            expect(blob.is_some_and(|blob| blob.is_copying()), "no copy into the blob is pending")
        }
        // Work of the background: it may be about what is gone already.
        keys::SWEEP => keys::parse_one(&key, kind).and(SweepRecord::decode(&value)).map(|_| ()),
        keys::EXPIRY => keys::parse_expiry(&key).map(|_| ()),
        keys::DROPPED_UPLOAD => keys::parse_one(&key, kind).and(DroppedUpload::decode(&value)).map(|_| ()),
        keys::PRUNE => keys::parse_one(&key, kind).and(PruneRecord::decode(&value)).map(|_| ()),
        keys::ADOPTION => keys::parse_two(&key, kind).and(AdoptionRecord::decode(&value)).map(|_| ()),
        keys::TRIM => keys::parse_named(&key, kind).and(PlaceRecord::decode(&value)).map(|_| ()),
        other => Err(StoreError::corrupt(format!("its kind {other:#04x} is unknown"))),
    }
}

async fn look_at_blob(rows: &impl Read, container: UnitId, name: &str, blob: &Blob) -> Result<(), StoreError> {
    in_a_container(rows, container).await?;
    has_bytes(rows, blob).await?;
    let Some(extra) = blob.extra.as_deref() else { return Ok(()) };
    if let Some(upload) = blob.upload() {
        exists(rows, &keys::upload(upload), "its upload").await?;
    }
    if let Some(expiry) = extra.expiry {
        exists(rows, &keys::expiry(expiry, container, name), "its expiry").await?;
    }
    if blob.is_copying() {
        exists(rows, &keys::copy(container, name), "its copy").await?;
    }
    if extra.untrimmed {
        exists(rows, &keys::trim(container, name), "its trim").await?;
    }
    if let Some(unit) = rows.get(&keys::unit(container)).await? {
        let account = UnitId::new(UnitRecord::decode(&unit)?.account);
        for (tag, value) in &extra.tags {
            exists(rows, &keys::tag(account, tag, value, container, name), "the index of its tags").await?;
        }
    }
    let mut count = 0;
    let mut snapshots = rows.scan(keys::snapshots(container, name), Direction::Ascending);
    while let Some(row) = snapshots.next().await? {
        let (_, _, time) = keys::parse_snapshot(&row.key)?;
        count += u64::from(snapshot::belongs(blob, time));
    }
    expect(count == extra.snapshots, "it has another number of snapshots")
}

async fn in_a_container(rows: &impl Read, container: UnitId) -> Result<(), StoreError> {
    let known = rows.get(&keys::unit(container)).await?.is_some() || rows.get(&keys::sweep(container)).await?.is_some();
    expect(known, "its container does not exist")
}

async fn has_bytes(rows: &impl Read, blob: &Blob) -> Result<(), StoreError> {
    let chunk = match blob.holdings {
        Holdings::Nothing | Holdings::Map => return Ok(()),
        Holdings::Chunk(chunk) => chunk,
        Holdings::Manifest { manifest, .. } => manifest,
    };
    expect(content::find(rows, chunk).await?.is_some(), "its bytes were freed")
}

async fn exists(rows: &impl Read, key: &[u8], what: &str) -> Result<(), StoreError> {
    if rows.get(key).await?.is_some() { Ok(()) } else { Err(StoreError::corrupt(format!("{what} has no row"))) }
}

fn expect(holds: bool, otherwise: &'static str) -> Result<(), StoreError> {
    if holds { Ok(()) } else { Err(StoreError::corrupt(otherwise)) }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
