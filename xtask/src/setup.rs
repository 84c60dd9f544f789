//! What the tests need before they can run: one step an ingredient, in [`STEPS`].
//!
//! The crates of both workspaces, and the Python and Node packages of the conformance tests. Invariant: a step that fails
//! is tried again, and its failure is reported as set-up, never as a failed test.

use crate::process;
use anyhow::{Result, bail};
use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

/// One thing to bring onto the machine. Running it twice does no harm.
struct Step {
    name: &'static str,
    run: fn(&Path) -> Result<()>,
}

/// Everything the tests need, in order.
const STEPS: &[Step] = &[
    Step { name: "crates of Cargo.lock", run: fetch_crates },
    Step { name: "crates of conformance/rust/", run: |root| fetch_crates(&root.join(RUST_TESTS)) },
    Step { name: "Python packages of conformance/", run: |root| install_python_packages(root, Clients::Present) },
    Step { name: "Python packages of conformance/legacy/", run: |root| install_python_packages(root, Clients::Legacy) },
    Step { name: "Azure CLI of conformance/az/", run: install_azure_cli },
    Step { name: "Node packages of conformance/js/", run: |root| install_node_packages(root, Clients::Present) },
    Step { name: "Node packages of conformance/legacy-js/", run: |root| install_node_packages(root, Clients::Legacy) },
];

/// The tests in Rust: a workspace of its own.
pub(crate) const RUST_TESTS: &str = "conformance/rust";

/// Which generation of clients: packages of the same name cannot live in one environment.
#[derive(Clone, Copy)]
pub(crate) enum Clients {
    /// Those of today.
    Present,
    /// The last of the first generation, which many programs still use.
    Legacy,
}

impl Clients {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Present, Self::Legacy];

    /// The tests in Python, with the list of their packages.
    pub(crate) const fn python_tests(self) -> &'static str {
        match self {
            Self::Present => "conformance",
            Self::Legacy => "conformance/legacy",
        }
    }

    /// The tests in JavaScript, with their packages beside them: Node looks nowhere else.
    pub(crate) const fn javascript_tests(self) -> &'static str {
        match self {
            Self::Present => "conformance/js",
            Self::Legacy => "conformance/legacy-js",
        }
    }

    const fn environment(self) -> &'static str {
        match self {
            Self::Present => "target/conformance/venv",
            Self::Legacy => "target/conformance/legacy",
        }
    }

    /// The interpreter of their private environment.
    pub(crate) fn python(self, root: &Path) -> PathBuf {
        root.join(self.environment()).join("bin").join("python")
    }
}

/// Networks fail for moments: try this often, waiting longer each time.
const ATTEMPTS: u32 = 4;
const FIRST_WAIT: Duration = Duration::from_secs(2);

/// Brings everything the tests need onto the machine.
///
/// # Errors
/// The first step that failed every attempt.
pub fn prepare(root: &Path) -> Result<()> {
    for step in STEPS {
        println!("== set-up: {}", step.name);
        retry(step.name, std::thread::sleep, || (step.run)(root))?;
    }
    Ok(())
}

/// Tries to bring something that can be done without. False when every attempt failed.
pub(crate) fn retried(name: &str, attempt: impl FnMut() -> Result<()>) -> bool {
    println!("== set-up: {name}");
    match retry(name, std::thread::sleep, attempt) {
        Ok(()) => true,
        Err(error) => {
            println!("== set-up: {name}: left out: {error:#}");
            false
        }
    }
}

/// Runs `attempt` until it succeeds, at most [`ATTEMPTS`] times.
fn retry(name: &str, wait: impl Fn(Duration), mut attempt: impl FnMut() -> Result<()>) -> Result<()> {
    let mut pause = FIRST_WAIT;
    for number in 1..ATTEMPTS {
        match attempt() {
            Ok(()) => return Ok(()),
            Err(error) => println!("== set-up: {name}: attempt {number} of {ATTEMPTS} failed: {error:#}"),
        }
        wait(pause);
        pause *= 2;
    }
    attempt()
}

/// Downloads the crates; `--locked` also proves that `Cargo.lock` fits the manifests.
fn fetch_crates(root: &Path) -> Result<()> {
    if !process::succeeds(&mut process::cargo(root, &["fetch", "--locked"]))? {
        bail!("cargo fetch --locked failed");
    }
    Ok(())
}

/// The interpreter with the clients of today.
pub(crate) fn python(root: &Path) -> PathBuf {
    Clients::Present.python(root)
}

/// Makes the private environment, unless it already holds exactly what is asked for.
fn install_python_packages(root: &Path, clients: Clients) -> Result<()> {
    install_python(&root.join(clients.python_tests()), &root.join(clients.environment()), &[])
}

/// The Azure CLI with what its storage commands need: with all that it names it would be four times as large.
fn install_azure_cli(root: &Path) -> Result<()> {
    install_python(&root.join("conformance/az"), &root.join("target/conformance/az"), &["--no-deps"])
}

/// Installs what the list beside the tests names.
fn install_python(tests: &Path, environment: &Path, options: &[&str]) -> Result<()> {
    let requirements = tests.join("requirements.txt");
    let wanted = std::fs::read_to_string(&requirements)?;
    let installed = environment.join("installed.txt");
    if std::fs::read_to_string(&installed).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--clear"]).arg(environment);
    if !process::succeeds(&mut make)? {
        bail!("python3 -m venv failed");
    }
    let mut install = Command::new(environment.join("bin").join("python"));
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(options);
    install.arg("-r").arg(&requirements);
    if !process::succeeds(&mut install)? {
        bail!("pip install failed");
    }
    Ok(std::fs::write(installed, wanted)?)
}

/// The Node of the conformance tests: the clients need a newer one than many machines have.
pub(crate) fn node(root: &Path) -> PathBuf {
    root.join(Clients::Present.javascript_tests()).join("node_modules").join(".bin").join("node")
}

/// Installs what the lock file names, unless that is there already.
fn install_node_packages(root: &Path, clients: Clients) -> Result<()> {
    let home = root.join(clients.javascript_tests());
    let wanted = std::fs::read_to_string(home.join("package-lock.json"))?;
    let installed = home.join("node_modules").join("installed.json");
    if std::fs::read_to_string(&installed).is_ok_and(|found| found == wanted) && node(root).exists() {
        return Ok(());
    }
    let mut install = Command::new("npm");
    install.args(["ci", "--no-fund", "--no-audit", "--silent"]).current_dir(&home);
    if !process::succeeds(&mut install)? {
        bail!("npm ci failed");
    }
    Ok(std::fs::write(installed, wanted)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// Outcome, number of attempts and the waits in seconds when the first `failures` attempts fail.
    fn retried(failures: u32) -> (bool, u32, Vec<u64>) {
        let waits = RefCell::new(Vec::new());
        let mut attempts = 0;
        let outcome = retry(
            "a step",
            |pause| waits.borrow_mut().push(pause.as_secs()),
            || {
                attempts += 1;
                if attempts <= failures { bail!("no network") } else { Ok(()) }
            },
        );
        (outcome.is_ok(), attempts, waits.into_inner())
    }

    #[test]
    fn a_failed_step_is_tried_again_after_growing_waits() {
        assert_eq!(retried(0), (true, 1, vec![]));
        assert_eq!(retried(2), (true, 3, vec![2, 4]));
        assert_eq!(retried(3), (true, 4, vec![2, 4, 8]));
    }

    #[test]
    fn a_step_that_always_fails_is_given_up() {
        assert_eq!(retried(100), (false, 4, vec![2, 4, 8]));
    }
}
