//! `cargo xtask bench`: sets up the peers, builds for release, measures everything side by side.
//!
//! Invariant: what cannot be installed is left out of the comparison and said so; nothing of it fails the run.

use crate::{
    Outcome,
    process::{self, cargo},
    setup,
};
use anyhow::Result;
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// Every suite of the bench, in order.
const SUITES: &[&str] = &["store", "http", "blob", "queue", "table", "file", "smb"];

/// Runs the bench. `arguments` go to each suite: `--quick`; `--only SUITE` picks one; `--against PROGRAM` measures this
/// build and another one in turns instead.
///
/// # Errors
/// A program could not be started.
pub fn run(root: &Path, arguments: &[&str]) -> Result<Outcome> {
    if let Some(other) = arguments.iter().skip_while(|word| **word != "--against").nth(1) {
        return against(root, other, arguments.contains(&"--quick"));
    }
    let only = arguments.iter().skip_while(|word| **word != "--only").nth(1);
    let passed_on: Vec<&str> =
        arguments.iter().filter(|word| **word != "--only" && Some(*word) != only).copied().collect();
    let azurite = prepare(root);
    if !build(root)? {
        return Ok(Outcome::Failed);
    }
    let release = root.join("target").join("release");
    let results = root.join("target").join("bench-results");
    std::fs::create_dir_all(&results)?;
    for suite in SUITES.iter().filter(|suite| only.is_none_or(|only| only == *suite)) {
        println!("== bench: {suite}");
        let mut command = Command::new(release.join("lazuli-bench"));
        command.arg(suite).args(&passed_on).arg("--json").arg(results.join(format!("{suite}.json")));
        command.env("LAZULI_BINARY", release.join("lazuli")).current_dir(root);
        if let Some(azurite) = &azurite {
            command.env("LAZULI_BENCH_AZURITE", azurite);
        }
        if !process::succeeds(&mut command)? {
            return Ok(Outcome::Failed);
        }
    }
    println!("results: {}", results.display());
    Ok(Outcome::Good)
}

fn build(root: &Path) -> Result<bool> {
    process::succeeds(&mut cargo(root, &["build", "--release", "--locked", "-p", "lazuli", "-p", "lazuli-bench"]))
}

/// What became slower than in another build?
fn against(root: &Path, other: &str, quick: bool) -> Result<Outcome> {
    if !build(root)? {
        return Ok(Outcome::Failed);
    }
    let release = root.join("target").join("release");
    let mut command = Command::new(release.join("lazuli-bench"));
    command.args(["against", "--other", other]).args(quick.then_some("--quick"));
    command.env("LAZULI_BINARY", release.join("lazuli")).current_dir(root);
    Ok(if process::succeeds(&mut command)? { Outcome::Good } else { Outcome::Failed })
}

/// Installs Azurite, with the Node it needs, nginx, smbd and smbclient. Returns where Azurite is.
fn prepare(root: &Path) -> Option<PathBuf> {
    let home = root.join("target").join("bench-peers").join("azurite");
    let azurite = setup::retried("Azurite from npm", || install_azurite(&home)).then(|| home.clone());
    setup::retried("nginx from Debian", || setup::install_debian("/usr/sbin/nginx", "nginx-light"));
    setup::retried("smbclient from Debian", || setup::install_debian("/usr/bin/smbclient", "smbclient"));
    setup::retried("smbd from Debian", || setup::install_debian("/usr/sbin/smbd", "samba"));
    azurite
}

fn install_azurite(home: &Path) -> Result<()> {
    if home.join("node_modules/azurite/dist/src/azurite.js").exists() && home.join("node_modules/.bin/node").exists() {
        return Ok(());
    }
    std::fs::create_dir_all(home)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-fund", "--no-audit", "--silent", "azurite", "node@22"]).current_dir(home);
    anyhow::ensure!(process::succeeds(&mut npm)?, "npm install failed");
    Ok(())
}
