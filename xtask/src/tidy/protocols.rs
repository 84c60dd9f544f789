//! The rule about REST crates and rows: a service owns its transactions, so a crate that speaks for it names neither the
//! store nor a view of it.
//!
//! How a failure of the store is answered (`StoreError`) is told there, so that name is allowed. Comments are not looked at.

use super::{Violation, tree::SourceFile};

/// What only a service uses, as names.
const NAMES: &[&str] = &["Store", "Txn", "Scope", "Snapshot", "Read"];
/// What only a service does.
const CALLS: &[&str] = &[".transact(", ".snapshot("];

/// Every line of a REST crate that names the store or a view of it.
pub(super) fn check(files: &[SourceFile]) -> Vec<Violation> {
    files.iter().filter(|file| speaks_rest(&file.path)).flat_map(look).collect()
}

/// True for what a REST crate is made of, not for its tests.
fn speaks_rest(path: &str) -> bool {
    let Some((folder, file)) = path.strip_prefix("crates/").and_then(|path| path.split_once("/src/")) else {
        return false;
    };
    let tests = file.split('/').any(|part| matches!(part, "tests" | "tests.rs"));
    (folder == "rest" || folder.ends_with("-rest")) && file.ends_with(".rs") && !tests
}

fn look(file: &SourceFile) -> Vec<Violation> {
    let mut violations = Vec::new();
    // Inside of the braces behind `use store::`.
    let mut importing = false;
    for (number, line) in file.lines() {
        // What follows are the tests of the file.
        if line.starts_with("#[cfg(test)]") {
            break;
        }
        let code = line.split("//").next().unwrap_or_default();
        importing |= code.trim_start().starts_with("use store::");
        let named =
            NAMES.iter().find(|name| has_word(code, &format!("store::{name}")) || (importing && has_word(code, name)));
        importing &= !code.contains(';');
        let called = CALLS.iter().find(|call| code.contains(**call));
        if let Some(what) = named.or(called) {
            let message = format!("uses {what}; a service owns its transactions: make it a method of the service");
            violations.push(Violation::new(&file.path, number, message));
        }
    }
    violations
}

/// True when the text has the word, not as a part of a longer one.
fn has_word(text: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(begin, _)| {
        let before = text.get(..begin).and_then(|text| text.chars().next_back());
        let behind = text.get(begin + word.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(inside) && !behind.is_some_and(inside)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&[SourceFile::example(path, text)]).into_iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn a_rest_crate_names_no_store() {
        let table = [
            ("use store::Store;", vec![1]),
            ("use store::{Scope, Txn};", vec![1]),
            ("use store::{\n    StoreError,\n    Read,\n};\nstruct Read;", vec![3]),
            ("fn get(rows: &store::Snapshot) {}", vec![1]),
            ("let rows = self.rows.snapshot();", vec![1]),
            ("a\n    .transact(scope, change)", vec![2]),
            // How its failures are answered is told here.
            ("use store::StoreError;", vec![]),
            ("use access::Accounts;\nenum Operation { Read }", vec![]),
            ("// a Txn, store::Store", vec![]),
            ("use restore::Store;", vec![]),
            ("//! x\n#[cfg(test)]\nmod tests {\n    use store::Store;\n}", vec![]),
        ];
        for (text, expected) in table {
            assert_eq!(lines("crates/file-rest/src/a.rs", text), expected, "{text}");
            assert_eq!(lines("crates/rest/src/a.rs", text), expected, "{text}");
        }
    }

    #[test]
    fn other_crates_and_tests_may() {
        let text = "use store::Store;";
        for path in ["crates/blob/src/a.rs", "crates/server/src/a.rs", "crates/file-rest/tests/a.rs"] {
            assert_eq!(lines(path, text), [0_usize; 0], "{path}");
        }
    }
}
