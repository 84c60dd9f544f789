//! The audit of the File service's rows, for `lazuli check`: every row parses, what it refers to exists, and every count is
//! right.
//!
//! One pass in key order, in memory that does not grow with the store. What cannot be looked up is compared as a sum of
//! hashes: entries against nodes. Rows of a share that is being swept are only read: some of them are gone.

use std::hash::{BuildHasher, RandomState};

use bytes::Bytes;
use store::{Direction, Read, Row, StoreError, content_map, key::KeyRange};
use types::{CopyStatus, Inode, UnitId};

use crate::{
    history, keys, permission,
    records::{
        CopyJob, CopySource, CopySourceRecord, DeletedShare, DeletedUnit, PruneMapRecord, UnitRecord, WalkRecord,
    },
    share, share_snapshot,
    state::{Entry, File, Node, Share},
    upcase::upcase,
    usage::{self, Stripe},
};

/// Problems listed; a store with more of them is broken enough.
const PROBLEMS: usize = 1000;
/// Parts of a map looked at in one go.
const PARTS: usize = 4096;

/// What an audit found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Rows of the File service.
    pub rows: u64,
    /// What is wrong, at most 1,000.
    pub problems: Vec<String>,
}

impl Audit {
    fn note(&mut self, key: &[u8], outcome: Result<(), StoreError>) -> Result<(), StoreError> {
        match outcome {
            Err(StoreError::Corrupt(what)) => {
                self.problem(format!("row {}: {what}", hex(key)));
                Ok(())
            }
            other => other,
        }
    }

    fn problem(&mut self, what: String) {
        if self.problems.len() < PROBLEMS {
            self.problems.push(what);
        }
    }
}

/// What is known at a place of the pass.
#[derive(Default)]
struct Pass {
    hasher: RandomState,
    /// Sums that must be equal in the end: what entries say, and what nodes say.
    entries: u64,
    nodes: u64,
    /// What the files of the share that the pass is in hold, by stripes.
    held: Option<(UnitId, Vec<u64>)>,
}

impl Pass {
    /// An entry of a directory, or the node that it names.
    fn tie(&self, share: UnitId, parent: Inode, inode: Inode) -> u64 {
        self.hasher.hash_one((share.number(), parent.number(), inode.number()))
    }

    fn hold(&mut self, share: UnitId, node: &Node) {
        let (_, stripes) = self.held.get_or_insert_with(|| (share, Vec::new()));
        stripes.resize(usize::try_from(usage::STRIPES).unwrap_or_default(), 0);
        let bytes = node.file.as_ref().map_or(0, |file| file.allocated);
        let stripe = usize::try_from(usage::stripe(node.inode)).ok().and_then(|stripe| stripes.get_mut(stripe));
        if let Some(stripe) = stripe {
            *stripe = stripe.saturating_add(bytes);
        }
    }
}

/// Audits all rows of the File service.
///
/// # Errors
/// The engine could not read.
pub async fn audit(rows: &impl Read) -> Result<Audit, StoreError> {
    let (mut audit, mut pass) = (Audit::default(), Pass::default());
    let mut scan = rows.scan(keys::everything(), Direction::Ascending);
    while let Some(row) = scan.next().await? {
        audit.rows += 1;
        let key = row.key.clone();
        let outcome = look(rows, row, &mut audit, &mut pass).await;
        audit.note(&key, outcome)?;
    }
    end_of_share(rows, &mut audit, &mut pass, None).await?;
    if pass.entries != pass.nodes {
        audit.problem("directories and what says that it is in them do not agree".to_owned());
    }
    Ok(audit)
}

