//! From a frame to its answers: each message is admitted (number, session, signature), done, and answered.
//!
//! **Invariants.** A message is admitted only with a number that the client was given, and once. Nothing but NEGOTIATE and
//! SESSION_SETUP is done without a session; what a session demands (signature, encryption) is looked at before anything
//! else. Of a compound, each message looks up its session, tree and open anew.

use std::sync::{Arc, atomic::Ordering};

use bytes::Bytes;

use crate::{
    NtStatus,
    answers::{self, Answer, Frame},
    connection::{Connection, Held, part_of},
    create, credits, directory, ioctl, lock, logon,
    negotiate::{self, Negotiated},
    open::{Open, Reply},
    oplock, query, read_write,
    request::Cx,
    session::{Logon, Session},
    set, tree,
    wire::{
        FileId,
        compound::{self, Part},
        frame,
        header::{Command, Header, Route, flags},
        negotiate::dialect,
        request::Request,
        session::Empty,
    },
};

/// Bytes that the messages of one frame may ask for: what a frame can carry, without the headers.
const LONGEST_ANSWER: usize = frame::MAX_FRAME - 128 * 1024;

/// How a frame is to be done.
pub(crate) enum Work {
    /// There is nothing to answer.
    Nothing,
    /// Before the next one is read.
    InOrder(Header),
    /// While others are read.
    Beside,
}

/// Looks at the headers of a frame, and takes the credits that it costs. `None` when the connection cannot go on.
pub(crate) fn prepare(connection: &Arc<Connection>, frame: &Bytes, sealer: Option<&Arc<Session>>) -> Option<Work> {
    let mut first = None;
    for part in compound::split(frame) {
        let header = part.ok()?.header;
        if header.has(flags::SERVER_TO_REDIR) {
            return None;
        }
        if header.command == Command::Cancel.number() {
            // Has no number of its own, and no answer.
            connection.cancel(header.route, header.message_id);
            if first.is_none() && header.next_command == 0 {
                return Some(Work::Nothing);
            }
            continue;
        }
        let negotiated = connection.negotiated.get();
        let charge =
            if negotiated.is_some_and(Negotiated::has_large_credits) { header.credit_charge.max(1) } else { 1 };
        if connection.window().take(header.message_id, charge).is_err() {
            return None;
        }
        first.get_or_insert(header);
    }
    let header = first?;
    let in_order =
        matches!(Command::numbered(header.command), Some(Command::Negotiate | Command::SessionSetup | Command::Logoff));
    // Before anything else, how to speak is agreed on.
    if connection.negotiated.get().is_none() && header.command != Command::Negotiate.number() {
        return None;
    }
    if !in_order && sealer.is_none() && connection.sessions().is_empty() {
        // Strangers have one request in work.
        return Some(Work::InOrder(header));
    }
    Some(if in_order { Work::InOrder(header) } else { Work::Beside })
}

/// Does a frame before the next one is read. `None` when the connection cannot go on.
pub(crate) async fn in_order(
    connection: &Arc<Connection>,
    header: &Header,
    frame: &Bytes,
    sealer: Option<&Arc<Session>>,
) -> Option<Frame> {
    match Command::numbered(header.command) {
        Some(Command::Negotiate) => negotiate::negotiate(connection, header, frame),
        Some(Command::SessionSetup) => logon::setup(connection, header, frame, sealer).await,
        _ => all(connection, frame, sealer.cloned(), true).await.map(|(frame, _)| frame),
    }
}

/// What related messages take from those before them.
#[derive(Default)]
struct Related {
    session: u64,
    tree: u32,
    open: Option<FileId>,
    failed: Option<NtStatus>,
    /// The first of them was not to be related to anything.
    broken: Option<NtStatus>,
}

