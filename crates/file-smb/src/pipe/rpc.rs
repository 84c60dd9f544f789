//! DCE/RPC, connection oriented (C706 chapter 12, MS-RPCE): bind, requests and responses in fragments, faults.
//!
//! **Invariant.** One request at a time is put together from fragments, of at most [`MAX_REQUEST`] bytes; an answer of any
//! length goes out in fragments that the client can take.

use super::{
    ndr::NdrReader,
    srvsvc::{self, Server},
};
use crate::{
    NtStatus,
    wire::{Reader, bytes::length16},
};
use bytes::BufMut;

/// The longest request that is put together: names of servers and shares.
pub const MAX_REQUEST: usize = 16 * 1024;
/// The longest fragment either way.
const MAX_FRAGMENT: u16 = 4280;
/// The shortest that may be agreed on.
const MIN_FRAGMENT: u16 = 256;
const HEADER: usize = 16;
/// Header of a response: the usual one, hint, context, cancels.
const RESPONSE_HEADER: usize = 24;

/// 8a885d04-1ceb-11c9-9fe8-08002b104860, version 2: NDR.
const NDR: [u8; 20] =
    [0x04, 0x5D, 0x88, 0x8A, 0xEB, 0x1C, 0xC9, 0x11, 0x9F, 0xE8, 0x08, 0x00, 0x2B, 0x10, 0x48, 0x60, 2, 0, 0, 0];
/// 4b324fc8-1670-01d3-1278-5a47bf6ee188, version 3: srvsvc.
const SRVSVC: [u8; 20] =
    [0xC8, 0x4F, 0x32, 0x4B, 0x70, 0x16, 0xD3, 0x01, 0x12, 0x78, 0x5A, 0x47, 0xBF, 0x6E, 0xE1, 0x88, 3, 0, 0, 0];

mod kind {
    pub(super) const REQUEST: u8 = 0;
    pub(super) const RESPONSE: u8 = 2;
    pub(super) const FAULT: u8 = 3;
    pub(super) const BIND: u8 = 11;
    pub(super) const BIND_ACK: u8 = 12;
    pub(super) const BIND_NAK: u8 = 13;
    pub(super) const ALTER_CONTEXT: u8 = 14;
    pub(super) const ALTER_CONTEXT_RESPONSE: u8 = 15;
}

/// Why a call failed, as the client reads it.
pub mod fault {
    #![expect(missing_docs, reason = "the names are those of C706 appendix E and MS-RPCE")]
    pub const OP_RANGE: u32 = 0x1C01_0002;
    pub const UNKNOWN_INTERFACE: u32 = 0x1C01_0003;
    pub const PROTOCOL: u32 = 0x1C01_000B;
    pub const BAD_STUB_DATA: u32 = 0x0000_06F7;
}

/// One end of the pipe.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The longest fragment that the client takes.
    max_fragment: u16,
    /// Contexts that were accepted, by the client's number; few are ever asked for.
    contexts: Vec<u16>,
    /// The call that is being put together: its id, operation and bytes.
    call: Option<(u32, u16, Vec<u8>)>,
}

impl Default for Connection {
    fn default() -> Self {
        Self { max_fragment: MAX_FRAGMENT, contexts: Vec::new(), call: None }
    }
}

/// More contexts in one bind are refused.
const MAX_CONTEXTS: usize = 16;

/// A fragment without its header.
struct Fragment<'a> {
    kind: u8,
    is_first: bool,
    is_last: bool,
    call_id: u32,
    body: &'a [u8],
}

impl<'a> Fragment<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, NtStatus> {
        let mut reader = Reader::new(bytes);
        // Version 5.0 or 5.1.
        if reader.u8()? != 5 || reader.u8()? > 1 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let (kind, flags) = (reader.u8()?, reader.u8()?);
        // Little endian, ASCII, IEEE.
        if reader.u32()? != 0x10 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let (length, auth_length, call_id) = (usize::from(reader.u16()?), reader.u16()?, reader.u32()?);
        let body = bytes.get(HEADER..length).ok_or(NtStatus::INVALID_PARAMETER)?;
        // Calls are authenticated by the session; nothing of their own is agreed on.
        if auth_length != 0 {
            return Err(NtStatus::ACCESS_DENIED);
        }
        Ok(Self { kind, is_first: flags & 1 != 0, is_last: flags & 2 != 0, call_id, body })
    }
}

impl Connection {
    /// Takes one fragment that the client wrote to the pipe, and gives what it can read: nothing while a call is not whole,
    /// else one fragment or several.
    ///
    /// # Errors
    /// The bytes are no fragment: the pipe is to be closed.
    pub fn transact(&mut self, bytes: &[u8], server: &Server<'_>) -> Result<Vec<Vec<u8>>, NtStatus> {
        let fragment = Fragment::parse(bytes)?;
        match fragment.kind {
            kind::BIND => Ok(vec![self.bind(&fragment, kind::BIND_ACK)?]),
            kind::ALTER_CONTEXT => Ok(vec![self.bind(&fragment, kind::ALTER_CONTEXT_RESPONSE)?]),
            kind::REQUEST => self.request(&fragment, server),
            _other => Ok(vec![faulted(fragment.call_id, fault::PROTOCOL)]),
        }
    }

