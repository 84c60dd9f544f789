//! A second protocol on the same ports as HTTP: lines that are sent back. It has connections that stay, requests of its own
//! shape, a credential in the middle of a connection, and nothing of HTTP, as SMB will.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "the test is the server here")]

use std::{net::SocketAddr, sync::Arc, time::Duration};

use net::{Bounds, Commons, Connection, Io, Kept, Limits, Listener, Load, Protocol, Shutdown, Slot, Stream, Tls, bind};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    sync::{Semaphore, watch},
    task::JoinHandle,
    time::timeout,
};

const ENOUGH: Duration = Duration::from_secs(10);

/// `login <account>` shows a credential, `work` is answered when the test lets it, everything else comes back.
struct Echo {
    bounds: Bounds,
    go_on: Semaphore,
}

impl Protocol for Echo {
    async fn serve(self: Arc<Self>, connection: Connection) {
        let Connection { stream, seat, mut shutdown, .. } = connection;
        let stream: Box<dyn Io> = match stream {
            Stream::Plain(stream) => Box::new(stream),
            Stream::Encrypted(stream) => stream,
        };
        let mut stream = BufReader::new(stream);
        loop {
            let mut line = String::new();
            let read = tokio::select! {
                biased;
                () = shutdown.requested() => return,
                read = stream.read_line(&mut line) => read,
            };
            if read.unwrap_or(0) == 0 {
                return;
            }
            let Bounds { commons, load, limits } = &self.bounds;
            let claims = seat.is_known() || line.starts_with("login ");
            let slot = Slot::take(load, &seat, commons, limits.requests, claims).await;
            let answer = match (&slot, line.trim()) {
                (None, _) => "busy\n".to_owned(),
                (Some(slot), line) if line.starts_with("login ") => {
                    let account = line.split(' ').nth(1).and_then(|number| number.parse().ok());
                    if account.is_some_and(|account| slot.verified(account)) { "welcome\n" } else { "no\n" }.to_owned()
                }
                (Some(_), "work") => {
                    self.go_on.acquire().await.unwrap().forget();
                    "done\n".to_owned()
                }
                (Some(_), line) => format!("{line}\n"),
            };
            drop(slot);
            let _sending = seat.sending();
            let mut kept = Kept::new(Arc::clone(&commons.outbox), seat.is_known());
            kept.add(answer.len());
            let sent = stream.get_mut().write_all(answer.as_bytes());
            if !matches!(timeout(limits.write_timeout(kept.known), sent).await, Ok(Ok(()))) {
                return kept.give_up();
            }
            let _flushed = stream.get_mut().flush().await;
        }
    }

    fn refusal(&self) -> Vec<u8> {
        b"full\n".to_vec()
    }
}

struct Running {
    address: SocketAddr,
    echo: Arc<Echo>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

fn start(limits: Limits, tls: Option<Arc<Tls>>) -> Running {
    let tcp = bind("127.0.0.1:0".parse().unwrap(), false).unwrap();
    let address = tcp.local_addr().unwrap();
    let bounds = Bounds { commons: Arc::new(Commons::new(limits.connections)), load: Arc::<Load>::default(), limits };
    let echo = Arc::new(Echo { bounds: bounds.clone(), go_on: Semaphore::new(0) });
    let (stop, shutdown) = Shutdown::channel();
    let task = tokio::spawn(net::serve(Listener { tcp, tls }, Arc::clone(&echo), bounds, shutdown));
    Running { address, echo, stop, task }
}

impl Running {
    async fn connect(&self) -> Client {
        Client(BufReader::new(TcpStream::connect(self.address).await.unwrap()))
    }

