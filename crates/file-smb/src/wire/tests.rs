//! Requests and responses there and back, and bytes that are neither.

use super::{
    contexts::{NegotiateContexts, NegotiateReply, cipher, signing},
    create::{CreateRequest, CreateResponse, FileTimes},
    create_contexts::{
        Contexts, CreateContexts, DurableReconnectV2, DurableRequestV2, Lease, LeaseV2, ResponseContexts, name,
    },
    header::{Command, HEADER, Header, PROTOCOL},
    io::{CloseResponse, ReadResponse, WriteRequest, WriteResponse},
    ioctl::{IoctlRequest, IoctlResponse, ValidateNegotiate},
    lock::{LeaseBreakAck, LockElement, LockRequest, OplockBreak},
    negotiate::{NegotiateRequest, NegotiateResponse, Smb1Hello, dialect},
    query::{BufferResponse, QueryDirectoryRequest, QueryInfoRequest, SetInfoRequest},
    request::Request,
    session::{SessionSetupRequest, SessionSetupResponse, TreeConnectRequest, TreeConnectResponse},
    *,
};
use crate::NtStatus;
use proptest::{collection::vec, prelude::*};

const FILE_ID: FileId = FileId { persistent: 0x0102_0304, volatile: 0x0506_0708_090A_0B0C };

fn message(body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    Header::default().encode(&mut out);
    body(&mut out);
    out
}

/// Reads what it writes, and refuses it with any byte missing that it needs.
fn there_and_back(request: &Request<'_>) {
    let mut bytes = message(|out| request.encode(out));
    let mut read = Request::parse(request.command(), &bytes).unwrap();
    if let Request::Write(write) = &mut read {
        assert_eq!(bytes.get(write.data_range.clone()), Some(write.data));
        write.data_range = 0..0;
    }
    assert_eq!(read, *request);
    for end in 0..bytes.len() {
        let _no_panic = Request::parse(request.command(), &bytes[..end]);
    }
    let wrong = Err(NtStatus::INVALID_PARAMETER);
    assert_eq!(Request::parse(request.command(), &bytes[..HEADER + 3]), wrong, "{request:?}");
    bytes[HEADER] ^= 0x40;
    assert_eq!(Request::parse(request.command(), &bytes), wrong, "another structure size: {request:?}");
}

