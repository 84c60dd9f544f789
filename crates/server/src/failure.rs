//! How a command ends that did not do what it should.
//!
//! Exit codes: 1 for what failed, 2 for what was said wrongly, on the command line, in the environment or in the file.

use std::{fmt, process::ExitCode};

use crate::output;

/// Something was said wrongly: there is no use in trying again.
#[derive(Debug)]
pub(crate) struct Misconfigured(anyhow::Error);

impl fmt::Display for Misconfigured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.0)
    }
}

impl std::error::Error for Misconfigured {}

/// Marks a failure as one of the configuration.
pub(crate) fn misconfigured(error: impl Into<anyhow::Error>) -> anyhow::Error {
    anyhow::Error::new(Misconfigured(error.into()))
}

/// Says why, in one line with the causes behind the first one, and finds the exit code.
pub(crate) fn ended(error: &anyhow::Error) -> ExitCode {
    output::report(&format!("{error:#}"));
    if error.downcast_ref::<Misconfigured>().is_some() { ExitCode::from(2) } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn what_was_said_wrongly_is_said_once_and_with_its_causes() {
        let error = misconfigured(anyhow!("it is no number").context("LAZULI_WORKERS"));
        assert_eq!(format!("{error:#}"), "LAZULI_WORKERS: it is no number");
        assert_eq!(format!("{:?}", ended(&error)), format!("{:?}", ExitCode::from(2)));
        assert_eq!(format!("{:?}", ended(&anyhow!("x"))), format!("{:?}", ExitCode::FAILURE));
    }
}
