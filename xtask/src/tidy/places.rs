//! The rules about text that ties the tree to one machine or one network: hosts of package registries, absolute paths
//! of a developer's machine.
//!
//! Both change from place to place; which registry or mirror is used is set up on the machine, not in the tree. The
//! needles are put together from halves, so that this file passes its own rule.

use super::{Violation, tree::SourceFile};

/// Hosts that packages are downloaded from.
const HOSTS: &[&str] = &[
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("static.", "rust-lang.org"),
    concat!("registry.", "npmjs.org"),
    concat!("registry.", "yarnpkg.com"),
    concat!("pypi", ".org"),
    concat!("files.", "pythonhosted.org"),
    concat!("deb.", "debian.org"),
    concat!("security.", "debian.org"),
    concat!("archive.", "ubuntu.com"),
    concat!("security.", "ubuntu.com"),
    concat!("dl-cdn.", "alpinelinux.org"),
    concat!("proxy.", "golang.org"),
    concat!("registry-1.", "docker.io"),
    concat!("repo.", "maven.apache.org"),
    concat!("rubygems", ".org"),
];

/// Where people and build machines keep their checkouts.
const PATHS: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!(":\\Us", "ers\\"),
];

/// Every line that names a registry host or an absolute path of somebody's machine.
pub(super) fn check(files: &[SourceFile]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in files {
        for (number, line) in file.lines() {
            if let Some(host) = HOSTS.iter().find(|host| line.contains(**host)) {
                let message = format!("names the registry host {host}; leave the choice to the machine's settings");
                violations.push(Violation::new(&file.path, number, message));
            }
            if let Some(path) = PATHS.iter().find(|path| contains_absolute(line, path)) {
                let message = format!("has an absolute path below {path}; make it relative to the tree");
                violations.push(Violation::new(&file.path, number, message));
            }
        }
    }
    violations
}

/// True when `path` stands in the line as the beginning of a path, not in the middle of a longer one or of a URL.
fn contains_absolute(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(position, _)| {
        let before = line.get(..position).and_then(|text| text.chars().next_back());
        let inside = |c: char| c.is_alphanumeric() || "._-~$*/{}()[]<>".contains(c);
        path.starts_with(':') || !before.is_some_and(inside)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        check(&[SourceFile::example("a.txt", text)]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn no_file_names_a_registry_host() {
        for host in HOSTS {
            let violations = found(&format!("first\nurl = \"https://{host}/simple\"\n"));
            assert_eq!(violations.len(), 1, "{host}");
            assert!(violations[0].starts_with("a.txt:2: names the registry host"), "{violations:?}");
        }
        assert!(found("source = \"registry+https://github.com/rust-lang/crates.io-index\"").is_empty());
        assert!(found("see https://docs.rs/lsm-tree").is_empty());
    }

    #[test]
    fn no_file_has_a_path_of_a_machine() {
        for path in PATHS {
            for line in [format!("cd {path}lazuli"), format!("\"{path}a\""), format!("{path}a"), format!("D={path}")] {
                assert_eq!(found(&line).len(), 1, "{line}");
            }
        }
    }

    #[test]
    fn a_path_in_the_middle_of_another_is_fine() {
        for path in PATHS.iter().filter(|path| path.starts_with('/')) {
            for before in ["docs", "..", "https://host", "{account}", "<share>", "$HOME"] {
                assert!(found(&format!("{before}{path}a")).is_empty(), "{before}{path}");
            }
        }
        assert!(found("the work, the home and the root").is_empty());
    }
}
