//! Variables of the environment whose names begin like ours. One that nobody reads is a misspelt one, and is refused: it
//! would otherwise be a setting that is silently not made.

use std::{collections::BTreeSet, ffi::OsString};

use anyhow::{Result, bail};
use clap::{Command, CommandFactory as _};

use crate::cli::Cli;

const PREFIX: &str = "LAZULI_";

/// Variables of the tests and measurements of this project, which start the program and hand their environment on. New
/// ones begin with `LAZULI_TEST_`.
const OF_TESTS: [&str; 18] = [
    "LAZULI_BENCH_AZURITE",
    "LAZULI_BENCH_ROWS",
    "LAZULI_BENCH_STEP",
    "LAZULI_BINARY",
    "LAZULI_BLOCK_MIB",
    "LAZULI_CRASHES",
    "LAZULI_CRASH_ROUNDS",
    "LAZULI_CRASH_SEED",
    "LAZULI_CRASH_SEEDS",
    "LAZULI_KILL_DIRECTORY",
    "LAZULI_KILL_FIRST",
    "LAZULI_KILL_ROUNDS",
    "LAZULI_KILL_SEED",
    "LAZULI_LARGE_GIB",
    "LAZULI_MODEL_SEED",
    "LAZULI_MODEL_STEPS",
    "LAZULI_PARALLEL_GIB",
    "LAZULI_QUEUE_MESSAGES",
];

/// Kubernetes sets these by itself in every container beside a service that is called `lazuli`.
const OF_KUBERNETES: [&str; 2] = ["LAZULI_SERVICE_", "LAZULI_PORT_"];

/// # Errors
/// A variable is one of ours by its name, and none that is read.
pub(crate) fn check(variables: impl Iterator<Item = (OsString, OsString)>) -> Result<()> {
    let known = known(&Cli::command());
    let unknown = variables.filter_map(|(name, _)| name.into_string().ok()).filter(|name| {
        let of_others = name == "LAZULI_PORT"
            || name.starts_with("LAZULI_TEST_")
            || OF_KUBERNETES.iter().any(|prefix| name.starts_with(prefix))
            || OF_TESTS.contains(&name.as_str());
        name.starts_with(PREFIX) && !of_others && !known.contains(name)
    });
    match unknown.min() {
        None => Ok(()),
        Some(name) => {
            bail!("the environment sets {name}, and there is no such setting; `lazuli serve --help` lists them")
        }
    }
}

/// Every variable that a command reads.
fn known(command: &Command) -> BTreeSet<String> {
    let own = command.get_arguments().filter_map(|argument| argument.get_env());
    let own = own.map(|name| name.to_string_lossy().into_owned());
    own.chain(command.get_subcommands().flat_map(known)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_reads_is_refused() {
        let table = [
            ("LAZULI_BLOB_PORT", true),
            ("LAZULI_ACCOUNT_KEY", true),
            ("LAZULI_NEW_ACCOUNT_KEY", true),
            ("LAZULI_CONFIG", true),
            ("LAZULI_BINARY", true),
            ("LAZULI_TEST_ANYTHING", true),
            ("LAZULI_SERVICE_HOST", true),
            ("LAZULI_PORT", true),
            ("LAZULI_PORT_10000_TCP_ADDR", true),
            ("PATH", true),
            ("XLAZULI_BLOB_PROT", true),
            ("LAZULI_BLOB_PROT", false),
            ("LAZULI_PORTS", false),
            ("LAZULI_", false),
        ];
        for (name, good) in table {
            let found = check([(OsString::from(name), OsString::from("1"))].into_iter());
            assert_eq!(found.is_ok(), good, "{name}");
            assert!(good || format!("{:#}", found.unwrap_err()).contains(name));
        }
    }
}