    /// Waits until so many requests are in work.
    async fn working(&self, requests: usize) {
        let reached = async {
            while self.echo.bounds.load.requests() != requests {
                tokio::task::yield_now().await;
            }
        };
        timeout(ENOUGH, reached).await.unwrap();
    }
}

struct Client(BufReader<TcpStream>);

impl Client {
    async fn say(&mut self, line: &str) {
        self.0.get_mut().write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// The next line; empty when the connection was closed.
    async fn hear(&mut self) -> String {
        let mut line = String::new();
        let _reset_is_closed = timeout(ENOUGH, self.0.read_line(&mut line)).await.unwrap();
        line.trim().to_owned()
    }

    async fn ask(&mut self, line: &str) -> String {
        self.say(line).await;
        self.hear().await
    }
}

#[tokio::test]
async fn requests_of_another_protocol_are_served_and_counted() {
    let server = start(Limits::default(), None);
    let mut client = server.connect().await;
    assert_eq!(client.ask("hello").await, "hello");
    assert_eq!(client.ask("login 7").await, "welcome");
    assert_eq!(client.ask("again").await, "again");
    assert_eq!(server.echo.bounds.load.connections(), 1);
    assert_eq!(server.echo.bounds.load.requests(), 0);
}

#[tokio::test]
async fn an_idle_stranger_gives_way_and_who_works_stays() {
    let server = start(Limits { connections: 2, ..Limits::default() }, None);
    let (mut known, mut stranger) = (server.connect().await, server.connect().await);
    assert_eq!(known.ask("login 7").await, "welcome");
    assert_eq!(stranger.ask("here").await, "here");
    let mut third = server.connect().await;
    assert_eq!(third.ask("here too").await, "here too");
    assert_eq!(stranger.hear().await, "", "it had to give way");
    assert_eq!(server.echo.bounds.commons.gave_way(), 1);

    known.say("work").await;
    third.say("work").await;
    server.working(2).await;
    let mut fourth = server.connect().await;
    assert_eq!(fourth.hear().await, "full", "nobody can give way");
    assert_eq!(server.echo.bounds.load.refused_connections(), 1);
    server.echo.go_on.add_permits(2);
    assert_eq!((known.hear().await, third.hear().await), ("done".into(), "done".into()));
}

#[tokio::test]
async fn requests_over_the_limit_are_refused_in_the_words_of_the_protocol() {
    let server = start(Limits { requests: 1, ..Limits::default() }, None);
    let (mut first, mut second) = (server.connect().await, server.connect().await);
    first.say("work").await;
    server.working(1).await;
    assert_eq!(second.ask("hello").await, "busy");
    assert_eq!(server.echo.bounds.load.refused_requests(), 1);
    server.echo.go_on.add_permits(1);
    assert_eq!(first.hear().await, "done");
    assert_eq!(second.ask("hello").await, "hello");
}

#[tokio::test]
async fn shutdown_lets_requests_end_and_idle_connections_go() {
    let server = start(Limits::default(), None);
    let (mut idle, mut busy) = (server.connect().await, server.connect().await);
    assert_eq!(idle.ask("hello").await, "hello");
    busy.say("work").await;
    server.working(1).await;
    server.stop.send(true).unwrap();
    assert_eq!(idle.hear().await, "");
    assert!(!server.task.is_finished(), "a request is in flight");
    server.echo.go_on.add_permits(1);
    assert_eq!(busy.hear().await, "done");
    timeout(ENOUGH, server.task).await.unwrap().unwrap();
    assert!(TcpStream::connect(server.address).await.is_err());
}

#[tokio::test]
async fn shutdown_waits_for_a_limited_time() {
    let server = start(Limits { drain_timeout: Duration::from_millis(50), ..Limits::default() }, None);
    let mut busy = server.connect().await;
    busy.say("work").await;
    server.working(1).await;
    server.stop.send(true).unwrap();
    timeout(ENOUGH, server.task).await.unwrap().unwrap();
    assert_eq!(busy.hear().await, "", "it was broken off");
}

#[tokio::test]
async fn a_handshake_that_does_not_come_is_given_up() {
    let pair = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let tls = Tls::new(&pair.cert.pem(), &pair.signing_key.serialize_pem(), &[b"echo"]).unwrap();
    let limits = Limits { handshake_timeout: Duration::from_millis(50), ..Limits::default() };
    let server = start(limits, Some(Arc::new(tls)));
    let mut silent = TcpStream::connect(server.address).await.unwrap();
    let mut said = Vec::new();
    timeout(ENOUGH, silent.read_to_end(&mut said)).await.unwrap().unwrap();
    assert!(said.is_empty());
}
