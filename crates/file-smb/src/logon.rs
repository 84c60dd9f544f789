//! SESSION_SETUP: a logon, step by step, with the name of an account and one of its keys as the password.
//!
//! **Invariants.** Nobody is a guest and nobody is anonymous: a session has the key of an account behind it, or it is none.
//! Whoever fails often waits. The last answer of a logon is signed with the keys that come of it, so a client knows that
//! nobody stood between.

use std::sync::Arc;

use access::Grant;
use file::opens::Owner;

use crate::{
    NtStatus,
    answers::{self, Answer, Frame},
    auth::{
        Acceptor, Claim, Step,
        ntlm::{NtHash, Target},
    },
    connection::Connection,
    described::filetime,
    errors::status_of,
    keys::Preauth,
    negotiate::Negotiated,
    open::Reply,
    secrets::Secrets,
    session::{Logon, Session},
    wire::{
        compound,
        contexts::signing,
        frame,
        header::{Header, flags},
        negotiate::{dialect, security_mode},
        session::{SESSION_FLAG_BINDING, SESSION_FLAG_ENCRYPT_DATA, SessionSetupRequest, SessionSetupResponse},
    },
};

/// Logons that one connection has begun and not ended.
const LOGONS_MAX: usize = 16;

/// A logon that has begun.
pub(crate) struct Pending {
    session: Arc<Session>,
    acceptor: Acceptor,
    preauth: Preauth,
}

/// A step of a logon. `None` when the connection cannot go on.
pub(crate) async fn setup(
    connection: &Arc<Connection>,
    header: &Header,
    bytes: &[u8],
    sealer: Option<&Arc<Session>>,
) -> Option<Frame> {
    let how = connection.negotiated.get()?;
    let part = compound::split(bytes).next()?.ok()?;
    if let Some(refused) = refuse_binding(connection, how, header, part.message) {
        return refused;
    }
    let outcome = match begin(connection, how, header) {
        Ok(mut pending) => {
            if how.dialect == dialect::SMB_3_1_1 {
                pending.preauth.update(part.message);
            }
            step(connection, how, pending, part.message).await
        }
        Err(status) => Err(status),
    };
    let has_contexts = how.dialect == dialect::SMB_3_1_1;
    let (session_id, outcome, signer, pending) = match outcome {
        Ok(Stepped::Continue(pending, buffer)) => {
            let response = SessionSetupResponse { session_flags: 0, security_buffer: &buffer };
            let reply = Reply::body(|body| response.encode(body));
            let reply = Reply { status: NtStatus::MORE_PROCESSING_REQUIRED, ..reply };
            (pending.session.id, Ok(reply), None, Some(pending))
        }
        Ok(Stepped::Done(session, buffer)) => {
            let must_encrypt = session.logon().is_ok_and(|logon| logon.must_encrypt);
            let session_flags = if must_encrypt { SESSION_FLAG_ENCRYPT_DATA } else { 0 };
            let response = SessionSetupResponse { session_flags, security_buffer: &buffer };
            (session.id, Ok(Reply::body(|body| response.encode(body))), Some(session), None)
        }
        Err(status) => (header.session_id, Err(status), known_sender(connection, header, part.message), None),
    };
    let mut answer = Answer::new(header, outcome, has_contexts);
    answer.header.session_id = session_id;
    answer.header.credits = connection.grant(header);
    answer.signer = signer;
    let framed = answers::frame(vec![answer], sealer.map(|session| &**session))?;
    if let Some(mut pending) = pending {
        if has_contexts {
            pending.preauth.update(framed.head.get(frame::PREFIX..)?);
        }
        let mut logons = connection.logons();
        if logons.len() >= LOGONS_MAX {
            return None;
        }
        logons.insert(session_id, pending);
    }
    Some(framed)
}

