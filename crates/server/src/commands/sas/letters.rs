//! The letters of shared access signatures: which there are for each kind, and in which order they are signed.

use anyhow::{Result, bail};

/// Letters and their meaning, in the order in which the service writes them.
pub(super) type Letters = &'static [(char, &'static str)];

pub(super) const SERVICES: Letters = &[('b', "blob"), ('q', "queue"), ('t', "table"), ('f', "file")];
pub(super) const RESOURCE_TYPES: Letters = &[('s', "service"), ('c', "container"), ('o', "object")];
pub(super) const ACCOUNT: Letters = &[
    ('r', "read"),
    ('w', "write"),
    ('d', "delete"),
    ('x', "delete a version"),
    ('y', "delete for good"),
    ('l', "list"),
    ('a', "add"),
    ('c', "create"),
    ('u', "update"),
    ('p', "process"),
    ('t', "tags"),
    ('f', "find"),
    ('i', "immutability"),
];
pub(super) const CONTAINER: Letters = &[
    ('r', "read"),
    ('a', "add"),
    ('c', "create"),
    ('w', "write"),
    ('d', "delete"),
    ('x', "delete a version"),
    ('y', "delete for good"),
    ('l', "list"),
    ('t', "tags"),
    ('f', "find"),
    ('m', "move"),
    ('e', "execute"),
    ('o', "ownership"),
    ('p', "permissions"),
    ('i', "immutability"),
];
pub(super) const BLOB: Letters = &[
    ('r', "read"),
    ('a', "add"),
    ('c', "create"),
    ('w', "write"),
    ('d', "delete"),
    ('x', "delete a version"),
    ('y', "delete for good"),
    ('t', "tags"),
    ('m', "move"),
    ('e', "execute"),
    ('o', "ownership"),
    ('p', "permissions"),
    ('i', "immutability"),
];
pub(super) const QUEUE: Letters = &[('r', "read"), ('a', "add"), ('u', "update"), ('p', "process")];
pub(super) const TABLE: Letters = &[('r', "query"), ('a', "add"), ('u', "update"), ('d', "delete")];
pub(super) const SHARE: Letters = &[('r', "read"), ('c', "create"), ('w', "write"), ('d', "delete"), ('l', "list")];
pub(super) const FILE: Letters = &[('r', "read"), ('c', "create"), ('w', "write"), ('d', "delete")];

/// The letters in their order, each once.
///
/// # Errors
/// There is none, or one that has no meaning here.
pub(super) fn ordered(flag: &str, known: Letters, text: &str) -> Result<String> {
    if let Some(letter) = text.chars().find(|letter| !known.iter().any(|(known, _)| known == letter)) {
        bail!("--{flag} {text}: there is no letter {letter:?} here; there are {}", listed(known));
    }
    let ordered: String = known.iter().map(|(letter, _)| *letter).filter(|letter| text.contains(*letter)).collect();
    if ordered.is_empty() {
        bail!("--{flag} needs a letter; there are {}", listed(known));
    }
    Ok(ordered)
}

/// Every letter with its meaning.
pub(super) fn listed(known: Letters) -> String {
    known.iter().map(|(letter, meaning)| format!("{letter} {meaning}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn letters_are_checked_and_put_in_order() {
        assert_eq!(ordered("permissions", ACCOUNT, "rwdlacutf").unwrap(), "rwdlacutf");
        assert_eq!(ordered("permissions", CONTAINER, "lwr").unwrap(), "rwl");
        assert_eq!(ordered("permissions", QUEUE, "pp").unwrap(), "p");
        assert_eq!(ordered("services", SERVICES, "tb").unwrap(), "bt");
        for (known, text) in [(BLOB, "rl"), (TABLE, "p"), (QUEUE, "R"), (FILE, ""), (SHARE, "r w")] {
            assert!(ordered("permissions", known, text).is_err(), "{text}");
        }
        let error = ordered("permissions", QUEUE, "rz").unwrap_err().to_string();
        assert!(error.contains("'z'") && error.contains("r read, a add, u update, p process"), "{error}");
    }

    #[test]
    fn the_help_of_each_kind_lists_its_letters() {
        let command = Cli::command();
        let sas = command.find_subcommand("sas").unwrap();
        let table = [
            ("account", "permissions", ACCOUNT),
            ("account", "services", SERVICES),
            ("account", "resource_types", RESOURCE_TYPES),
            ("container", "permissions", CONTAINER),
            ("blob", "permissions", BLOB),
            ("queue", "permissions", QUEUE),
            ("table", "permissions", TABLE),
            ("share", "permissions", SHARE),
            ("file", "permissions", FILE),
        ];
        for (kind, flag, known) in table {
            let kind = sas.find_subcommand(kind).unwrap();
            let argument = kind.get_arguments().find(|argument| argument.get_id() == flag).unwrap();
            let help = argument.get_help().unwrap().to_string().replace('\n', " ");
            assert!(help.ends_with(&listed(known)), "{} --{flag}: {help}", kind.get_name());
        }
    }
}
