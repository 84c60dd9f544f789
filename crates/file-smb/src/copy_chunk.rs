//! Server-side copies: a client names an open by a resume key, and parts of it are copied into another open without going over the
//! network. Both are read and written as the client itself would: locks and rights count.

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    NtStatus,
    ioctl::reply,
    open::{Disk, Open, Reply},
    request::Cx,
    waiting,
    wire::{
        create::access,
        fsctl::{self, COPY_ANSWER, CopyChunk, CopyChunkAnswer, CopyPart, RESUME_KEY_ANSWER},
        ioctl::{IoctlRequest, code},
    },
};

/// The key of an open.
pub(crate) fn resume_key(open: &Open, request: &IoctlRequest<'_>) -> Result<Reply, NtStatus> {
    open.disk()?;
    let most = usize::try_from(request.max_output_response).unwrap_or(usize::MAX);
    if most < RESUME_KEY_ANSWER {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    Ok(reply(request, &fsctl::resume_key(open.id)))
}

/// Copies parts of another open into this one. The answer says how far it came, also when it failed.
pub(crate) async fn copy(cx: &Cx<'_>, target: &Open, request: &IoctlRequest<'_>) -> Result<Reply, NtStatus> {
    if request.max_output_response < COPY_ANSWER {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    let copy = match CopyChunk::parse(request.input)? {
        Ok(copy) => copy,
        Err(status) => return Ok(answered(request, status, CopyChunkAnswer::LIMITS)),
    };
    let (mut chunks, mut total_bytes, mut status) = (0, 0, NtStatus::SUCCESS);
    match opens(cx, target, request, &copy) {
        Err(refused) => status = refused,
        Ok(source) => {
            for part in &copy.parts {
                if let Err(failed) = copy_part(cx, source.disk()?, target, part).await {
                    status = failed;
                    break;
                }
                chunks += 1;
                total_bytes += part.length;
            }
        }
    }
    Ok(answered(request, status, CopyChunkAnswer { chunks, chunk_bytes: 0, total_bytes }))
}

fn answered(request: &IoctlRequest<'_>, status: NtStatus, answer: CopyChunkAnswer) -> Reply {
    let mut output = Vec::new();
    answer.write(&mut output);
    Reply { status, ..reply(request, &output) }
}

/// What is copied from, if both may be used so.
fn opens(cx: &Cx<'_>, target: &Open, request: &IoctlRequest<'_>, copy: &CopyChunk) -> Result<Arc<Open>, NtStatus> {
    let source = copy.source.and_then(|id| cx.session.open_of_any_tree(id)).ok_or(NtStatus::OBJECT_NAME_NOT_FOUND)?;
    if source.disk()?.is_directory || target.disk()?.is_directory {
        return Err(NtStatus::INVALID_DEVICE_REQUEST);
    }
    source.needs(access::READ_DATA | access::EXECUTE)?;
    target.needs(access::WRITE_DATA | access::APPEND_DATA)?;
    if request.ctl_code == code::SRV_COPYCHUNK {
        target.needs(access::READ_DATA)?;
    }
    Ok(source)
}

async fn copy_part(cx: &Cx<'_>, source: &Disk, target: &Open, part: &CopyPart) -> Result<(), NtStatus> {
    let length = usize::try_from(part.length).map_err(|_| NtStatus::INVALID_PARAMETER)?;
    let view = source.view().await?;
    let view = &view;
    let pieces = waiting::done(cx, || view.read(cx.files(), part.source_offset, length)).await?;
    if pieces.iter().map(Bytes::len).sum::<usize>() < length {
        // It ends before.
        return Err(NtStatus::INVALID_VIEW_SIZE);
    }
    let handle = target.disk()?.handle().await?;
    let handle = &*handle;
    let through = target.write_through;
    let mut offset = part.target_offset;
    for piece in pieces {
        waiting::done(cx, || cx.files().write_at(handle, offset, piece.clone(), through)).await?;
        offset = offset.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
    }
    Ok(())
}
