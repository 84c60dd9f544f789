//! SET_INFO: attributes and times, another name, another length, gone with the last handle, another security descriptor.

use std::sync::atomic::Ordering;

use ::file::{
    FileAttributes, FileError, PermissionChange, SecurityDescriptor, SmbChange, TimeChange, handle_rename::MoveOpen,
    opens::NotMoved,
};

use crate::{
    NtStatus,
    errors::status_of,
    names,
    open::{Disk, Open, Reply},
    request::Cx,
    session::TreeShare,
    waiting,
    wire::{
        create::{access, attributes},
        info::{
            filetime::SetTime,
            set::{SetInfo, disposition_flags, rename_flags},
        },
        query::{SetInfoRequest, SetInfoResponse, info_type, security_information},
    },
};

/// Changes what is open.
pub(crate) async fn set(cx: &Cx<'_>, open: &Open, request: &SetInfoRequest<'_>) -> Result<Reply, NtStatus> {
    match request.info_type {
        info_type::FILE => file(cx, open, request).await?,
        info_type::SECURITY => security(cx, open, request).await?,
        info_type::FILESYSTEM => return Err(NtStatus::ACCESS_DENIED),
        info_type::QUOTA => return Err(NtStatus::NOT_SUPPORTED),
        _ => return Err(NtStatus::INVALID_PARAMETER),
    }
    Ok(Reply::body(|body| SetInfoResponse {}.write(body)))
}

async fn file(cx: &Cx<'_>, open: &Open, request: &SetInfoRequest<'_>) -> Result<(), NtStatus> {
    let disk = open.disk()?;
    match SetInfo::parse(request.file_info_class, request.buffer)? {
        SetInfo::Basic { creation_time, last_access_time, last_write_time, change_time, file_attributes } => {
            open.needs(access::WRITE_ATTRIBUTES)?;
            let change = SmbChange {
                attributes: attributes_of(disk, file_attributes)?,
                created: time(creation_time),
                written: time(last_write_time),
                accessed: time(last_access_time),
                // Nothing said of it: a change of attributes is a change.
                changed: time(change_time),
                permission: None,
            };
            let handle = disk.handle().await?;
            let set = cx.files().set_open_properties(&handle, &change).await;
            set.map_err(|error| status_of(&error))?;
            match last_write_time {
                SetTime::At(_) | SetTime::Freeze => handle.keep_write_time(true),
                SetTime::Thaw => handle.keep_write_time(false),
                SetTime::Keep => {}
            }
            Ok(())
        }
        SetInfo::Rename { flags, name } => rename(cx, open, disk, flags, name).await,
        SetInfo::Disposition { flags } => {
            if flags & !(disposition_flags::DELETE | disposition_flags::POSIX_SEMANTICS) != 0 {
                return Err(NtStatus::NOT_SUPPORTED);
            }
            open.needs(access::DELETE)?;
            let (handle, delete) = (disk.handle().await?, flags & disposition_flags::DELETE != 0);
            let handle = &*handle;
            waiting::done(cx, || cx.files().set_disposition(handle, delete)).await
        }
        SetInfo::EndOfFile(length) => {
            open.needs(access::WRITE_DATA)?;
            resize(cx, disk, length).await
        }
        SetInfo::Allocation(length) => {
            open.needs(access::WRITE_DATA)?;
            if disk.is_directory {
                return Err(NtStatus::INVALID_PARAMETER);
            }
            // Room is taken when it is written; less room than bytes cuts them off.
            let handle = disk.handle().await?;
            let handle = &*handle;
            waiting::done(cx, || cx.files().set_open_allocation(handle, length)).await
        }
        SetInfo::Position(position) => {
            disk.position.store(position, Ordering::Relaxed);
            Ok(())
        }
        SetInfo::Mode(mode) => {
            disk.mode.store(mode, Ordering::Relaxed);
            Ok(())
        }
    }
}

async fn resize(cx: &Cx<'_>, disk: &Disk, length: u64) -> Result<(), NtStatus> {
    if disk.is_directory {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    let handle = disk.handle().await?;
    let handle = &*handle;
    waiting::done(cx, || cx.files().set_open_length(handle, length)).await
}

async fn rename(cx: &Cx<'_>, open: &Open, disk: &Disk, flags: u32, name: &[u8]) -> Result<(), NtStatus> {
    open.needs(access::DELETE)?;
    let tree = cx.session.tree(open.tree)?;
    let TreeShare::Disk(share) = &tree.share else { return Err(NtStatus::INVALID_DEVICE_REQUEST) };
    // Some clients begin with a separator.
    let name = name.strip_prefix(b"\\\0").unwrap_or(name);
    let destination = names::address(share, name)?;
    if destination.path.is_none() {
        return Err(NtStatus::OBJECT_NAME_INVALID);
    }
    let replaces = flags & rename_flags::REPLACE_IF_EXISTS != 0;
    let asked = cx.logon.grant.ask(MoveOpen { destination, replaces });
    let (handle, asked) = (disk.handle().await?, &asked);
    let handle = &*handle;
    let in_the_way = |error: &FileError| matches!(error, FileError::Open(_) | FileError::ResourceTypeMismatch);
    waiting::done(cx, || async move {
        match cx.files().rename_open(handle, asked).await {
            // What is there is in use, or cannot be replaced.
            Err(error) if in_the_way(&error) => Err(NotMoved::AccessDenied.into()),
            renamed => renamed,
        }
    })
    .await
}

/// Attributes that shall be; 0 leaves them.
const fn attributes_of(disk: &Disk, wanted: u32) -> Result<Option<FileAttributes>, NtStatus> {
    let is_directory = wanted & attributes::DIRECTORY != 0;
    if wanted == 0 {
        return Ok(None);
    }
    if (is_directory && !disk.is_directory) || (disk.is_directory && wanted & attributes::TEMPORARY != 0) {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    Ok(Some(FileAttributes(wanted)))
}

const fn time(wanted: SetTime) -> Option<TimeChange> {
    match wanted {
        SetTime::At(time) => Some(TimeChange::At(time)),
        // Both are about what comes later, and change no time.
        SetTime::Freeze | SetTime::Thaw => Some(TimeChange::Preserve),
        SetTime::Keep => None,
    }
}

async fn security(cx: &Cx<'_>, open: &Open, request: &SetInfoRequest<'_>) -> Result<(), NtStatus> {
    let wanted = request.additional_information;
    if wanted & (security_information::OWNER | security_information::GROUP) != 0 {
        open.needs(access::WRITE_OWNER)?;
    }
    if wanted & security_information::DACL != 0 {
        open.needs(access::WRITE_DAC)?;
    }
    if wanted & security_information::SACL != 0 {
        return Err(NtStatus::ACCESS_DENIED);
    }
    let handle = open.disk()?.handle().await?;
    let sent = SecurityDescriptor::from_bytes(request.buffer).map_err(|error| status_of(&error))?;
    let present = cx.files().open_security(&handle).await.map_err(|error| status_of(&error))?;
    let part = |bit: u32| wanted & bit != 0;
    let descriptor = present.with(
        &sent,
        part(security_information::OWNER),
        part(security_information::GROUP),
        part(security_information::DACL),
    );
    let change = SmbChange { permission: Some(PermissionChange::Descriptor(descriptor)), ..SmbChange::default() };
    cx.files().set_open_properties(&handle, &change).await.map(|_| ()).map_err(|error| status_of(&error))
}
