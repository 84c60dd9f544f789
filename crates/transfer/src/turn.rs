//! A turn of one copy: the bytes of its source, piece by piece, into a destination that says how far it is.
//!
//! **Invariants.** What was brought is kept when the copy stops, if the source can say that it is still the same. A source that
//! is slower than the least rate is given up like one that does not answer.

use bytes::Bytes;
use http::{HeaderName, StatusCode, header};
use rest::{
    Shutdown,
    outgoing::{Fetch, Fetched, Outgoing},
};
use tokio::time::{Instant, timeout_at};

use crate::{Pace, Pending, Stop};

/// Bytes of a piece: what is fetched again after a crash.
const PIECE_BYTES: u64 = 8 * 1024 * 1024;
/// How often a source that does not answer is asked again.
const ATTEMPTS: u32 = 6;

/// Why a turn is over before the copy is.
#[derive(Debug)]
enum Halt {
    Stop(Stop),
    /// Others wait for their turn.
    Turn,
}

impl<E: Into<Stop>> From<E> for Halt {
    fn from(stop: E) -> Self {
        Self::Stop(stop.into())
    }
}

/// How a turn of a copy ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The copy is over, or it goes on at the next start.
    Over,
    /// It goes on when it is its turn again.
    Again,
}

/// What a turn needs.
pub(crate) struct Transfer<'a, W> {
    pub(crate) outgoing: &'a dyn Outgoing,
    pub(crate) pace: Pace,
    /// Whether somebody waits for a turn.
    pub(crate) others_wait: W,
}

impl<W: Fn() -> bool> Transfer<'_, W> {
    /// Goes on with a copy until it is over or its turn is.
    pub(crate) async fn go_on(&self, copy: &mut Pending, mut shutdown: Shutdown) -> Turn {
        let begun = Instant::now();
        let mut pause = self.pace.first_pause;
        let mut attempts = ATTEMPTS;
        loop {
            let (before, asked) = (copy.copied, Instant::now());
            let why = match self.fetch_rest(copy, begun).await {
                Ok(()) | Err(Halt::Stop(Stop::Ended)) => return Turn::Over,
                Err(Halt::Turn) => return Turn::Again,
                Err(Halt::Stop(Stop::Failed(why))) => why,
                Err(Halt::Stop(Stop::Later(why))) => {
                    // Only what came at a fair rate is a new beginning; otherwise a source could go on for ever.
                    if copy.copied - before.min(copy.copied) > self.pace.least(asked.elapsed()) {
                        (attempts, pause) = (ATTEMPTS, self.pace.first_pause);
                    }
                    attempts -= 1;
                    if attempts > 0 {
                        tracing::info!(copy = copy.id, why, "a copy waits");
                        if shutdown.pause(pause).await {
                            return Turn::Over; // it goes on at the next start
                        }
                        pause *= 2;
                        continue;
                    }
                    why
                }
            };
            self.fail(copy, &why).await;
            return Turn::Over;
        }
    }

    async fn fail(&self, copy: &Pending, why: &str) {
        if let Err(Stop::Failed(error) | Stop::Later(error)) = copy.destination.fail(why).await {
            tracing::warn!(copy = copy.id, error, "a copy that failed could not be ended");
        }
    }

    async fn fetch_rest(&self, copy: &mut Pending, begun: Instant) -> Result<(), Halt> {
        if copy.copied < copy.total {
            let mut fetched = ask(self.outgoing, copy).await?;
            let mut arriving = Arriving { left: None, window: Window::new(self.pace) };
            while copy.copied < copy.total {
                self.piece(copy, &mut fetched, &mut arriving, begun).await?;
            }
        }
        copy.destination.finish().await?;
        Ok(())
    }

    /// Brings a piece and writes down that it is here; when the copy stops inside of it, the part that came.
    async fn piece(
        &self,
        copy: &mut Pending,
        fetched: &mut Fetched,
        arriving: &mut Arriving,
        begun: Instant,
    ) -> Result<(), Halt> {
        let wanted = PIECE_BYTES.min(copy.total - copy.copied);
        let mut piece = copy.destination.piece(wanted)?;
        let mut written = 0;
        let mut stopped = Ok(());
        while written < wanted && stopped.is_ok() {
            stopped = match arriving.next(fetched, wanted - written).await {
                Ok(taken) => {
                    written += u64::try_from(taken.len()).unwrap_or(u64::MAX);
                    piece.write(taken).await?;
                    self.turn(copy, begun)
                }
                Err(stop) => Err(Halt::Stop(stop)),
            };
        }
        // Without an ETag everything is fetched again anyway.
        if written == wanted || (written > 0 && copy.etag.is_some()) {
            piece.keep(copy.copied).await?;
            copy.copied += written;
        }
        // What is all here is finished in this turn.
        if copy.copied == copy.total { Ok(()) } else { stopped }
    }

    /// Whether the turn is over. A source without an ETag has only one, of a longest age.
    fn turn(&self, copy: &Pending, begun: Instant) -> Result<(), Halt> {
        let taken = begun.elapsed();
        match &copy.etag {
            Some(_) if taken >= self.pace.turn && (self.others_wait)() => Err(Halt::Turn),
            None if taken >= self.pace.longest_run => {
                Err(Stop::Failed("the source has no ETag and was not read in time".to_owned()).into())
            }
            _ => Ok(()),
        }
    }
}

