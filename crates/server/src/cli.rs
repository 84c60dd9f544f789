//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use crate::settings::Settings;

/// Azure Storage as one program: Blob, Queue, Table and File on your own disk.
#[derive(Parser, Debug)]
#[command(name = "lazuli", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(after_help = "\
Start with `lazuli serve`: it creates ./lazuli-data, serves the development account on 127.0.0.1, and prints a \
connection string for your SDK. `lazuli serve --help` lists every setting; each is also an environment variable and a \
key of the TOML file named by --config.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run the server
    #[command(after_help = "\
Examples:
  lazuli serve
  lazuli serve --data-dir /srv/lazuli --listen 0.0.0.0 --account myaccount=BASE64KEY
  lazuli serve --blob-port 0 --admin-port 0 --durability memory
  lazuli serve --config lazuli.toml

A flag wins over its environment variable, that over the file, and that over the default.")]
    Serve(Box<ServeArgs>),
    /// Verify every row and every byte of a data directory that nobody serves
    #[command(after_help = "Exit code: 0 clean, 1 damaged or not readable, 2 wrong usage.")]
    Check(CheckArgs),
    /// Copy a consistent state into a new directory, also while the server runs
    #[command(after_help = "A backup is a data directory of its own: `lazuli check --data-dir DIR` verifies it.")]
    Backup(BackupArgs),
    /// Make a data directory out of a backup
    Restore(RestoreArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
}

#[derive(clap::Args, Debug)]
pub(crate) struct ServeArgs {
    /// TOML file with any of the settings below, named like the flags
    #[arg(long, env = "LAZULI_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// Which data directory a command is about.
#[derive(clap::Args, Debug)]
pub(crate) struct Place {
    /// The data directory [default: ./lazuli-data]
    #[arg(long, env = "LAZULI_DATA_DIR", value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// TOML file that may name it
    #[arg(long, env = "LAZULI_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(clap::Args, Debug)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args, Debug)]
pub(crate) struct BackupArgs {
    #[command(flatten)]
    pub(crate) place: Place,
    /// The directory to make; must not exist or be empty
    #[arg(long, value_name = "DIR")]
    pub(crate) to: PathBuf,
}

#[derive(clap::Args, Debug)]
pub(crate) struct RestoreArgs {
    #[command(flatten)]
    pub(crate) place: Place,
    /// The backup to read; stays as it is
    #[arg(long, value_name = "DIR")]
    pub(crate) from: PathBuf,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