/// A session belongs to one connection: who wants to bind it to another is refused, in the name of the session, and told the
/// first thing that stands against it.
fn refuse_binding(
    connection: &Arc<Connection>,
    how: &Negotiated,
    header: &Header,
    message: &[u8],
) -> Option<Option<Frame>> {
    let request = SessionSetupRequest::parse(message).ok()?;
    if request.flags & SESSION_FLAG_BINDING == 0 {
        return None;
    }
    let session = connection.shared.sessions.get(header.session_id);
    let other = session.as_ref().and_then(|session| session.logon().ok());
    let is_gmac = |number: u16| number == signing::AES_GMAC;
    let status = match other {
        Some(other) if is_gmac(other.signing) && !is_gmac(how.signing) => NtStatus::REQUEST_OUT_OF_SEQUENCE,
        _ if how.dialect < dialect::SMB_3_0 => NtStatus::REQUEST_NOT_ACCEPTED,
        None => NtStatus::USER_SESSION_DELETED,
        Some(other) if is_gmac(how.signing) && !is_gmac(other.signing) => NtStatus::NOT_SUPPORTED,
        Some(other) if other.dialect != how.dialect || other.cipher != how.cipher => NtStatus::INVALID_PARAMETER,
        Some(_) => NtStatus::REQUEST_NOT_ACCEPTED,
    };
    let mut answer = Answer::new(header, Err(status), how.dialect == dialect::SMB_3_1_1);
    answer.header.credits = connection.grant(header);
    answer.signer = known_sender(connection, header, message);
    Some(answers::frame(vec![answer], None))
}

/// The session, of any connection, whose holder has signed a request: its refusal is signed too. Only then: nobody else makes
/// us sign anything.
fn known_sender(connection: &Connection, header: &Header, message: &[u8]) -> Option<Arc<Session>> {
    let session = connection.shared.sessions.get(header.session_id)?;
    let is_signed = header.has(flags::SIGNED) && session.logon().is_ok_and(|logon| logon.secrets.verify(message));
    is_signed.then_some(session)
}

enum Stepped {
    Continue(Pending, Vec<u8>),
    Done(Arc<Session>, Vec<u8>),
}

/// The logon that a step belongs to: one that has begun, a new one, or one of a session that shows its credential again.
fn begin(connection: &Arc<Connection>, how: &Negotiated, header: &Header) -> Result<Pending, NtStatus> {
    let acceptor = Acceptor::default();
    let preauth = how.preauth;
    if header.session_id == 0 {
        if !connection.may_begin_session() || connection.logons().len() >= LOGONS_MAX {
            return Err(NtStatus::INSUFFICIENT_RESOURCES);
        }
        let session =
            connection.shared.sessions.begin(connection.shared.random).ok_or(NtStatus::INSUFFICIENT_RESOURCES)?;
        return Ok(Pending { session, acceptor, preauth });
    }
    if let Some(pending) = connection.logons().remove(&header.session_id) {
        return Ok(pending);
    }
    let session = connection.session(header.session_id).ok_or(NtStatus::USER_SESSION_DELETED)?;
    Ok(Pending { session, acceptor, preauth })
}

