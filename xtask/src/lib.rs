//! The commands behind `cargo xtask`. They need nothing installed but Rust; what the tests need, [`setup`] brings.
//!
//! Must never be a dependency of another crate, nor contain what a test of the product belongs to.

#![expect(clippy::disallowed_methods, reason = "a build program: it reads the source tree and waits between retries")]

pub mod bench;
mod counts;
pub mod crash;
mod failures;
pub mod fuzz;
mod process;
pub mod setup;
pub mod sim;
pub mod smbtorture;
pub mod suite;
pub mod tidy;

use std::path::{Path, PathBuf};

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It did its work and found nothing wrong.
    Good,
    /// It did its work and found something wrong.
    Failed,
    /// It could not do its work.
    Unable,
}

/// The root of the workspace: the folder above this crate.
#[must_use]
pub fn root() -> PathBuf {
    let manifest_dir =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest_dir.parent().map_or_else(|| manifest_dir.clone(), Path::to_path_buf)
}
