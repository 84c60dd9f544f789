//! The rings: every crate, where it stands, and which crates of ours it may use. **This table is the architecture.**
//!
//! A new crate is one row here. Arrows point down to a lower ring; an arrow inside a ring is written out and rare. The
//! crates that are planned already have their rows. Tests below keep the table itself honest.

use std::fmt;

/// How far from the bytes on disk a crate stands, the vocabulary lowest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Ring {
    /// Ring 0: words that everybody uses.
    Vocabulary,
    /// Ring 1: transactions, chunks and the engines.
    Storage,
    /// Ring 2: what an operation means.
    Rules,
    /// Ring 3: bytes of a protocol to typed requests and back.
    Protocols,
    /// Ring 4: what is started.
    Programs,
    /// Tools, tests and measurements. Nothing in the rings uses them, except tests.
    Beside,
}

impl fmt::Display for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Vocabulary => "ring 0, vocabulary",
            Self::Storage => "ring 1, storage",
            Self::Rules => "ring 2, rules",
            Self::Protocols => "ring 3, protocols",
            Self::Programs => "ring 4, programs",
            Self::Beside => "beside the rings",
        })
    }
}

/// The crates of ours that a crate may use.
#[derive(Clone, Copy, Debug)]
pub(super) enum Uses {
    /// These and no others.
    Only(&'static [&'static str]),
    /// Everything in the rings below its own.
    Below,
}

/// One crate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// The last part of its folder: `blob-rest` for `crates/blob-rest`.
    pub(super) name: &'static str,
    pub(super) ring: Ring,
    pub(super) uses: Uses,
}

const fn row(name: &'static str, ring: Ring, uses: &'static [&'static str]) -> Row {
    Row { name, ring, uses: Uses::Only(uses) }
}

const fn above_all(name: &'static str, ring: Ring) -> Row {
    Row { name, ring, uses: Uses::Below }
}

/// Every crate of the workspace, present or planned.
#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("types",          Ring::Vocabulary, &[]),
    // Arithmetic: the one place with a piece of unsafe code.
    row("md5",            Ring::Vocabulary, &[]),

    row("store",          Ring::Storage,    &["types"]),
    row("store-memory",   Ring::Storage,    &["types", "store"]),
    row("store-embedded", Ring::Storage,    &["types", "store"]),
    row("store-cluster",  Ring::Storage,    &["types", "store"]),

    // The mission's rules are pure: they know no service and no store.
    row("concurrency",    Ring::Rules,      &["types"]),
    row("access",         Ring::Rules,      &["types", "store", "concurrency"]),
    row("account",        Ring::Rules,      &["types", "store", "access"]),
    row("jobs",           Ring::Rules,      &["types", "store", "concurrency"]),
    // A service knows the storage contract, never an engine, and never another service.
    row("blob",           Ring::Rules,      &["types", "store", "concurrency", "access", "jobs"]),
    row("queue",          Ring::Rules,      &["types", "store", "concurrency", "access", "jobs"]),
    row("table",          Ring::Rules,      &["types", "store", "concurrency", "access", "jobs"]),
    // What the account says about deleted shares decides how one is deleted.
    row("file",           Ring::Rules,      &["types", "store", "concurrency", "access", "account", "jobs"]),

    // Beneath every protocol: no HTTP, no storage, no service.
    row("net",            Ring::Protocols,  &[]),
    // Plumbing: no storage, no rules; of the store only how its failures are answered, of access, account and concurrency what is in documents, signatures and headers.
    row("rest",           Ring::Protocols,  &["types", "md5", "store", "concurrency", "access", "account", "net"]),
    // Sources of copies, for all services: knows none of them, and no row.
    row("transfer",       Ring::Protocols,  &["types", "concurrency", "access", "jobs", "rest"]),
    // A protocol speaks for one service.
    row("blob-rest",      Ring::Protocols,  &["types", "concurrency", "access", "account", "blob", "jobs", "rest", "transfer"]),
    row("queue-rest",     Ring::Protocols,  &["types", "concurrency", "access", "account", "queue", "rest"]),
    row("table-rest",     Ring::Protocols,  &["types", "concurrency", "access", "account", "table", "rest"]),
    row("file-rest",      Ring::Protocols,  &["types", "concurrency", "access", "account", "file", "jobs", "rest", "transfer"]),
    row("file-smb",       Ring::Protocols,  &["types", "store", "concurrency", "access", "file", "net"]),

    above_all("server",   Ring::Programs),

    above_all("testkit",     Ring::Beside),
    above_all("conformance", Ring::Beside),
    above_all("sim",         Ring::Beside),
    above_all("bench",       Ring::Beside),
    above_all("fuzz",        Ring::Beside),
    // Built before anything else can be checked, so it stands alone.
    row("xtask",             Ring::Beside, &[]),
];

