//! List Shares, and List Directories and Files.

mod entries;
mod shares;

pub(crate) use entries::entries;
pub(crate) use shares::shares;
