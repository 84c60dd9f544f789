//! `cargo xtask smbtorture`: Samba's own tests against a fresh server, beside what smbd passes.
//!
//! Invariant: the same code as the quick subset that `cargo xtask test` runs; only the suites differ.

use crate::{
    Outcome,
    process::{self, cargo},
    setup,
};
use anyhow::Result;
use std::{path::Path, process::Command};

/// Runs the suites that are named, or `--quick` ones, or all that the server is to pass.
///
/// # Errors
/// A program could not be started.
pub fn run(root: &Path, arguments: &[&str]) -> Result<Outcome> {
    setup::prepare(root)?;
    if !process::succeeds(&mut cargo(root, &["build", "--profile", "ci", "--locked", "-p", "lazuli"]))? {
        return Ok(Outcome::Failed);
    }
    let mut torture = Command::new(setup::python(root));
    torture.arg("conformance/smb/torture.py").args(arguments).current_dir(root);
    Ok(if process::succeeds(&mut torture)? { Outcome::Good } else { Outcome::Failed })
}
