//! How many tests passed and failed, read from what the test runners print.
//!
//! Invariant: a runner that ended badly counts as at least one failure, so the sum can never look clean when the run
//! was not.

use std::fmt;

/// Passed and failed, added up over the whole run. Written as the last line of `cargo xtask test`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Counts {
    /// One check that is not a test of its own: format, lints.
    pub(crate) const fn of_check(succeeded: bool) -> Self {
        if succeeded { Self { passed: 1, failed: 0 } } else { Self { passed: 0, failed: 1 } }
    }

    pub(crate) const fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }

    /// These counts, with one failure more when the runner failed without naming a test (it did not compile, say).
    pub(crate) const fn of_runner(mut self, succeeded: bool) -> Self {
        if !succeeded && self.failed == 0 {
            self.failed = 1;
        }
        self
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// Reads nextest's last line: `Summary [   0.5s] 7 tests run: 6 passed (1 slow), 1 timed out, 0 skipped`.
/// Everything that ran and did not pass failed, whatever nextest calls it.
pub(crate) fn from_nextest(line: &str) -> Option<Counts> {
    let (_, summary) = line.trim().strip_prefix("Summary [")?.split_once("] ")?;
    let (ran, outcomes) = summary.split_once(" run: ")?;
    let ran: u64 = ran.split([' ', '/']).next()?.parse().ok()?;
    let passed = number_before(outcomes, " passed")?;
    Some(Counts { passed, failed: ran.saturating_sub(passed) })
}

/// Reads the line of one test program: `test result: ok. 3 passed; 0 failed; 0 ignored; …`.
pub(crate) fn from_libtest(line: &str) -> Option<Counts> {
    let outcomes = line.trim().strip_prefix("test result: ")?;
    Some(Counts { passed: number_before(outcomes, " passed")?, failed: number_before(outcomes, " failed")? })
}

/// Reads pytest's last line: `3 failed, 29 passed, 1 warning in 12.30s`. Errors outside of a test are failures too.
pub(crate) fn from_pytest(line: &str) -> Option<Counts> {
    let (outcomes, _) = line.trim().trim_matches('=').trim().split_once(" in ")?;
    let count = |word| number_before(outcomes, word).unwrap_or(0);
    let counts = Counts { passed: count(" passed"), failed: count(" failed") + count(" error") };
    (counts != Counts::default()).then_some(counts)
}

/// Reads two of the last lines of Node's test runner: `# pass 9` and `# fail 0`. What was cancelled failed.
pub(crate) fn from_tap(line: &str) -> Option<Counts> {
    let (word, count) = line.strip_prefix("# ")?.split_once(' ')?;
    let count = count.trim().parse().ok()?;
    match word {
        "pass" => Some(Counts { passed: count, failed: 0 }),
        "fail" | "cancelled" => Some(Counts { passed: 0, failed: count }),
        _ => None,
    }
}

fn number_before(text: &str, word: &str) -> Option<u64> {
    let (before, _) = text.split_once(word)?;
    before.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn counts(passed: u64, failed: u64) -> Option<Counts> {
        Some(Counts { passed, failed })
    }

    #[test]
    fn nextest_summaries() {
        let table = [
            ("     Summary [   0.012s] 25 tests run: 25 passed, 0 skipped", counts(25, 0)),
            ("     Summary [   1.012s] 1 test run: 0 passed, 1 failed, 0 skipped", counts(0, 1)),
            ("     Summary [  61.0s] 7 tests run: 5 passed (1 slow), 1 failed, 1 timed out, 0 skipped", counts(5, 2)),
            ("     Summary [   0.1s] 5/25 tests run: 4 passed, 1 failed, 0 skipped", counts(4, 1)),
            ("        PASS [   0.004s] (1/2) types names::tests::blob_names", None),
            ("", None),
        ];
        for (line, expected) in table {
            assert_eq!(from_nextest(line), expected, "{line}");
        }
    }

    #[test]
    fn libtest_results() {
        let table = [
            ("test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out", counts(3, 0)),
            ("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured", counts(3, 2)),
            ("test names::tests::blob_names ... ok", None),
        ];
        for (line, expected) in table {
            assert_eq!(from_libtest(line), expected, "{line}");
        }
    }

    #[test]
    fn pytest_summaries() {
        let table = [
            ("29 passed in 12.30s", counts(29, 0)),
            ("3 failed, 29 passed, 1 warning in 75.30s (0:01:15)", counts(29, 3)),
            ("==== 1 passed, 2 errors in 0.5s ====", counts(1, 2)),
            ("1 error in 0.5s", counts(0, 1)),
            ("test_first_slice.py ....", None),
            ("no tests ran in 0.01s", None),
        ];
        for (line, expected) in table {
            assert_eq!(from_pytest(line), expected, "{line}");
        }
    }

    #[test]
    fn tap_summaries() {
        let table = [
            ("# pass 9", counts(9, 0)),
            ("# fail 2", counts(0, 2)),
            ("# cancelled 1", counts(0, 1)),
            ("# tests 12", None),
            ("# Subtest: a queue is created", None),
            ("ok 1 - a queue is created", None),
        ];
        for (line, expected) in table {
            assert_eq!(from_tap(line), expected, "{line}");
        }
    }

    #[test]
    fn a_runner_that_failed_without_a_failed_test_is_one_failure() {
        assert_eq!(Counts::default().of_runner(false), Counts { passed: 0, failed: 1 });
        assert_eq!(Counts { passed: 3, failed: 2 }.of_runner(false), Counts { passed: 3, failed: 2 });
        assert_eq!(Counts { passed: 3, failed: 0 }.of_runner(true), Counts { passed: 3, failed: 0 });
    }

    #[test]
    fn the_last_line() {
        let mut sum = Counts::of_check(true);
        sum.add(Counts { passed: 41, failed: 0 });
        assert_eq!(sum.to_string(), "42 passed, 0 failed");
    }
}
