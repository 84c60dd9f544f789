//! Where a setting came from: the command line, the environment or the file. A value that is wrong is blamed on the place
//! where somebody has to change it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use clap::{ArgMatches, Command, parser::ValueSource};

/// The origin of each setting, by its flag without dashes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins {
    flags: BTreeMap<String, String>,
    variables: BTreeMap<String, String>,
    file: Option<PathBuf>,
}

impl Origins {
    /// What a command was given.
    pub(crate) fn of(matches: &ArgMatches, command: &Command) -> Self {
        let mut origins = Self::default();
        for argument in command.get_arguments() {
            let Some(flag) = argument.get_long() else { continue };
            if !matches.ids().any(|id| id == argument.get_id()) {
                continue;
            }
            match (matches.value_source(argument.get_id().as_str()), argument.get_env()) {
                (Some(ValueSource::CommandLine), _) => {
                    origins.flags.insert(flag.to_owned(), format!("--{flag}"));
                }
                (Some(ValueSource::EnvVariable), Some(variable)) => {
                    origins.variables.insert(flag.to_owned(), variable.to_string_lossy().into_owned());
                }
                _ => {}
            }
        }
        origins
    }

    /// These, with a file that says the rest.
    pub(crate) fn and_file(mut self, file: Option<&Path>) -> Self {
        self.file = file.map(Path::to_owned);
        self
    }

    /// A setting that was made by another flag.
    pub(crate) fn made_by(&mut self, flag: &str, other: &str) {
        self.flags.insert(flag.to_owned(), other.to_owned());
    }

    /// How the command line says it, if it does.
    pub(crate) fn on_the_command_line(&self, flag: &str) -> Option<&str> {
        self.flags.get(flag).map(String::as_str)
    }

    /// The name by which whoever set it knows it: `--workers`, `LAZULI_WORKERS`, or `lazuli.toml, workers`.
    pub(crate) fn name(&self, flag: &str) -> String {
        let named = self.flags.get(flag).or_else(|| self.variables.get(flag));
        match (named, &self.file) {
            (Some(name), _) => name.clone(),
            (None, Some(file)) => format!("{}, {flag}", file.display()),
            (None, None) => format!("--{flag}"),
        }
    }
}
