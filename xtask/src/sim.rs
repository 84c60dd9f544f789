//! `cargo xtask sim`: worlds of the simulator, one seed after the other, for a while.

use crate::{
    Outcome,
    process::{self, cargo},
};
use anyhow::Result;
use std::path::Path;

/// Runs the simulator with these arguments: `--seconds N --seed S`.
///
/// # Errors
/// A program could not be started.
pub fn run(root: &Path, arguments: &[&str]) -> Result<Outcome> {
    let mut sim = cargo(root, &["run", "--locked", "--quiet", "--profile", "ci", "--package", "lazuli-sim", "--"]);
    let good = process::succeeds(sim.args(arguments))?;
    Ok(if good { Outcome::Good } else { Outcome::Failed })
}
