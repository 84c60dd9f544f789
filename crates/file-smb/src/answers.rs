//! The answers to one frame, put together into one: headers, padding, signatures, encryption.
//!
//! **Invariants.** Each answer but the last begins at a multiple of eight and says where the next one is, and is signed with
//! its padding. What came encrypted is answered encrypted, and then not signed. The bytes of a READ that is answered
//! alone and not encrypted are not copied.

use std::{io::IoSlice, sync::Arc};

use bytes::{BufMut as _, Bytes, BytesMut};

use crate::{
    NtStatus,
    open::Reply,
    secrets::SEALED_HEAD,
    session::Session,
    wire::{
        error::ErrorResponse,
        frame,
        header::{HEADER, Header, set_next_command},
    },
};

/// A frame on its way to a client.
pub(crate) struct Frame {
    /// With the prefix.
    pub(crate) head: Bytes,
    pub(crate) payload: Vec<Bytes>,
}

impl Frame {
    /// All its bytes.
    pub(crate) fn len(&self) -> usize {
        self.head.len().saturating_add(self.payload.iter().map(Bytes::len).sum())
    }

    /// Its parts, in their order.
    pub(crate) fn parts(&self) -> Vec<IoSlice<'_>> {
        std::iter::once(&self.head).chain(&self.payload).map(|part| IoSlice::new(part)).collect()
    }
}

/// One answer.
pub(crate) struct Answer {
    pub(crate) header: Header,
    pub(crate) reply: Reply,
    /// Who signs it.
    pub(crate) signer: Option<Arc<Session>>,
}

impl Answer {
    /// The answer to a request, with the body of an error where there is none of its own.
    pub(crate) fn new(request: &Header, outcome: Result<Reply, NtStatus>, has_contexts: bool) -> Self {
        let mut reply = outcome.unwrap_or_else(|status| Reply { status, ..Reply::default() });
        // An error that says more than its status has written it already.
        if reply.body.is_empty() {
            ErrorResponse::default().encode(has_contexts, &mut reply.body);
        }
        Self { header: request.response(reply.status), reply, signer: None }
    }
}

/// Puts answers into a frame. `None` when it would be longer than a frame can be, or cannot be encrypted any more.
pub(crate) fn frame(answers: Vec<Answer>, sealer: Option<&Session>) -> Option<Frame> {
    frame_in(answers, sealer, BytesMut::with_capacity)
}

/// The same, in room that `room` gives.
pub(crate) fn frame_in(
    mut answers: Vec<Answer>,
    sealer: Option<&Session>,
    room: impl FnOnce(usize) -> BytesMut,
) -> Option<Frame> {
    let alone = answers.len() == 1 && sealer.is_none();
    let payload = match answers.first_mut() {
        Some(answer) if alone => std::mem::take(&mut answer.reply.payload),
        _ => Vec::new(),
    };
    let length: usize = answers.iter().map(|answer| HEADER + 8 + answer.reply.length()).sum();
    let before = if sealer.is_some() { SEALED_HEAD } else { frame::PREFIX };
    let mut out = room(before + length);
    out.put_bytes(0, before);
    let count = answers.len();
    for (position, answer) in answers.iter().enumerate() {
        let start = out.len();
        answer.header.encode(&mut out);
        out.put_slice(&answer.reply.body);
        answer.reply.payload.iter().for_each(|piece| out.put_slice(piece));
        if position + 1 < count {
            let length = (out.len() - start).next_multiple_of(8);
            out.resize(start + length, 0);
            set_next_command(out.get_mut(start..)?, u32::try_from(length).ok()?);
        }
        if let (Some(signer), None) = (&answer.signer, sealer) {
            signer.logon().ok()?.secrets.sign(out.get_mut(start..)?, &payload)?;
        }
    }
    if let Some(sealer) = sealer {
        let (head, messages) = out.split_at_mut_checked(SEALED_HEAD)?;
        let transform = sealer.logon().ok()?.secrets.seal(messages)?;
        head.get_mut(frame::PREFIX..)?.copy_from_slice(&transform);
    }
    let mut frame = Frame { head: Bytes::new(), payload };
    let prefix = frame::prefix(out.len() - frame::PREFIX + frame.len())?;
    out.get_mut(..frame::PREFIX)?.copy_from_slice(&prefix);
    frame.head = out.freeze();
    Some(frame)
}
