//! The program `lazuli`: it reads the command line and says how it ended.
//!
//! Exit codes: 0 done, 1 failed (one line on standard error says why), 2 wrong usage or configuration.

mod accounts;
mod admin;
mod admin_client;
mod arguments;
mod azurite;
mod banner;
mod byte_size;
mod cli;
mod commands;
mod compose;
mod config;
#[cfg(test)]
mod copies_between_services;
mod engine;
mod environment;
#[cfg(test)]
mod everything;
mod failure;
mod files;
#[cfg(test)]
mod formats;
mod front_page;
mod host;
mod incarnation;
mod issuer_keys;
mod listen;
mod logging;
mod metrics;
mod origins;
mod outgoing;
mod output;
mod ports_file;
mod progress;
mod randomness;
mod scheduler;
mod serve;
mod settings;
mod tls;
mod upkeep;

use std::process::ExitCode;

use anyhow::Result;
use clap::CommandFactory;

use crate::{
    cli::{Cli, Command},
    origins::Origins,
};

/// A request makes some hundred small allocations, and what one thread allocates another often frees: this allocator is
/// made for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match arguments::read().and_then(|(cli, origins)| run(cli.command, origins)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => failure::ended(&error),
    }
}

/// False when the command has already said what is wrong.
fn run(command: Command, origins: Origins) -> Result<bool> {
    match command {
        Command::Serve(arguments) => serve::run(*arguments, origins).map(|()| true),
        Command::Check(arguments) => commands::check::run(arguments),
        Command::Backup(arguments) => commands::backup::run(arguments).map(|()| true),
        Command::Restore(arguments) => commands::restore::run(arguments).map(|()| true),
        Command::Account(arguments) => commands::account::run(arguments.command).map(|()| true),
        Command::Sas(arguments) => commands::sas::run(&arguments.resource).map(|()| true),
        Command::Cert(arguments) => commands::cert::run(&arguments).map(|()| true),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "lazuli", &mut script);
            output::print(&String::from_utf8_lossy(&script));
            Ok(true)
        }
    }
}
