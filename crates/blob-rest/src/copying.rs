//! Copies that go on in the background: the bytes of a source elsewhere, piece by piece, until the copy has ended. How far
//! it is stands in rows, so that it goes on after a crash.

use std::{collections::HashSet, sync::Arc, time::Duration};

use blob::{
    copy::{self, PendingCopy},
    errors::BlobError,
};
use http::{HeaderName, StatusCode, header};
use rest::{
    Shutdown,
    outgoing::{Fetch, FetchError, Fetched, Outgoing},
};
use store::{Scope, Store, StoreError};
use tokio::{sync::Notify, task::JoinSet};

/// Copies at once; the others wait.
const AT_ONCE: usize = 4;
/// Bytes of a piece: what is fetched again after a crash.
const PIECE_BYTES: u64 = 8 * 1024 * 1024;
/// How often a source that does not answer is asked again, and the first pause.
const ATTEMPTS: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Until it looks for copies that nobody told it about.
const LOOK: Duration = Duration::from_secs(30);

/// What copies need of their surroundings.
pub struct Copies {
    /// Who fetches the sources.
    pub outgoing: Arc<dyn Outgoing>,
    /// Further domains behind which accounts of this server are found.
    pub domains: Vec<String>,
    begun: Notify,
}

impl Copies {
    /// Copies whose sources are fetched by this.
    #[must_use]
    pub fn new(outgoing: Arc<dyn Outgoing>, domains: Vec<String>) -> Self {
        Self { outgoing, domains, begun: Notify::new() }
    }

    /// There is a copy to go on with.
    pub(crate) fn tell(&self) {
        self.begun.notify_one();
    }

    /// Goes on with copies until shutdown, first with those that were there before.
    pub async fn run(self: Arc<Self>, store: Store, mut shutdown: Shutdown) {
        let mut tasks = JoinSet::new();
        let mut running: HashSet<String> = HashSet::new();
        loop {
            match copy::pending(&store.snapshot(), None, AT_ONCE + running.len()).await {
                Ok(found) => {
                    for pending in found {
                        if tasks.len() >= AT_ONCE {
                            break;
                        }
                        if !running.insert(pending.copy_id.clone()) {
                            continue;
                        }
                        let (store, outgoing) = (store.clone(), Arc::clone(&self.outgoing));
                        let shutdown = shutdown.clone();
                        tasks.spawn(async move {
                            let id = pending.copy_id.clone();
                            go_on(&store, &*outgoing, pending, shutdown).await;
                            id
                        });
                    }
                }
                Err(error) => tracing::warn!(%error, "pending copies cannot be looked up"),
            }
            tokio::select! {
                stopped = shutdown.pause(LOOK) => if stopped { return },
                () = self.begun.notified() => {}
                Some(ended) = tasks.join_next() => {
                    match ended {
                        Ok(id) => { running.remove(&id); }
                        // One that panicked is tried again at the next start.
                        Err(error) => tracing::error!(%error, "a copy broke off"),
                    }
                }
            }
        }
    }
}

/// Why a copy does not go on right now.
enum Stop {
    /// It ended: aborted, or its blob is gone.
    Ended,
    /// It cannot be done.
    Failed(String),
    /// It may go better later.
    Later(String),
}

impl From<BlobError> for Stop {
    fn from(error: BlobError) -> Self {
        match error {
            BlobError::NoPendingCopyOperation => Self::Ended,
            other => Self::Later(other.to_string()),
        }
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Later(error.to_string())
    }
}

impl From<FetchError> for Stop {
    fn from(error: FetchError) -> Self {
        match error {
            FetchError::Unreachable(why) => Self::Later(why),
            FetchError::Url(why) | FetchError::Forbidden(why) => Self::Failed(why),
        }
    }
}

async fn go_on(store: &Store, outgoing: &dyn Outgoing, mut copy: PendingCopy, mut shutdown: Shutdown) {
    let mut pause = FIRST_PAUSE;
    let mut attempts = ATTEMPTS;
    loop {
        let before = copy.copied;
        let why = match fetch_rest(store, outgoing, &mut copy).await {
            Ok(()) | Err(Stop::Ended) => return,
            Err(Stop::Failed(why)) => why,
            Err(Stop::Later(why)) => {
                if copy.copied > before {
                    (attempts, pause) = (ATTEMPTS, FIRST_PAUSE);
                }
                attempts -= 1;
                if attempts > 0 {
                    tracing::info!(copy = copy.copy_id, why, "a copy waits");
                    if shutdown.pause(pause).await {
                        return; // it goes on at the next start
                    }
                    pause *= 2;
                    continue;
                }
                why
            }
        };
        let (failed, why) = (&copy, &why);
        let ended = store.transact(scope(failed), |txn| async move { copy::fail(&txn, failed, why).await }).await;
        if let Err(error) = ended
            && !matches!(error, BlobError::NoPendingCopyOperation)
        {
            tracing::warn!(copy = copy.copy_id, %error, "a copy that failed could not be ended");
        }
        return;
    }
}

const fn scope(copy: &PendingCopy) -> Scope<'_> {
    Scope::unit(copy.account)
}

async fn fetch_rest(store: &Store, outgoing: &dyn Outgoing, copy: &mut PendingCopy) -> Result<(), Stop> {
    if copy.copied < copy.total {
        let mut fetched = ask(outgoing, copy).await?;
        let mut left: Option<bytes::Bytes> = None;
        while copy.copied < copy.total {
            let wanted = PIECE_BYTES.min(copy.total - copy.copied);
            let mut writer = store.write_chunk(Some(wanted))?;
            let mut written = 0;
            while written < wanted {
                let piece = match left.take() {
                    Some(piece) => piece,
                    None => fetched.body.next().await?.ok_or_else(|| Stop::Later("the source ended early".into()))?,
                };
                let room = usize::try_from(wanted - written).unwrap_or(usize::MAX);
                let taken = piece.slice(..piece.len().min(room));
                if taken.len() < piece.len() {
                    left = Some(piece.slice(taken.len()..));
                }
                written += u64::try_from(taken.len()).unwrap_or(u64::MAX);
                writer.write(taken).await?;
            }
            let chunk = &writer.finish().await?;
            let (now_copied, pending) = (copy.copied + wanted, &*copy);
            store
                .transact(scope(pending), |txn| async move {
                    copy::append_piece(&txn, pending, pending.copied, chunk).await
                })
                .await?;
            copy.copied = now_copied;
        }
    }
    let done = &*copy;
    store.transact(scope(done), |txn| async move { copy::finish(&txn, done).await }).await?;
    Ok(())
}

/// Asks for what is missing of the source, which must still be the one that the copy began with. When its ETag cannot say
/// so, everything is missing: what is here may be of other bytes than the rest.
async fn ask(outgoing: &dyn Outgoing, copy: &mut PendingCopy) -> Result<Fetched, Stop> {
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
    use rest::{BoxFuture, outgoing::Pieces};
    use types::{Timestamp, UnitId};

    use super::*;

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
            let mut copy = PendingCopy {
                account: UnitId::new(1),
                container: UnitId::new(2),
                blob: "b".to_owned(),
                copy_id: "id".to_owned(),
                url: "http://elsewhere.test/b".to_owned(),
                etag: etag.map(str::to_owned),
                started: Timestamp::EPOCH,
                copied,
                total: 100,
            };
            let asked = ask(&Elsewhere { length }, &mut copy).await;
            let goes_on = asked.map(|_| copy.copied).map_err(|stop| assert!(matches!(stop, Stop::Failed(_))));
            assert_eq!(goes_on, expected, "{etag:?} {copied} {length}");
        }
    }
}
