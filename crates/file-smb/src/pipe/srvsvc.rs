//! MS-SRVS: which shares there are. What the caller says is all that is known here.

use super::ndr::{NdrReader, NdrWriter};
use crate::NtStatus;

/// Kinds of shares.
pub mod share_kind {
    #![expect(missing_docs, reason = "the names are those of MS-SRVS 2.2.2.4")]
    pub const DISK: u32 = 0;
    pub const IPC: u32 = 3;
    pub const SPECIAL: u32 = 0x8000_0000;
}

mod operation {
    pub(super) const SHARE_ENUM_ALL: u16 = 15;
    pub(super) const SHARE_GET_INFO: u16 = 16;
    pub(super) const SERVER_GET_INFO: u16 = 21;
    /// As `SHARE_ENUM_ALL`, without hidden ones.
    pub(super) const SHARE_ENUM: u16 = 36;
}

/// Results of calls, as in MS-ERREF.
mod result {
    pub(super) const SUCCESS: u32 = 0;
    pub(super) const INVALID_LEVEL: u32 = 124;
    pub(super) const NAME_NOT_FOUND: u32 = 2310;
}

/// A share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share<'a> {
    /// Its name.
    pub name: &'a str,
    /// See [`share_kind`].
    pub kind: u32,
    /// For people.
    pub remark: &'a str,
}

/// What is told: only what the client may see.
#[derive(Clone, Copy, Debug)]
pub struct Server<'a> {
    /// Its name.
    pub name: &'a str,
    /// For people.
    pub comment: &'a str,
    /// Its shares; the caller keeps their number within bounds.
    pub shares: &'a [Share<'a>],
}

/// Answers a call; `None` when there is no such operation.
///
/// # Errors
/// What was marshalled is malformed.
pub(super) fn call(operation: u16, stub: &mut NdrReader<'_>, server: &Server<'_>) -> Result<Option<Vec<u8>>, NtStatus> {
    match operation {
        operation::SHARE_ENUM_ALL | operation::SHARE_ENUM => enumerate(stub, server).map(Some),
        operation::SHARE_GET_INFO => share(stub, server).map(Some),
        operation::SERVER_GET_INFO => info(stub, server).map(Some),
        _unknown => Ok(None),
    }
}

fn enumerate(stub: &mut NdrReader<'_>, server: &Server<'_>) -> Result<Vec<u8>, NtStatus> {
    let _server_name = stub.unique_string()?;
    let (level, switch) = (stub.u32()?, stub.u32()?);
    if level != switch {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    // The container comes empty. The length that the client would like and where to go on are not needed: all goes out at once.
    let mut out = NdrWriter::default();
    out.u32(level);
    out.u32(level);
    if level > 1 {
        out.u32(0);
        return Ok(finish_enumeration(out, 0, result::INVALID_LEVEL));
    }
    let count = u32::try_from(server.shares.len()).unwrap_or(u32::MAX);
    out.pointer();
    out.u32(count);
    out.pointer();
    out.u32(count);
    for share in server.shares {
        out.pointer();
        if level == 1 {
            out.u32(share.kind);
            out.pointer();
        }
    }
    for share in server.shares {
        out.string(share.name);
        if level == 1 {
            out.string(share.remark);
        }
    }
    Ok(finish_enumeration(out, count, result::SUCCESS))
}

fn finish_enumeration(mut out: NdrWriter, count: u32, result: u32) -> Vec<u8> {
    out.u32(count);
    // No place to go on from.
    out.u32(0);
    out.u32(result);
    out.into_bytes()
}

fn share(stub: &mut NdrReader<'_>, server: &Server<'_>) -> Result<Vec<u8>, NtStatus> {
    let _server_name = stub.unique_string()?;
    let (name, level) = (stub.string()?, stub.u32()?);
    let mut out = NdrWriter::default();
    out.u32(level);
    let found = server.shares.iter().find(|share| share.name.eq_ignore_ascii_case(&name));
    let share = match (level, found) {
        (0 | 1 | 2 | 1005, Some(share)) => share,
        (0 | 1 | 2 | 1005, None) => return Ok(nothing(out, result::NAME_NOT_FOUND)),
        _level => return Ok(nothing(out, result::INVALID_LEVEL)),
    };
    out.pointer();
    match level {
        0 => {
            out.pointer();
            out.string(share.name);
        }
        // The path on the server is nobody's business; permissions are those of the files; no limit of users.
        1 | 2 => {
            out.pointer();
            out.u32(share.kind);
            out.pointer();
            if level == 2 {
                out.u32(0);
                out.u32(u32::MAX);
                out.u32(0);
                out.pointer();
                out.u32(0);
            }
            out.string(share.name);
            out.string(share.remark);
            if level == 2 {
                out.string("");
            }
        }
        // 1005: flags of DFS and caching.
        _flags => out.u32(0),
    }
    out.u32(result::SUCCESS);
    Ok(out.into_bytes())
}

fn info(stub: &mut NdrReader<'_>, server: &Server<'_>) -> Result<Vec<u8>, NtStatus> {
    let _server_name = stub.unique_string()?;
    let level = stub.u32()?;
    let mut out = NdrWriter::default();
    out.u32(level);
    if level != 100 && level != 101 {
        return Ok(nothing(out, result::INVALID_LEVEL));
    }
    out.pointer();
    // Windows NT; the versions and the type (workstation, server, NT) are what file servers say.
    out.u32(500);
    out.pointer();
    if level == 101 {
        out.u32(10);
        out.u32(0);
        out.u32(0x0000_9003);
        out.pointer();
    }
    out.string(server.name);
    if level == 101 {
        out.string(server.comment);
    }
    out.u32(result::SUCCESS);
    Ok(out.into_bytes())
}

/// A null pointer, and why.
fn nothing(mut out: NdrWriter, result: u32) -> Vec<u8> {
    out.u32(0);
    out.u32(result);
    out.into_bytes()
}