/// Does all messages of a frame. `None` when the connection cannot go on.
pub(crate) async fn all(
    connection: &Arc<Connection>,
    frame: &Bytes,
    sealer: Option<Arc<Session>>,
    has_slot: bool,
) -> Option<(Frame, Option<Held>)> {
    let has_contexts = connection.negotiated.get().is_some_and(|how| how.dialect == dialect::SMB_3_1_1);
    let (mut answers, mut related, mut asked) = (Vec::new(), Related::default(), 0_usize);
    let parts: Vec<Part<'_>> = compound::split(frame).collect::<Result<_, _>>().ok()?;
    // Before the first byte of it is read.
    let mut room = room(connection, &parts).await;
    let last = parts.len().saturating_sub(1);
    for (position, part) in parts.into_iter().enumerate() {
        if part.header.command == Command::Cancel.number() {
            continue;
        }
        let mut header = part.header;
        if header.has(flags::RELATED_OPERATIONS) {
            if position == 0 {
                // There is nothing that it could be related to, nor those behind it.
                related.broken = Some(NtStatus::INVALID_PARAMETER);
                let mut answer = Answer::new(&header, Err(NtStatus::INVALID_PARAMETER), has_contexts);
                answer.header.credits = connection.grant(&header);
                answers.push(answer);
                continue;
            }
            header.session_id = related.session;
            header.route = Route::Sync { process_id: 0, tree_id: related.tree };
        } else {
            related = Related { session: header.session_id, tree: header.tree_id().unwrap_or(0), ..Related::default() };
        }
        if header.command == Command::Echo.number() && header.session_id == 0 {
            // Whether anybody is there can be asked by everybody.
            let echo = Request::parse(Command::Echo, part.message).map(|_| Reply::body(|body| Empty {}.write(body)));
            let mut answer = Answer::new(&header, echo, has_contexts);
            answer.header.credits = connection.grant(&header);
            answers.push(answer);
            continue;
        }
        if let (true, Some(status)) = (header.has(flags::RELATED_OPERATIONS), related.broken) {
            let mut answer = Answer::new(&header, Err(status), has_contexts);
            answer.header.credits = connection.grant(&header);
            answers.push(answer);
            continue;
        }
        asked = asked.saturating_add(asked_by(&part));
        let admitted = admit(connection, &header, &part, sealer.as_ref());
        let (session, outcome, pending) = match admitted {
            Err(status) => {
                if status == NtStatus::USER_SESSION_DELETED {
                    // Those behind it have no session that they could be related to.
                    related.broken = Some(NtStatus::INVALID_PARAMETER);
                }
                (None, Err(status), 0)
            }
            Ok(session) if !has_slot || asked > LONGEST_ANSWER => {
                (Some(session), Err(NtStatus::INSUFFICIENT_RESOURCES), 0)
            }
            Ok(session) => {
                let (outcome, pending) =
                    one(connection, &session, header, &part, frame, &mut related, position == last, sealer.is_some())
                        .await;
                (Some(session), outcome, pending)
            }
        };
        if let Ok(reply) = &outcome {
            if let Some(opened) = reply.opened {
                related.open = Some(opened);
            }
            if header.command == Command::TreeConnect.number() {
                related.tree = header.tree_id().unwrap_or(related.tree);
            }
        }
        let mut answer = Answer::new(&header, outcome, has_contexts);
        if let Some(tree) = answer.reply.tree {
            answer.header.route = Route::Sync { process_id: 0, tree_id: tree };
            related.tree = tree;
        }
        if pending == 0 {
            answer.header.credits = connection.grant(&header);
        } else {
            answer.header.route = Route::Async(pending);
        }
        answer.signer =
            session.filter(|session| session.logon().is_ok_and(|logon| signs(part.header, logon, sealer.is_some())));
        answers.push(answer);
    }
    if answers.is_empty() {
        return None;
    }
    let frame = answers::frame_in(answers, sealer.as_deref(), |bytes| connection.shared.spare.take(bytes))?;
    if let Some(room) = &mut room {
        room.keep(frame.len());
    }
    Some((frame, room))
}

/// The bytes that a message wants to have, where that can be many.
fn asked_by(part: &Part<'_>) -> usize {
    match Command::numbered(part.header.command) {
        Some(command @ (Command::Read | Command::QueryDirectory)) => {
            let bytes = Request::parse(command, part.message).map_or(0, |request| request.payload());
            usize::try_from(bytes).unwrap_or(usize::MAX)
        }
        _ => 0,
    }
}

