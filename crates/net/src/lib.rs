//! What every protocol of the server needs beneath its own bytes: bound ports, an accept loop, seats for connections, TLS,
//! bounds on memory and on requests in work, a shutdown that lets requests end, and the record of each request.
//!
//! A protocol is a [`Protocol`]: it gets an accepted [`Connection`], plain or encrypted, with its seat and the signal to
//! stop, and serves it. HTTP is one (`rest`); SMB will be another.
//!
//! **Invariants.** Nothing here knows HTTP, a service, a rule or a row. Whatever a client sends or does not send costs at
//! most its own connection; everything that a stranger can make the server hold is bounded for all strangers together.

mod caught;
mod commons;
pub mod descriptors;
mod documents;
mod limits;
mod listener;
mod load;
mod outbox;
mod record;
mod seats;
mod serve;
mod shutdown;
mod slot;
mod stall;
mod stream;
mod timer;
mod tls;

use std::{future::Future, pin::Pin};

pub use caught::Caught;
pub use commons::Commons;
pub use documents::{Documents, LARGEST_BYTES as LARGEST_DOCUMENT_BYTES, Room, SMALL_BYTES as SMALL_DOCUMENT_BYTES};
pub use limits::Limits;
pub use listener::{Listener, bind};
pub use load::Load;
pub use outbox::{Kept, Outbox, Pace, RETRY_AFTER};
pub use record::{Record, RequestId};
pub use seats::{Seat, Sending};
pub use serve::{Bounds, Connection, Protocol, serve};
pub use shutdown::Shutdown;
pub use slot::Slot;
pub use stall::Stalling;
pub use stream::{Encrypted, Io, Stream};
pub use timer::Timer;
pub use tls::{Tls, TlsError};

/// A boxed future that can cross threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
