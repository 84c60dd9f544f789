//! The rule about memory of the whole process: what correctness rests on belongs to an incarnation, which is dropped when the
//! data gets another owner; a static stays. So a static that changes is listed here, with the reason why it may.
//!
//! Constant data is no memory, and tests may remember what they like.

use super::{Violation, tree::SourceFile};

/// Files with statics that change, and why they may.
const ALLOWED: &[(&str, &str)] = &[
    ("crates/rest/src/md5.rs", "which pieces of bodies are hashed side by side: a matter of speed, and of no row"),
    ("crates/server/src/main.rs", "the allocator"),
    ("crates/store-embedded/src/extent/buffers.rs", "empty buffers to be used again"),
];

/// What a type that can change has in it.
const CHANGES: &[&str] = &["Mutex", "RwLock", "Atomic", "OnceLock", "LazyLock", "OnceCell", "MiMalloc", "Cell<"];

/// Every static of the rings that changes and is not listed.
pub(super) fn check(files: &[SourceFile]) -> Vec<Violation> {
    files.iter().filter(|file| is_looked_at(&file.path)).flat_map(look).collect()
}

fn is_looked_at(path: &str) -> bool {
    let Some((folder, file)) = path.strip_prefix("crates/").and_then(|path| path.split_once("/src/")) else {
        return false;
    };
    let tests = file.split('/').any(|part| matches!(part, "tests" | "tests.rs" | "model.rs" | "conformance"));
    folder != "testkit" && file.ends_with(".rs") && !tests && !ALLOWED.iter().any(|(allowed, _)| *allowed == path)
}

fn look(file: &SourceFile) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (number, line) in file.lines() {
        // What follows are the tests of the file.
        if line.starts_with("#[cfg(test)]") {
            break;
        }
        let code = line.split("//").next().unwrap_or_default().trim_start();
        let code =
            ["pub ", "pub(crate) ", "pub(super) "].iter().find_map(|word| code.strip_prefix(word)).unwrap_or(code);
        let changes = code.starts_with("static ") && CHANGES.iter().any(|word| code.contains(word));
        if changes || code.starts_with("thread_local!") {
            let message = "memory of the whole process; put it into what an incarnation owns (docs/adr/0023), or list it in \
                           xtask/src/tidy/statics.rs when nothing is wrong if it outlives one";
            violations.push(Violation::new(&file.path, number, message));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&[SourceFile::example(path, text)]).into_iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn memory_of_the_whole_process_is_listed() {
        let table = [
            ("static HEADS: Mutex<Vec<u8>> = Mutex::new(Vec::new());", vec![1]),
            ("\npub(crate) static SERVED: OnceLock<Accounts> = OnceLock::new();", vec![2]),
            ("    static COUNT: AtomicU64 = AtomicU64::new(0);", vec![1]),
            ("thread_local! {\n    static ONE: Cell<u64> = const { Cell::new(0) };\n}", vec![1, 2]),
            // Constant, a comment, and a test.
            ("static ZEROS: [u8; 4] = [0; 4];", vec![]),
            ("// static A: Mutex<()> = Mutex::new(());", vec![]),
            ("fn f(a: &'static Mutex<()>) {}", vec![]),
            ("#[cfg(test)]\nmod tests {\n    static A: Mutex<()> = Mutex::new(());\n}", vec![]),
        ];
        for (text, expected) in table {
            assert_eq!(lines("crates/queue/src/heads.rs", text), expected, "{text}");
        }
    }

    #[test]
    fn tests_tools_and_what_is_listed_may_have_it() {
        let text = "static A: Mutex<()> = Mutex::new(());";
        let listed = ALLOWED.iter().map(|(path, _)| *path);
        for path in listed.chain(["crates/blob/src/keys/tests.rs", "crates/testkit/src/wire.rs", "sim/src/world.rs"]) {
            assert_eq!(lines(path, text), [0_usize; 0], "{path}");
        }
    }
}
