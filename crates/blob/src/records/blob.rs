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
use types::{ContentId, ETag, Timestamp};

use super::{lease, optional, pairs, take_lease, take_optional, take_pairs, time};
use crate::{
    content_md5::ContentMd5,
    state::{
        Blob, BlobKind, CopyState, CopyStatus, Extra, HttpHeaders, RehydratePriority, Rehydration, SoftDeleted, Tier,
    },
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
        let writer = headers(holdings(writer, self.holdings), &self.headers);
        let writer = lease(pairs(writer, &self.metadata), self.lease);
        optional(writer, self.extra.as_deref(), extra).build()
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
            last_modified: time(reader)?,
            created: time(reader)?,
            length: reader.number()?,
            holdings: take_holdings(reader)?,
            headers: take_headers(reader)?,
            metadata: take_pairs(reader)?,
            lease: take_lease(reader)?,
            extra: take_optional(reader, take_extra)?.map(Box::new),
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

fn headers(writer: Writer, headers: &HttpHeaders) -> Writer {
    let texts = [
        &headers.content_type,
        &headers.content_encoding,
        &headers.content_language,
        &headers.content_disposition,
        &headers.cache_control,
    ];
    let writer = texts.into_iter().fold(writer, |writer, text| optional(writer, text.as_deref(), Writer::text));
    match &headers.content_md5 {
        None => writer.byte(0),
        Some(ContentMd5::Md5(md5)) => writer.byte(1).raw(md5),
        Some(ContentMd5::Other(bytes)) => writer.byte(2).bytes(bytes),
    }
}

fn take_headers(reader: &mut Reader<'_>) -> Result<HttpHeaders, StoreError> {
    Ok(HttpHeaders {
        content_type: take_optional(reader, text)?,
        content_encoding: take_optional(reader, text)?,
        content_language: take_optional(reader, text)?,
        content_disposition: take_optional(reader, text)?,
        cache_control: take_optional(reader, text)?,
        content_md5: match reader.byte()? {
            0 => None,
            1 => Some(ContentMd5::Md5(reader.take()?)),
            2 => Some(ContentMd5::Other(reader.bytes()?.into())),
            other => return Err(reader.malformed(&format!("a Content-MD5 of the kind {other}"))),
        },
    })
}

fn text(reader: &mut Reader<'_>) -> Result<String, StoreError> {
    reader.text().map(str::to_owned)
}

fn extra(writer: Writer, extra: &Extra) -> Writer {
    let writer = optional(writer.flag(extra.uncommitted), extra.upload.map(ContentId::number), Writer::number)
        .number(extra.snapshots)
        .number(extra.last_snapshot.ticks())
        .number(extra.snapshots_gone_to.ticks())
        .flag(extra.shared)
        .number(extra.epoch);
    let writer = optional(writer, extra.newest_shared_epoch, Writer::number)
        .flag(extra.untrimmed)
        .number(extra.sequence_number.value())
        .small(extra.append_blocks)
        .flag(extra.sealed);
    let writer = optional(pairs(writer, &extra.tags), extra.tier.as_ref(), tier);
    let writer = optional(writer, extra.copy.as_ref(), copy);
    let writer = optional(writer, extra.expiry.map(Timestamp::ticks), Writer::number);
    optional(writer, extra.deleted, |writer, deleted| writer.number(deleted.at.ticks()).number(deleted.until.ticks()))
}

fn take_extra(reader: &mut Reader<'_>) -> Result<Extra, StoreError> {
    Ok(Extra {
        uncommitted: reader.flag()?,
        upload: take_optional(reader, Reader::number)?.map(ContentId::new),
        snapshots: reader.number()?,
        last_snapshot: time(reader)?,
        snapshots_gone_to: time(reader)?,
        shared: reader.flag()?,
        epoch: reader.number()?,
        newest_shared_epoch: take_optional(reader, Reader::number)?,
        untrimmed: reader.flag()?,
        sequence_number: SequenceNumber::new(reader.number()?)
            .ok_or_else(|| reader.malformed("a sequence number that is too large"))?,
        append_blocks: reader.small()?,
        sealed: reader.flag()?,
        tags: take_pairs(reader)?,
        tier: take_optional(reader, take_tier)?,
        copy: take_optional(reader, take_copy)?,
        expiry: take_optional(reader, time)?,
        deleted: take_optional(reader, |reader| Ok(SoftDeleted { at: time(reader)?, until: time(reader)? }))?,
    })
}

fn tier(writer: Writer, tier: &Tier) -> Writer {
    let writer = writer.byte(tier.tier.number()).number(tier.changed.ticks());
    optional(writer, tier.rehydration.as_ref(), |writer, rehydration| {
        let high = rehydration.priority == RehydratePriority::High;
        writer.byte(rehydration.to.number()).flag(high).number(rehydration.due.ticks())
    })
}

fn take_tier(reader: &mut Reader<'_>) -> Result<Tier, StoreError> {
    let rehydration = |reader: &mut Reader<'_>| {
        let to = access_tier(reader)?;
        let priority = if reader.flag()? { RehydratePriority::High } else { RehydratePriority::Standard };
        Ok(Rehydration { to, priority, due: time(reader)? })
    };
    Ok(Tier { tier: access_tier(reader)?, changed: time(reader)?, rehydration: take_optional(reader, rehydration)? })
}

fn access_tier(reader: &mut Reader<'_>) -> Result<AccessTier, StoreError> {
    let number = reader.byte()?;
    AccessTier::of_number(number).ok_or_else(|| reader.malformed(&format!("the access tier {number}")))
}

fn copy(writer: Writer, copy: &CopyState) -> Writer {
    let writer = writer.text(&copy.id).text(&copy.source).byte(match copy.status {
        CopyStatus::Pending => 0,
        CopyStatus::Success => 1,
        CopyStatus::Aborted => 2,
        CopyStatus::Failed => 3,
    });
    let writer = optional(writer, copy.description.as_deref(), Writer::text).number(copy.copied).number(copy.total);
    optional(writer, copy.completed.map(Timestamp::ticks), Writer::number)
}

fn take_copy(reader: &mut Reader<'_>) -> Result<CopyState, StoreError> {
    Ok(CopyState {
        id: text(reader)?,
        source: text(reader)?,
        status: match reader.byte()? {
            0 => CopyStatus::Pending,
            1 => CopyStatus::Success,
            2 => CopyStatus::Aborted,
            3 => CopyStatus::Failed,
            other => return Err(reader.malformed(&format!("a copy of the status {other}"))),
        },
        description: take_optional(reader, text)?,
        copied: reader.number()?,
        total: reader.number()?,
        completed: take_optional(reader, time)?,
    })
}
