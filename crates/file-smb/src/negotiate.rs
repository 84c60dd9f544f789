//! NEGOTIATE: which dialect, cipher and signature a connection speaks.
//!
//! **Invariants.** It is agreed on once; a second NEGOTIATE ends the connection. Where encryption is demanded, nothing is
//! spoken that has none.

use std::sync::Arc;

use crate::{
    NtStatus,
    answers::{self, Answer, Frame},
    auth::spnego,
    connection::Connection,
    described::filetime,
    keys::Preauth,
    open::Reply,
    wire::{
        contexts::{NegotiateReply, cipher, signing},
        frame,
        header::{Command, Header},
        negotiate::{NegotiateRequest, NegotiateResponse, Smb1Hello, capabilities, dialect, security_mode},
    },
};

/// The longest READ or WRITE of a client that counts no credits by size.
pub(crate) const SMALL_BYTES: u32 = 64 * 1024;
/// The longest of others.
const LARGE_BYTES: u32 = 8 * 1024 * 1024;
/// The longest buffer of everything else.
const TRANSACT_BYTES: u32 = 1024 * 1024;
/// The best first.
const DIALECTS: [u16; 5] =
    [dialect::SMB_3_1_1, dialect::SMB_3_0_2, dialect::SMB_3_0, dialect::SMB_2_1, dialect::SMB_2_0_2];
const CIPHERS: [u16; 4] = [cipher::AES_128_GCM, cipher::AES_256_GCM, cipher::AES_128_CCM, cipher::AES_256_CCM];
const SIGNATURES: [u16; 3] = [signing::AES_GMAC, signing::AES_CMAC, signing::HMAC_SHA256];

/// What was agreed on.
#[derive(Clone, Debug)]
pub(crate) struct Negotiated {
    pub(crate) dialect: u16,
    /// As the client said it: it asks again whether that is what was heard.
    pub(crate) client: Client,
    /// As we said it.
    pub(crate) capabilities: u32,
    pub(crate) security_mode: u16,
    /// 0 for none.
    pub(crate) cipher: u16,
    pub(crate) signing: u16,
    pub(crate) most_bytes: u32,
    /// Over what was said so far, in 3.1.1.
    pub(crate) preauth: Preauth,
}

impl Negotiated {
    /// The longest buffer of what is neither READ nor WRITE.
    pub(crate) const fn most_transact_bytes(&self) -> u32 {
        if self.most_bytes == SMALL_BYTES { SMALL_BYTES } else { TRANSACT_BYTES }
    }
}

/// What a client said of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) guid: [u8; 16],
    pub(crate) capabilities: u32,
    pub(crate) security_mode: u16,
    pub(crate) dialects: Vec<u16>,
}

impl Negotiated {
    /// Whether requests are charged by their size.
    pub(crate) const fn has_large_credits(&self) -> bool {
        self.dialect != dialect::SMB_2_0_2
    }
}

/// The answer to a hello of SMB1. `None` when the client knows no SMB2.
pub(crate) fn hello(connection: &Arc<Connection>, bytes: &[u8]) -> Option<Frame> {
    if connection.negotiated.get().is_some() {
        return None;
    }
    let hello = Smb1Hello::parse(bytes).ok()?;
    if connection.window().take(0, 1).is_err() {
        return None;
    }
    let revision = match hello {
        Smb1Hello { smb_2_wildcard: true, .. } => dialect::WILDCARD,
        Smb1Hello { smb_2_002: true, .. } => dialect::SMB_2_0_2,
        Smb1Hello { .. } => return None,
    };
    let how = Negotiated {
        dialect: revision,
        client: Client { guid: [0; 16], capabilities: 0, security_mode: 0, dialects: vec![revision] },
        capabilities: 0,
        security_mode: security_mode::SIGNING_ENABLED,
        cipher: 0,
        signing: signing::HMAC_SHA256,
        most_bytes: SMALL_BYTES,
        preauth: Preauth::default(),
    };
    let request = Header { command: Command::Negotiate.number(), ..Header::default() };
    let frame = answer(connection, &request, &how, None)?;
    if revision != dialect::WILDCARD {
        connection.negotiated.set(how).ok()?;
    }
    Some(frame)
}