async fn look(rows: &impl Read, row: Row, audit: &mut Audit, pass: &mut Pass) -> Result<(), StoreError> {
    let Row { key, value } = row;
    let kind = key.get(1).copied().unwrap_or_default();
    match kind {
        keys::SHARE => {
            let (account, name) = keys::parse_share(&key)?;
            let share = Share::decode(&value)?;
            let named = rows.get(&keys::unit(share.unit)).await?.map(|row| UnitRecord::decode(&row)).transpose()?;
            expect(named == Some(UnitRecord { account, name }), "its unit has another name")?;
            look_at_share(rows, &share).await
        }
        keys::UNIT => {
            let unit = UnitId::new(keys::parse_one(&key, kind)?);
            let share = share::of_unit(rows, unit).await?;
            expect(share.is_some_and(|share| share.unit == unit), "its share does not exist")
        }
        keys::SHARE_SNAPSHOT => {
            let (unit, _) = keys::parse_share_snapshot(&key)?;
            expect(Share::decode(&value)?.unit == unit, "it is of another share")?;
            is_whole(rows, unit).await.map(|_| ())
        }
        keys::ENTRY => look_at_entry(rows, &key, &Entry::decode(&value)?, pass).await,
        keys::ENTRY_HISTORY => {
            let (share, parent, name, until) = keys::parse_entry_history(&key)?;
            let entry = Entry::decode(&value)?;
            expect(upcase(&entry.name) == name, "it stands under another name")?;
            is_whole(rows, share).await?;
            let behind = keys::entry(keys::ENTRY_HISTORY, share, parent, &name).range();
            let present = keys::entry(keys::ENTRY, share, parent, &name).build();
            does_not_overlap(rows, (entry.since, until), behind.after(&key), &present).await
        }
        keys::NODE => {
            let (share, inode) = keys::parse_two(&key, kind)?;
            let (share, node) = (UnitId::new(share), Node::decode(&value)?);
            end_of_share(rows, audit, pass, Some(share)).await?;
            expect(node.inode.number() == inode, "it is about another inode")?;
            look_at_node(rows, share, &node, pass).await
        }
        keys::NODE_HISTORY => {
            let (share, inode, until) = keys::parse_node_history(&key)?;
            let node = Node::decode(&value)?;
            expect(node.inode == inode, "it is about another inode")?;
            is_whole(rows, share).await?;
            let behind = keys::node(keys::NODE_HISTORY, share, inode).range();
            let present = keys::node(keys::NODE, share, inode).build();
            does_not_overlap(rows, (node.since, until), behind.after(&key), &present).await
        }
        keys::PERMISSION => {
            let (share, id) = keys::parse_permission(&key)?;
            expect(permission::key_of(permission::decode(&value)?).0 == id, "its key is another")?;
            is_whole(rows, share).await.map(|_| ())
        }
        keys::USAGE => {
            let (_, stripe) = keys::parse_two(&key, kind)?;
            expect(stripe < usage::STRIPES, "it is no stripe")?;
            Stripe::decode(&value).map(|_| ())
        }
        keys::SWEEP | keys::PRUNE => keys::parse_one(&key, kind).and(WalkRecord::decode(&value)).map(|_| ()),
        keys::PRUNE_MAP => keys::parse_prune_map(&key).and(PruneMapRecord::decode(&value)).map(|_| ()),
        keys::TRIM => keys::parse_two(&key, kind).map(|_| ()),
        keys::COPY => {
            let (share, inode) = keys::parse_two(&key, kind)?;
            look_at_copy(rows, UnitId::new(share), Inode::new(inode), &CopyJob::decode(&value)?).await
        }
        keys::COPY_SOURCE => {
            let (_, _, staged) = keys::parse_copy_source(&key)?;
            let CopySourceRecord { share, inode } = CopySourceRecord::decode(&value)?;
            let copy = rows.get(&keys::node(keys::COPY, share, inode).build()).await?;
            let copy = copy.map(|row| CopyJob::decode(&row)).transpose()?;
            expect(copy.is_some_and(|copy| copy.staged == staged), "its copy does not exist")
        }
        keys::DELETED_SHARE => {
            let (account, name, version) = keys::parse_deleted_share(&key)?;
            let deleted = DeletedShare::decode(&value)?;
            let place = rows.get(&keys::one(keys::DELETED_UNIT, deleted.share.unit)).await?;
            let place = place.map(|row| DeletedUnit::decode(&row)).transpose()?;
            let here = DeletedUnit { account, name: name.clone(), version };
            expect(place == Some(here), "its unit stands elsewhere")?;
            let deadline = keys::deleted_share_deadline(deleted.until, account, &name, version);
            exists(rows, &deadline, "its deadline").await?;
            look_at_share(rows, &deleted.share).await
        }
        keys::DELETED_SHARE_DEADLINE => {
            let (until, account, name, version) = keys::parse_deleted_share_deadline(&key)?;
            let deleted = rows.get(&keys::deleted_share(account, &name, version)).await?;
            let deleted = deleted.map(|row| DeletedShare::decode(&row)).transpose()?;
            expect(deleted.is_some_and(|deleted| deleted.until == until), "its share has another deadline")
        }
        keys::DELETED_UNIT => {
            let (unit, place) = (keys::parse_one(&key, kind)?, DeletedUnit::decode(&value)?);
            let row = rows.get(&keys::deleted_share(place.account, &place.name, place.version)).await?;
            let deleted = row.map(|row| DeletedShare::decode(&row)).transpose()?;
            expect(deleted.is_some_and(|deleted| deleted.share.unit.number() == unit), "its share does not exist")
        }
        other => Err(StoreError::corrupt(format!("its kind {other:#04x} is unknown"))),
    }
}

/// A share that exists or can be restored: its topmost directory, and what it says about its snapshots.
async fn look_at_share(rows: &impl Read, share: &Share) -> Result<(), StoreError> {
    exists(rows, &keys::node(keys::NODE, share.unit, share.root).build(), "its topmost directory").await?;
    let epochs = share_snapshot::epochs(rows, share.unit).await?;
    expect(u64::try_from(epochs.len()).is_ok_and(|count| count == share.snapshots), "it has other snapshots")?;
    expect(epochs.is_sorted_by(|one, other| one < other), "its snapshots are not in order")?;
    expect(epochs.last().copied() == share.newest_snapshot, "its newest snapshot is another")?;
    expect(epochs.last().is_none_or(|newest| *newest < share.epoch), "its newest snapshot is not before its epoch")
}

