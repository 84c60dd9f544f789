//! `cargo xtask test`: everything that must hold before a change is good, in one run.
//!
//! Owns the order of the checks and the sum of their results. Invariants: a failed check does not hide the next one;
//! the last line printed is `N passed, N failed` over everything; nothing is skipped in silence.

use crate::{
    Outcome,
    counts::{self, Counts},
    process::{self, Read, cargo},
    setup::{self, Clients},
    sim,
};
use anyhow::Result;
use std::{path::Path, process::Command};

/// Sets up, checks and tests the workspace at `root`.
///
/// # Errors
/// A program could not be started.
pub fn run(root: &Path) -> Result<Outcome> {
    let mut sum = Counts::default();
    if let Err(error) = setup::prepare(root) {
        println!("== set-up failed, so nothing was tested: {error:#}\n\n{sum}");
        return Ok(Outcome::Unable);
    }
    sum.add(check(root, "format", &["fmt", "--all", "--check"])?);
    sum.add(check(
        root,
        "lints",
        &["clippy", "--workspace", "--all-targets", "--locked", "--profile", "ci", "--", "-D", "warnings"],
    )?);
    sum.add(dependencies(root)?);
    sum.add(tests(root)?);
    sum.add(check(root, "simulation", &sim::command(&["--seconds", "60"]))?);
    sum.add(conformance(root)?);
    println!("\n{sum}");
    Ok(if sum.failed == 0 { Outcome::Good } else { Outcome::Failed })
}

/// A check that passes or fails as a whole.
fn check(root: &Path, name: &str, arguments: &[&str]) -> Result<Counts> {
    println!("== {name}: cargo {}", arguments.join(" "));
    Ok(Counts::of_check(process::succeeds(&mut cargo(root, arguments))?))
}

/// Licences, advisories and sources by `deny.toml`, where the tool is installed: it takes longer to build than
/// everything else here.
fn dependencies(root: &Path) -> Result<Counts> {
    if process::is_available(&mut cargo(root, &["deny", "--version"])) {
        return check(root, "dependencies", &["deny", "check"]);
    }
    println!("== dependencies: skipped, cargo-deny is not installed");
    Ok(Counts::default())
}

/// Unit, integration and doc tests, with nextest where it is installed.
fn tests(root: &Path) -> Result<Counts> {
    if !process::is_available(&mut cargo(root, &["nextest", "--version"])) {
        return libtest(root, &["test", "--workspace", "--locked", "--profile", "ci", "--no-fail-fast"]);
    }
    let mut sum = nextest(root)?;
    sum.add(libtest(root, &["test", "--doc", "--workspace", "--locked", "--profile", "ci", "--no-fail-fast"])?);
    Ok(sum)
}

/// Official clients against the built server.
fn conformance(root: &Path) -> Result<Counts> {
    let built = check(root, "server", &["build", "--locked", "--profile", "ci", "--package", "lazuli"])?;
    if built.failed > 0 {
        return Ok(built);
    }
    let mut sum = Counts::default();
    for clients in Clients::ALL {
        sum.add(python(root, clients)?);
        sum.add(javascript(root, clients)?);
    }
    sum.add(rust(root)?);
    Ok(sum)
}

/// Clients in Python, by pytest.
fn python(root: &Path, clients: Clients) -> Result<Counts> {
    let tests = clients.python_tests();
    println!("== conformance: pytest {tests}");
    let mut pytest = Command::new(clients.python(root));
    pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", tests]).current_dir(root);
    if matches!(clients, Clients::Present) {
        pytest.arg(format!("--ignore={}", Clients::Legacy.python_tests()));
    }
    count(&mut pytest, Read::Stdout, counts::from_pytest)
}

/// Clients in JavaScript, by Node's own test runner.
fn javascript(root: &Path, clients: Clients) -> Result<Counts> {
    let tests = clients.javascript_tests();
    println!("== conformance: node --test {tests}");
    let mut node = Command::new(setup::node(root));
    node.args(["--test", "--test-reporter=tap"]).current_dir(root.join(tests));
    count(&mut node, Read::Stdout, counts::from_tap)
}

/// Clients in Rust. They share nothing with what is built for the server, and so no target directory either.
fn rust(root: &Path) -> Result<Counts> {
    println!("== conformance: cargo test in {}", setup::RUST_TESTS);
    let mut tests = cargo(&root.join(setup::RUST_TESTS), &["test", "--locked", "--no-fail-fast", "--tests"]);
    tests.env("CARGO_TARGET_DIR", root.join("target/conformance/rust"));
    count(&mut tests, Read::Stdout, counts::from_libtest)
}

fn nextest(root: &Path) -> Result<Counts> {
    let arguments = [
        "nextest",
        "run",
        "--workspace",
        "--locked",
        "--cargo-profile",
        "ci",
        "--no-fail-fast",
        "--status-level",
        "slow",
    ];
    watch(root, &arguments, Read::Stderr, counts::from_nextest)
}

fn libtest(root: &Path, arguments: &[&str]) -> Result<Counts> {
    watch(root, arguments, Read::Stdout, counts::from_libtest)
}

/// Runs a test runner that is a command of cargo.
fn watch(root: &Path, arguments: &[&str], read: Read, counts_of: fn(&str) -> Option<Counts>) -> Result<Counts> {
    println!("== tests: cargo {}", arguments.join(" "));
    count(&mut cargo(root, arguments), read, counts_of)
}

/// Adds up the counts of the lines that have some.
fn count(runner: &mut Command, read: Read, counts_of: fn(&str) -> Option<Counts>) -> Result<Counts> {
    let mut sum = Counts::default();
    let succeeded = process::watch(runner, read, |line| {
        if let Some(counts) = counts_of(line) {
            sum.add(counts);
        }
    })?;
    Ok(sum.of_runner(succeeded))
}
