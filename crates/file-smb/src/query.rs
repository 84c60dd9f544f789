//! QUERY_INFO: what a file, its share as a volume, and its security descriptor say.

use std::sync::atomic::Ordering;

use crate::{
    NtStatus,
    described::Described,
    errors::status_of,
    open::{Open, Reply, What},
    request::Cx,
    wire::{
        create::access,
        error::ErrorResponse,
        info::{
            Answer,
            file::{self, FileFacts, class},
            file_system::{self, VolumeFacts, attributes},
        },
        query::{BufferResponse, QueryInfoRequest, info_type, security_information},
        text,
    },
};

/// What is asked for of a security descriptor that needs no right of its own.
const READABLE: u32 = security_information::OWNER
    | security_information::GROUP
    | security_information::DACL
    | security_information::LABEL;

/// Answers what is asked about an open.
pub(crate) async fn query(cx: &Cx<'_>, open: &Open, request: &QueryInfoRequest<'_>) -> Result<Reply, NtStatus> {
    if request.output_buffer_length > cx.connection.most_bytes() {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    let answer = match request.info_type {
        info_type::FILE => of_file(cx, open, request).await?,
        info_type::FILESYSTEM => of_volume(cx, open, request).await?,
        info_type::SECURITY => return of_security(cx, open, request).await,
        info_type::QUOTA => return Err(NtStatus::NOT_SUPPORTED),
        _ => return Err(NtStatus::INVALID_PARAMETER),
    };
    let reply = Reply::body(|body| BufferResponse { buffer: &answer.buffer }.encode(body));
    Ok(Reply { status: answer.status, ..reply })
}

async fn of_file(cx: &Cx<'_>, open: &Open, request: &QueryInfoRequest<'_>) -> Result<Answer, NtStatus> {
    let What::Disk(disk) = &open.what else {
        let facts = FileFacts { file_attributes: 0x80, access: open.rights.granted, ..FileFacts::default() };
        return file::query(request.file_info_class, &facts, request.output_buffer_length);
    };
    // What a file says about itself takes the right to read that; where an open is does not.
    if matches!(request.file_info_class, class::BASIC | class::ALL | class::NETWORK_OPEN | class::ATTRIBUTE_TAG) {
        open.needs(access::READ_ATTRIBUTES)?;
    }
    match request.file_info_class {
        class::FULL_EA => open.needs(access::READ_EA)?,
        // Older clients do not know it, and ask for nothing else when they are told so.
        class::NORMALIZED_NAME if !cx.has_contexts() => return Err(NtStatus::NOT_SUPPORTED),
        _ => {}
    }
    let view = disk.view().await?;
    let properties = view.properties(cx.files()).await.map_err(|error| status_of(&error))?;
    let described = Described::of(&properties);
    let path = view.path();
    if request.file_info_class == class::ALTERNATE_NAME {
        // There are no short names; clients that ask for one get the name.
        let name = text::encode(path.rsplit('\\').next().unwrap_or_default());
        let mut buffer = u32::try_from(name.len()).unwrap_or(u32::MAX).to_le_bytes().to_vec();
        buffer.extend_from_slice(&name);
        return Ok(Answer { buffer, status: NtStatus::SUCCESS });
    }
    let facts = FileFacts {
        times: described.times(),
        file_attributes: described.attributes,
        allocation_size: described.allocation,
        end_of_file: described.length,
        delete_pending: view.is_delete_pending(),
        directory: described.is_directory,
        file_id: described.inode,
        volume_id: view.file().share.number(),
        access: open.rights.granted,
        position: disk.position.load(Ordering::Relaxed),
        mode: disk.mode.load(Ordering::Relaxed),
        path: &path,
    };
    file::query(request.file_info_class, &facts, request.output_buffer_length)
}

async fn of_volume(cx: &Cx<'_>, open: &Open, request: &QueryInfoRequest<'_>) -> Result<Answer, NtStatus> {
    let view = open.disk()?.view().await?;
    let space = cx.files().share_space(view.file().share).await.map_err(|error| status_of(&error))?;
    let share = space.share.number();
    let mut object_id = [0; 16];
    if let Some(half) = object_id.first_chunk_mut::<8>() {
        *half = share.to_le_bytes();
    }
    let facts = VolumeFacts {
        creation_time: 0,
        serial_number: u32::try_from(share & u64::from(u32::MAX)).unwrap_or_default(),
        label: &space.name,
        file_system: "NTFS",
        attributes: attributes::CASE_PRESERVED_NAMES
            | attributes::CASE_SENSITIVE_SEARCH
            | attributes::UNICODE_ON_DISK
            | attributes::PERSISTENT_ACLS,
        total_bytes: space.quota_bytes,
        free_bytes: space.quota_bytes.saturating_sub(space.used_bytes),
        object_id,
    };
    file_system::query(request.file_info_class, &facts, request.output_buffer_length)
}

async fn of_security(cx: &Cx<'_>, open: &Open, request: &QueryInfoRequest<'_>) -> Result<Reply, NtStatus> {
    let disk = open.disk()?;
    let wanted = request.additional_information;
    if wanted & READABLE != 0 {
        open.needs(access::READ_CONTROL)?;
    }
    if wanted & security_information::SACL != 0 {
        return Err(NtStatus::ACCESS_DENIED);
    }
    let view = disk.view().await?;
    let descriptor = view.security(cx.files()).await.map_err(|error| status_of(&error))?;
    let part = |bit: u32| wanted & bit != 0;
    let descriptor = descriptor.part(
        part(security_information::OWNER),
        part(security_information::GROUP),
        part(security_information::DACL),
    );
    let buffer = descriptor.to_bytes();
    let length = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
    if length > request.output_buffer_length {
        // How much it takes.
        let reply = Reply::body(|body| ErrorResponse { data: &length.to_le_bytes() }.encode(cx.has_contexts(), body));
        return Ok(Reply { status: NtStatus::BUFFER_TOO_SMALL, ..reply });
    }
    Ok(Reply::body(|body| BufferResponse { buffer: &buffer }.encode(body)))
}
