//! The crates of the workspace as their manifests describe them, and the rules about the manifests themselves.
//!
//! Owns the reading of `cargo metadata`. Rules: every crate inherits the lint table of the workspace; `Cargo.lock` is
//! committed.

use super::{Violation, tree::SourceFile};
use crate::process;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::{fs, path::Path};

/// One crate of the workspace.
pub(super) struct Package {
    /// Its folder from the root, with forward slashes: `crates/types`.
    pub(super) folder: String,
    /// The text of its `Cargo.toml`.
    pub(super) manifest: String,
    pub(super) dependencies: Vec<Dependency>,
}

/// One arrow.
pub(super) struct Dependency {
    /// The name by which the manifest calls it.
    pub(super) key: String,
    /// The package that it is.
    pub(super) package: String,
    /// Its folder from the root when it is one of ours.
    pub(super) folder: Option<String>,
    /// Used only by tests, benches and examples.
    pub(super) in_tests: bool,
}

impl Package {
    pub(super) fn manifest_path(&self) -> String {
        format!("{}/Cargo.toml", self.folder)
    }

    /// The line on which the manifest names a dependency; 1 when it cannot be told.
    pub(super) fn line_of(&self, dependency: &Dependency) -> usize {
        let names = |line: &str| {
            let rest = line.trim_start().strip_prefix(dependency.key.as_str());
            rest.is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
        };
        (1..).zip(self.manifest.lines()).find(|(_, line)| names(line)).map_or(1, |(number, _)| number)
    }
}

/// The last part of a folder: the name that the ring table uses.
pub(super) fn crate_name(folder: &str) -> &str {
    folder.rsplit('/').next().unwrap_or(folder)
}

/// Asks cargo for the crates of the workspace. Needs no network: nothing is resolved.
pub(super) fn read(root: &Path) -> Result<Vec<Package>> {
    let arguments = ["metadata", "--format-version", "1", "--no-deps", "--offline"];
    let output = process::cargo(root, &arguments).output().context("cannot start cargo")?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata is not JSON")?;
    let mut packages = parse(&metadata)?;
    for package in &mut packages {
        let path = root.join(package.manifest_path());
        package.manifest = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    }
    Ok(packages)
}

/// The crates of cargo's metadata, without the text of their manifests.
fn parse(metadata: &Value) -> Result<Vec<Package>> {
    let root = text(metadata, "workspace_root")?;
    let mut packages = Vec::new();
    for package in list(metadata, "packages")? {
        let manifest = text(package, "manifest_path")?;
        let folder = manifest.strip_suffix("Cargo.toml").and_then(|path| relative(path, root));
        let Some(folder) = folder else { bail!("{manifest} is not below {root}") };
        let mut dependencies = Vec::new();
        for dependency in list(package, "dependencies")? {
            let name = text(dependency, "name")?;
            dependencies.push(Dependency {
                key: dependency.get("rename").and_then(Value::as_str).unwrap_or(name).to_owned(),
                package: name.to_owned(),
                folder: dependency.get("path").and_then(Value::as_str).and_then(|path| relative(path, root)),
                in_tests: dependency.get("kind").and_then(Value::as_str) == Some("dev"),
            });
        }
        packages.push(Package { folder, manifest: String::new(), dependencies });
    }
    Ok(packages)
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    value.get(key).and_then(Value::as_str).with_context(|| format!("cargo metadata has no {key}"))
}

fn list<'a>(value: &'a Value, key: &str) -> Result<&'a Vec<Value>> {
    value.get(key).and_then(Value::as_array).with_context(|| format!("cargo metadata has no {key}"))
}

/// The path below the root, with forward slashes and without slashes at its ends.
fn relative(path: &str, root: &str) -> Option<String> {
    let below = path.strip_prefix(root)?.replace('\\', "/");
    Some(below.trim_matches('/').to_owned())
}

/// The one crate with a lint table of its own: what the workspace forbids cannot be allowed in one place.
const OWN_LINTS: &str = "crates/md5/Cargo.toml";

/// The rules about manifests.
pub(super) fn check(packages: &[Package], files: &[SourceFile]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for package in packages {
        if !inherits_lints(&package.manifest) && package.manifest_path() != OWN_LINTS {
            let message = "the crate does not inherit the lints; add `[lints]` with `workspace = true`";
            violations.push(Violation::new(package.manifest_path(), 1, message));
        }
    }
    if !files.iter().any(|file| file.path == "Cargo.lock" && file.committed) {
        violations.push(Violation::new("Cargo.lock", 1, "the lock file is not committed; `git add Cargo.lock`"));
    }
    violations
}

fn inherits_lints(manifest: &str) -> bool {
    let mut table = "";
    manifest.lines().map(|line| line.split('#').next().unwrap_or(line).trim()).any(|line| {
        if line.starts_with('[') {
            table = line;
        }
        let setting: String = line.split_whitespace().collect();
        (table == "[lints]" && setting == "workspace=true") || (table.is_empty() && setting == "lints.workspace=true")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(manifest: &str) -> Package {
        Package { folder: "crates/blob".to_owned(), manifest: manifest.to_owned(), dependencies: Vec::new() }
    }

    fn lock(committed: bool) -> SourceFile {
        SourceFile { committed, ..SourceFile::example("Cargo.lock", "version = 4") }
    }

    #[test]
    fn a_crate_inherits_the_lints() {
        let table = [
            ("[package]\nname = 'a'\n\n[lints]\nworkspace = true\n", true),
            ("[lints]  # all of them\nworkspace=true", true),
            ("lints.workspace = true\n[package]", true),
            ("[package]\nname = 'a'", false),
            ("[lints]\n[dependencies]\nworkspace = true", false),
            ("[lints]\n# workspace = true", false),
            ("[lints.rust]\nunsafe_code = 'allow'", false),
        ];
        for (manifest, inherits) in table {
            let found = check(&[package(manifest)], &[lock(true)]);
            assert_eq!(found.is_empty(), inherits, "{manifest}");
        }
    }

    #[test]
    fn the_lock_file_is_committed() {
        assert!(check(&[], &[lock(true)]).is_empty());
        for files in [vec![], vec![lock(false)]] {
            let found = check(&[], &files);
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].to_string(), "Cargo.lock:1: the lock file is not committed; `git add Cargo.lock`");
        }
    }

    #[test]
    fn metadata_is_read() {
        let metadata = serde_json::json!({
            "workspace_root": "/r",
            "packages": [{
                "manifest_path": "/r/crates/store-memory/Cargo.toml",
                "dependencies": [
                    { "name": "lazuli-store", "rename": "store", "kind": null, "path": "/r/crates/store" },
                    { "name": "proptest", "rename": null, "kind": "dev" },
                ],
            }],
        });
        let packages = parse(&metadata).unwrap();
        let [package] = packages.as_slice() else { panic!("one package") };
        assert_eq!(package.folder, "crates/store-memory");
        let read: Vec<_> = package
            .dependencies
            .iter()
            .map(|d| (d.key.as_str(), d.package.as_str(), d.folder.as_deref(), d.in_tests))
            .collect();
        let expected = [("store", "lazuli-store", Some("crates/store"), false), ("proptest", "proptest", None, true)];
        assert_eq!(read, expected);
    }

    #[test]
    fn metadata_of_another_shape_is_an_error() {
        assert!(parse(&serde_json::json!({})).is_err());
        assert!(parse(&serde_json::json!({ "workspace_root": "/r", "packages": [{}] })).is_err());
    }
}
