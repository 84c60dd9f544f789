//! The files of the tree, read once for all rules.
//!
//! Owns which files count: those that git tracks or would track. Outside a git checkout (an unpacked archive) it walks
//! the folders instead. Invariant: what is built or downloaded is never read.

use anyhow::{Context, Result};
use std::{fs, path::Path, process::Command};

/// One text file.
pub(super) struct SourceFile {
    /// From the root, with forward slashes.
    pub(super) path: String,
    pub(super) text: String,
    /// False for a file that git does not know yet.
    pub(super) committed: bool,
}

impl SourceFile {
    pub(super) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The lines with their numbers, from 1 on.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }

    #[cfg(test)]
    pub(super) fn example(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned(), committed: true }
    }
}

/// Folders that a walk without git does not enter: built, downloaded or written by the program.
const NOT_SOURCE: [&str; 6] = [".git", "target", "node_modules", "__pycache__", ".venv", "lazuli-data"];

/// Every text file below `root`. Files that are not UTF-8 text are left out.
pub(super) fn read(root: &Path) -> Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    for (path, committed) in list(root)? {
        let full = root.join(&path);
        // Deleted but not yet committed, or a link to nowhere: nothing to check.
        if !full.is_file() {
            continue;
        }
        let bytes = fs::read(&full).with_context(|| format!("cannot read {path}"))?;
        if bytes.contains(&0) {
            continue;
        }
        if let Ok(text) = String::from_utf8(bytes) {
            files.push(SourceFile { path, text, committed });
        }
    }
    Ok(files)
}

fn list(root: &Path) -> Result<Vec<(String, bool)>> {
    let tracked = git_files(root, &["--cached"]);
    let new = git_files(root, &["--others", "--exclude-standard"]);
    if let (Some(tracked), Some(new)) = (tracked, new) {
        let tracked = tracked.into_iter().map(|path| (path, true));
        return Ok(tracked.chain(new.into_iter().map(|path| (path, false))).collect());
    }
    let mut paths = Vec::new();
    walk(root, "", &mut paths)?;
    Ok(paths.into_iter().map(|path| (path, true)).collect())
}

/// What git lists, or `None` where there is no git checkout.
fn git_files(root: &Path, which: &[&str]) -> Option<Vec<String>> {
    let output = Command::new("git").args(["ls-files", "-z"]).args(which).current_dir(root).output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    Some(text.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

fn walk(folder: &Path, prefix: &str, paths: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type()?;
        if kind.is_dir() && !NOT_SOURCE.contains(&name.as_str()) {
            walk(&entry.path(), &format!("{prefix}{name}/"), paths)?;
        } else if kind.is_file() {
            paths.push(format!("{prefix}{name}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_finds_what_git_finds_of_this_crate() {
        let source = crate::root().join("xtask/src");
        let mut walked = Vec::new();
        walk(&source, "", &mut walked).unwrap();
        walked.sort();
        assert!(walked.contains(&"tidy/tree.rs".to_owned()), "{walked:?}");
        if let (Some(mut tracked), Some(new)) =
            (git_files(&source, &["--cached"]), git_files(&source, &["--others", "--exclude-standard"]))
        {
            tracked.extend(new);
            tracked.retain(|path| source.join(path).is_file());
            tracked.sort();
            assert_eq!(walked, tracked);
        }
    }
}