    fn bind(&mut self, fragment: &Fragment<'_>, answer: u8) -> Result<Vec<u8>, NtStatus> {
        let mut reader = Reader::new(fragment.body);
        let (_transmit, receive) = (reader.u16()?, reader.u16()?);
        reader.skip(4)?;
        let count = usize::from(reader.u8()?);
        reader.skip(3)?;
        if count == 0 || count > MAX_CONTEXTS {
            // Not specified.
            return Ok(frame(kind::BIND_NAK, fragment.call_id, &[0, 0, 0]));
        }
        self.max_fragment = receive.clamp(MIN_FRAGMENT, MAX_FRAGMENT);
        let mut results = Vec::new();
        for _context in 0..count {
            let (id, transfers) = (reader.u16()?, reader.u8()?);
            reader.skip(1)?;
            let is_srvsvc = reader.array()? == SRVSVC;
            let mut speaks_ndr = false;
            for _transfer in 0..transfers {
                speaks_ndr |= reader.array()? == NDR;
            }
            // Acceptance, or provider rejection: abstract syntax, then transfer syntaxes not supported.
            let (result, reason) = match (is_srvsvc, speaks_ndr) {
                (true, true) => (0_u16, 0_u16),
                (false, _) => (2, 1),
                (true, false) => (2, 2),
            };
            results.put_u16_le(result);
            results.put_u16_le(reason);
            results.put_slice(if result == 0 { &NDR } else { &[0; 20] });
            if result == 0 && !self.contexts.contains(&id) && self.contexts.len() < MAX_CONTEXTS {
                self.contexts.push(id);
            }
        }
        let mut body = Vec::new();
        body.put_u16_le(self.max_fragment);
        body.put_u16_le(self.max_fragment);
        // The association group, any but 0.
        body.put_u32_le(0x53F0);
        let name: &[u8] = b"\\PIPE\\srvsvc\0";
        body.put_u16_le(length16(name.len()));
        body.put_slice(name);
        // The header ends at a multiple of four.
        body.resize(body.len().next_multiple_of(4), 0);
        body.put_u32_le(u32::try_from(count).unwrap_or_default());
        body.put_slice(&results);
        Ok(frame(answer, fragment.call_id, &body))
    }

    fn request(&mut self, fragment: &Fragment<'_>, server: &Server<'_>) -> Result<Vec<Vec<u8>>, NtStatus> {
        let mut reader = Reader::new(fragment.body);
        // A hint at the length, which is not needed.
        reader.skip(4)?;
        let (context, operation) = (reader.u16()?, reader.u16()?);
        let fault = |code| Ok(vec![faulted(fragment.call_id, code)]);
        if !self.contexts.contains(&context) {
            self.call = None;
            return fault(fault::UNKNOWN_INTERFACE);
        }
        let (id, operation, mut stub) = match self.call.take() {
            None if fragment.is_first => (fragment.call_id, operation, Vec::new()),
            Some(call) if !fragment.is_first && call.0 == fragment.call_id => call,
            _out_of_order => return fault(fault::PROTOCOL),
        };
        if stub.len().saturating_add(reader.rest().len()) > MAX_REQUEST {
            return fault(fault::BAD_STUB_DATA);
        }
        stub.extend_from_slice(reader.rest());
        if !fragment.is_last {
            self.call = Some((id, operation, stub));
            return Ok(Vec::new());
        }
        match srvsvc::call(operation, &mut NdrReader::new(&stub), server) {
            Ok(Some(answer)) => Ok(self.respond(id, context, &answer)),
            Ok(None) => fault(fault::OP_RANGE),
            Err(_malformed) => fault(fault::BAD_STUB_DATA),
        }
    }

    fn respond(&self, call_id: u32, context: u16, stub: &[u8]) -> Vec<Vec<u8>> {
        // Each piece but the last ends at a multiple of eight.
        let room = usize::from(self.max_fragment).saturating_sub(RESPONSE_HEADER) & !7;
        let count = stub.len().div_ceil(room).max(1);
        let mut pieces = stub.chunks(room);
        let piece = |number: usize| {
            let piece = pieces.next().unwrap_or_default();
            let mut body = Vec::with_capacity(piece.len().saturating_add(8));
            body.put_u32_le(u32::try_from(stub.len()).unwrap_or(u32::MAX));
            body.put_u16_le(context);
            body.put_u16_le(0);
            body.put_slice(piece);
            let flags = u8::from(number == 0) | u8::from(number.saturating_add(1) == count) << 1;
            flagged(kind::RESPONSE, flags, call_id, &body)
        };
        (0..count).map(piece).collect()
    }
}

fn faulted(call_id: u32, code: u32) -> Vec<u8> {
    let mut body = vec![0; 8];
    body.put_u32_le(code);
    body.put_u32_le(0);
    frame(kind::FAULT, call_id, &body)
}

fn frame(kind: u8, call_id: u32, body: &[u8]) -> Vec<u8> {
    flagged(kind, 3, call_id, body)
}

fn flagged(kind: u8, flags: u8, call_id: u32, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len().saturating_add(HEADER));
    out.put_slice(&[5, 0, kind, flags, 0x10, 0, 0, 0]);
    out.put_u16_le(length16(body.len().saturating_add(HEADER)));
    out.put_u16_le(0);
    out.put_u32_le(call_id);
    out.put_slice(body);
    out
}
