//! The commands that do one thing and end.

pub(crate) mod account;
pub(crate) mod backup;
pub(crate) mod cert;
pub(crate) mod check;
pub(crate) mod restore;
pub(crate) mod sas;