#[test]
fn requests_are_read_as_they_are_written() {
    let utf16 = text::encode("dir\\file.txt");
    let dialects = [0x02, 0x02, 0x10, 0x02, 0x11, 0x03];
    let contexts = NegotiateContexts {
        hash_algorithms: U16s(&[1, 0]),
        salt: &[7; 32],
        ciphers: Some(U16s(&[2, 0, 1, 0, 4, 0])),
        signing_algorithms: Some(U16s(&[2, 0])),
        netname: Some(&utf16),
    };
    let negotiate = NegotiateRequest {
        security_mode: 1,
        capabilities: 0x7F,
        client_guid: [3; 16],
        dialects: U16s(&dialects),
        contexts: Some(contexts),
    };
    let all = CreateContexts {
        extended_attributes: Some(b"ea"),
        security_descriptor: Some(b"sd-bytes"),
        durable_request: true,
        durable_reconnect: Some(FILE_ID),
        durable_request_v2: Some(DurableRequestV2 { timeout_ms: 60_000, flags: 2, create_guid: [4; 16] }),
        durable_reconnect_v2: Some(DurableReconnectV2 { file_id: FILE_ID, create_guid: [5; 16], flags: 2 }),
        allocation_size: Some(1 << 33),
        maximal_access: Some(Some(9)),
        timewarp: Some(132_000_000_000_000_000),
        query_on_disk_id: true,
        lease: Some(Lease { key: [6; 16], state: 7, flags: 4, v2: Some(LeaseV2 { parent_key: [7; 16], epoch: 3 }) }),
    };
    let v1 = CreateContexts {
        maximal_access: Some(None),
        lease: Some(Lease { key: [1; 16], state: 3, flags: 0, v2: None }),
        ..CreateContexts::default()
    };
    let create = |name, contexts| {
        Request::Create(CreateRequest {
            requested_oplock_level: 0xFF,
            impersonation_level: 2,
            desired_access: 0x0012_0089,
            file_attributes: 0x20,
            share_access: 7,
            create_disposition: 3,
            create_options: 0x40,
            name,
            contexts,
        })
    };
    let mut locks = Vec::new();
    let elements =
        [LockElement { offset: 1, length: 2, flags: 0x12 }, LockElement { offset: u64::MAX, length: 1, flags: 4 }];
    LockRequest::encode(FILE_ID, 0x31, &elements, &mut locks);
    let locks = [vec![0; HEADER], locks].concat();
    let lock = LockRequest::parse(&locks).unwrap();
    assert_eq!(lock.elements().collect::<Vec<_>>(), elements);
    assert_eq!(lock.sequence(), (3, 1));

    let table = [
        Request::Negotiate(negotiate),
        Request::Negotiate(NegotiateRequest { dialects: U16s(&dialects[..4]), contexts: None, ..negotiate }),
        Request::SessionSetup(SessionSetupRequest {
            flags: 1,
            security_mode: 2,
            capabilities: 1,
            previous_session_id: 77,
            security_buffer: b"token",
        }),
        Request::Logoff,
        Request::TreeConnect(TreeConnectRequest { flags: 0, path: &utf16 }),
        Request::TreeDisconnect,
        create(&utf16, all),
        create(&utf16, v1),
        create(&utf16[..10], CreateContexts::default()),
        create(&[], all),
        create(&[], CreateContexts::default()),
        Request::Close(io::CloseRequest { flags: 1, file_id: FILE_ID }),
        Request::Flush(io::FlushRequest { file_id: FILE_ID }),
        Request::Read(io::ReadRequest {
            padding: 0x50,
            flags: 1,
            length: 65536,
            offset: 1 << 40,
            file_id: FILE_ID,
            minimum_count: 1,
            channel: 0,
            remaining_bytes: 5,
        }),
        Request::Write(WriteRequest {
            offset: 9,
            file_id: FILE_ID,
            flags: 1,
            data: b"data",
            ..WriteRequest::default()
        }),
        Request::Write(WriteRequest { offset: 9, file_id: FILE_ID, ..WriteRequest::default() }),
        Request::Lock(lock),
        Request::Ioctl(IoctlRequest {
            ctl_code: ioctl::code::PIPE_TRANSCEIVE,
            file_id: FILE_ID,
            input: b"input",
            max_input_response: 0,
            max_output_response: 4280,
            flags: 1,
        }),
        Request::Cancel,
        Request::Echo,
        Request::QueryDirectory(QueryDirectoryRequest {
            file_information_class: 37,
            flags: 1,
            file_index: 0,
            file_id: FILE_ID,
            pattern: &utf16[..2],
            output_buffer_length: 65536,
        }),
        Request::ChangeNotify(query::ChangeNotifyRequest {
            flags: 1,
            output_buffer_length: 4096,
            file_id: FILE_ID,
            completion_filter: 0xFFF,
        }),
        Request::QueryInfo(QueryInfoRequest {
            info_type: 1,
            file_info_class: 18,
            output_buffer_length: 200,
            input: b"",
            additional_information: 7,
            flags: 0,
            file_id: FILE_ID,
        }),
        Request::SetInfo(SetInfoRequest {
            info_type: 1,
            file_info_class: 4,
            buffer: &[1; 40],
            additional_information: 0,
            file_id: FILE_ID,
        }),
        Request::OplockBreak(lock::BreakAck::Oplock(OplockBreak { oplock_level: 1, file_id: FILE_ID })),
        Request::OplockBreak(lock::BreakAck::Lease(LeaseBreakAck {
            flags: 0,
            lease_key: [9; 16],
            lease_state: 1,
            lease_duration: 0,
        })),
    ];
    for request in &table {
        there_and_back(request);
    }
    for command in Command::ALL {
        assert!(table.iter().any(|request| request.command() == command), "{command:?} is not in the table");
    }
}

