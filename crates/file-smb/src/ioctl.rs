//! IOCTL: the control codes that there are. Others are refused by the status that clients expect of a file system without them.

use crate::{
    NtStatus, copy_chunk, durable,
    open::{Open, Reply, What},
    request::Cx,
    session::{Tree, TreeShare},
    snapshots, sparse,
    wire::{
        create::access,
        ioctl::{
            self, IOCTL_IS_FSCTL, IoctlRequest, IoctlResponse, ValidateNegotiate, ValidateNegotiateResponse, code,
        },
    },
};

/// The format of a file that is not compressed.
const NOT_COMPRESSED: [u8; 2] = [0; 2];

/// Control codes that are about no open.
pub(crate) fn without_open(cx: &Cx<'_>, tree: &Tree, request: &IoctlRequest<'_>) -> Result<Reply, NtStatus> {
    check(request)?;
    match request.ctl_code {
        code::VALIDATE_NEGOTIATE_INFO => validate(cx, request),
        code::DFS_GET_REFERRALS | code::DFS_GET_REFERRALS_EX => Err(NtStatus::FS_DRIVER_REQUIRED),
        code::QUERY_NETWORK_INTERFACE_INFO => Err(NtStatus::NOT_SUPPORTED),
        code::PIPE_WAIT if matches!(tree.share, TreeShare::Pipes) => Err(NtStatus::NOT_SUPPORTED),
        _ => Err(NtStatus::FILE_CLOSED),
    }
}

/// Control codes on what is open.
pub(crate) async fn on_open(cx: &Cx<'_>, open: &Open, request: &IoctlRequest<'_>) -> Result<Reply, NtStatus> {
    check(request)?;
    match (&open.what, request.ctl_code) {
        (_, code::VALIDATE_NEGOTIATE_INFO) => validate(cx, request),
        (_, code::DFS_GET_REFERRALS | code::DFS_GET_REFERRALS_EX) => Err(NtStatus::FS_DRIVER_REQUIRED),
        (What::Pipe(pipe), code::PIPE_TRANSCEIVE) => {
            let most = usize::try_from(request.max_output_response).unwrap_or(usize::MAX);
            let mut pipe = pipe.lock().await;
            pipe.write(cx, request.input).await?;
            let (output, rest) = pipe.answer(most)?;
            let status = if rest { NtStatus::BUFFER_OVERFLOW } else { NtStatus::SUCCESS };
            Ok(Reply { status, ..reply(request, &output) })
        }
        (What::Disk(_), code::SRV_ENUMERATE_SNAPSHOTS) => {
            let most = usize::try_from(request.max_output_response).unwrap_or(usize::MAX);
            let names = snapshots::names(cx, open.tree).await?;
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let output = ioctl::snapshots(&names, most).ok_or(NtStatus::INVALID_PARAMETER)?;
            Ok(reply(request, &output))
        }
        (What::Disk(_), code::GET_REPARSE_POINT) => Err(NtStatus::NOT_A_REPARSE_POINT),
        (What::Disk(disk), code::CREATE_OR_GET_OBJECT_ID) => {
            // The id of the file and that of its share, four times 16 bytes.
            let file = disk.handle().await?.file();
            let mut output = file.inode.number().to_le_bytes().to_vec();
            output.extend_from_slice(&file.share.number().to_le_bytes());
            output.resize(64, 0);
            Ok(reply(request, &output))
        }
        (What::Disk(_), code::SRV_REQUEST_RESUME_KEY) => copy_chunk::resume_key(open, request),
        (What::Disk(_), code::SRV_COPYCHUNK | code::SRV_COPYCHUNK_WRITE) => copy_chunk::copy(cx, open, request).await,
        (What::Disk(_), code::SET_SPARSE) => sparse::set(cx, open, request).await,
        (What::Disk(_), code::SET_ZERO_DATA) => sparse::zero(cx, open, request).await,
        (What::Disk(_), code::QUERY_ALLOCATED_RANGES) => sparse::allocated(cx, open, request).await,
        (What::Disk(_), code::GET_COMPRESSION | code::SET_COMPRESSION) => compression(open, request),
        (What::Disk(_), code::LMR_REQUEST_RESILIENCY) => durable::resilient(cx, open, request),
        (What::Disk(_), code::QUERY_NETWORK_INTERFACE_INFO) => Err(NtStatus::NOT_SUPPORTED),
        _ => Err(NtStatus::INVALID_DEVICE_REQUEST),
    }
}

const fn check(request: &IoctlRequest<'_>) -> Result<(), NtStatus> {
    if request.flags == IOCTL_IS_FSCTL { Ok(()) } else { Err(NtStatus::NOT_SUPPORTED) }
}

/// Nothing is compressed, and nothing but that can be asked for.
fn compression(open: &Open, request: &IoctlRequest<'_>) -> Result<Reply, NtStatus> {
    if request.ctl_code == code::GET_COMPRESSION {
        return if request.max_output_response < 2 {
            Err(NtStatus::INVALID_USER_BUFFER)
        } else {
            Ok(reply(request, &NOT_COMPRESSED))
        };
    }
    open.needs(access::WRITE_DATA)?;
    match request.input.first_chunk::<2>() {
        None => Err(NtStatus::INVALID_PARAMETER),
        Some(&NOT_COMPRESSED) => Ok(reply(request, &[])),
        Some(_) => Err(NtStatus::NOT_SUPPORTED),
    }
}

/// The answer of a control code.
pub(crate) fn reply(request: &IoctlRequest<'_>, output: &[u8]) -> Reply {
    let response = IoctlResponse { ctl_code: request.ctl_code, file_id: request.file_id, output };
    Reply::body(|body| response.encode(body))
}

/// The client asks whether we heard what it said. When not, somebody stands between, and the connection ends.
fn validate(cx: &Cx<'_>, request: &IoctlRequest<'_>) -> Result<Reply, NtStatus> {
    let said = ValidateNegotiate::parse(request.input)?;
    let how = cx.connection.negotiated.get().ok_or(NtStatus::INVALID_PARAMETER)?;
    let dialects: Vec<u16> = said.dialects.iter().collect();
    let heard = said.capabilities == how.client.capabilities
        && said.client_guid == how.client.guid
        && said.security_mode == how.client.security_mode
        && dialects == how.client.dialects;
    if !heard {
        cx.connection.over.cancel();
        return Err(NtStatus::ACCESS_DENIED);
    }
    let response = ValidateNegotiateResponse {
        capabilities: how.capabilities,
        server_guid: cx.connection.shared.guid,
        security_mode: how.security_mode,
        dialect: how.dialect,
    };
    let mut output = Vec::new();
    response.write(&mut output);
    Ok(reply(request, &output))
}
