//! What clients of SMB send: frames, negotiations, logons, contexts of CREATE, calls over the pipe.

use file_smb::{
    auth::{
        Acceptor, Step,
        ntlm::{Challenged, NtHash, Target},
        spnego::Token,
    },
    pipe::{
        ndr::NdrReader,
        rpc::Connection,
        srvsvc::{Server, Share, share_kind},
    },
    wire::{
        compound,
        create_contexts::CreateContexts,
        header::{Command, HEADER, Header},
        info::set::SetInfo,
        negotiate::{NegotiateRequest, NegotiateResponse, Smb1Hello},
        request::Request,
        transform::TransformHeader,
    },
};

/// Frames: their parts follow each other and end with the frame; what is read of one is written and read again.
pub(crate) fn frame(data: &[u8]) {
    if let Ok(header) = TransformHeader::parse(data) {
        assert_eq!(header.encode().len() + usize::try_from(header.original_message_size).unwrap_or(0), data.len());
    }
    let mut end = 0;
    let mut is_whole = true;
    for part in compound::split(data) {
        let Ok(part) = part else {
            is_whole = false;
            break;
        };
        assert_eq!(part.offset, end, "parts follow each other");
        assert!(part.message.len() >= HEADER);
        end += part.message.len();
        if let Some(command) = Command::numbered(part.header.command) {
            request(command, part.message);
        }
    }
    assert!(!is_whole || end == data.len(), "parts are the frame");
}

fn request(command: Command, message: &[u8]) {
    let Ok(mut read) = Request::parse(command, message) else { return };
    assert_eq!(read.command(), command);
    if let Request::SetInfo(set) = &read
        && let Ok(info) = SetInfo::parse(set.file_info_class, set.buffer)
    {
        let (class, buffer) = info.encode();
        assert_eq!(SetInfo::parse(class, &buffer), Ok(info));
    }
    let mut written = Vec::new();
    Header::default().encode(&mut written);
    read.encode(&mut written);
    let mut again = Request::parse(command, &written).expect("what is written can be read");
    for request in [&mut read, &mut again] {
        if let Request::Write(write) = request {
            write.data_range = 0..0;
        }
    }
    assert_eq!(read, again);
}

/// Negotiations, behind a header: what is read is written and read again. And hellos of SMB1, and answers.
pub(crate) fn negotiate(data: &[u8]) {
    let _either = Smb1Hello::parse(data);
    let message = [&[0; HEADER], data].concat();
    if let Ok(request) = NegotiateRequest::parse(&message) {
        let mut written = vec![0; HEADER];
        request.encode(&mut written);
        assert_eq!(NegotiateRequest::parse(&written), Ok(request));
    }
    if let Ok(response) = NegotiateResponse::parse(&message)
        && response.contexts.is_some()
    {
        let mut written = vec![0; HEADER];
        response.encode(&mut written);
        assert_eq!(NegotiateResponse::parse(&written), Ok(response));
    }
}

/// Tokens of SPNEGO: what is read is written and read again, and a list of mechanisms has an end.
pub(crate) fn spnego(data: &[u8]) {
    match Token::parse(data) {
        Ok(Token::Init(init)) => {
            assert!(init.mechanisms().count() <= 32);
            let bytes = init.encode();
            assert_eq!(Token::parse(&bytes), Ok(Token::Init(init)));
        }
        Ok(Token::Response(response)) => {
            let bytes = response.encode();
            assert_eq!(Token::parse(&bytes), Ok(Token::Response(response)));
        }
        Ok(Token::Ntlm(_)) | Err(_) => {}
    }
}

fn target() -> Target {
    let name = String::from("LAZULI");
    Target { computer: name.clone(), domain: name.clone(), dns_computer: name.clone(), dns_domain: name }
}

/// Logons: nobody gets in who does not know the password, whatever is sent. The first two bytes are the length of the first
/// message.
pub(crate) fn ntlm(data: &[u8]) {
    let Some((length, rest)) = data.split_first_chunk() else { return };
    let (first, second) = rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len()));
    let hashes = [NtHash::of("a key that is not in any corpus: 7c1f"), NtHash::of("another: e03b")];
    let challenge = *b"\x01\x23\x45\x67\x89\xab\xcd\xef";
    if let Ok(challenged) = Challenged::new(first, &target(), challenge, 0)
        && let Ok(claim) = challenged.authenticate(second)
    {
        assert!(claim.verify(&hashes).is_err(), "nobody gets in");
    }
    if let Ok(Step::Continue(acceptor, answer)) = Acceptor::default().step(first, &target(), challenge, 0) {
        assert!(Token::parse(&answer).is_ok(), "what is answered can be read");
        if let Ok(Step::Claim(claim)) = acceptor.step(second, &target(), challenge, 0) {
            assert!(claim.verify(&hashes).is_err(), "nobody gets in");
        }
    }
}

/// Contexts of CREATE: what is read is written and read again.
pub(crate) fn create_contexts(data: &[u8]) {
    let Ok(contexts) = CreateContexts::parse(data) else { return };
    let mut written = Vec::new();
    contexts.encode(&mut written);
    assert_eq!(CreateContexts::parse(&written), Ok(contexts));
}

/// Calls over the pipe, each fragment behind two bytes of length: answers are fragments that say their length.
pub(crate) fn ndr(data: &[u8]) {
    let _either = NdrReader::new(data).string();
    let shares = [Share { name: "share", kind: share_kind::DISK, remark: "" }];
    let server = Server { name: "lazuli", comment: "", shares: &shares };
    let (mut connection, mut rest) = (Connection::default(), data);
    while let Some((length, after)) = rest.split_first_chunk() {
        let (fragment, after) = after.split_at(usize::from(u16::from_le_bytes(*length)).min(after.len()));
        rest = after;
        let Ok(answers) = connection.transact(fragment, &server) else { return };
        for answer in answers {
            let said = answer.get(8..10).map(|length| length.to_vec());
            assert_eq!(said, u16::try_from(answer.len()).ok().map(|length| length.to_le_bytes().to_vec()));
            assert!(answer.len() <= 4280);
        }
    }
}
