//! Who may do what. A credential that was verified becomes a [`Grant`]; a grant and an operation make an [`Asked`] one; what
//! the rows of one view say makes that an [`Authorized`] one, without which no service does it.
//!
//! Knows no protocol: a request comes in as the parts that are signed. Secrets are compared in constant time, wiped
//! when dropped, and never printed.

pub mod account;
mod accounts;
pub mod acl;
mod actions;
mod anonymous;
mod asked;
pub mod bearer;
mod delegation_key;
mod grant;
pub mod instant;
pub mod need;
pub mod password;
mod records;
pub mod sas;
pub mod shared_key;
#[cfg(feature = "testing")]
pub mod testing;

pub use account::{Account, AccountKey, Origin};
pub use accounts::{AccountChangeError, Accounts, KEYS_MAX};
pub use actions::Actions;
pub use anonymous::anonymous;
pub use asked::{Asked, Authorized};
pub use delegation_key::GetUserDelegationKey;
pub use grant::{Denied, Grant, Operation};
