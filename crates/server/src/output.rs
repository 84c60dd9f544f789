//! Text for people and pipes. A reader that went away is no reason to fail.

use std::io::{self, Write};

/// Prints to standard output.
pub(crate) fn print(text: &str) {
    let mut out = io::stdout();
    let _nobody_reads = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Says on standard error, in one line, why it failed.
pub(crate) fn report(reason: &str) {
    let _nobody_reads = writeln!(io::stderr(), "lazuli: {}", reason.replace('\n', " "));
}