/// Room for what the messages of a frame ask for. Strangers get nothing that would need some.
async fn room(connection: &Arc<Connection>, parts: &[Part<'_>]) -> Option<Held> {
    let asked = parts.iter().map(asked_by).fold(0, usize::saturating_add);
    if asked == 0 || !connection.seat.is_known() {
        return None;
    }
    connection.room_to_answer(asked.min(LONGEST_ANSWER)).await
}

/// Whether the answer to a request is signed.
pub(crate) const fn signs(request: Header, logon: &Logon, sealed: bool) -> bool {
    !sealed && (request.has(flags::SIGNED) || logon.must_sign)
}

/// Finds the session of a message, and looks at what it demands.
fn admit(
    connection: &Arc<Connection>,
    header: &Header,
    part: &Part<'_>,
    sealer: Option<&Arc<Session>>,
) -> Result<Arc<Session>, NtStatus> {
    let session = connection.session(header.session_id).ok_or(NtStatus::USER_SESSION_DELETED)?;
    let logon = session.logon()?;
    if session.is_over() {
        return Err(NtStatus::USER_SESSION_DELETED);
    }
    if let Some(sealer) = sealer {
        // Whose key it was encrypted with is who it is of.
        return if Arc::ptr_eq(sealer, &session) { Ok(session) } else { Err(NtStatus::ACCESS_DENIED) };
    }
    if logon.must_encrypt {
        return Err(NtStatus::ACCESS_DENIED);
    }
    let is_signed = part.header.has(flags::SIGNED);
    if is_signed && !logon.secrets.verify(part.message) {
        return Err(NtStatus::ACCESS_DENIED);
    }
    // What was agreed on in 3.1.1 is shown to be so by the signature of the first request.
    let shows = connection.negotiated.get().is_some_and(|how| how.dialect == dialect::SMB_3_1_1)
        && header.command == Command::TreeConnect.number();
    if !is_signed && (logon.must_sign || shows) {
        return Err(NtStatus::ACCESS_DENIED);
    }
    Ok(session)
}

/// Does one message. With the number under which its client was told to wait, if it was.
#[expect(clippy::too_many_arguments, reason = "all of it is about one message")]
async fn one(
    connection: &Arc<Connection>,
    session: &Arc<Session>,
    header: Header,
    part: &Part<'_>,
    frame: &Bytes,
    related: &mut Related,
    is_last: bool,
    sealed: bool,
) -> (Result<Reply, NtStatus>, u64) {
    let Ok(logon) = session.logon() else { return (Err(NtStatus::USER_SESSION_DELETED), 0) };
    let Some(command) = Command::numbered(header.command) else { return (Err(NtStatus::INVALID_PARAMETER), 0) };
    let request = match Request::parse(command, part.message) {
        Ok(request) => request,
        Err(status) => return (Err(status), 0),
    };
    let has_large_mtu = connection.negotiated.get().is_some_and(Negotiated::has_large_credits);
    if !credits::is_paid(header.credit_charge, request.payload(), has_large_mtu) {
        return (Err(NtStatus::INVALID_PARAMETER), 0);
    }
    let cx = Cx {
        connection,
        session,
        logon,
        header,
        is_last,
        pending: std::sync::atomic::AtomicU64::new(0),
        waits: std::sync::atomic::AtomicU64::new(0),
        cancel: connection.over.child_token(),
        sealed,
    };
    let outcome = route(&cx, &request, part, frame, related).await;
    if let Err(status) = &outcome {
        related.failed.get_or_insert(*status);
    }
    (outcome, cx.pending.load(Ordering::Relaxed))
}

async fn route(
    cx: &Cx<'_>,
    request: &Request<'_>,
    part: &Part<'_>,
    frame: &Bytes,
    related: &Related,
) -> Result<Reply, NtStatus> {
    let session = cx.session;
    match request {
        Request::Echo => return Ok(Reply::body(|body| Empty {}.write(body))),
        Request::Logoff => {
            cx.connection.sessions().remove(&session.id);
            cx.connection.shared.sessions.forget(session.id);
            session.end(cx.files()).await;
            return Ok(Reply::body(|body| Empty {}.write(body)));
        }
        Request::TreeConnect(request) => return tree::connect(cx, request).await,
        Request::Negotiate(_) | Request::SessionSetup(_) | Request::Cancel => return Err(NtStatus::INVALID_PARAMETER),
        _ => {}
    }
    let tree_id = cx.tree_id()?;
    let tree = session.tree(tree_id)?;
    match request {
        Request::TreeDisconnect => {
            session.disconnect(tree_id, cx.files()).await?;
            return Ok(Reply::body(|body| Empty {}.write(body)));
        }
        Request::Create(request) => return create::create(cx, &tree, request).await,
        Request::OplockBreak(ack) => return oplock::acknowledge(cx, ack).await,
        Request::Ioctl(request) if request.file_id == FileId::PREVIOUS && related.open.is_none() => {
            return ioctl::without_open(cx, &tree, request);
        }
        _ => {}
    }
    let id = match request.file_id() {
        Some(FileId::PREVIOUS) if cx.header.has(flags::RELATED_OPERATIONS) => {
            // The open of the message before; when that failed, so does this.
            related.open.ok_or(related.failed.unwrap_or(NtStatus::INVALID_PARAMETER))?
        }
        Some(id) => id,
        None => return Err(NtStatus::INVALID_PARAMETER),
    };
    if let Request::Close(request) = request {
        let open = session.take(id, tree_id)?;
        return read_write::close(cx, &open, request).await;
    }
    let open = session.open(id, tree_id)?;
    on_open(cx, &open, request, part, frame).await
}

async fn on_open(
    cx: &Cx<'_>,
    open: &Arc<Open>,
    request: &Request<'_>,
    part: &Part<'_>,
    frame: &Bytes,
) -> Result<Reply, NtStatus> {
    match request {
        Request::Read(request) => read_write::read(cx, open, request).await,
        Request::Write(request) => {
            let bytes = part_of(frame, part.offset, request.data_range.clone());
            read_write::write(cx, open, request, bytes).await
        }
        Request::Flush(_) => read_write::flush(cx, open).await,
        Request::Lock(request) => lock::lock(cx, open, request).await,
        Request::Ioctl(request) => ioctl::on_open(cx, open, request).await,
        Request::QueryDirectory(request) => directory::query(cx, open, request).await,
        Request::QueryInfo(request) => query::query(cx, open, request).await,
        Request::SetInfo(request) => set::set(cx, open, request).await,
        // The second half.
        Request::ChangeNotify(_) => Err(NtStatus::NOT_SUPPORTED),
        _ => Err(NtStatus::INVALID_PARAMETER),
    }
}