#[test]
fn responses_are_read_as_they_are_written() {
    let negotiate = NegotiateResponse {
        security_mode: 3,
        dialect_revision: dialect::SMB_3_1_1,
        server_guid: [1; 16],
        capabilities: 0x45,
        max_transact_size: 1 << 20,
        max_read_size: 1 << 23,
        max_write_size: 1 << 23,
        system_time: 5,
        server_start_time: 0,
        security_buffer: b"spnego hint",
        contexts: Some(NegotiateReply {
            salt: &[9; 32],
            cipher: Some(cipher::AES_128_GCM),
            signing_algorithm: Some(signing::AES_GMAC),
        }),
    };
    let older = NegotiateResponse { dialect_revision: dialect::SMB_2_1, contexts: None, ..negotiate };
    for response in [negotiate, older] {
        assert_eq!(NegotiateResponse::parse(&message(|out| response.encode(out))), Ok(response));
    }

    let setup = SessionSetupResponse { session_flags: 4, security_buffer: b"token" };
    assert_eq!(SessionSetupResponse::parse(&message(|out| setup.encode(out))), Ok(setup));

    let tree = TreeConnectResponse { share_type: 1, share_flags: 0x8000, capabilities: 0, maximal_access: 0x001F_01FF };
    let bytes = message(|out| tree.write(out));
    assert_eq!(TreeConnectResponse::read(&mut Reader::at(&bytes, HEADER).unwrap()), Ok(tree));

    let times = FileTimes { creation_time: 1, last_access_time: 2, last_write_time: 3, change_time: 4 };
    let create = CreateResponse {
        oplock_level: 0,
        flags: 0,
        create_action: 2,
        times,
        allocation_size: 4096,
        end_of_file: 10,
        file_attributes: 0x20,
        file_id: FILE_ID,
    };
    let mut contexts = ResponseContexts::default();
    contexts.maximal_access(NtStatus::SUCCESS, 0x001F_01FF);
    contexts.on_disk_id(1, 2);
    contexts.durable_v2(1000, 2);
    contexts.durable();
    let bytes = message(|out| create.encode(&contexts, out));
    let (read, list) = CreateResponse::parse(&bytes).unwrap();
    assert_eq!(read, create);
    let list: Vec<_> = Contexts::new(list).map(Result::unwrap).map(|(name, data)| (name, data.len())).collect();
    let expected: &[(&[u8], usize)] = &[
        (name::MAXIMAL_ACCESS, 8),
        (name::QUERY_ON_DISK_ID, 32),
        (name::DURABLE_REQUEST_V2, 8),
        (name::DURABLE_REQUEST, 8),
    ];
    assert_eq!(list, expected);
    let bytes = message(|out| create.encode(&ResponseContexts::default(), out));
    assert_eq!(CreateResponse::parse(&bytes), Ok((create, [].as_slice())));

    let close = CloseResponse { flags: 1, times, allocation_size: 1, end_of_file: 2, file_attributes: 0x80 };
    let bytes = message(|out| close.write(out));
    assert_eq!(bytes.len(), HEADER + 60);
    assert_eq!(CloseResponse::read(&mut Reader::at(&bytes, HEADER).unwrap()), Ok(close));

    let read = ReadResponse { data_length: 4, data_remaining: 0 };
    let mut bytes = message(|out| read.encode(out));
    assert_eq!(bytes.len(), 80, "where the data begins");
    bytes.extend_from_slice(b"data");
    assert_eq!(ReadResponse::parse(&bytes), Ok((read, b"data".as_slice())));

    let write = WriteResponse { count: 99 };
    assert_eq!(WriteResponse::parse(&message(|out| write.encode(out))), Ok(write));

    let buffer = BufferResponse { buffer: b"entries" };
    assert_eq!(BufferResponse::parse(&message(|out| buffer.encode(out))), Ok(buffer));

    let ioctl = IoctlResponse { ctl_code: 5, file_id: FILE_ID, output: b"output" };
    assert_eq!(IoctlResponse::parse(&message(|out| ioctl.encode(out))), Ok(ioctl));
}

