//! Control codes about the parts of a file that hold nothing.

use crate::{
    NtStatus,
    errors::status_of,
    ioctl::reply,
    open::{Open, Reply},
    request::Cx,
    waiting,
    wire::{
        create::access,
        fsctl::{self, AllocatedRange, ZeroData},
        ioctl::IoctlRequest,
    },
};

/// Ranges that one answer has at most.
const RANGES_MAX: usize = 4096;
/// Bytes of a range in an answer.
const RANGE_BYTES: usize = 16;

/// SET_SPARSE; without a buffer it is set.
pub(crate) async fn set(cx: &Cx<'_>, open: &Open, request: &IoctlRequest<'_>) -> Result<Reply, NtStatus> {
    let disk = open.disk()?;
    if disk.is_directory {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    open.needs(access::WRITE_DATA | access::WRITE_ATTRIBUTES | access::APPEND_DATA)?;
    let is_sparse = request.input.first().is_none_or(|set| *set != 0);
    let handle = disk.handle().await?;
    cx.files().set_sparse(&handle, is_sparse).await.map_err(|error| status_of(&error))?;
    Ok(reply(request, &[]))
}

/// SET_ZERO_DATA.
pub(crate) async fn zero(cx: &Cx<'_>, open: &Open, request: &IoctlRequest<'_>) -> Result<Reply, NtStatus> {
    let disk = open.disk()?;
    open.needs(access::WRITE_DATA)?;
    let ZeroData { start, end } = fsctl::read(request.input)?;
    if end < start || i64::try_from(end).is_err() {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    if disk.is_directory {
        return Err(NtStatus::INVALID_DEVICE_REQUEST);
    }
    if start < end {
        let handle = disk.handle().await?;
        let handle = &*handle;
        waiting::done(cx, || cx.files().zero_range(handle, start, end)).await?;
    }
    Ok(reply(request, &[]))
}

/// QUERY_ALLOCATED_RANGES.
pub(crate) async fn allocated(cx: &Cx<'_>, open: &Open, request: &IoctlRequest<'_>) -> Result<Reply, NtStatus> {
    let disk = open.disk()?;
    open.needs(access::READ_DATA)?;
    let AllocatedRange { start, length } = fsctl::read(request.input)?;
    let end = start.checked_add(length).filter(|end| i64::try_from(*end).is_ok()).ok_or(NtStatus::INVALID_PARAMETER)?;
    if disk.is_directory {
        return Err(NtStatus::INVALID_DEVICE_REQUEST);
    }
    let most = usize::try_from(request.max_output_response).unwrap_or(usize::MAX) / RANGE_BYTES;
    let handle = disk.handle().await?;
    let found = cx.files().allocated_ranges(&handle, (start, end), most.min(RANGES_MAX)).await;
    let found = found.map_err(|error| status_of(&error))?;
    if found.more && found.ranges.is_empty() {
        return Err(NtStatus::BUFFER_TOO_SMALL);
    }
    let mut output = Vec::with_capacity(found.ranges.len().saturating_mul(RANGE_BYTES));
    for (start, end) in &found.ranges {
        AllocatedRange { start: *start, length: end.saturating_sub(*start) }.write(&mut output);
    }
    let status = if found.more { NtStatus::BUFFER_OVERFLOW } else { NtStatus::SUCCESS };
    Ok(Reply { status, ..reply(request, &output) })
}
