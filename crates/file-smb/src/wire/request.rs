//! Every request, by its command.

use super::{
    bytes::Reader,
    create::CreateRequest,
    header::{Command, HEADER},
    io::{CloseRequest, FlushRequest, ReadRequest, WriteRequest},
    ioctl::IoctlRequest,
    lock::{BreakAck, LockRequest},
    negotiate::NegotiateRequest,
    query::{ChangeNotifyRequest, QueryDirectoryRequest, QueryInfoRequest, SetInfoRequest},
    session::{Empty, SessionSetupRequest, TreeConnectRequest},
};
use crate::NtStatus;

/// A request, without its header.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the commands")]
pub enum Request<'a> {
    Negotiate(NegotiateRequest<'a>),
    SessionSetup(SessionSetupRequest<'a>),
    Logoff,
    TreeConnect(TreeConnectRequest<'a>),
    TreeDisconnect,
    Create(CreateRequest<'a>),
    Close(CloseRequest),
    Flush(FlushRequest),
    Read(ReadRequest),
    Write(WriteRequest<'a>),
    Lock(LockRequest<'a>),
    Ioctl(IoctlRequest<'a>),
    Cancel,
    Echo,
    QueryDirectory(QueryDirectoryRequest<'a>),
    ChangeNotify(ChangeNotifyRequest),
    QueryInfo(QueryInfoRequest<'a>),
    SetInfo(SetInfoRequest<'a>),
    OplockBreak(BreakAck),
}

impl<'a> Request<'a> {
    /// Reads a message (header and body) with this command.
    ///
    /// # Errors
    /// The status to answer with.
    pub fn parse(command: Command, message: &'a [u8]) -> Result<Self, NtStatus> {
        let mut body = Reader::at(message, HEADER)?;
        let empty = |request| Empty::read(&mut Reader::at(message, HEADER)?).map(|_nothing| request);
        match command {
            Command::Negotiate => NegotiateRequest::parse(message).map(Self::Negotiate),
            Command::SessionSetup => SessionSetupRequest::parse(message).map(Self::SessionSetup),
            Command::Logoff => empty(Self::Logoff),
            Command::TreeConnect => TreeConnectRequest::parse(message).map(Self::TreeConnect),
            Command::TreeDisconnect => empty(Self::TreeDisconnect),
            Command::Create => CreateRequest::parse(message).map(Self::Create),
            Command::Close => CloseRequest::read(&mut body).map(Self::Close),
            Command::Flush => FlushRequest::read(&mut body).map(Self::Flush),
            Command::Read => {
                let request = ReadRequest::read(&mut body)?;
                // The byte that the StructureSize counts of the buffer.
                body.skip(1)?;
                Ok(Self::Read(request))
            }
            Command::Write => WriteRequest::parse(message).map(Self::Write),
            Command::Lock => LockRequest::parse(message).map(Self::Lock),
            Command::Ioctl => IoctlRequest::parse(message).map(Self::Ioctl),
            Command::Cancel => empty(Self::Cancel),
            Command::Echo => empty(Self::Echo),
            Command::QueryDirectory => QueryDirectoryRequest::parse(message).map(Self::QueryDirectory),
            Command::ChangeNotify => ChangeNotifyRequest::read(&mut body).map(Self::ChangeNotify),
            Command::QueryInfo => QueryInfoRequest::parse(message).map(Self::QueryInfo),
            Command::SetInfo => SetInfoRequest::parse(message).map(Self::SetInfo),
            Command::OplockBreak => BreakAck::parse(message).map(Self::OplockBreak),
        }
    }

    /// Its command.
    #[must_use]
    pub const fn command(&self) -> Command {
        match self {
            Self::Negotiate(_) => Command::Negotiate,
            Self::SessionSetup(_) => Command::SessionSetup,
            Self::Logoff => Command::Logoff,
            Self::TreeConnect(_) => Command::TreeConnect,
            Self::TreeDisconnect => Command::TreeDisconnect,
            Self::Create(_) => Command::Create,
            Self::Close(_) => Command::Close,
            Self::Flush(_) => Command::Flush,
            Self::Read(_) => Command::Read,
            Self::Write(_) => Command::Write,
            Self::Lock(_) => Command::Lock,
            Self::Ioctl(_) => Command::Ioctl,
            Self::Cancel => Command::Cancel,
            Self::Echo => Command::Echo,
            Self::QueryDirectory(_) => Command::QueryDirectory,
            Self::ChangeNotify(_) => Command::ChangeNotify,
            Self::QueryInfo(_) => Command::QueryInfo,
            Self::SetInfo(_) => Command::SetInfo,
            Self::OplockBreak(_) => Command::OplockBreak,
        }
    }

    /// Appends the body, as a client would send it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Negotiate(request) => request.encode(out),
            Self::SessionSetup(request) => request.encode(out),
            Self::TreeConnect(request) => request.encode(out),
            Self::Create(request) => request.encode(out),
            Self::Close(request) => request.write(out),
            Self::Flush(request) => request.write(out),
            Self::Read(request) => {
                request.write(out);
                out.push(0);
            }
            Self::Write(request) => request.encode(out),
            Self::Lock(request) => {
                let elements: Vec<_> = request.elements().collect();
                LockRequest::encode(request.file_id, request.lock_sequence, &elements, out);
            }
            Self::Ioctl(request) => request.encode(out),
            Self::Logoff | Self::TreeDisconnect | Self::Cancel | Self::Echo => Empty {}.write(out),
            Self::QueryDirectory(request) => request.encode(out),
            Self::ChangeNotify(request) => request.write(out),
            Self::QueryInfo(request) => request.encode(out),
            Self::SetInfo(request) => request.encode(out),
            Self::OplockBreak(request) => request.encode(out),
        }
    }

    /// The open that the request is about, if it is about one.
    #[must_use]
    pub const fn file_id(&self) -> Option<super::FileId> {
        match self {
            Self::Close(request) => Some(request.file_id),
            Self::Flush(request) => Some(request.file_id),
            Self::Read(request) => Some(request.file_id),
            Self::Write(request) => Some(request.file_id),
            Self::Lock(request) => Some(request.file_id),
            Self::Ioctl(request) => Some(request.file_id),
            Self::QueryDirectory(request) => Some(request.file_id),
            Self::ChangeNotify(request) => Some(request.file_id),
            Self::QueryInfo(request) => Some(request.file_id),
            Self::SetInfo(request) => Some(request.file_id),
            Self::OplockBreak(BreakAck::Oplock(ack)) => Some(ack.file_id),
            _other => None,
        }
    }

    /// The larger of what it sends and what it asks for, in bytes: what its credit charge must pay for.
    #[must_use]
    pub fn payload(&self) -> u32 {
        let length = super::bytes::length32;
        match self {
            Self::Read(request) => request.length,
            Self::Write(request) => length(request.data.len()),
            Self::Ioctl(request) => {
                length(request.input.len()).max(request.max_output_response.max(request.max_input_response))
            }
            Self::QueryDirectory(request) => length(request.pattern.len()).max(request.output_buffer_length),
            Self::ChangeNotify(request) => request.output_buffer_length,
            Self::QueryInfo(request) => length(request.input.len()).max(request.output_buffer_length),
            Self::SetInfo(request) => length(request.buffer.len()),
            _other => 0,
        }
    }
}