async fn step(
    connection: &Arc<Connection>,
    how: &Negotiated,
    pending: Pending,
    message: &[u8],
) -> Result<Stepped, NtStatus> {
    let request = SessionSetupRequest::parse(message)?;
    let Pending { session, acceptor, preauth } = pending;
    let shared = &connection.shared;
    let random = (shared.random)().ok_or(NtStatus::INSUFFICIENT_RESOURCES)?.to_le_bytes();
    let challenge = random.first_chunk::<8>().copied().ok_or(NtStatus::INTERNAL_ERROR)?;
    let now = filetime(shared.files.now());
    let stepped = acceptor.step(request.security_buffer, &target(), challenge, now);
    let claim = match stepped {
        Ok(Step::Continue(acceptor, buffer)) => {
            return Ok(Stepped::Continue(Pending { session, acceptor, preauth }, buffer));
        }
        Ok(Step::Claim(claim)) => claim,
        Err(status) => return Err(failed(connection, &session, status).await),
    };
    let (grant, established, buffer) = match verify(connection, claim) {
        Ok(verified) => verified,
        Err(status) => return Err(failed(connection, &session, status).await),
    };
    if let Some(logon) = session.logon.get() {
        // The credential is shown again; the keys stay. Another account would be another session.
        if logon.grant.account().unit != grant.account().unit {
            return Err(NtStatus::ACCESS_DENIED);
        }
        return Ok(Stepped::Done(session, buffer));
    }
    shared.throttle.succeeded(connection.peer.ip());
    let must_sign = u16::from(request.security_mode) & security_mode::SIGNING_REQUIRED != 0
        || how.client.security_mode & security_mode::SIGNING_REQUIRED != 0;
    let own = shared.files.smb_encryption_required(grant.account().unit).await.map_err(|error| status_of(&error))?;
    let must_encrypt = own.unwrap_or(shared.settings.requires_encryption);
    if must_encrypt && how.cipher == 0 {
        // Who speaks an older dialect, or offers no cipher: there is no session for it to read or write in.
        return Err(NtStatus::ACCESS_DENIED);
    }
    let secrets = Secrets::new(how, session.id, established.session_key(), &preauth)?;
    let owner = Arc::new(owner(connection, session.id, established.workstation()));
    let previous = request.previous_session_id;
    let unit = grant.account().unit;
    let logon = Logon {
        grant,
        secrets,
        dialect: how.dialect,
        cipher: how.cipher,
        signing: how.signing,
        must_sign,
        must_encrypt,
        owner,
    };
    session.logon.set(logon).map_err(|_| NtStatus::REQUEST_NOT_ACCEPTED)?;
    connection.seat.becomes_known();
    connection.sessions().insert(session.id, Arc::clone(&session));
    shared.clients.enter(connection);
    if previous != 0 && previous != session.id {
        end_previous(connection, previous, unit).await;
    }
    Ok(Stepped::Done(session, buffer))
}

/// The client was cut off and is back: of what it had open before, durable handles stay.
async fn end_previous(connection: &Arc<Connection>, id: u64, unit: types::UnitId) {
    let shared = &connection.shared;
    let Some(previous) = shared.sessions.get(id) else { return };
    if previous.logon().is_ok_and(|logon| logon.grant.account().unit == unit) {
        shared.sessions.forget(id);
        previous.lose(shared).await;
    }
}

fn owner(connection: &Connection, session: u64, workstation: &str) -> Owner {
    let notices = connection.notices.clone();
    let notify = Box::new(move |notice| {
        let _the_connection_is_over = notices.send((session, notice));
    });
    Owner { session, client: connection.peer, client_name: workstation.to_owned(), notify }
}

/// How the server calls itself; there is no domain.
fn target() -> Target {
    let (netbios, dns) = ("LAZULI".to_owned(), "lazuli".to_owned());
    Target { computer: netbios.clone(), domain: netbios, dns_computer: dns.clone(), dns_domain: dns }
}

/// Shows who it is: one of the keys of the account as the password.
fn verify(
    connection: &Arc<Connection>,
    claim: Claim,
) -> Result<(Grant, crate::auth::ntlm::Established, Vec<u8>), NtStatus> {
    let shared = &connection.shared;
    let candidates = access::password::candidates(&shared.accounts, &claim.user_name().to_ascii_lowercase());
    let hashes: Vec<NtHash> = candidates.iter().map(|candidate| NtHash::of(&candidate.password())).collect();
    let (established, buffer) = claim.verify(&hashes)?;
    let candidate = candidates.into_iter().nth(established.hash()).ok_or(NtStatus::LOGON_FAILURE)?;
    Ok((candidate.grant(&shared.accounts, shared.files.now()), established, buffer))
}

/// A logon that failed: its session is none, and who has failed often waits for the answer.
async fn failed(connection: &Arc<Connection>, session: &Session, status: NtStatus) -> NtStatus {
    let shared = &connection.shared;
    // Also one that has logged on before and now shows something else.
    shared.sessions.forget(session.id);
    if connection.sessions().remove(&session.id).is_some() {
        session.end(&shared.files).await;
    }
    let wait = shared.throttle.failed(connection.peer.ip(), shared.files.now());
    let _over_or_waited = tokio::time::timeout(wait, connection.over.cancelled()).await;
    status
}
