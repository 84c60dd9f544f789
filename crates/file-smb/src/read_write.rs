//! READ, WRITE, FLUSH and CLOSE.

use std::sync::atomic::Ordering;

use bytes::Bytes;

use crate::{
    NtStatus,
    described::Described,
    errors::status_of,
    open::{Open, Reply, What},
    request::Cx,
    waiting,
    wire::{
        create::{access, options},
        io::{
            CLOSE_FLAG_POSTQUERY_ATTRIB, CloseRequest, CloseResponse, ReadRequest, ReadResponse,
            WRITE_FLAG_WRITE_THROUGH, WriteRequest, WriteResponse,
        },
        session::Empty,
    },
};

/// Reads bytes; those of a file that are behind its end are an error.
pub(crate) async fn read(cx: &Cx<'_>, open: &Open, request: &ReadRequest) -> Result<Reply, NtStatus> {
    if request.length > cx.connection.most_bytes() {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    let length = usize::try_from(request.length).map_err(|_| NtStatus::INVALID_PARAMETER)?;
    let mut status = NtStatus::SUCCESS;
    let bytes = match &open.what {
        What::Pipe(pipe) => {
            let (bytes, more) = pipe.lock().await.read(length)?;
            if more {
                status = NtStatus::BUFFER_OVERFLOW;
            }
            vec![bytes]
        }
        What::Disk(disk) => {
            if disk.is_directory {
                return Err(NtStatus::INVALID_DEVICE_REQUEST);
            }
            open.needs(access::READ_DATA | access::EXECUTE)?;
            // SMB counts in signed numbers.
            if i64::try_from(request.offset.saturating_add(u64::from(request.length))).is_err() {
                return Err(NtStatus::INVALID_PARAMETER);
            }
            let view = disk.view().await?;
            let view = &view;
            let read = waiting::done(cx, || view.read(cx.files(), request.offset, length)).await?;
            let minimum = usize::try_from(request.minimum_count).unwrap_or(usize::MAX);
            let count = length_of(&read);
            if (count == 0 && length > 0) || count < minimum {
                return Err(NtStatus::END_OF_FILE);
            }
            disk.moved(request.offset, count);
            read
        }
    };
    let data_length = u32::try_from(length_of(&bytes)).unwrap_or(u32::MAX);
    let head = Reply::body(|body| ReadResponse { data_length, data_remaining: 0 }.encode(body));
    Ok(Reply { status, payload: bytes, ..head })
}

fn length_of(pieces: &[Bytes]) -> usize {
    pieces.iter().map(Bytes::len).sum()
}

/// Writes bytes, which are a part of the frame.
pub(crate) async fn write(
    cx: &Cx<'_>,
    open: &Open,
    request: &WriteRequest<'_>,
    bytes: Bytes,
) -> Result<Reply, NtStatus> {
    let count = u32::try_from(bytes.len()).map_err(|_| NtStatus::INVALID_PARAMETER)?;
    if request.channel != 0 || count > cx.connection.most_bytes() {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    match &open.what {
        What::Pipe(pipe) => pipe.lock().await.write(cx, &bytes).await?,
        What::Disk(disk) => {
            if disk.is_directory {
                return Err(NtStatus::INVALID_DEVICE_REQUEST);
            }
            open.needs(access::WRITE_DATA | access::APPEND_DATA)?;
            let handle = disk.handle().await?;
            let handle = &*handle;
            // All ones: behind the end.
            let offset = if request.offset == u64::MAX {
                let properties = cx.files().open_properties(handle).await.map_err(|error| status_of(&error))?;
                properties.file.map_or(0, |file| file.length)
            } else {
                request.offset
            };
            if i64::try_from(offset.saturating_add(u64::from(count))).is_err() {
                return Err(NtStatus::INVALID_PARAMETER);
            }
            let mode = disk.mode.load(Ordering::Relaxed);
            let through = open.write_through
                || mode & options::WRITE_THROUGH != 0
                || request.flags & WRITE_FLAG_WRITE_THROUGH != 0;
            if count > 0 {
                waiting::done(cx, || cx.files().write_at(handle, offset, bytes.clone(), through)).await?;
                disk.moved(offset, bytes.len());
            }
        }
    }
    Ok(Reply::body(|body| WriteResponse { count }.encode(body)))
}

/// Answers when everything that was written is durable.
pub(crate) async fn flush(cx: &Cx<'_>, open: &Open) -> Result<Reply, NtStatus> {
    if let What::Disk(disk) = &open.what {
        if !disk.is_directory {
            open.needs(access::WRITE_DATA | access::APPEND_DATA)?;
        }
        let handle = disk.handle().await?;
        cx.files().flush(&handle).await.map_err(|error| status_of(&error))?;
    }
    Ok(Reply::body(|body| Empty {}.write(body)))
}

/// Ends an open.
pub(crate) async fn close(cx: &Cx<'_>, open: &Open, request: &CloseRequest) -> Result<Reply, NtStatus> {
    let mut response = CloseResponse::default();
    if let What::Disk(disk) = &open.what
        && request.flags & CLOSE_FLAG_POSTQUERY_ATTRIB != 0
    {
        let view = disk.view().await?;
        if let Ok(properties) = view.properties(cx.files()).await {
            let described = Described::of(&properties);
            response = CloseResponse {
                flags: CLOSE_FLAG_POSTQUERY_ATTRIB,
                times: described.times(),
                allocation_size: described.allocation,
                end_of_file: described.length,
                file_attributes: described.attributes,
            };
        }
    }
    open.close(cx.files()).await?;
    Ok(Reply::body(|body| response.write(body)))
}
