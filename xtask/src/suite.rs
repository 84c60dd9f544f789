//! `cargo xtask test`: everything that must hold before a change is good, in one run.
//!
//! Owns the order of the checks and the sum of their results. Invariants: a failed check does not hide the next one;
//! the last line printed is `N passed, N failed` over everything, and what failed is named right above it, so that the
//! end of a long output is enough to know; nothing is skipped in silence.

use crate::{
    Outcome,
    counts::{self, Counts},
    failures::Failures,
    process::{self, Read, cargo},
    setup::{self, Clients},
};
use anyhow::Result;
use std::{
    path::Path,
    process::{Command, Stdio},
};

/// Sets up, checks and tests the workspace at `root`.
///
/// # Errors
/// A program could not be started.
pub fn run(root: &Path) -> Result<Outcome> {
    if let Err(error) = setup::prepare(root) {
        println!("== set-up failed, so nothing was tested: {error:#}\n\n{}", Counts::default());
        return Ok(Outcome::Unable);
    }
    let mut suite = Suite { root, sum: Counts::default(), failures: Failures::default() };
    suite.check("format", &["fmt", "--all", "--check"])?;
    suite.check(
        "lints",
        &["clippy", "--workspace", "--all-targets", "--locked", "--profile", "ci", "--", "-D", "warnings"],
    )?;
    suite.dependencies()?;
    suite.tests()?;
    suite.conformance()?;
    println!("\n{}{}", suite.failures, suite.sum);
    Ok(if suite.sum.failed == 0 { Outcome::Good } else { Outcome::Failed })
}

/// A run: what was counted, and what failed.
struct Suite<'a> {
    root: &'a Path,
    sum: Counts,
    failures: Failures,
}

impl Suite<'_> {
    /// A check that passes or fails as a whole; whether it passed.
    fn check(&mut self, name: &str, arguments: &[&str]) -> Result<bool> {
        println!("== {name}: cargo {}", arguments.join(" "));
        self.failures.begin(name);
        let succeeded =
            process::watch(&mut cargo(self.root, arguments), Read::Stderr, |line| self.failures.read(line))?;
        self.failures.end(succeeded);
        self.sum.add(Counts::of_check(succeeded));
        Ok(succeeded)
    }

    /// Licences, advisories and sources by `deny.toml`, where the tool is installed: it takes longer to build than
    /// everything else here.
    fn dependencies(&mut self) -> Result<()> {
        if process::is_available(&mut cargo(self.root, &["deny", "--version"])) {
            self.check("dependencies", &["deny", "check"])?;
        } else {
            println!("== dependencies: skipped, cargo-deny is not installed");
        }
        Ok(())
    }

    /// Unit, integration and doc tests, with nextest where it is installed.
    fn tests(&mut self) -> Result<()> {
        if !process::is_available(&mut cargo(self.root, &["nextest", "--version"])) {
            return self.libtest(&["test", "--workspace", "--locked", "--profile", "ci", "--no-fail-fast"]);
        }
        self.nextest()?;
        self.libtest(&["test", "--doc", "--workspace", "--locked", "--profile", "ci", "--no-fail-fast"])
    }

    /// Official clients against the built server.
    fn conformance(&mut self) -> Result<()> {
        if self.check("server", &["build", "--locked", "--profile", "ci", "--package", "lazuli"])? {
            // The tests in Python wait for each other more than they compute: meanwhile those in Rust are built.
            let mut building = self.rust_tests(&["--no-run", "--quiet"]);
            let mut building = building.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
            for clients in Clients::ALL {
                self.python(clients)?;
                self.javascript(clients)?;
            }
            // What went wrong is said by the run.
            let _built = building.wait()?;
            self.rust()?;
        }
        Ok(())
    }

    /// Clients in Python, by pytest.
    fn python(&mut self, clients: Clients) -> Result<()> {
        let tests = clients.python_tests();
        let mut pytest = Command::new(clients.python(self.root));
        pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", tests]).current_dir(self.root);
        if matches!(clients, Clients::Present) {
            pytest.arg(format!("--ignore={}", Clients::Legacy.python_tests()));
        }
        self.count(&format!("conformance: pytest {tests}"), &mut pytest, Read::Stdout, counts::from_pytest)
    }

    /// Clients in JavaScript, by Node's own test runner.
    fn javascript(&mut self, clients: Clients) -> Result<()> {
        let tests = clients.javascript_tests();
        let mut node = Command::new(setup::node(self.root));
        node.args(["--test", "--test-reporter=tap"]).current_dir(self.root.join(tests));
        self.count(&format!("conformance: node --test {tests}"), &mut node, Read::Stdout, counts::from_tap)
    }

    /// Clients in Rust. They share nothing with what is built for the server, and so no target directory either.
    fn rust_tests(&self, more: &[&str]) -> Command {
        let mut tests = cargo(&self.root.join(setup::RUST_TESTS), &["test", "--locked", "--tests"]);
        tests.args(more).env("CARGO_TARGET_DIR", self.root.join("target/conformance/rust"));
        tests
    }

    fn rust(&mut self) -> Result<()> {
        let name = format!("conformance: cargo test in {}", setup::RUST_TESTS);
        self.count(&name, &mut self.rust_tests(&["--no-fail-fast"]), Read::Stdout, counts::from_libtest)
    }

    fn nextest(&mut self) -> Result<()> {
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
        self.watch(&arguments, Read::Stderr, counts::from_nextest)
    }

    fn libtest(&mut self, arguments: &[&str]) -> Result<()> {
        self.watch(arguments, Read::Stdout, counts::from_libtest)
    }

    /// Runs a test runner that is a command of cargo.
    fn watch(&mut self, arguments: &[&str], read: Read, counts_of: fn(&str) -> Option<Counts>) -> Result<()> {
        let name = format!("tests: cargo {}", arguments.join(" "));
        self.count(&name, &mut cargo(self.root, arguments), read, counts_of)
    }

    /// Adds up the counts of the lines that have some.
    fn count(
        &mut self,
        name: &str,
        runner: &mut Command,
        read: Read,
        counts_of: fn(&str) -> Option<Counts>,
    ) -> Result<()> {
        println!("== {name}");
        self.failures.begin(name);
        let mut sum = Counts::default();
        let succeeded = process::watch(runner, read, |line| {
            self.failures.read(line);
            if let Some(counts) = counts_of(line) {
                sum.add(counts);
            }
        })?;
        self.failures.end(succeeded);
        self.sum.add(sum.of_runner(succeeded));
        Ok(())
    }
}
