//! The bytes of an open source, taken now: Put Block From URL, Put Range From URL and their like.

use bytes::Bytes;
use rest::{
    ServiceError,
    checksum::{Checksums, Computed},
};

use crate::Arriving;

/// What takes the bytes.
pub trait Sink: Send {
    /// Takes the next bytes.
    fn write(&mut self, bytes: Bytes) -> impl Future<Output = Result<(), ServiceError>> + Send;
}

/// Takes so many bytes of a source, and what they add up to: the MD5 where it is wanted.
///
/// # Errors
/// The source or the sink failed.
pub async fn bring(
    bytes: &mut dyn Arriving,
    sink: &mut impl Sink,
    length: u64,
    md5: bool,
) -> Result<Computed, ServiceError> {
    let mut checksums = Checksums::new(md5, false);
    let mut left = length;
    while left > 0 {
        let piece = bytes.next().await?;
        let room = usize::try_from(left).unwrap_or(usize::MAX);
        let piece = piece.slice(..piece.len().min(room));
        left -= u64::try_from(piece.len()).unwrap_or(0);
        checksums = checksums.take(piece.clone()).await;
        sink.write(piece).await?;
    }
    Ok(checksums.finish())
}
