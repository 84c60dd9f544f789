//! Who may do what. A credential that was verified becomes a [`Grant`]; a grant makes an [`Authorized`] operation; no
//! operation of a service can be called without one.
//!
//! Knows no protocol: a request comes in as the parts that are signed. Secrets are compared in constant time, wiped
//! when dropped, and never printed.

pub mod account;
pub mod acl;
mod authorized;
pub mod need;
pub mod shared_key;

pub use account::{Account, AccountKey, Accounts};
pub use authorized::{Authorized, Denied, Grant, Operation};