/// What the tests of any crate may use besides: the engines, to run a rule on them, and the test kit.
pub(super) const TESTS_MAY_USE: &[&str] = &["store-memory", "store-embedded", "testkit"];

/// Arrows inside a ring that the table may contain: to the contract, to the shared rules, to the plumbing.
#[cfg(test)]
const SHARED_IN_THEIR_RING: &[&str] = &["store", "concurrency", "access", "account", "jobs", "net", "rest", "transfer"];

/// A crate of others that some rings do not use.
pub(super) struct Stranger {
    pub(super) package: &'static str,
    pub(super) not_in: &'static [Ring],
    /// Crates of other rings that do not use it either.
    pub(super) not_by: &'static [&'static str],
    pub(super) reason: &'static str,
}

/// Crates of others that would break a promise of the ring they are used in. Tests are free to use them.
pub(super) const STRANGERS: &[Stranger] = &[
    Stranger {
        package: "anyhow",
        not_in: &[Ring::Vocabulary, Ring::Storage, Ring::Rules, Ring::Protocols],
        not_by: &[],
        reason: "libraries have typed errors; use thiserror",
    },
    Stranger {
        package: "tokio",
        not_in: &[Ring::Vocabulary, Ring::Rules],
        not_by: &[],
        reason: "rules know no runtime; take what you need as an argument",
    },
    Stranger {
        package: "hyper",
        not_in: &[Ring::Vocabulary, Ring::Rules],
        not_by: &["net"],
        reason: "neither rules nor net know HTTP; move it to a protocol crate",
    },
    Stranger {
        package: "http",
        not_in: &[Ring::Vocabulary, Ring::Rules],
        not_by: &["net"],
        reason: "neither rules nor net know HTTP; move it to a protocol crate",
    },
];

/// The row of the crate in the folder of this name.
pub(super) fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

/// Whether `from` may use `to`, in its tests or in what it is.
pub(super) fn may_use(from: &Row, to: &Row, in_tests: bool) -> bool {
    if in_tests && TESTS_MAY_USE.contains(&to.name) {
        return true;
    }
    match from.uses {
        Uses::Only(names) => names.contains(&to.name),
        Uses::Below => to.ring < from.ring || (from.ring == Ring::Beside && to.name == "testkit"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for (position, row) in ROWS.iter().enumerate() {
            assert!(ROWS[..position].iter().all(|earlier| earlier.name != row.name), "{} twice", row.name);
        }
    }

    #[test]
    fn the_table_itself_points_down() {
        for from in ROWS {
            let Uses::Only(names) = from.uses else { continue };
            for name in names {
                let to = find(name).unwrap_or_else(|| panic!("{} uses {name}, which has no row", from.name));
                let inside = to.ring == from.ring && SHARED_IN_THEIR_RING.contains(name);
                assert!(to.ring < from.ring || inside, "{} -> {name} points up", from.name);
            }
        }
    }

    #[test]
    fn arrows() {
        // from, to, allowed, allowed in tests
        let table = [
            ("store", "types", true, true),
            ("types", "store", false, false),
            ("store-embedded", "store", true, true),
            ("store", "store-memory", false, true),
            ("store-embedded", "store-memory", false, true),
            ("concurrency", "types", true, true),
            ("concurrency", "store", false, false),
            ("blob", "concurrency", true, true),
            ("blob", "store", true, true),
            ("blob", "store-embedded", false, true),
            ("blob", "queue", false, false),
            ("blob", "rest", false, false),
            ("blob-rest", "blob", true, true),
            ("blob-rest", "queue", false, false),
            ("blob-rest", "store-embedded", false, true),
            ("file-smb", "file", true, true),
            ("file-smb", "file-rest", false, false),
            ("rest", "blob", false, false),
            ("rest", "net", true, true),
            ("blob-rest", "transfer", true, true),
            ("transfer", "blob", false, false),
            ("transfer", "store", false, false),
            ("blob", "jobs", true, true),
            ("jobs", "blob", false, false),
            ("file-smb", "net", true, true),
            ("net", "rest", false, false),
            ("net", "store", false, false),
            ("blob", "net", false, false),
            ("server", "store-embedded", true, true),
            ("server", "blob-rest", true, true),
            ("server", "testkit", false, true),
            ("testkit", "server", true, true),
            ("bench", "testkit", true, true),
            ("xtask", "types", false, false),
        ];
        for (from, to, allowed, allowed_in_tests) in table {
            let (from_row, to_row) = (find(from).unwrap(), find(to).unwrap());
            assert_eq!(may_use(from_row, to_row, false), allowed, "{from} -> {to}");
            assert_eq!(may_use(from_row, to_row, true), allowed_in_tests, "{from} -> {to} in tests");
        }
    }
}
