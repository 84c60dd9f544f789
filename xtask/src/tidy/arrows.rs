//! The rule about arrows: a crate uses only what its row in the ring table allows.
//!
//! Must never guess: a crate without a row is a violation, so the table stays complete.

use super::{
    Violation,
    manifests::{Dependency, Package, crate_name},
    rings::{self, Row, Uses},
};

const TABLE: &str = "xtask/src/tidy/rings.rs";

/// Every arrow that points where it must not.
pub(super) fn check(packages: &[Package]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for package in packages {
        let Some(row) = rings::find(crate_name(&package.folder)) else {
            let message = format!("the crate has no ring; give it a row in {TABLE}");
            violations.push(Violation::new(package.manifest_path(), 1, message));
            continue;
        };
        for dependency in &package.dependencies {
            if let Some(message) = wrong(row, dependency) {
                violations.push(Violation::new(package.manifest_path(), package.line_of(dependency), message));
            }
        }
    }
    violations
}

/// What is wrong with one arrow, if anything.
fn wrong(from: &Row, dependency: &Dependency) -> Option<String> {
    let Some(folder) = &dependency.folder else { return wrong_stranger(from, dependency) };
    // A crate without a row is reported where it stands.
    let to = rings::find(crate_name(folder))?;
    if rings::may_use(from, to, dependency.in_tests) {
        return None;
    }
    let allowed = match from.uses {
        Uses::Only([]) => "no crate of ours".to_owned(),
        Uses::Only(names) => names.join(", "),
        Uses::Below => "everything below".to_owned(),
    };
    Some(format!(
        "{} ({}) must not use {} ({}); it may use {allowed}: move what is needed down, or change {TABLE}",
        from.name, from.ring, to.name, to.ring
    ))
}

fn wrong_stranger(from: &Row, dependency: &Dependency) -> Option<String> {
    let stranger = rings::STRANGERS.iter().find(|stranger| stranger.package == dependency.package)?;
    let unwanted = stranger.not_in.contains(&from.ring) || stranger.not_by.contains(&from.name);
    if dependency.in_tests || !unwanted {
        return None;
    }
    Some(format!("{} ({}) must not use {}: {}", from.name, from.ring, stranger.package, stranger.reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The violations of a crate in `folder` with one dependency: one of ours when it is a folder.
    fn found(folder: &str, dependency: &str, in_tests: bool) -> Vec<String> {
        let ours = dependency.contains('/');
        let key = crate_name(dependency).to_owned();
        let manifest = format!("[package]\n\n[dependencies]\n{key}.workspace = true\n");
        let dependency =
            Dependency { package: key.clone(), key, folder: ours.then(|| dependency.to_owned()), in_tests };
        let package = Package { folder: folder.to_owned(), manifest, dependencies: vec![dependency] };
        check(&[package]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_arrow_down_is_fine() {
        assert!(found("crates/store", "crates/types", false).is_empty());
        assert!(found("crates/blob-rest", "crates/blob", false).is_empty());
        assert!(found("crates/blob", "crates/store-memory", true).is_empty());
        assert!(found("crates/blob", "bytes", false).is_empty());
    }

    #[test]
    fn an_arrow_up_is_found_at_its_line() {
        assert_eq!(
            found("crates/store", "crates/blob", false),
            [
                "crates/store/Cargo.toml:4: store (ring 1, storage) must not use blob (ring 2, rules); it may use types: \
              move what is needed down, or change xtask/src/tidy/rings.rs"
            ]
        );
    }

    #[test]
    fn an_engine_is_for_tests_and_programs() {
        assert_eq!(found("crates/blob", "crates/store-memory", false).len(), 1);
        assert!(found("crates/server", "crates/store-memory", false).is_empty());
    }

    #[test]
    fn a_crate_without_a_row_is_found() {
        assert_eq!(
            found("crates/misc", "crates/types", false),
            ["crates/misc/Cargo.toml:1: the crate has no ring; give it a row in xtask/src/tidy/rings.rs"]
        );
    }

    #[test]
    fn strangers_stay_out_of_the_rings_they_would_spoil() {
        let table = [
            ("crates/blob", "tokio", false, 1),
            ("crates/blob", "tokio", true, 0),
            ("crates/store-embedded", "tokio", false, 0),
            ("crates/store", "anyhow", false, 1),
            ("crates/server", "anyhow", false, 0),
            ("crates/types", "http", false, 1),
            ("crates/rest", "http", false, 0),
            ("crates/net", "http", false, 1),
            ("crates/net", "tokio", false, 0),
        ];
        for (folder, dependency, in_tests, violations) in table {
            assert_eq!(found(folder, dependency, in_tests).len(), violations, "{folder} -> {dependency}");
        }
    }
}
