//! `cargo xtask fuzz`: lets libFuzzer drive the targets of `fuzz/`, each for a while, beginning with the kept corpus.
//!
//! Needs a nightly compiler and `cargo install cargo-fuzz`. What a run finds to be new stays in `target/fuzz-corpus` for the
//! next one. What is worth keeping for ever, a finding above all, is copied into `fuzz/corpus` by hand; `cargo xtask test`
//! replays that with the stable compiler.

use crate::{Outcome, process};
use anyhow::{Context, Result, bail};
use std::{fs, path::Path, process::Command};

/// Drives one target or all of them, so many seconds each.
///
/// # Errors
/// The arguments are wrong, or a program could not be started.
pub fn run(root: &Path, arguments: &[&str]) -> Result<Outcome> {
    let (mut seconds, mut wanted) = ("60", Vec::new());
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match *word {
            "--seconds" => seconds = words.next().context("--seconds needs a number")?,
            target => wanted.push(target.to_owned()),
        }
    }
    let _number: u32 = seconds.parse().with_context(|| format!("{seconds:?} is no number of seconds"))?;
    if !process::is_available(&mut fuzz(root, &["--version"])) {
        bail!("cargo-fuzz is not installed: cargo install cargo-fuzz, and rustup toolchain install nightly");
    }
    let all = targets(root)?;
    if let Some(unknown) = wanted.iter().find(|name| !all.contains(name)) {
        bail!("there is no target {unknown}; there are: {}", all.join(", "));
    }
    let mut good = true;
    for target in if wanted.is_empty() { all } else { wanted } {
        let kept = root.join("fuzz").join("corpus").join(&target);
        let found = root.join("target").join("fuzz-corpus").join(&target);
        fs::create_dir_all(&found)?;
        println!("== fuzz: {target}");
        let mut drive = fuzz(root, &["run", "--fuzz-dir", "fuzz/libfuzzer", &target]);
        drive.arg(&found).arg(&kept).args(["--", "-max_len=4096", &format!("-max_total_time={seconds}")]);
        good &= process::succeeds(&mut drive)?;
    }
    Ok(if good { Outcome::Good } else { Outcome::Failed })
}

fn fuzz(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(["+nightly", "fuzz"]).args(arguments).current_dir(root);
    command
}

fn targets(root: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root.join("fuzz").join("corpus"))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}