/// The bytes of a source as they come.
struct Arriving {
    left: Option<Bytes>,
    window: Window,
}

impl Arriving {
    /// The next bytes, at most so many.
    async fn next(&mut self, fetched: &mut Fetched, most: u64) -> Result<Bytes, Stop> {
        let mut piece = match self.left.take() {
            Some(piece) => piece,
            None => self.window.next(fetched).await?,
        };
        let room = usize::try_from(most).unwrap_or(usize::MAX);
        if piece.len() > room {
            self.left = Some(piece.split_off(room));
        }
        Ok(piece)
    }
}

/// How much came in the present stretch of time.
struct Window {
    pace: Pace,
    end: Instant,
    bytes: u64,
}

impl Window {
    fn new(pace: Pace) -> Self {
        Self { pace, end: Instant::now() + pace.window, bytes: 0 }
    }

    async fn next(&mut self, fetched: &mut Fetched) -> Result<Bytes, Stop> {
        loop {
            let arrived = timeout_at(self.end, fetched.body.next()).await;
            if let Ok(arrived) = arrived {
                let piece = arrived?.ok_or_else(|| Stop::Later("the source ended early".into()))?;
                self.bytes = self.bytes.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
                self.look()?;
                return Ok(piece);
            }
            self.look()?;
        }
    }

    /// At the end of a stretch: whether enough came.
    fn look(&mut self) -> Result<(), Stop> {
        if Instant::now() < self.end {
            return Ok(());
        }
        if self.bytes < self.pace.least(self.pace.window) {
            return Err(Stop::Later("the source is slower than the least rate".to_owned()));
        }
        *self = Self::new(self.pace);
        Ok(())
    }
}

/// Asks for what is missing of the source, which must still be the one that the copy began with. When its ETag cannot say
/// so, everything is missing: what is here may be of other bytes than the rest.
async fn ask(outgoing: &dyn Outgoing, copy: &mut Pending) -> Result<Fetched, Stop> {
    let mut headers: Vec<(HeaderName, String)> = Vec::new();
    match &copy.etag {
        Some(etag) => headers.push((header::IF_MATCH, etag.clone())),
        None => copy.copied = 0,
    }
    if copy.copied > 0 {
        headers.push((header::RANGE, format!("bytes={}-", copy.copied)));
    }
    let fetched = outgoing.fetch(Fetch { head: false, url: copy.url.clone(), headers }).await?;
    let answered = fetched.status.as_u16();
    let length: Option<u64> = fetched.text("content-length").and_then(|length| length.parse().ok());
    let expected = if copy.copied > 0 { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
    match fetched.status {
        status if status == expected && length.is_some_and(|length| length != copy.total - copy.copied) => {
            Err(Stop::Failed("the source has another length than when the copy began".to_owned()))
        }
        status if status == expected => Ok(fetched),
        StatusCode::OK => Err(Stop::Failed("the source does not serve ranges".to_owned())),
        StatusCode::PRECONDITION_FAILED | StatusCode::NOT_MODIFIED => {
            Err(Stop::Failed("412 the source changed while it was copied".to_owned()))
        }
        StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => {
            Err(Stop::Later(format!("the source answered {answered}")))
        }
        status if status.is_server_error() => Err(Stop::Later(format!("the source answered {answered}"))),
        _ => Err(Stop::Failed(format!("the source answered {answered}"))),
    }
}

#[cfg(test)]
mod tests {
    use rest::{
        BoxFuture,
        outgoing::{FetchError, Pieces},
    };
    use types::UnitId;

    use super::*;
    use crate::destination::tests;

    /// A source that answers the whole or, when asked, its second half.
    struct Elsewhere {
        length: u64,
    }

    struct Nothing;

    impl Pieces for Nothing {
        fn next(&mut self) -> BoxFuture<'_, Result<Option<bytes::Bytes>, FetchError>> {
            Box::pin(async { Ok(None) })
        }
    }

    impl Outgoing for Elsewhere {
        fn fetch(&self, request: Fetch) -> BoxFuture<'_, Result<Fetched, FetchError>> {
            let ranged = request.headers.iter().any(|(name, _)| name == header::RANGE);
            let status = if ranged { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
            let length = if ranged { self.length / 2 } else { self.length }.to_string();
            let headers = [("content-length", length)].into_iter().collect();
            Box::pin(async move { Ok(Fetched { status, headers, body: Box::new(Nothing) }) })
        }
    }

    #[tokio::test]
    async fn the_rest_is_of_the_source_that_the_copy_began_with() {
        let table = [
            (Some("\"1\""), 0, 100, Ok(0)),
            (Some("\"1\""), 50, 100, Ok(50)),
            (None, 0, 100, Ok(0)),
            (None, 50, 100, Ok(0)),
            (None, 0, 120, Err(())),
            (Some("\"1\""), 50, 80, Err(())),
        ];
        for (etag, copied, length, expected) in table {
            let mut copy = Pending {
                account: UnitId::new(1),
                id: "id".to_owned(),
                url: "http://elsewhere.test/b".to_owned(),
                etag: etag.map(str::to_owned),
                copied,
                total: 100,
                destination: Box::new(tests::Nothing),
            };
            let asked = ask(&Elsewhere { length }, &mut copy).await;
            let goes_on = asked.map(|_| copy.copied).map_err(|stop| assert!(matches!(stop, Stop::Failed(_))));
            assert_eq!(goes_on, expected, "{etag:?} {copied} {length}");
        }
    }
}
