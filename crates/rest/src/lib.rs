//! What the REST protocols share: targets, headers, ranges, dates, bodies, checksums, XML, errors, HTTP on a connection.
//!
//! **Invariants.** Nothing here knows a service, a rule or a row; of the store it knows only how its failures are
//! answered, of `access` only what a credential is made of, of `concurrency`
//! only what headers say. A body never sits in memory as a whole. Everything a client can make larger has a limit in [`limits`].
//! Time and fresh ids come from the [`Host`], never from the machine.

mod answer;
pub mod batch;
pub mod body;
pub mod caller;
pub mod checksum;
mod commons;
pub mod cors;
pub mod dates;
pub mod delegation_key;
mod error;
mod error_format;
mod exchange;
pub mod h1;
mod h2;
pub mod headers;
mod known;
pub mod leases;
pub mod limits;
pub mod listing;
pub mod md5;
pub mod metadata;
pub mod outgoing;
pub mod percent;
pub mod preconditions;
mod query;
pub mod range;
pub mod range_checks;
mod request;
mod response;
mod rewind;
pub mod route;
pub mod serve;
pub mod served;
mod service;
pub mod service_properties;
pub mod signed_identifiers;
pub mod stamps;
pub mod structured;
mod target;
pub mod upload;
pub mod version;
mod wait_limit;
pub mod xml;

pub use body::{Body, BodyError};
pub use caller::{Caller, CopySource};
pub use commons::Commons;
pub use error::ServiceError;
pub use error_format::{ErrorFormat, ODataMetadata};
pub use exchange::{Exchange, Exchanged};
pub use headers::Headers;
pub use known::Known;
pub use net::{BoxFuture, Load, Record, RequestId, Shutdown};
pub use query::Query;
pub use range::ByteRange;
pub use request::Request;
pub use response::{Response, ResponseBody, StreamError};
pub use serve::serve;
pub use service::{Host, Outcome, Service};
pub use target::{RawTarget, Target, account_of};
pub use wait_limit::WaitLimit;
