//! Requests on one open that change something, in the order of the connections that they were sent on.

use crate::{NtStatus, durable, open::Open, request::Cx, wire::header::flags};

/// A request that changes something, while it is under way.
pub(crate) struct Turn<'a> {
    open: &'a Open,
    sequence: Option<u16>,
}

impl<'a> Turn<'a> {
    /// Refuses what was sent before its client lost its connection and comes behind what was sent after it.
    pub(crate) fn begin(cx: &Cx<'_>, open: &'a Open) -> Result<Self, NtStatus> {
        if !durable::is_third_dialect(cx) {
            return Ok(Self { open, sequence: None });
        }
        let begun =
            open.remembered.channel().begin(cx.header.channel_sequence(), cx.header.has(flags::REPLAY_OPERATION));
        let sequence = begun.ok_or(NtStatus::FILE_NOT_AVAILABLE)?;
        Ok(Self { open, sequence: Some(sequence) })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(sequence) = self.sequence {
            self.open.remembered.channel().end(sequence);
        }
    }
}
