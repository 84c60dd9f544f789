//! `cargo xtask crash N`: the crash tests with a larger count than `cargo xtask test` gives them.
//!
//! Invariant: the same code as in the tests; only the numbers differ.

use crate::{
    Outcome,
    process::{self, cargo},
    setup,
};
use anyhow::{Context, Result};
use std::{path::Path, process::Command};

/// The tests that end the real server with `kill -9`, one a service.
const OF_THE_SERVER: [&str; 3] = [
    "conformance/blob/test_crash.py",
    "conformance/queue/test_queue_crash.py",
    "conformance/table/test_table_crash.py",
];

/// Crashes the simulated disk, test processes and the real server `rounds` times each; under queues, a tenth of that.
///
/// # Errors
/// The count is none, or a program could not be started.
pub fn run(root: &Path, rounds: &str) -> Result<Outcome> {
    let _number: u32 = rounds.parse().with_context(|| format!("{rounds:?} is no number of rounds"))?;
    setup::prepare(root)?;
    let mut simulated = cargo(root, &["test", "--profile", "ci", "--locked", "-p", "lazuli-store-embedded"]);
    simulated.args(["--test", "random_crashes", "--test", "kill", "--", "--nocapture"]);
    simulated.env("LAZULI_CRASH_ROUNDS", rounds).env("LAZULI_KILL_ROUNDS", rounds);
    let build = &["build", "--profile", "ci", "--locked", "-p", "lazuli"];
    let mut server = Command::new(setup::python(root));
    server.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).args(OF_THE_SERVER);
    server.env("LAZULI_CRASHES", rounds).current_dir(root);
    let good = process::succeeds(&mut simulated)?
        && process::succeeds(&mut cargo(root, build))?
        && process::succeeds(&mut server)?;
    Ok(if good { Outcome::Good } else { Outcome::Failed })
}