#[test]
fn structure_sizes_of_responses() {
    let length = |body: fn(&mut Vec<u8>)| message(body).len() - HEADER;
    assert_eq!(length(|out| session::Empty {}.write(out)), 4);
    assert_eq!(length(|out| query::SetInfoResponse {}.write(out)), 2);
    assert_eq!(length(|out| OplockBreak::default().write(out)), 24);
    assert_eq!(length(|out| lock::LeaseBreakNotification::default().write(out)), 44);
    assert_eq!(length(|out| LeaseBreakAck::default().write(out)), 36);
    assert_eq!(length(|out| TreeConnectResponse::default().write(out)), 16);
    assert_eq!(length(|out| io::CloseRequest::default().write(out)), 24);
    assert_eq!(length(|out| io::FlushRequest::default().write(out)), 24);
    assert_eq!(length(|out| io::ReadRequest::default().write(out)), 48);
    assert_eq!(length(|out| query::ChangeNotifyRequest::default().write(out)), 32);
}

/// As a client of Windows sends it, from Microsoft's walk through preauth integrity.
const NEGOTIATE_3_1_1: &str = "FE534D4240000100000000000000800000000000000000000100000000000000FFFE000000000000\
    00000000000000000000000000000000000000000000000024000500000000003F000000ECD86F32\
    6276024F9F7752B89BB33F3A70000000020000000202100200030203110300000100260000000000\
    010020000100FA49E6578F1F3A9F4CD3E9CC14A67AA884B3D05844E0E5A118225C15887F32FF0000\
    0200060000000000020002000100";

#[test]
fn a_negotiate_of_windows() {
    let bytes = crate::hex(NEGOTIATE_3_1_1);
    let Ok(Request::Negotiate(request)) = Request::parse(Command::Negotiate, &bytes) else { panic!("no negotiate") };
    assert_eq!(request.dialects.iter().collect::<Vec<_>>(), [0x0202, 0x0210, 0x0300, 0x0302, 0x0311]);
    let contexts = request.contexts.unwrap();
    assert_eq!(contexts.salt.len(), 32);
    assert_eq!(contexts.ciphers.unwrap().iter().collect::<Vec<_>>(), [2, 1]);
    assert_eq!((contexts.signing_algorithms, contexts.netname), (None, None));
    assert_eq!(message(|out| request.encode(out)).len(), bytes.len());
}

#[test]
fn negotiates_that_are_refused() {
    let good = crate::hex(NEGOTIATE_3_1_1);
    // position, value, status
    let table: &[(usize, &[u8], NtStatus)] = &[
        (HEADER + 2, &[0, 0], NtStatus::INVALID_PARAMETER),
        (HEADER + 2, &[0xFF, 0xFF], NtStatus::INVALID_PARAMETER),
        // Contexts: before the body's end, outside, none, too many.
        (HEADER + 28, &[8, 0], NtStatus::INVALID_PARAMETER),
        (HEADER + 28, &[0, 9], NtStatus::INVALID_PARAMETER),
        (HEADER + 32, &[0, 0], NtStatus::INVALID_PARAMETER),
        (HEADER + 32, &[3, 0], NtStatus::INVALID_PARAMETER),
        // Two of a kind, and no preauth.
        (0x70 + 48, &[1, 0], NtStatus::INVALID_PARAMETER),
        (0x70, &[9, 0], NtStatus::INVALID_PARAMETER),
        // No hash, one that is not known.
        (0x70 + 8, &[0, 0], NtStatus::INVALID_PARAMETER),
        (0x70 + 12, &[2, 0], NtStatus::SMB_NO_PREAUTH_INTEGRITY_HASH_OVERLAP),
        // No cipher at all, more than there are.
        (0x70 + 56, &[0, 0], NtStatus::INVALID_PARAMETER),
        (0x70 + 56, &[3, 0], NtStatus::INVALID_PARAMETER),
    ];
    for (position, value, status) in table {
        let mut bytes = good.clone();
        bytes[*position..position + value.len()].copy_from_slice(value);
        assert_eq!(Request::parse(Command::Negotiate, &bytes), Err(*status), "{position} {value:?}");
    }
}

