//! The rule about names in documents: a file or a crate that a document names in backticks exists.
//!
//! Looked at are the documents that say how the tree is, not the one that says how it was (`CHANGELOG.md`). A path counts when
//! it begins with a folder of the tree or ends like a Rust file; a file may be named by the end of its path, as in
//! `lease/operation.rs`. Crates that are planned have a row in `rings.rs`. Blocks of code are not looked at.

use super::{Violation, rings, tree::SourceFile};

/// Folders in which a path of a document may begin.
const FOLDERS: &[&str] = &["crates/", "docs/", "conformance/", "sim/", "bench/", "fuzz/", "xtask/", "examples/"];
/// What stands for any name, in rules about files.
const PLACEHOLDERS: &[&str] = &["foo", "x", "<name>"];

/// Every name in a document that names nothing.
pub(super) fn check(files: &[SourceFile]) -> Vec<Violation> {
    let documents = files.iter().filter(|file| file.path.ends_with(".md") && file.path != "CHANGELOG.md");
    documents.flat_map(|document| look(document, files)).collect()
}

fn look(document: &SourceFile, files: &[SourceFile]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut in_block = false;
    for (number, line) in document.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        }
        if in_block {
            continue;
        }
        // Every second piece stands between backticks.
        for name in line.split('`').skip(1).step_by(2).filter(|name| is_path(name)) {
            if !is_planned(name) && !files.iter().any(|file| names(name, &file.path)) {
                let message = format!("{name} does not exist; name what does");
                violations.push(Violation::new(&document.path, number, message));
            }
        }
    }
    violations
}

/// True for what can only be a path of the tree.
fn is_path(name: &str) -> bool {
    let plain = name.chars().all(|c| c.is_alphanumeric() || "/._-*<>".contains(c));
    let placeholder = name.split(['/', '.']).any(|part| PLACEHOLDERS.contains(&part));
    plain && !placeholder && (name.ends_with(".rs") || FOLDERS.iter().any(|folder| name.starts_with(folder)))
}

fn is_planned(name: &str) -> bool {
    let folder = name.strip_prefix("crates/").and_then(|rest| rest.split('/').next());
    folder.is_some_and(|folder| rings::ROWS.iter().any(|row| row.name == folder)) && name.matches('/').count() == 1
}

/// True when the file is the named one, ends like it, or is inside of the named folder. A star stands for a part of a name.
fn names(name: &str, path: &str) -> bool {
    let name: Vec<&str> = name.trim_end_matches('/').split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    let fits =
        |parts: &[&str]| parts.len() == name.len() && parts.iter().zip(&name).all(|(part, name)| like(name, part));
    // From the root a folder is enough, elsewhere it must be the file.
    path.get(..name.len()).is_some_and(fits)
        || path.len().checked_sub(name.len()).and_then(|from| path.get(from..)).is_some_and(fits)
}

fn like(pattern: &str, part: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == part,
        Some((begin, end)) => part.len() >= begin.len() + end.len() && part.starts_with(begin) && part.ends_with(end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_document_names_exists() {
        let table = [
            ("`crates/blob/src/lease.rs`", true),
            ("`lease.rs` and `src/lease.rs`", true),
            ("`crates/blob`, `crates/blob/`", true),
            ("`crates/*-rest/src/errors.rs`", true),
            // Planned: it has a row.
            ("`crates/store-cluster`", true),
            ("`crates/store-cluster/src/a.rs`", false),
            ("`leases.rs`", false),
            ("`crates/blobs`", false),
            ("`crates/blob/src/leases.rs`", false),
            ("`crates/*-smb/src/errors.rs`", false),
            // These name no file of the tree.
            ("`foo.rs` has its tests in `foo/tests.rs`", true),
            ("`crates/<name>` and `lib.rs of a`", true),
            ("`If-Match`, leases.rs", true),
            ("```\n`leases.rs`\n```", true),
        ];
        let tree = ["crates/blob/src/lease.rs", "crates/blob-rest/src/errors.rs"];
        for (text, good) in table {
            let mut files: Vec<SourceFile> = tree.iter().map(|path| SourceFile::example(path, "//! x")).collect();
            files.push(SourceFile::example("docs/a.md", text));
            assert_eq!(check(&files).is_empty(), good, "{text}");
        }
    }

    #[test]
    fn what_was_is_not_looked_at() {
        assert!(check(&[SourceFile::example("CHANGELOG.md", "`gone.rs`")]).is_empty());
    }
}
