//! From the words of the command line to a command, and to where each of its settings came from.

use std::{error::Error as _, ffi::OsString};

use anyhow::{Result, anyhow};
use clap::{
    Command, CommandFactory as _, FromArgMatches as _,
    error::{ContextKind, ContextValue},
};

use crate::{
    azurite,
    cli::{Cli, Command as Wanted},
    environment,
    failure::misconfigured,
    origins::Origins,
};

/// Reads the command line of this process. Help, the version and wrong usage end it here.
pub(crate) fn read() -> Result<(Cli, Origins)> {
    let arguments = azurite::completed(std::env::args_os());
    let mut command = Cli::command();
    let matches = match command.try_get_matches_from_mut(&arguments) {
        Ok(matches) => matches,
        Err(error) => match blamed(&error, &command, &arguments, |name| std::env::var_os(name).is_some()) {
            Some(reason) => return Err(misconfigured(anyhow!(reason))),
            None => error.exit(),
        },
    };
    let origins = match matches.subcommand() {
        Some((name, matches)) => {
            command.find_subcommand(name).map(|command| Origins::of(matches, command)).unwrap_or_default()
        }
        None => Origins::default(),
    };
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    // Help was there before, and a shell that starts asks for completions whatever is set.
    if !matches!(cli.command, Wanted::Completions { .. }) {
        environment::check(std::env::vars_os()).map_err(misconfigured)?;
    }
    Ok((cli, origins))
}

/// What to say about a value that was not given by its flag, so that its variable has it.
fn blamed(
    error: &clap::Error,
    command: &Command,
    arguments: &[OsString],
    is_set: impl Fn(&str) -> bool,
) -> Option<String> {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else { return None };
    let flag = argument.split([' ', '=', '[']).next()?.strip_prefix("--")?;
    let on_the_command_line = arguments.iter().filter_map(|word| word.to_str()).any(|word| {
        word.strip_prefix("--")
            .and_then(|word| word.strip_prefix(flag))
            .is_some_and(|rest| matches!(rest, "") || rest.starts_with('='))
    });
    let variable = variable_of(command, flag).filter(|name| !on_the_command_line && is_set(name))?;
    let value = match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(value)) => format!("{value:?}"),
        _ => "its value".to_owned(),
    };
    let reason = match (error.get(ContextKind::ValidValue), error.source()) {
        (Some(ContextValue::Strings(known)), _) => format!("it is one of {}", known.join(", ")),
        (_, Some(source)) => source.to_string(),
        _ => error.kind().to_string(),
    };
    Some(format!("{variable}: {value} cannot be used: {reason}"))
}

/// The variable that stands for a flag of some command.
fn variable_of(command: &Command, flag: &str) -> Option<String> {
    let own = command.get_arguments().filter(|argument| argument.get_long() == Some(flag));
    let own = own.filter_map(|argument| argument.get_env()).next();
    own.map(|name| name.to_string_lossy().into_owned())
        .or_else(|| command.get_subcommands().find_map(|command| variable_of(command, flag)))
}
