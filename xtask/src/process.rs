//! Running other programs, cargo above all, in the root of the workspace.
//!
//! Invariant: what a program prints is seen as it comes, also when we read it for its result.

use anyhow::{Context, Result};
use std::{
    ffi::OsString,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

/// Which stream of a program carries its result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    Stdout,
    Stderr,
}

/// The cargo that started us, or the one on the path.
pub(crate) fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root);
    command
}

/// True when the program can be started and says that all is well. Its output is dropped: for asking whether a tool is
/// there.
pub(crate) fn is_available(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Runs the program with our own output; true when it succeeded.
pub(crate) fn succeeds(command: &mut Command) -> Result<bool> {
    let status = command.status().with_context(|| format!("cannot start {}", name(command)))?;
    Ok(status.success())
}

/// Runs the program, hands every line of one stream to `line` and passes it on; true when it succeeded.
pub(crate) fn watch(command: &mut Command, read: Read, mut line: impl FnMut(&str)) -> Result<bool> {
    match read {
        Read::Stdout => command.stdout(Stdio::piped()),
        Read::Stderr => command.stderr(Stdio::piped()),
    };
    let mut child = command.spawn().with_context(|| format!("cannot start {}", name(command)))?;
    if let Some(stdout) = child.stdout.take() {
        for text in BufReader::new(stdout).split(b'\n') {
            let text = String::from_utf8_lossy(&text?).into_owned();
            println!("{text}");
            line(&text);
        }
    }
    if let Some(stderr) = child.stderr.take() {
        for text in BufReader::new(stderr).split(b'\n') {
            let text = String::from_utf8_lossy(&text?).into_owned();
            eprintln!("{text}");
            line(&text);
        }
    }
    Ok(child.wait()?.success())
}

fn name(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}
