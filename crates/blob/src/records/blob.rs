//! The record of a part of a blob: the blob itself, a snapshot, a version. What most blobs do not have stands behind one
//! flag, so that a plain blob stays small on disk.
//!
//! **Invariant.** The order of fields and the numbers of variants are in data directories: they are added to, under a new
//! version, and never changed.

use bytes::Bytes;
use concurrency::sequence_number::SequenceNumber;
use store::{
    ChunkRef, StoreError,
    content::Holdings,
    record::{Reader, Writer},
};
use types::{ContentId, ETag};

use super::{lease, take_lease};
use crate::{
    state::{Blob, BlobKind, Extra, RehydratePriority, Rehydration, SoftDeleted, Tier},
    tier::AccessTier,
};

/// The newest version.
const BLOB: u8 = 1;
/// Bytes of the row of a plain blob with a little metadata.
const LIKELY_BYTES: usize = 192;

impl Blob {
    pub(crate) fn encode(&self) -> Bytes {
        let writer = Writer::with_capacity(BLOB, LIKELY_BYTES)
            .number(self.content.number())
            .byte(match self.kind {
                BlobKind::Block => 0,
                BlobKind::Page => 1,
                BlobKind::Append => 2,
            })
            .number(self.etag.value())
            .number(self.last_modified.ticks())
            .number(self.created.ticks())
            .number(self.length);
        let writer = holdings(writer, self.holdings).headers(&self.headers);
        let writer = lease(writer.pairs(&self.metadata), self.lease);
        writer.optional(self.extra.as_deref(), extra).build()
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, StoreError> {
        let mut reader = Reader::new("the row of a blob", row, BLOB)?;
        let blob = Self::take(&mut reader)?;
        reader.end()?;
        Ok(blob)
    }

    fn take(reader: &mut Reader<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            content: ContentId::new(reader.number()?),
            kind: match reader.byte()? {
                0 => BlobKind::Block,
                1 => BlobKind::Page,
                2 => BlobKind::Append,
                other => return Err(reader.malformed(&format!("the kind {other}"))),
            },
            etag: ETag::new(reader.number()?),
            last_modified: reader.time()?,
            created: reader.time()?,
            length: reader.number()?,
            holdings: take_holdings(reader)?,
            headers: reader.headers()?,
            metadata: reader.pairs()?,
            lease: take_lease(reader)?,
            extra: reader.optional(take_extra)?.map(Box::new),
        })
    }
}

fn holdings(writer: Writer, holdings: Holdings) -> Writer {
    match holdings {
        Holdings::Nothing => writer.byte(0),
        Holdings::Chunk(chunk) => writer.byte(1).raw(&chunk.encode()),
        Holdings::Manifest { manifest, .. } => writer.byte(2).raw(&manifest.encode()),
        Holdings::Map => writer.byte(3),
    }
}

fn take_holdings(reader: &mut Reader<'_>) -> Result<Holdings, StoreError> {
    Ok(match reader.byte()? {
        0 => Holdings::Nothing,
        1 => Holdings::Chunk(ChunkRef::decode(&reader.take()?)),
        2 => Holdings::Manifest { manifest: ChunkRef::decode(&reader.take()?), next: 0 },
        3 => Holdings::Map,
        other => return Err(reader.malformed(&format!("holdings of the kind {other}"))),
    })
}

fn extra(writer: Writer, extra: &Extra) -> Writer {
    writer
        .flag(extra.uncommitted)
        .optional(extra.upload.map(ContentId::number), Writer::number)
        .number(extra.snapshots)
        .time(extra.last_snapshot)
        .time(extra.snapshots_gone_to)
        .flag(extra.shared)
        .number(extra.epoch)
        .optional(extra.newest_shared_epoch, Writer::number)
        .flag(extra.untrimmed)
        .number(extra.sequence_number.value())
        .small(extra.append_blocks)
        .flag(extra.sealed)
        .pairs(&extra.tags)
        .optional(extra.tier.as_ref(), tier)
        .optional(extra.copy.as_ref(), Writer::copy_state)
        .optional(extra.expiry, Writer::time)
        .optional(extra.deleted, |writer, deleted| writer.time(deleted.at).time(deleted.until))
}

fn take_extra(reader: &mut Reader<'_>) -> Result<Extra, StoreError> {
    Ok(Extra {
        uncommitted: reader.flag()?,
        upload: reader.optional(Reader::number)?.map(ContentId::new),
        snapshots: reader.number()?,
        last_snapshot: reader.time()?,
        snapshots_gone_to: reader.time()?,
        shared: reader.flag()?,
        epoch: reader.number()?,
        newest_shared_epoch: reader.optional(Reader::number)?,
        untrimmed: reader.flag()?,
        sequence_number: SequenceNumber::new(reader.number()?)
            .ok_or_else(|| reader.malformed("a sequence number that is too large"))?,
        append_blocks: reader.small()?,
        sealed: reader.flag()?,
        tags: reader.pairs()?,
        tier: reader.optional(take_tier)?,
        copy: reader.optional(Reader::copy_state)?,
        expiry: reader.optional(Reader::time)?,
        deleted: reader.optional(|reader| Ok(SoftDeleted { at: reader.time()?, until: reader.time()? }))?,
    })
}

fn tier(writer: Writer, tier: &Tier) -> Writer {
    writer.byte(tier.tier.number()).time(tier.changed).optional(tier.rehydration.as_ref(), |writer, rehydration| {
        let high = rehydration.priority == RehydratePriority::High;
        writer.byte(rehydration.to.number()).flag(high).number(rehydration.due.ticks())
    })
}

fn take_tier(reader: &mut Reader<'_>) -> Result<Tier, StoreError> {
    let rehydration = |reader: &mut Reader<'_>| {
        let to = access_tier(reader)?;
        let priority = if reader.flag()? { RehydratePriority::High } else { RehydratePriority::Standard };
        Ok(Rehydration { to, priority, due: reader.time()? })
    };
    Ok(Tier { tier: access_tier(reader)?, changed: reader.time()?, rehydration: reader.optional(rehydration)? })
}

fn access_tier(reader: &mut Reader<'_>) -> Result<AccessTier, StoreError> {
    let number = reader.byte()?;
    AccessTier::of_number(number).ok_or_else(|| reader.malformed(&format!("the access tier {number}")))
}