/// Agrees on how to speak. `None` when the connection cannot go on.
pub(crate) fn negotiate(connection: &Arc<Connection>, header: &Header, frame: &[u8]) -> Option<Frame> {
    if connection.negotiated.get().is_some() {
        return None;
    }
    let refused = |status| {
        let mut answer = Answer::new(header, Err(status), false);
        answer.header.credits = connection.grant(header);
        answers::frame(vec![answer], None)
    };
    let request = match NegotiateRequest::parse(frame) {
        Ok(request) => request,
        Err(status) => return refused(status),
    };
    let Some(mut how) = choose(&request) else {
        return refused(NtStatus::NOT_SUPPORTED);
    };
    let salt = (connection.shared.random)()?.to_le_bytes();
    let contexts = request.contexts.filter(|_| how.dialect == dialect::SMB_3_1_1).map(|offered| NegotiateReply {
        salt: &salt,
        cipher: offered.ciphers.map(|_| how.cipher),
        signing_algorithm: offered.signing_algorithms.map(|_| how.signing),
    });
    let answered = answer(connection, header, &how, contexts)?;
    if how.dialect == dialect::SMB_3_1_1 {
        how.preauth.update(frame);
        how.preauth.update(answered.head.get(frame::PREFIX..)?);
    }
    connection.negotiated.set(how).ok()?;
    Some(answered)
}

fn choose(request: &NegotiateRequest<'_>) -> Option<Negotiated> {
    let known = |number: &&u16| request.dialects.contains(**number);
    let dialect = *DIALECTS.iter().find(known)?;
    let contexts = request.contexts.filter(|_| dialect == dialect::SMB_3_1_1);
    let cipher = match (dialect, contexts.and_then(|offered| offered.ciphers)) {
        (dialect::SMB_3_1_1, offered) => {
            CIPHERS.into_iter().find(|ours| offered.is_some_and(|offered| offered.contains(*ours))).unwrap_or(0)
        }
        (dialect::SMB_3_0 | dialect::SMB_3_0_2, _) if request.capabilities & capabilities::ENCRYPTION != 0 => {
            cipher::AES_128_CCM
        }
        _ => 0,
    };
    let signing = match (dialect, contexts.and_then(|offered| offered.signing_algorithms)) {
        (dialect::SMB_3_1_1, Some(offered)) => {
            SIGNATURES.into_iter().find(|ours| offered.contains(*ours)).unwrap_or(signing::AES_CMAC)
        }
        (dialect::SMB_3_0 | dialect::SMB_3_0_2 | dialect::SMB_3_1_1, _) => signing::AES_CMAC,
        _ => signing::HMAC_SHA256,
    };
    let large = if dialect == dialect::SMB_2_0_2 { 0 } else { capabilities::LARGE_MTU };
    // In 3.1.1 the cipher stands in a context.
    let encryption = if cipher != 0 && dialect != dialect::SMB_3_1_1 { capabilities::ENCRYPTION } else { 0 };
    Some(Negotiated {
        dialect,
        client: Client {
            guid: request.client_guid,
            capabilities: request.capabilities,
            security_mode: request.security_mode,
            dialects: request.dialects.iter().collect(),
        },
        capabilities: if large == 0 { 0 } else { large | encryption | capabilities::LEASING },
        security_mode: security_mode::SIGNING_ENABLED,
        cipher,
        signing,
        most_bytes: if large == 0 { SMALL_BYTES } else { LARGE_BYTES },
        preauth: Preauth::default(),
    })
}

fn answer(
    connection: &Connection,
    header: &Header,
    how: &Negotiated,
    contexts: Option<NegotiateReply<'_>>,
) -> Option<Frame> {
    let hint = spnego::hint();
    let response = NegotiateResponse {
        security_mode: how.security_mode,
        dialect_revision: how.dialect,
        server_guid: connection.shared.guid,
        capabilities: how.capabilities,
        max_transact_size: how.most_transact_bytes(),
        max_read_size: how.most_bytes,
        max_write_size: how.most_bytes,
        system_time: filetime(connection.shared.files.now()),
        server_start_time: 0,
        security_buffer: &hint,
        contexts,
    };
    let reply = Reply::body(|body| response.encode(body));
    let mut answer = Answer::new(header, Ok(reply), false);
    answer.header.credits = connection.grant(&Header { credits: header.credits.max(1), ..*header });
    answers::frame(vec![answer], None)
}