async fn look_at_entry(rows: &impl Read, key: &Bytes, entry: &Entry, pass: &mut Pass) -> Result<(), StoreError> {
    let (share, parent, name) = keys::parse_entry(key)?;
    expect(upcase(&entry.name) == name, "it stands under another name")?;
    if !is_whole(rows, share).await? {
        return Ok(());
    }
    pass.entries = pass.entries.wrapping_add(pass.tie(share, parent, entry.inode));
    let directory = node(rows, share, parent).await?;
    expect(directory.is_some_and(|node| node.is_directory()), "its directory does not exist")?;
    let Some(node) = node(rows, share, entry.inode).await? else {
        return Err(StoreError::corrupt("what it names does not exist"));
    };
    expect(node.parent == parent, "what it names is in another directory")?;
    expect(node.is_directory() == entry.is_directory, "what it names is of another kind")
}

async fn node(rows: &impl Read, share: UnitId, inode: Inode) -> Result<Option<Node>, StoreError> {
    let row = rows.get(&keys::node(keys::NODE, share, inode).build()).await?;
    row.map(|row| Node::decode(&row)).transpose()
}

async fn look_at_node(rows: &impl Read, share: UnitId, node: &Node, pass: &mut Pass) -> Result<(), StoreError> {
    if !is_whole(rows, share).await? {
        return Ok(());
    }
    pass.hold(share, node);
    if node.parent != node.inode {
        pass.nodes = pass.nodes.wrapping_add(pass.tie(share, node.parent, node.inode));
    }
    exists(rows, &keys::permission(share, node.smb.permission.0), "its security descriptor").await?;
    let Some(file) = &node.file else { return Ok(()) };
    if file.untrimmed {
        exists(rows, &keys::node(keys::TRIM, share, node.inode).build(), "its trim").await?;
    }
    if file.copy.as_ref().is_some_and(|copy| copy.status == CopyStatus::Pending) {
        exists(rows, &keys::node(keys::COPY, share, node.inode).build(), "its copy").await?;
    }
    look_at_map(rows, file).await
}

/// A copy that has not ended: the file says so too, and what it reads is kept.
async fn look_at_copy(rows: &impl Read, share: UnitId, inode: Inode, job: &CopyJob) -> Result<(), StoreError> {
    if let CopySource::Map { content, epoch, .. } = job.source {
        exists(rows, &keys::copy_source(content, epoch, job.staged), "what it reads").await?;
    }
    if !is_whole(rows, share).await? {
        return Ok(());
    }
    let state = node(rows, share, inode).await?.and_then(|node| node.file).and_then(|file| file.copy);
    let is_it = state.is_some_and(|state| state.status == CopyStatus::Pending && state.id == job.id);
    expect(is_it, "its file says nothing of it")
}

/// What is written of a file is within it, and is as much as it says.
async fn look_at_map(rows: &impl Read, file: &File) -> Result<(), StoreError> {
    let (mut from, mut held) = (0, 0_u64);
    loop {
        let (parts, next) = content_map::read(rows, file.content, file.epoch, (from, u64::MAX), PARTS).await?;
        held = parts.iter().fold(held, |held, part| held.saturating_add(part.slice.length));
        let end = parts.last().map_or(0, content_map::Segment::end);
        expect(file.untrimmed || end <= file.length, "its map reaches behind its end")?;
        match next {
            Some(next) => from = next,
            None => return expect(held == file.allocated, "its map holds more or less than it says"),
        }
    }
}

/// What held in a span ended before what stands behind it began.
async fn does_not_overlap(
    rows: &impl Read,
    (since, until): (u64, u64),
    behind: KeyRange,
    present: &[u8],
) -> Result<(), StoreError> {
    expect(since < until, "it ended before it began")?;
    let next = match rows.scan(behind, Direction::Ascending).next().await? {
        Some(row) => Some(row.value),
        None => rows.get(present).await?,
    };
    match next {
        Some(next) => expect(history::since(&next)? >= until, "it ended after the next one began"),
        None => Ok(()),
    }
}

/// The pass is behind the nodes of a share: what its files hold must be what it counts.
async fn end_of_share(
    rows: &impl Read,
    audit: &mut Audit,
    pass: &mut Pass,
    next: Option<UnitId>,
) -> Result<(), StoreError> {
    let Some((share, held)) = pass.held.take_if(|(share, _)| Some(*share) != next) else { return Ok(()) };
    for (stripe, held) in (0_u64..).zip(held) {
        let key = keys::usage(share, stripe);
        let counted = rows.get(&key).await?.map(|row| Stripe::decode(&row)).transpose()?.unwrap_or_default().held;
        if counted != held {
            audit.problem(format!("row {}: it counts {counted} bytes, and files hold {held}", hex(&key)));
        }
    }
    Ok(())
}

/// Whether all rows of a share are there: not while it is swept.
async fn is_whole(rows: &impl Read, share: UnitId) -> Result<bool, StoreError> {
    if rows.get(&keys::unit(share)).await?.is_some() || rows.get(&keys::one(keys::DELETED_UNIT, share)).await?.is_some()
    {
        return Ok(true);
    }
    exists(rows, &keys::one(keys::SWEEP, share), "its share").await?;
    Ok(false)
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

#[cfg(test)]
mod tests;
