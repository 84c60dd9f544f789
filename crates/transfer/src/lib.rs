//! Bytes from a source that a request names, into whatever a service makes of them: what the operations From URL and the
//! copies of all services share.
//!
//! - A source is named by a URL ([`Source`]): something of this server ([`Local`]), which its own service reads
//!   ([`Readable`]), or something elsewhere, which is fetched through `rest::outgoing`. [`Sources`] opens either.
//! - [`bring`] takes the bytes of an open source now, into a [`Sink`].
//! - [`Transfers`] drives copies that go on in the background, into a [`Destination`]. How far a copy is stands in rows of
//!   the destination's service, which finds it there again ([`Unfinished`]).
//!
//! **Invariants.** Knows no service's types: a service implements the traits and names its operations. A source here is a
//! read of its own, by its own credential, decided in the view that reads it. A source elsewhere is asked for through the
//! one client that knows where requests may go. The signature in a source's URL is never shown again. Nothing but rows says
//! that there is a copy.

mod bring;
mod destination;
mod found;
pub mod header_names;
mod here;
mod pace;
pub mod refusals;
mod remote;
mod source;
mod sources;
pub mod states;
mod transfers;
mod turn;
mod turns;

pub use self::{
    bring::{Sink, bring},
    destination::{Destination, Look, Pending, Piece, Stop, Unfinished},
    found::Found,
    here::Here,
    pace::Pace,
    refusals::SourceUse,
    source::{Local, Place, Source, range},
    sources::{Arriving, Asking, Opened, Read, Readable, Sources, Wanted},
    transfers::Transfers,
};
