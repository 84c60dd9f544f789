//! Conversations over the pipe, as smbclient has them, and bytes that are none.

use super::{
    ndr::{NdrReader, NdrWriter},
    rpc::{Connection, fault},
    srvsvc::{Server, Share, share_kind},
};
use bytes::BufMut;
use proptest::{collection::vec, prelude::*};

const SHARES: &[Share<'_>] = &[
    Share { name: "documents", kind: share_kind::DISK, remark: "" },
    Share { name: "IPC$", kind: share_kind::IPC | share_kind::SPECIAL, remark: "Remote IPC" },
];

const SERVER: Server<'_> = Server { name: "lazuli", comment: "files", shares: SHARES };

const SRVSVC: [u8; 20] =
    [0xC8, 0x4F, 0x32, 0x4B, 0x70, 0x16, 0xD3, 0x01, 0x12, 0x78, 0x5A, 0x47, 0xBF, 0x6E, 0xE1, 0x88, 3, 0, 0, 0];
const NDR: [u8; 20] =
    [0x04, 0x5D, 0x88, 0x8A, 0xEB, 0x1C, 0xC9, 0x11, 0x9F, 0xE8, 0x08, 0x00, 0x2B, 0x10, 0x48, 0x60, 2, 0, 0, 0];

fn fragment(kind: u8, flags: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![5, 0, kind, flags, 0x10, 0, 0, 0];
    out.put_u16_le(u16::try_from(body.len() + 16).unwrap());
    out.put_u16_le(0);
    out.put_u32_le(7);
    out.put_slice(body);
    out
}

fn bind(interface: [u8; 20], transfer: [u8; 20], max_fragment: u16) -> Vec<u8> {
    let mut body = Vec::new();
    body.put_u16_le(max_fragment);
    body.put_u16_le(max_fragment);
    body.put_u32_le(0);
    body.put_u32_le(1);
    body.put_u16_le(0);
    body.put_u16_le(1);
    body.put_slice(&interface);
    body.put_slice(&transfer);
    fragment(11, 3, &body)
}

fn request(operation: u16, flags: u8, stub: &[u8]) -> Vec<u8> {
    let mut body = vec![0; 4];
    body.put_u16_le(0);
    body.put_u16_le(operation);
    body.put_slice(stub);
    fragment(0, flags, &body)
}

fn bound(max_fragment: u16) -> Connection {
    let mut connection = Connection::default();
    let answer = connection.transact(&bind(SRVSVC, NDR, max_fragment), &SERVER).unwrap();
    assert_eq!(answer[0][2], 12, "bind_ack");
    connection
}

/// The stub of an answer, put together.
fn answer(connection: &mut Connection, operation: u16, stub: &[u8]) -> Vec<u8> {
    let fragments = connection.transact(&request(operation, 3, stub), &SERVER).unwrap();
    let last = fragments.len() - 1;
    for (number, fragment) in fragments.iter().enumerate() {
        assert_eq!(fragment[2], 2, "response");
        assert_eq!(fragment[3], u8::from(number == 0) | u8::from(number == last) << 1);
        assert_eq!(usize::from(u16::from_le_bytes([fragment[8], fragment[9]])), fragment.len());
    }
    fragments.iter().flat_map(|fragment| fragment[24..].to_vec()).collect()
}

fn fault_of(fragments: &[Vec<u8>]) -> u32 {
    assert_eq!(fragments[0][2], 3, "fault");
    u32::from_le_bytes(fragments[0][24..28].try_into().unwrap())
}

fn enumerate(level: u32) -> Vec<u8> {
    let mut stub = NdrWriter::default();
    stub.pointer();
    stub.string("\\\\127.0.0.1");
    stub.u32(level);
    stub.u32(level);
    stub.pointer();
    stub.u32(0);
    stub.u32(0);
    stub.u32(u32::MAX);
    stub.u32(0);
    stub.into_bytes()
}

