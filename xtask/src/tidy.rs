//! `cargo xtask tidy`: the rules of the tree that the compiler cannot check.
//!
//! Owns the list of rules; each lives in a file of its own and is a function from what was read to violations, so that
//! each has a passing and a failing example. Must never change a file. The same rules run as a test of this crate.

mod arrows;
mod layout;
mod manifests;
mod names;
mod places;
mod protocols;
mod rings;
mod statics;
mod tree;

use crate::Outcome;
use anyhow::Result;
use std::{fmt, path::Path};

/// One broken rule at one place.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Violation {
    path: String,
    line: usize,
    message: String,
}

impl Violation {
    fn new(path: impl Into<String>, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.into(), line, message: message.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Every broken rule of the workspace at `root`, ordered by place.
///
/// # Errors
/// The tree or its metadata cannot be read.
pub fn check(root: &Path) -> Result<Vec<Violation>> {
    let files = tree::read(root)?;
    let packages = manifests::read(root)?;
    let mut violations = Vec::new();
    violations.extend(arrows::check(&packages));
    violations.extend(manifests::check(&packages, &files));
    violations.extend(layout::check(&files));
    violations.extend(places::check(&files));
    violations.extend(protocols::check(&files));
    violations.extend(names::check(&files));
    violations.extend(statics::check(&files));
    violations.sort();
    Ok(violations)
}

/// Prints every broken rule of the workspace at `root`, one a line.
///
/// # Errors
/// The tree or its metadata cannot be read.
pub fn command(root: &Path) -> Result<Outcome> {
    let violations = check(root)?;
    for violation in &violations {
        println!("{violation}");
    }
    Ok(if violations.is_empty() { Outcome::Good } else { Outcome::Failed })
}
