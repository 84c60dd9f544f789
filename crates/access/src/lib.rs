//! Who may do what. A credential that was verified becomes a [`Grant`]; a grant makes an [`Authorized`] operation; no
//! operation of a service can be called without one.
//!
//! Knows no protocol: a request comes in as the parts that are signed. Secrets are compared in constant time, wiped
//! when dropped, and never printed.

pub mod account;
mod accounts;
pub mod acl;
mod actions;
mod anonymous;
mod asked;
mod authorized;
pub mod bearer;
mod delegation_key;
pub mod instant;
pub mod need;
pub mod sas;
pub mod shared_key;

pub use account::{Account, AccountKey, Origin};
pub use accounts::{AccountChangeError, Accounts, KEYS_MAX};
pub use actions::Actions;
pub use anonymous::anonymous;
pub use asked::{Allowed, Asked};
pub use authorized::{Authorized, Denied, Grant, Operation};
pub use delegation_key::GetUserDelegationKey;
