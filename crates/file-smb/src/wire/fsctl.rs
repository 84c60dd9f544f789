//! The buffers of control codes that are about bytes: server-side copies (MS-SMB2 2.2.31.1, 2.2.32.1 and 2.2.32.3), ranges that
//! hold nothing (MS-FSCC 2.3), and resilient handles (MS-SMB2 2.2.31.3).

use super::{
    FileId,
    bytes::{Reader, layout},
};
use crate::NtStatus;
use bytes::BufMut;

/// Chunks of one copy.
pub const COPY_CHUNKS_MAX: u32 = 256;
/// Bytes of one chunk.
pub const COPY_CHUNK_BYTES: u32 = 1024 * 1024;
/// Bytes of one copy.
pub const COPY_BYTES: u32 = 16 * 1024 * 1024;
/// Bytes of the answer to a copy.
pub const COPY_ANSWER: u32 = 12;
/// Bytes of the answer to SRV_REQUEST_RESUME_KEY, with room for a context that there is not.
pub const RESUME_KEY_ANSWER: usize = 32;

/// SRV_REQUEST_RESUME_KEY: the key by which a copy names what it copies from. Only its own session understands it.
#[must_use]
pub fn resume_key(open: FileId) -> Vec<u8> {
    let mut out = Vec::with_capacity(RESUME_KEY_ANSWER);
    open.write(&mut out);
    out.resize(RESUME_KEY_ANSWER, 0);
    out
}

layout! {
    /// A part that is copied.
    CopyPart {
        source_offset: u64,
        target_offset: u64,
        length: u32 => 4,
    }
}

/// SRV_COPYCHUNK and SRV_COPYCHUNK_WRITE: what is copied, and from where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyChunk {
    /// What the resume key names; `None` when it is no key of ours.
    pub source: Option<FileId>,
    /// The parts, in order.
    pub parts: Vec<CopyPart>,
}

impl CopyChunk {
    /// Reads the input. The inner error is one that is answered with the limits.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: malformed; or, inside, more than may be copied at once.
    pub fn parse(input: &[u8]) -> Result<Result<Self, NtStatus>, NtStatus> {
        let mut reader = Reader::new(input);
        let open = FileId::read(&mut reader)?;
        let rest: [u8; 8] = reader.array()?;
        let source = Some(open).filter(|_| rest == [0; 8]);
        let count = reader.u32()?;
        reader.skip(4)?;
        if count > COPY_CHUNKS_MAX {
            return Ok(Err(NtStatus::INVALID_PARAMETER));
        }
        let parts = (0..count).map(|_| CopyPart::read(&mut reader)).collect::<Result<Vec<_>, _>>()?;
        let total: u64 = parts.iter().map(|part| u64::from(part.length)).sum();
        let fits = parts.iter().all(|part| (1..=COPY_CHUNK_BYTES).contains(&part.length));
        if !fits || total > u64::from(COPY_BYTES) {
            return Ok(Err(NtStatus::INVALID_PARAMETER));
        }
        Ok(Ok(Self { source, parts }))
    }

    /// Appends the input, as a client would send it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.source.unwrap_or(FileId::PREVIOUS).write(out);
        out.put_u64_le(if self.source.is_some() { 0 } else { u64::MAX });
        out.put_u32_le(u32::try_from(self.parts.len()).unwrap_or(u32::MAX));
        out.put_u32_le(0);
        for part in &self.parts {
            part.write(out);
        }
    }
}

layout! {
    /// How far a copy came; or, when it asked for too much, how much may be asked for.
    CopyChunkAnswer {
        chunks: u32,
        chunk_bytes: u32,
        total_bytes: u32,
    }
}

impl CopyChunkAnswer {
    /// How much may be asked for.
    pub const LIMITS: Self = Self { chunks: COPY_CHUNKS_MAX, chunk_bytes: COPY_CHUNK_BYTES, total_bytes: COPY_BYTES };
}

layout! {
    /// SET_ZERO_DATA: from, and to.
    ZeroData {
        start: u64,
        end: u64,
    }
}

layout! {
    /// QUERY_ALLOCATED_RANGES, and each range of its answer.
    AllocatedRange {
        start: u64,
        length: u64,
    }
}

layout! {
    /// LMR_REQUEST_RESILIENCY.
    Resiliency {
        /// Milliseconds; 0 leaves it to the server.
        timeout_ms: u32 => 4,
    }
}

/// Reads a buffer that begins with a layout; what is behind it says nothing.
///
/// # Errors
/// `INVALID_PARAMETER`: it is too short.
pub(crate) fn read<T: super::bytes::Field>(input: &[u8]) -> Result<T, NtStatus> {
    T::read(&mut Reader::new(input))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(length: u32) -> CopyPart {
        CopyPart { source_offset: 1, target_offset: 2, length }
    }

    fn parsed(copy: &CopyChunk) -> Result<Result<CopyChunk, NtStatus>, NtStatus> {
        let mut bytes = Vec::new();
        copy.encode(&mut bytes);
        CopyChunk::parse(&bytes)
    }

    #[test]
    fn copies_within_their_limits() {
        let open = FileId { persistent: 3, volatile: 4 };
        let most = usize::try_from(COPY_CHUNKS_MAX).unwrap();
        let table = [
            (vec![], true),
            (vec![part(1)], true),
            (vec![part(0)], false),
            (vec![part(COPY_CHUNK_BYTES)], true),
            (vec![part(COPY_CHUNK_BYTES + 1)], false),
            (vec![part(COPY_CHUNK_BYTES); 16], true),
            (vec![part(COPY_CHUNK_BYTES); 17], false),
            (vec![part(1); most], true),
            (vec![part(1); most + 1], false),
        ];
        for (parts, fits) in table {
            let copy = CopyChunk { source: Some(open), parts };
            let expected = if fits { Ok(copy.clone()) } else { Err(NtStatus::INVALID_PARAMETER) };
            assert_eq!(parsed(&copy), Ok(expected), "{} parts", copy.parts.len());
        }
    }

    #[test]
    fn a_key_that_is_none_of_ours_names_nothing() {
        let copy = CopyChunk { source: None, parts: vec![part(1)] };
        assert_eq!(parsed(&copy), Ok(Ok(copy)));
    }

    #[test]
    fn a_copy_that_promises_more_than_it_has_is_malformed() {
        let mut bytes = Vec::new();
        CopyChunk { source: Some(FileId::default()), parts: vec![part(1)] }.encode(&mut bytes);
        for length in 0..bytes.len() {
            let cut = CopyChunk::parse(bytes.get(..length).unwrap());
            assert_eq!(cut, Err(NtStatus::INVALID_PARAMETER), "{length}");
        }
    }

    #[test]
    fn a_resume_key_is_the_open_that_it_is_of() {
        let open = FileId { persistent: 3, volatile: 4 };
        let key = resume_key(open);
        assert_eq!(key.len(), RESUME_KEY_ANSWER);
        assert_eq!(read::<FileId>(&key), Ok(open));
        assert_eq!(read::<ZeroData>(&key[..15]), Err(NtStatus::INVALID_PARAMETER));
    }
}