#[test]
fn hellos_of_smb1() {
    let hello = |names: &[&str]| {
        let names: String = names.iter().map(|name| format!("\u{2}{name}\0")).collect();
        let mut frame = b"\xFFSMB\x72".to_vec();
        frame.resize(33, 0);
        frame.extend_from_slice(&u16::try_from(names.len()).unwrap().to_le_bytes());
        frame.extend_from_slice(names.as_bytes());
        frame
    };
    let table: &[(&[&str], bool, bool)] = &[
        (&["PC NETWORK PROGRAM 1.0", "NT LM 0.12", "SMB 2.002", "SMB 2.???"], true, true),
        (&["NT LM 0.12", "SMB 2.???"], false, true),
        (&["SMB 2.002"], true, false),
        (&["NT LM 0.12"], false, false),
        (&["xSMB 2.???"], false, false),
    ];
    for (names, smb_2_002, smb_2_wildcard) in table {
        let expected = Smb1Hello { smb_2_002: *smb_2_002, smb_2_wildcard: *smb_2_wildcard };
        assert_eq!(Smb1Hello::parse(&hello(names)), Ok(expected), "{names:?}");
    }
    let mut other = hello(&["NT LM 0.12"]);
    other.pop();
    assert!(Smb1Hello::parse(&other).is_err(), "shorter than it says");
    other = hello(&[]);
    other[4] = 0x73;
    assert!(Smb1Hello::parse(&other).is_err(), "another command");
}

#[test]
fn create_contexts_that_are_refused() {
    let mut list = ResponseContexts::default();
    list.add(b"AlSi", &[0; 8]);
    list.add(b"MxAc", &[]);
    let good = list.as_bytes().to_vec();
    assert!(CreateContexts::parse(&good).is_ok());
    // position, value
    let table: &[(usize, u8)] = &[
        (0, 4),
        (0, 36),
        (0, 8),
        (0, 0xF8), // The next one: not aligned, inside of this one, outside.
        (4, 15),
        (4, 200), // The name: in the fixed part, outside.
        (6, 0),
        (6, 3), // Its length.
        (10, 16),
        (10, 250), // The data: over the name, outside.
        (12, 9),
        (12, 7),    // Its length: another than AlSi has.
        (15, 0xFF), // Gigabytes.
    ];
    for (position, value) in table {
        let mut bad = good.clone();
        bad[*position] = *value;
        assert_eq!(CreateContexts::parse(&bad), Err(NtStatus::INVALID_PARAMETER), "{position} {value}");
    }
    let mut many = ResponseContexts::default();
    for _ in 0..65 {
        many.add(b"ABCD", &[1]);
    }
    assert_eq!(CreateContexts::parse(many.as_bytes()), Err(NtStatus::INVALID_PARAMETER), "too many");
}

#[test]
fn contexts_with_unknown_names_are_ignored() {
    let mut list = ResponseContexts::default();
    list.add(b"AAPL", &[1; 24]);
    list.add(b"\x93\xAD\x25\x50\x9C\xB4\x11\xE7\xB4\x23\x83\xDE\x96\x8B\xCD\x7C", &[]);
    list.add(b"QFid", &[]);
    let expected = CreateContexts { query_on_disk_id: true, ..CreateContexts::default() };
    assert_eq!(CreateContexts::parse(list.as_bytes()), Ok(expected));
}

#[test]
fn a_buffer_is_not_in_the_fixed_part() {
    let data = [7; 16];
    let write = WriteRequest { data: &data, ..WriteRequest::default() };
    let mut bytes = message(|out| write.encode(out));
    bytes[HEADER + 2] -= 1;
    assert_eq!(WriteRequest::parse(&bytes), Err(NtStatus::INVALID_PARAMETER));
    bytes[HEADER + 2] += 2;
    assert_eq!(WriteRequest::parse(&bytes), Err(NtStatus::INVALID_PARAMETER), "outside");
    bytes.push(0);
    assert!(WriteRequest::parse(&bytes).is_ok(), "a byte of padding");
}