#[test]
fn shares_are_listed() {
    for max_fragment in [4280, 256, 0] {
        let mut connection = bound(max_fragment);
        let stub = answer(&mut connection, 15, &enumerate(1));
        let mut reader = NdrReader::new(&stub);
        let head: Vec<u32> = (0..6).map(|_| reader.u32().unwrap()).collect();
        assert_eq!((head[0], head[1], head[3], head[5]), (1, 1, 2, 2), "level twice, count twice");
        let kinds: Vec<u32> = (0..6).map(|_| reader.u32().unwrap()).collect();
        assert_eq!((kinds[1], kinds[4]), (0, 0x8000_0003));
        let strings: Vec<String> = (0..4).map(|_| reader.string().unwrap()).collect();
        assert_eq!(strings, ["documents", "", "IPC$", "Remote IPC"]);
        assert_eq!([reader.u32(), reader.u32(), reader.u32()], [Ok(2), Ok(0), Ok(0)]);
    }
    let stub = answer(&mut bound(4280), 15, &enumerate(0));
    assert_eq!(stub[stub.len() - 12..], [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let stub = answer(&mut bound(4280), 15, &enumerate(502));
    assert_eq!(stub[stub.len() - 4..], [124, 0, 0, 0], "no such level");
}

#[test]
fn a_long_list_comes_in_fragments() {
    let names: Vec<String> = (0..2000).map(|number| format!("share{number}")).collect();
    let shares: Vec<_> = names.iter().map(|name| Share { name, kind: 0, remark: "" }).collect();
    let server = Server { shares: &shares, ..SERVER };
    let fragments = bound(4280).transact(&request(15, 3, &enumerate(1)), &server).unwrap();
    assert!(fragments.len() > 10 && fragments.iter().all(|fragment| fragment.len() <= 4280));
    let stub: Vec<u8> = fragments.iter().flat_map(|fragment| fragment[24..].to_vec()).collect();
    assert_eq!(stub[stub.len() - 4..], [0; 4]);
}

#[test]
fn one_share() {
    let ask = |name: &str, level: u32| {
        let mut stub = NdrWriter::default();
        stub.u32(0);
        stub.string(name);
        stub.u32(level);
        answer(&mut bound(4280), 16, &stub.into_bytes())
    };
    let result = |stub: &[u8]| u32::from_le_bytes(stub[stub.len() - 4..].try_into().unwrap());
    for level in [0, 1, 2, 1005] {
        assert_eq!(result(&ask("Documents", level)), 0, "{level}");
        assert_eq!(result(&ask("other", level)), 2310, "{level}");
    }
    assert_eq!(result(&ask("documents", 3)), 124);
    let stub = ask("documents", 1);
    let mut reader = NdrReader::new(&stub);
    let head: Vec<u32> = (0..5).map(|_| reader.u32().unwrap()).collect();
    assert_eq!((head[0], head[3]), (1, share_kind::DISK));
    assert_eq!((reader.string().unwrap().as_str(), reader.string().unwrap().as_str()), ("documents", ""));
}

#[test]
fn the_server() {
    for (level, expected) in [(100_u32, 0_u32), (101, 0), (102, 124)] {
        let mut stub = NdrWriter::default();
        stub.u32(0);
        stub.u32(level);
        let stub = answer(&mut bound(4280), 21, &stub.into_bytes());
        assert_eq!(stub[stub.len() - 4..], expected.to_le_bytes(), "{level}");
    }
}

#[test]
fn binds_that_are_refused() {
    let result = |bytes: &[u8]| {
        let answer = Connection::default().transact(bytes, &SERVER).unwrap().remove(0);
        let at = answer.len() - 24;
        (answer[2], answer[at], answer[at + 2])
    };
    assert_eq!(result(&bind(SRVSVC, NDR, 4280)), (12, 0, 0));
    assert_eq!(result(&bind([1; 20], NDR, 4280)), (12, 2, 1), "another interface");
    assert_eq!(result(&bind(SRVSVC, [1; 20], 4280)), (12, 2, 2), "another syntax");
    let mut none = bind(SRVSVC, NDR, 4280);
    none[24] = 0;
    assert_eq!(Connection::default().transact(&none, &SERVER).unwrap()[0][2], 13, "bind_nak");
}

#[test]
fn calls_that_fail() {
    let unbound = Connection::default().transact(&request(15, 3, &[]), &SERVER).unwrap();
    assert_eq!(fault_of(&unbound), fault::UNKNOWN_INTERFACE);
    let mut connection = bound(4280);
    let mut send = |bytes: Vec<u8>| connection.transact(&bytes, &SERVER).unwrap();
    assert_eq!(fault_of(&send(request(99, 3, &[]))), fault::OP_RANGE);
    assert_eq!(fault_of(&send(request(15, 3, &[1, 2, 3]))), fault::BAD_STUB_DATA);
    assert_eq!(fault_of(&send(request(15, 2, &[]))), fault::PROTOCOL, "a last one without a first one");
    assert_eq!(fault_of(&send(fragment(2, 3, &[0; 8]))), fault::PROTOCOL, "a response");
    assert!(connection.transact(&[5, 0, 0], &SERVER).is_err());
    let mut longer = request(15, 3, &[]);
    longer[8] += 1;
    assert!(connection.transact(&longer, &SERVER).is_err(), "longer than it is");
}

#[test]
fn a_call_in_fragments_is_put_together_up_to_a_limit() {
    let stub = enumerate(1);
    let (first, second) = stub.split_at(20);
    let mut connection = bound(4280);
    assert!(connection.transact(&request(15, 1, first), &SERVER).unwrap().is_empty());
    assert_eq!(connection.transact(&request(15, 2, second), &SERVER).unwrap()[0][2], 2);
    assert!(connection.transact(&request(15, 1, &[0; 16000]), &SERVER).unwrap().is_empty());
    let refused = connection.transact(&request(15, 0, &[0; 16000]), &SERVER).unwrap();
    assert_eq!(fault_of(&refused), fault::BAD_STUB_DATA);
}

#[test]
fn a_string_is_not_longer_than_it_is() {
    for counts in [[5_u32, 0, 5], [1, 1, 1], [1, 0, 2], [u32::MAX, 0, u32::MAX]] {
        let bytes: Vec<u8> = counts.iter().flat_map(|count| count.to_le_bytes()).chain([b'a', 0, 0, 0]).collect();
        assert!(NdrReader::new(&bytes).string().is_err(), "{counts:?}");
    }
}

proptest! {
    #[test]
    fn strings_are_read_as_they_are_written(strings in vec("[a-z\u{e4}\u{1f600}]{0,20}", 0..5)) {
        let mut writer = NdrWriter::default();
        for string in &strings {
            writer.string(string);
        }
        let bytes = writer.into_bytes();
        let mut reader = NdrReader::new(&bytes);
        for string in &strings {
            prop_assert_eq!(&reader.string().unwrap(), string);
        }
    }

    #[test]
    fn arbitrary_calls_do_not_panic(operation in 0_u16..40, stub in vec(any::<u8>(), 0..200), bytes in vec(any::<u8>(), 0..200)) {
        let mut connection = bound(4280);
        let _either = connection.transact(&bytes, &SERVER);
        let _either = connection.transact(&fragment(bytes.first().copied().unwrap_or_default() % 20, 3, &bytes), &SERVER);
        prop_assert!(connection.transact(&request(operation, 3, &stub), &SERVER).is_ok());
    }
}
