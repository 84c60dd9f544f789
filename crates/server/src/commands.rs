//! The commands that work on a data directory and end.

pub(crate) mod account;
pub(crate) mod backup;
pub(crate) mod check;
pub(crate) mod restore;
pub(crate) mod sas;
