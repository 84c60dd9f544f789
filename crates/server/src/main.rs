//! The program `lazuli`: it reads the command line and says how it ended.
//!
//! Exit codes: 0 done, 1 failed (one line on standard error says why), 2 wrong usage.

mod accounts;
mod admin;
mod admin_client;
mod banner;
mod cli;
mod commands;
mod compose;
mod config;
mod descriptors;
mod engine;
mod files;
mod host;
mod issuer_keys;
mod listen;
mod logging;
mod metrics;
mod outgoing;
mod output;
mod progress;
mod randomness;
mod serve;
mod settings;
mod tls;
mod upkeep;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::cli::{Cli, Command};

/// A request makes some hundred small allocations, and what one thread allocates another often frees: this allocator is
/// made for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Serve(arguments) => serve::run(*arguments).map(|()| true),
        Command::Check(arguments) => commands::check::run(arguments),
        Command::Backup(arguments) => commands::backup::run(arguments).map(|()| true),
        Command::Restore(arguments) => commands::restore::run(arguments).map(|()| true),
        Command::Account(arguments) => commands::account::run(arguments.command).map(|()| true),
        Command::Sas(arguments) => commands::sas::run(*arguments).map(|()| true),
        Command::Cert(arguments) => commands::cert::run(&arguments).map(|()| true),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "lazuli", &mut script);
            output::print(&String::from_utf8_lossy(&script));
            Ok(true)
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // Causes behind the first one, all on the same line.
            output::complain(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}
