//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use crate::{azurite::AzuriteFlags, settings::Settings};

mod sas;

pub(crate) use sas::*;

/// Azure Storage as one program: Blob, Queue, Table and File on your own disk.
#[derive(Parser, Debug)]
#[command(name = "lazuli", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(after_help = "\
Start with `lazuli serve`: it creates ./lazuli-data, serves the development account on 127.0.0.1, and prints a \
connection string for your SDK. The word serve may be left out before a flag, also before the flags of Azurite. `lazuli \
serve --help` lists every setting; each is also an environment variable and a \
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

A flag wins over its environment variable, that over the file, and that over the default. The flags of Azurite are \
understood too, and need no `serve` before them; docs/azurite.md lists what is different.")]
    Serve(Box<ServeArgs>),
    /// Verify every row and every byte of a data directory that nobody serves
    #[command(after_help = "Exit code: 0 clean, 1 damaged or not readable, 2 wrong usage.")]
    Check(CheckArgs),
    /// Copy a consistent state into a new directory, also while the server runs
    #[command(after_help = "A backup is a data directory of its own: `lazuli check --data-dir DIR` verifies it.")]
    Backup(BackupArgs),
    /// Make a data directory out of a backup
    Restore(RestoreArgs),
    /// Change the accounts that are kept in a data directory, also while the server runs
    #[command(after_help = "\
Accounts of the configuration (--account) are served too and stay as they are configured; one of them hides a kept one of \
the same name. Keys are printed by add, rotate-key and keys only.")]
    Account(AccountArgs),
    /// Print a shared access signature, or a URL with one
    #[command(after_help = "\
Examples:
  lazuli sas blob photos cat.png --permissions r --expiry 2h --url http://127.0.0.1:10000/devstoreaccount1
  lazuli sas container photos --policy readers
  lazuli sas account --services bq --resource-types sco --permissions rl --expiry 7d --account mine

The key is --account-key, that of the development account, or the first one that the data directory has for --account. \
Each kind has its own flags and letters: `lazuli sas blob --help` lists those of a blob.")]
    Sas(Box<SasArgs>),
    /// Write a self-signed certificate and its key, for development over HTTPS
    #[command(after_help = "\
Examples:
  lazuli cert
  lazuli serve --tls-cert lazuli-cert.pem --tls-key lazuli-key.pem
  lazuli cert --name storage.test --days 30 --force

Clients have to be told to trust lazuli-cert.pem, by a variable: REQUESTS_CA_BUNDLE for Python, SSL_CERT_FILE for Python with \
aio, NODE_EXTRA_CA_CERTS for Node.")]
    Cert(CertArgs),
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
    #[command(flatten)]
    pub(crate) azurite: AzuriteFlags,
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

#[derive(clap::Args, Debug)]
pub(crate) struct AccountArgs {
    #[command(subcommand)]
    pub(crate) command: AccountCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum AccountCommand {
    /// Add an account and print its keys
    Add {
        /// Its name: 3 to 24 lower-case letters and digits
        name: String,
        /// A key in Base64, twice for two [default: two fresh ones]
        #[arg(long, value_name = "KEY", env = "LAZULI_NEW_ACCOUNT_KEY", hide_env_values = true, value_delimiter = ',')]
        key: Vec<String>,
        /// Make the data directory if there is none
        #[arg(long)]
        create: bool,
        #[command(flatten)]
        place: Place,
    },
    /// List accounts: name, origin, number of keys
    List {
        #[command(flatten)]
        place: Place,
    },
    /// Print the keys of an account
    Keys {
        /// Its name
        name: String,
        #[command(flatten)]
        place: Place,
    },
    /// Take the keys of an account away; its data stays
    Remove {
        /// Its name
        name: String,
        #[command(flatten)]
        place: Place,
    },
    /// Replace a key and print the new one; what the old one signed is refused from then on
    RotateKey {
        /// The account's name
        name: String,
        /// Which key
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
        number: u8,
        /// The new key in Base64 [default: a fresh one]
        #[arg(long, value_name = "KEY", env = "LAZULI_NEW_ACCOUNT_KEY", hide_env_values = true)]
        key: Option<String>,
        #[command(flatten)]
        place: Place,
    },
}

#[derive(clap::Args, Debug)]
pub(crate) struct CertArgs {
    /// Where the certificate goes
    #[arg(long, value_name = "FILE", default_value = "lazuli-cert.pem")]
    pub(crate) cert: PathBuf,
    /// Where the private key goes; only its owner can read it
    #[arg(long, value_name = "FILE", default_value = "lazuli-key.pem")]
    pub(crate) key: PathBuf,
    /// A further host name or address; repeatable. Always in it: localhost, 127.0.0.1, ::1, *.blob.localhost and the like
    #[arg(long, value_name = "HOST")]
    pub(crate) name: Vec<String>,
    /// How long it is valid
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u16).range(1..=825))]
    pub(crate) days: u16,
    /// Replace files that exist
    #[arg(long)]
    pub(crate) force: bool,
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
