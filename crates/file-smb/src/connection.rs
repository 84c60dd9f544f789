//! One connection: frames are read, each is done in a task of its own, and answers are written in the order in which they
//! are ready.
//!
//! What changes the connection or a logon (NEGOTIATE, SESSION_SETUP, CANCEL) is done before the next frame is read.
//!
//! **Invariants.** Before a logon has succeeded, one small frame at a time is read, for a limited time. After it, the bytes
//! of frames and answers that are held are bounded, for this connection and for all. When the connection ends, however it
//! does, its sessions end and what they had open is closed.

use std::{
    collections::HashMap,
    io::{self, IoSlice},
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use net::{Seat, Slot, Stream};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::tcp::{OwnedReadHalf, OwnedWriteHalf},
    sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use crate::{
    NtStatus,
    answers::{self, Answer, Frame},
    credits::Window,
    dispatch,
    logon::Pending,
    negotiate::{self, Negotiated},
    oplock::{self, Told},
    request::Cx,
    server::Shared,
    session::Session,
    wire::{
        frame,
        header::{Header, PROTOCOL_SMB1, PROTOCOL_TRANSFORM, Route},
        transform::TransformHeader,
    },
};

/// Answers that wait to be written.
const ANSWERS: usize = 64;
/// Frames of one connection that are done at once.
const FRAMES: usize = 128;
/// Bytes of frames that one connection has in work.
const INCOMING_BYTES: usize = 32 * 1024 * 1024;
/// Bytes of answers that one connection has not taken.
const OUTGOING_BYTES: usize = 32 * 1024 * 1024;
/// Bytes of an answer that a connection without another one has beside what all share.
const FIRST_BYTES: usize = 1024 * 1024;
/// Sessions of one connection.
const SESSIONS_MAX: usize = 64;
/// Requests that a client may have under way.
const CREDITS: u16 = 8192;
/// The same of a client that has not logged on.
const CREDITS_OF_STRANGERS: u16 = 16;
/// Time in which the rest of a frame comes.
const FRAME_TIMEOUT: Duration = Duration::from_secs(120);

/// What a connection remembers.
pub(crate) struct Connection {
    pub(crate) shared: Arc<Shared>,
    pub(crate) peer: SocketAddr,
    pub(crate) seat: Arc<Seat>,
    pub(crate) negotiated: OnceLock<Negotiated>,
    sessions: Mutex<HashMap<u64, Arc<Session>>>,
    /// Logons that have begun.
    logons: Mutex<HashMap<u64, Pending>>,
    credits: Mutex<Window>,
    out: mpsc::Sender<(Frame, Option<Held>)>,
    /// What happens to handles. As many as there are caches at most.
    pub(crate) notices: mpsc::UnboundedSender<Told>,
    incoming: Arc<Semaphore>,
    outgoing: Arc<Semaphore>,
    waits: Mutex<Waits>,
    next_wait: AtomicU64,
    /// A request began to wait.
    waiting: Notify,
    /// Everything that waits on this connection ends with it.
    pub(crate) over: CancellationToken,
}

/// Requests that were told to wait, by their numbers.
#[derive(Default)]
struct Waits {
    by_id: HashMap<u64, (u64, CancellationToken)>,
}

/// Room for bytes, until they are done with.
pub(crate) struct Held {
    own: OwnedSemaphorePermit,
    all: Option<OwnedSemaphorePermit>,
}

impl Held {
    /// Gives back what was not needed.
    pub(crate) fn keep(&mut self, bytes: usize) {
        let over = self.own.num_permits().saturating_sub(bytes);
        drop(self.own.split(over));
        if let Some(all) = &mut self.all {
            drop(all.split(over));
        }
    }
}

impl Connection {
    /// What the client calls itself.
    pub(crate) fn client_guid(&self) -> [u8; 16] {
        self.negotiated.get().map_or([0; 16], |how| how.client.guid)
    }

    /// The longest READ or WRITE.
    pub(crate) fn most_bytes(&self) -> u32 {
        self.negotiated.get().map_or(negotiate::SMALL_BYTES, |negotiated| negotiated.most_bytes)
    }

    pub(crate) fn sessions(&self) -> MutexGuard<'_, HashMap<u64, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn logons(&self) -> MutexGuard<'_, HashMap<u64, Pending>> {
        self.logons.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waits(&self) -> MutexGuard<'_, Waits> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn window(&self) -> MutexGuard<'_, Window> {
        self.credits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Credits that go out with the answer to a request.
    pub(crate) fn grant(&self, request: &Header) -> u16 {
        let most = if self.seat.is_known() { CREDITS } else { CREDITS_OF_STRANGERS };
        self.window().grant(request.credits, request.credit_charge, most)
    }

    /// Whether another session would be too many.
    pub(crate) fn may_begin_session(&self) -> bool {
        self.sessions().len() < SESSIONS_MAX
    }

    /// A session that has logged on here.
    pub(crate) fn session(&self, id: u64) -> Option<Arc<Session>> {
        self.sessions().get(&id).cloned()
    }

    /// A request waits: the number under which it can be cancelled.
    pub(crate) fn wait_begins(&self, message_id: u64, cancel: &CancellationToken) -> u64 {
        let id = self.next_wait.fetch_add(1, Ordering::Relaxed);
        self.waits().by_id.insert(id, (message_id, cancel.clone()));
        self.waiting.notify_one();
        id
    }

    /// It waits no more.
    pub(crate) fn wait_ends(&self, id: u64) {
        self.waits().by_id.remove(&id);
    }

    /// The client gives up a request.
    pub(crate) fn cancel(&self, route: Route, message_id: u64) {
        let waits = self.waits();
        let found = match route {
            Route::Async(id) => waits.by_id.get(&id),
            Route::Sync { .. } => waits.by_id.values().find(|(waiting, _)| *waiting == message_id),
        };
        if let Some((_, cancel)) = found {
            cancel.cancel();
        }
    }

    /// Tells a client that its request takes a while. It carries the credits of the request; the answer carries none.
    pub(crate) async fn send_pending(&self, cx: &Cx<'_>, id: u64) {
        let mut answer = Answer::new(&cx.header, Err(NtStatus::PENDING), false);
        answer.header.route = Route::Async(id);
        answer.header.credits = self.grant(&cx.header);
        answer.signer = dispatch::signs(cx.header, cx.logon, cx.sealed).then(|| Arc::clone(cx.session));
        if let Some(frame) = answers::frame(vec![answer], cx.sealed.then_some(cx.session)) {
            self.send(frame, None).await;
        }
    }

    /// Room for an answer with so many bytes, before they are read. Who has no other answer under way gets a small one at once,
    /// also while others have not taken what they asked for.
    pub(crate) async fn room_to_answer(&self, bytes: usize) -> Option<Held> {
        if bytes <= FIRST_BYTES && self.outgoing.available_permits() == OUTGOING_BYTES {
            let own = Arc::clone(&self.outgoing).acquire_many_owned(u32::try_from(bytes).ok()?).await.ok()?;
            return Some(Held { own, all: None });
        }
        hold(&self.outgoing, &self.shared.outgoing, bytes, OUTGOING_BYTES).await
    }

    /// Sends a frame. One that nobody takes any more is dropped.
    pub(crate) async fn send(&self, frame: Frame, held: Option<Held>) {
        let _nobody_takes_it = self.out.send((frame, held)).await;
    }
}

async fn hold(own: &Arc<Semaphore>, all: &Arc<Semaphore>, bytes: usize, most: usize) -> Option<Held> {
    let permits = u32::try_from(bytes.min(most)).ok()?;
    let own = Arc::clone(own).acquire_many_owned(permits).await.ok()?;
    let all = Arc::clone(all).acquire_many_owned(permits).await.ok()?;
    Some(Held { own, all: Some(all) })
}

/// Serves a connection to its end.
pub(crate) async fn serve(shared: Arc<Shared>, connection: net::Connection) {
    let net::Connection { stream, peer, seat, mut shutdown } = connection;
    // SMB encrypts itself.
    let Stream::Plain(stream) = stream else { return };
    let (read, write) = stream.into_split();
    let (out, outgoing) = mpsc::channel(ANSWERS);
    let (notices, mut told) = mpsc::unbounded_channel();
    let connection = Arc::new(Connection {
        shared: Arc::clone(&shared),
        peer,
        seat: Arc::clone(&seat),
        negotiated: OnceLock::new(),
        sessions: Mutex::default(),
        logons: Mutex::default(),
        credits: Mutex::new(Window::new(CREDITS)),
        out,
        notices,
        incoming: Arc::new(Semaphore::new(INCOMING_BYTES)),
        outgoing: Arc::new(Semaphore::new(OUTGOING_BYTES)),
        waits: Mutex::default(),
        next_wait: AtomicU64::new(1),
        waiting: Notify::new(),
        over: CancellationToken::new(),
    });
    // Also when this future is dropped, because the connection has to give way.
    let _over = connection.over.clone().drop_guard();
    let known = Arc::clone(&connection);
    let written = write_all(write, outgoing, known);
    let mut frames = JoinSet::new();
    let reading = async {
        let mut reader = Reading { read, connection: Arc::clone(&connection) };
        let ended = reader.run(&mut frames).await;
        if let Err(error) = ended {
            tracing::debug!(%peer, %error, "an SMB connection ended");
        }
    };
    let telling = async {
        while let Some((session, notice)) = told.recv().await {
            oplock::tell(&connection, session, notice).await;
        }
    };
    tokio::select! {
        () = reading => {}
        () = telling => {}
        () = connection.over.cancelled() => {}
        () = written => {}
        () = shutdown.requested() => {}
    }
    connection.over.cancel();
    frames.shutdown().await;
    let sessions: Vec<_> = connection.sessions().drain().map(|(_, session)| session).collect();
    for session in sessions {
        shared.sessions.forget(session.id);
        session.end(&shared.files).await;
    }
}

/// Writes answers as they come.
async fn write_all(
    mut write: OwnedWriteHalf,
    mut outgoing: mpsc::Receiver<(Frame, Option<Held>)>,
    connection: Arc<Connection>,
) {
    while let Some((frame, held)) = outgoing.recv().await {
        let limit = connection.shared.bounds.limits.write_timeout(connection.seat.is_known());
        match tokio::time::timeout(limit, write_frame(&mut write, &frame)).await {
            Ok(Ok(())) => {
                drop(held);
                connection.shared.spare.give(frame.head);
            }
            Ok(Err(_)) | Err(_) => return,
        }
    }
}

async fn write_frame(write: &mut OwnedWriteHalf, frame: &Frame) -> io::Result<()> {
    let mut parts = frame.parts();
    let mut rest = parts.as_mut_slice();
    // What is empty is passed over.
    IoSlice::advance_slices(&mut rest, 0);
    while !rest.is_empty() {
        let count = write.write_vectored(rest).await?;
        if count == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        IoSlice::advance_slices(&mut rest, count);
    }
    Ok(())
}

/// The side that reads.
struct Reading {
    read: OwnedReadHalf,
    connection: Arc<Connection>,
}

impl Reading {
    async fn run(&mut self, frames: &mut JoinSet<()>) -> io::Result<()> {
        let limits = self.connection.shared.bounds.limits;
        let begun = tokio::time::Instant::now();
        loop {
            while frames.try_join_next().is_some() {}
            // Those that wait for other clients do not count: what ends their waiting may be in the next frame.
            while frames.len().saturating_sub(self.connection.waits().by_id.len()) >= FRAMES {
                tokio::select! {
                    _ended = frames.join_next() => {}
                    () = self.connection.waiting.notified() => {}
                }
            }
            let is_known = self.connection.seat.is_known();
            let mut prefix = [0; frame::PREFIX];
            if is_known {
                self.read.read_exact(&mut prefix).await?;
            } else {
                let deadline = begun + limits.stranger_timeout;
                tokio::time::timeout_at(deadline, self.read.read_exact(&mut prefix)).await??;
            }
            let length = frame::length(prefix, is_known).map_err(io::Error::other)?;
            let shared = &self.connection.shared;
            let (all, limit) =
                if is_known { (&shared.incoming, FRAME_TIMEOUT) } else { (&shared.strangers, limits.stranger_timeout) };
            let held = hold(&self.connection.incoming, all, length, INCOMING_BYTES);
            let held = tokio::time::timeout(limit, held).await?.ok_or(io::ErrorKind::OutOfMemory)?;
            let mut bytes = BytesMut::with_capacity(length);
            tokio::time::timeout(limit, fill(&mut self.read, &mut bytes, length)).await??;
            self.take(bytes, held, frames).await?;
        }
    }

    /// Does what must be done in order, and starts the rest.
    async fn take(&self, mut bytes: BytesMut, held: Held, frames: &mut JoinSet<()>) -> io::Result<()> {
        let connection = &self.connection;
        let refused = || io::Error::other("a frame that cannot be answered");
        let magic = bytes.first_chunk::<4>().copied();
        if magic == Some(PROTOCOL_SMB1) {
            let frame = negotiate::hello(connection, &bytes).ok_or_else(refused)?;
            connection.send(frame, None).await;
            return Ok(());
        }
        let mut sealer = None;
        if magic == Some(PROTOCOL_TRANSFORM) {
            let header = TransformHeader::parse(&bytes).map_err(io::Error::other)?;
            let session = connection.session(header.session_id).ok_or_else(refused)?;
            let logon = session.logon().map_err(io::Error::other)?;
            bytes = logon.secrets.unseal(bytes).ok_or_else(refused)?;
            sealer = Some(session);
        }
        let frame = bytes.freeze();
        let work = dispatch::prepare(connection, &frame, sealer.as_ref()).ok_or_else(refused)?;
        match work {
            dispatch::Work::Nothing => Ok(()),
            dispatch::Work::InOrder(header) => {
                let answered = dispatch::in_order(connection, &header, &frame, sealer.as_ref()).await;
                let answered = answered.ok_or_else(refused)?;
                connection.send(answered, None).await;
                Ok(())
            }
            dispatch::Work::Beside => {
                let bounds = &connection.shared.bounds;
                let (load, seat, most) = (&bounds.load, &connection.seat, bounds.limits.requests);
                let slot = Slot::take(load, seat, &bounds.commons, most, seat.is_known()).await;
                let connection = Arc::clone(connection);
                frames.spawn(async move {
                    let outcome = dispatch::all(&connection, &frame, sealer, slot.is_some()).await;
                    drop((slot, held));
                    match outcome {
                        Some((answered, room)) => connection.send(answered, room).await,
                        // A frame that lies: nothing that it says can be answered.
                        None => connection.over.cancel(),
                    }
                });
                Ok(())
            }
        }
    }
}

async fn fill(read: &mut OwnedReadHalf, bytes: &mut BytesMut, length: usize) -> io::Result<()> {
    while bytes.len() < length {
        // No further than this frame: what is behind it is another one.
        let mut rest = (&mut *read).take(u64::try_from(length - bytes.len()).unwrap_or(u64::MAX));
        if rest.read_buf(bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}

/// The bytes of a part of a frame, not copied.
pub(crate) fn part_of(frame: &Bytes, offset: usize, range: std::ops::Range<usize>) -> Bytes {
    let (start, end) = (offset.saturating_add(range.start), offset.saturating_add(range.end));
    if range.is_empty() || end > frame.len() { Bytes::new() } else { frame.slice(start..end) }
}