#[test]
fn payloads_that_credits_are_charged_for() {
    let read = io::ReadRequest { length: 100_000, ..io::ReadRequest::default() };
    assert_eq!(Request::Read(read).payload(), 100_000);
    let info = QueryInfoRequest { output_buffer_length: 9, input: &[0; 20], ..QueryInfoRequest::default() };
    assert_eq!(Request::QueryInfo(info).payload(), 20);
    assert_eq!(Request::Echo.payload(), 0);
}

#[test]
fn reserved_bytes_of_a_lock_say_nothing() {
    let mut bytes = vec![0; HEADER];
    LockRequest::encode(FILE_ID, 0, &[LockElement { offset: 1, length: 2, flags: 1 }], &mut bytes);
    let mut other = bytes.clone();
    *other.last_mut().unwrap() = 20;
    assert_eq!(LockRequest::parse(&bytes), LockRequest::parse(&other));
    other[HEADER + 24] = 9;
    assert_ne!(LockRequest::parse(&bytes), LockRequest::parse(&other), "another offset");
}

#[test]
fn what_was_negotiated_is_read_as_it_is_written() {
    let sent =
        ValidateNegotiate { capabilities: 1, client_guid: [2; 16], security_mode: 3, dialects: U16s(&[2, 2, 0, 3]) };
    let mut bytes = Vec::new();
    sent.encode(&mut bytes);
    assert_eq!(ValidateNegotiate::parse(&bytes), Ok(sent));
    assert!(ValidateNegotiate::parse(&bytes[..bytes.len() - 1]).is_err());
}

#[test]
fn names_of_snapshots() {
    let name = "@GMT-2026.01.02-03.04.05";
    assert_eq!(ioctl::snapshots(&[name], 15), None);
    let counted = ioctl::snapshots(&[name], 16).unwrap();
    assert_eq!(counted, [1, 0, 0, 0, 0, 0, 0, 0, 52, 0, 0, 0, 0, 0, 0, 0]);
    let whole = ioctl::snapshots(&[name], 64).unwrap();
    assert_eq!((whole.len(), whole[4]), (64, 1));
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_read_once_and_for_all(
        command in 0_usize..19,
        sizes in any::<bool>(),
        mut bytes in vec(prop_oneof![3 => Just(0_u8), 2 => 0_u8..0x90, 1 => any::<u8>()], 0..400),
    ) {
        const SIZES: [u8; 19] = [36, 25, 4, 9, 4, 57, 24, 24, 49, 49, 48, 57, 4, 4, 33, 32, 41, 33, 24];
        if sizes && bytes.len() > HEADER + 2 {
            bytes[..4].copy_from_slice(&PROTOCOL);
            bytes[HEADER] = SIZES[command];
            bytes[HEADER + 1] = 0;
        }
        let command = Command::ALL[command];
        if let Ok(mut first) = Request::parse(command, &bytes) {
            let written = message(|out| first.encode(out));
            let mut again = Request::parse(command, &written).unwrap();
            for request in [&mut first, &mut again] {
                if let Request::Write(write) = request {
                    write.data_range = 0..0;
                }
            }
            prop_assert_eq!(first, again);
        }
    }

    #[test]
    fn arbitrary_contexts_do_not_panic(bytes in vec(prop_oneof![Just(0_u8), 0_u8..64, any::<u8>()], 0..300)) {
        for context in Contexts::new(&bytes) {
            let _either = context;
        }
        let _either = (CreateContexts::parse(&bytes), Smb1Hello::parse(&bytes), NegotiateResponse::parse(&bytes));
        let _either = (CreateResponse::parse(&bytes), ReadResponse::parse(&bytes), BufferResponse::parse(&bytes));
    }
}
