//! The rules about Rust files: how long they are, how they begin, and that no test is switched off.

use super::{Violation, tree::SourceFile};

/// Past this a file probably holds two ideas.
const MAX_LINES: usize = 500;

/// Files that may be longer, each with its reason.
const LONGER: &[(&str, &str)] = &[];

/// The rules about every Rust file.
pub(super) fn check(files: &[SourceFile]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        violations.extend(too_long(file, LONGER));
        violations.extend(without_header(file));
        violations.extend(ignored_tests(file));
    }
    violations.extend(stale_exceptions(files, LONGER));
    violations
}

/// A table of tests may be as long as it needs.
fn is_test(path: &str) -> bool {
    path.split('/').any(|part| matches!(part, "tests" | "tests.rs" | "benches"))
}

fn too_long(file: &SourceFile, longer: &[(&str, &str)]) -> Option<Violation> {
    let lines = file.text.lines().count();
    if lines <= MAX_LINES || is_test(&file.path) || longer.iter().any(|(path, _)| *path == file.path) {
        return None;
    }
    let message = format!(
        "the file has {lines} lines, more than {MAX_LINES}; split it by ideas, or move its tests to tests.rs in a \
         folder of its name"
    );
    Some(Violation::new(&file.path, MAX_LINES + 1, message))
}

fn stale_exceptions(files: &[SourceFile], longer: &[(&str, &str)]) -> Vec<Violation> {
    let needed = |path: &str| files.iter().any(|file| file.path == path && file.text.lines().count() > MAX_LINES);
    let stale = longer.iter().filter(|(path, _)| !needed(path));
    stale.map(|(path, _)| Violation::new(*path, 1, "no longer too long; remove it from LONGER in layout.rs")).collect()
}

fn without_header(file: &SourceFile) -> Option<Violation> {
    let first = file.text.lines().next().unwrap_or_default();
    if first.strip_prefix("//!").is_some_and(|words| !words.trim().is_empty()) {
        return None;
    }
    let message = "the file has no header; begin it with `//!` and say what it owns, what it must never do, and which \
                   invariant it keeps";
    Some(Violation::new(&file.path, 1, message))
}

fn ignored_tests(file: &SourceFile) -> Vec<Violation> {
    let attribute = |line: &str| {
        let line = line.trim_start();
        line.starts_with("#[ignore") || (line.starts_with("#[cfg_attr(") && line.contains("ignore"))
    };
    let found = file.lines().filter(|(_, line)| attribute(line));
    found
        .map(|(number, _)| Violation::new(&file.path, number, "the test is switched off; mend it or remove it"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rust(path: &str, lines: usize) -> SourceFile {
        SourceFile::example(path, &"//! words\n".repeat(lines))
    }

    #[test]
    fn files_have_at_most_500_lines() {
        assert_eq!(too_long(&rust("crates/a/src/b.rs", 500), &[]), None);
        let found = too_long(&rust("crates/a/src/b.rs", 501), &[]).unwrap();
        assert!(
            found.to_string().starts_with("crates/a/src/b.rs:501: the file has 501 lines, more than 500"),
            "{found}"
        );
    }

    #[test]
    fn tests_and_exceptions_may_be_longer() {
        for path in ["crates/a/tests/b.rs", "crates/a/src/b/tests.rs", "crates/a/src/b/tests/c.rs"] {
            assert_eq!(too_long(&rust(path, 2000), &[]), None, "{path}");
        }
        assert_eq!(too_long(&rust("a/table.rs", 501), &[("a/table.rs", "data")]), None);
        assert!(too_long(&rust("a/latests.rs", 501), &[]).is_some());
    }

    #[test]
    fn an_exception_that_is_not_needed_is_found() {
        let longer: &[(&str, &str)] = &[("a/table.rs", "data")];
        assert!(stale_exceptions(&[rust("a/table.rs", 501)], longer).is_empty());
        assert_eq!(stale_exceptions(&[rust("a/table.rs", 500)], longer).len(), 1);
        assert_eq!(stale_exceptions(&[], longer).len(), 1);
    }

    #[test]
    fn files_begin_with_a_header() {
        let table = [
            ("//! What it owns.\nfn a() {}", true),
            ("", false),
            ("\n//! Too late.", false),
            ("//!\n//! An empty first line.", false),
            ("// Not a doc comment.", false),
            ("fn a() {}", false),
        ];
        for (text, good) in table {
            assert_eq!(without_header(&SourceFile::example("a.rs", text)).is_none(), good, "{text:?}");
        }
    }

    #[test]
    fn no_test_is_switched_off() {
        let table = [
            ("#[test]\nfn a() {}", vec![]),
            ("let a = \"#[ignore]\";", vec![]),
            ("#[test]\n    #[ignore]\nfn a() {}", vec![2]),
            ("#[test]\n#[ignore = \"slow\"]\nfn a() {}", vec![2]),
            ("#[cfg_attr(windows, ignore)]\nfn a() {}", vec![1]),
        ];
        for (text, lines) in table {
            let found: Vec<_> =
                ignored_tests(&SourceFile::example("a.rs", text)).into_iter().map(|violation| violation.line).collect();
            assert_eq!(found, lines, "{text}");
        }
    }

    #[test]
    fn only_rust_files_are_looked_at() {
        assert!(check(&[SourceFile::example("README.md", "# Lazuli")]).is_empty());
        assert_eq!(check(&[SourceFile::example("a.rs", "fn a() {}")]).len(), 1);
    }
}
