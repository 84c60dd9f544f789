//! What failed, by name, for the end of a run's output: who reads only the last page of it knows what to look for.
//!
//! Invariant: a check that failed is named even when none of its lines is known to tell of a failure; of one check at
//! most [`MOST`] lines are kept.

use std::fmt;

/// The most lines kept of one check that failed.
const MOST: usize = 40;

/// The checks that failed, with those of their lines that say what.
#[derive(Default)]
pub(crate) struct Failures {
    done: Vec<String>,
    name: String,
    lines: Vec<String>,
}

impl Failures {
    /// The next check begins.
    pub(crate) fn begin(&mut self, name: &str) {
        name.clone_into(&mut self.name);
        self.lines.clear();
    }

    /// A line that the check printed.
    pub(crate) fn read(&mut self, line: &str) {
        if tells_of_a_failure(line) && self.lines.len() < MOST {
            self.lines.push(format!("  {}", line.trim()));
        }
    }

    /// The check has ended.
    pub(crate) fn end(&mut self, succeeded: bool) {
        if !succeeded {
            self.done.push(format!("failed: {}", self.name));
            self.done.append(&mut self.lines);
        }
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.done.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// Whether a compiler or a test runner names here what went wrong: rustc and clippy (with the place in the next line),
/// nextest, libtest, pytest, TAP, a panic.
fn tells_of_a_failure(line: &str) -> bool {
    let line = line.trim_start();
    let beginnings = ["error", "--> ", "FAIL [", "TIMEOUT [", "SIGABRT [", "SIGSEGV [", "FAILED ", "ERROR ", "not ok "];
    beginnings.iter().any(|beginning| line.starts_with(beginning))
        || line.ends_with("... FAILED")
        || line.contains("panicked at")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_named_at_the_end() {
        let mut failures = Failures::default();
        failures.begin("format");
        failures.read("error: not kept, the check succeeds");
        failures.end(true);
        failures.begin("tests");
        for line in ["   Compiling a", "        FAIL [   0.1s] (1/2) a::b", "ok 1 - c", "not ok 2 - d"] {
            failures.read(line);
        }
        failures.end(false);
        failures.begin("silent");
        failures.end(false);
        let expected = "failed: tests\n  FAIL [   0.1s] (1/2) a::b\n  not ok 2 - d\nfailed: silent\n";
        assert_eq!(failures.to_string(), expected);
    }

    #[test]
    fn of_one_check_not_everything_is_kept() {
        let mut failures = Failures::default();
        failures.begin("lints");
        (0..1_000).for_each(|n| failures.read(&format!("error: {n}")));
        failures.end(false);
        assert_eq!(failures.to_string().lines().count(), MOST + 1);
    }
}
