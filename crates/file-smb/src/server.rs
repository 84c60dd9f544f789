//! SMB in front of the File service: what all connections share, and the protocol as `net` serves it.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use access::Accounts;
use file::Files;
use net::{Bounds, Protocol};
use tokio::sync::Semaphore;

use crate::{clients::Clients, connection, sessions::Sessions, spare::Spare, throttle::Throttle, wire::FileId};

/// Bytes of frames that are being read or done, of all connections.
const INCOMING_BYTES: usize = 256 * 1024 * 1024;
/// Bytes of frames of those who have not logged on, of all connections: apart, so that they stand in nobody's way.
const STRANGERS_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of answers that were not taken yet, of all connections.
const OUTGOING_BYTES: usize = 256 * 1024 * 1024;

/// How SMB is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmbSettings {
    /// Whether sessions must be encrypted: then only 3.x is spoken.
    pub requires_encryption: bool,
}

/// SMB, as it is spoken on a port.
pub struct SmbService {
    pub(crate) shared: Arc<Shared>,
}

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) files: Files,
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) settings: SmbSettings,
    pub(crate) guid: [u8; 16],
    /// Draws randomness; `None` when the system gives none.
    pub(crate) random: fn() -> Option<u128>,
    pub(crate) bounds: Bounds,
    pub(crate) throttle: Throttle,
    pub(crate) incoming: Arc<Semaphore>,
    pub(crate) strangers: Arc<Semaphore>,
    pub(crate) outgoing: Arc<Semaphore>,
    pub(crate) sessions: Sessions,
    /// For answers.
    pub(crate) spare: Spare,
    pub(crate) clients: Clients,
    next_file: AtomicU64,
}

impl SmbService {
    /// SMB in front of these files. `None` when the system gives no randomness.
    #[must_use]
    pub fn new(
        files: Files,
        accounts: Arc<Accounts>,
        settings: SmbSettings,
        bounds: Bounds,
        random: fn() -> Option<u128>,
    ) -> Option<Self> {
        let shared = Shared {
            files,
            accounts,
            settings,
            guid: random()?.to_le_bytes(),
            random,
            bounds,
            throttle: Throttle::default(),
            incoming: Arc::new(Semaphore::new(INCOMING_BYTES)),
            strangers: Arc::new(Semaphore::new(STRANGERS_BYTES)),
            outgoing: Arc::new(Semaphore::new(OUTGOING_BYTES)),
            sessions: Sessions::default(),
            spare: Spare::default(),
            clients: Clients::default(),
            next_file: AtomicU64::new(1),
        };
        Some(Self { shared: Arc::new(shared) })
    }
}

impl Protocol for SmbService {
    async fn serve(self: Arc<Self>, connection: net::Connection) {
        connection::serve(Arc::clone(&self.shared), connection).await;
    }
}

impl Shared {
    /// An id that no open had before.
    pub(crate) fn fresh_file_id(&self) -> FileId {
        let number = self.next_file.fetch_add(1, Ordering::Relaxed);
        FileId { persistent: number, volatile: number }
    }
}
