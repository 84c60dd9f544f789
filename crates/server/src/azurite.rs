//! The flags of Azurite, so that a script which starts it needs only another name: **one table**, a row each, with what it
//! sets here or why it sets nothing.
//!
//! Invariant: a flag acts, or says on standard error that it does not, or is refused; none is ignored in silence. The rows
//! are those of `--help` of `azurite`, `azurite-blob`, `azurite-queue` and `azurite-table`, which a test compares.

use std::{
    ffi::OsString,
    net::{IpAddr, Ipv4Addr, ToSocketAddrs as _},
    path::Path,
};

use anyhow::{Context as _, Result, bail};
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::{
    config::DATA_DIR,
    origins::Origins,
    settings::{Durability, LogLevel, RequestLog, Settings},
};

/// One flag.
struct Row {
    long: &'static str,
    short: Option<char>,
    /// The name of its value; without one it is a switch.
    value: Option<&'static str>,
    does: Does,
}

/// What a flag does here.
enum Does {
    /// It makes this setting of ours.
    Sets(&'static str, fn(&mut Settings, &str) -> Result<()>),
    /// It makes this setting of ours, and something is to be said about it.
    SetsAndSays(&'static str, fn(&mut Settings, &str) -> Result<()>, &'static str),
    /// Nothing, for this reason.
    Nothing(&'static str),
}

const IDLE: &str = "a connection that is kept may be idle for 60 seconds";

const fn sets(
    long: &'static str,
    value: Option<&'static str>,
    flag: &'static str,
    set: fn(&mut Settings, &str) -> Result<()>,
) -> Row {
    Row { long, short: None, value, does: Does::Sets(flag, set) }
}

const fn nothing(long: &'static str, value: Option<&'static str>, reason: &'static str) -> Row {
    Row { long, short: None, value, does: Does::Nothing(reason) }
}

const fn short(letter: char, row: Row) -> Row {
    Row { short: Some(letter), ..row }
}

const TABLE: &[Row] = &[
    sets("blobHost", Some("HOST"), "blob-listen", |settings, host| {
        settings.blob_listen = vec![address(host)?];
        Ok(())
    }),
    sets("blobPort", Some("PORT"), "blob-port", |settings, port| {
        settings.blob_port = Some(number(port)?);
        Ok(())
    }),
    nothing("blobKeepAliveTimeout", Some("SECONDS"), IDLE),
    sets("queueHost", Some("HOST"), "queue-listen", |settings, host| {
        settings.queue_listen = vec![address(host)?];
        Ok(())
    }),
    sets("queuePort", Some("PORT"), "queue-port", |settings, port| {
        settings.queue_port = Some(number(port)?);
        Ok(())
    }),
    nothing("queueKeepAliveTimeout", Some("SECONDS"), IDLE),
    sets("tableHost", Some("HOST"), "table-listen", |settings, host| {
        settings.table_listen = vec![address(host)?];
        Ok(())
    }),
    sets("tablePort", Some("PORT"), "table-port", |settings, port| {
        settings.table_port = Some(number(port)?);
        Ok(())
    }),
    nothing("tableKeepAliveTimeout", Some("SECONDS"), IDLE),
    // Azurite's folder may hold other things, its own files among them: ours get a directory in it.
    short(
        'l',
        sets("location", Some("DIR"), "data-dir", |settings, folder| {
            settings.data_dir = Some(Path::new(folder).join(Path::new(DATA_DIR).file_name().unwrap_or_default()));
            Ok(())
        }),
    ),
    short(
        's',
        sets("silent", None, "request-log", |settings, _| {
            settings.request_log = Some(RequestLog::Off);
            Ok(())
        }),
    ),
    short('L', nothing("loose", None, "headers and parameters that no operation knows are ignored always")),
    nothing("skipApiVersionCheck", None, "versions that are newer than this program are served always"),
    nothing(
        "disableProductStyleUrl",
        None,
        "an account is read from a host only of the form ACCOUNT.blob.localhost, ACCOUNT.blob.core.windows.net or with a \
         --domain",
    ),
    sets("oauth", Some("LEVEL"), "bearer-unsigned", |settings, level| {
        if level != "basic" {
            bail!("there is only the level basic, and not {level:?}");
        }
        settings.bearer_unsigned = Some(true);
        Ok(())
    }),
    sets("cert", Some("FILE"), "tls-cert", |settings, file| {
        settings.tls_cert = Some(file.into());
        Ok(())
    }),
    sets("key", Some("FILE"), "tls-key", |settings, file| {
        settings.tls_key = Some(file.into());
        Ok(())
    }),
    nothing("pwd", Some("PASSWORD"), "certificate and key are read in PEM, without a password"),
    sets("inMemoryPersistence", None, "durability", |settings, _| {
        settings.durability = Some(Durability::Memory);
        Ok(())
    }),
    nothing("extentMemoryLimit", Some("MEGABYTES"), "what is kept in memory has no limit of its own"),
    Row {
        long: "debug",
        short: Some('d'),
        value: Some("FILE"),
        does: Does::SetsAndSays(
            "log-level",
            |settings, _| {
                settings.log_level = Some(LogLevel::Debug);
                Ok(())
            },
            "sets --log-level debug, and its file is not written: the log goes to standard error",
        ),
    },
    nothing("disableTelemetry", None, "nothing is ever collected"),
];

/// The flags of Azurite that were given, in the order of the table.
#[derive(Clone, Debug, Default)]
pub(crate) struct AzuriteFlags(Vec<(&'static str, String)>);

impl AzuriteFlags {
    /// True when one of them says on which port something is served.
    pub(crate) fn choose_ports(&self) -> bool {
        self.0.iter().any(|(name, _)| name.ends_with("Port"))
    }

    /// Makes the settings that they mean. Returns what there is to say.
    ///
    /// # Errors
    /// A value is wrong, or the same is said in our words too.
    pub(crate) fn apply(&self, settings: &mut Settings, origins: &mut Origins) -> Result<Vec<String>> {
        let given = |long: &str| self.0.iter().any(|(name, _)| *name == long);
        if given("inMemoryPersistence") && given("location") {
            bail!("--inMemoryPersistence keeps nothing on disk, so --location cannot be given with it");
        }
        if given("pwd") && !given("key") {
            bail!(
                "--pwd: a certificate in a .pfx file is not read; make PEM files of it with `openssl pkcs12 -in FILE.pfx \
                 -out cert.pem -nokeys` and `-out key.pem -nocerts -nodes`, and give them with --cert and --key"
            );
        }
        let mut said = Vec::new();
        for (long, value) in &self.0 {
            let Some(row) = TABLE.iter().find(|row| row.long == *long) else { continue };
            let (flag, set) = match row.does {
                Does::Nothing(reason) => {
                    said.push(format!("--{long} has no effect: {reason}"));
                    continue;
                }
                Does::Sets(flag, set) => (flag, set),
                Does::SetsAndSays(flag, set, what) => {
                    said.push(format!("--{long} {what}"));
                    (flag, set)
                }
            };
            if let Some(ours) = origins.on_the_command_line(flag) {
                bail!("--{long} and {ours} set the same; give one of them");
            }
            set(settings, value).with_context(|| format!("--{long}"))?;
            origins.made_by(flag, &if *long == "oauth" { "--oauth basic".to_owned() } else { format!("--{long}") });
        }
        Ok(said)
    }
}

/// What its variables have to say here.
pub(crate) fn variables(is_set: impl Fn(&str) -> bool) -> Option<String> {
    is_set("AZURITE_DB").then(|| "AZURITE_DB has no effect: the data is kept in the data directory".to_owned())
}

/// The arguments with the word `serve` where Azurite needs no word, and with its other ways to ask for the version.
pub(crate) fn completed(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.collect();
    let first = arguments.get(1).map(|first| first.to_string_lossy().into_owned());
    match first.as_deref() {
        Some("-h" | "--help" | "-V" | "--version") | None => {}
        Some("help") => replace_first(&mut arguments, "--help"),
        Some("-v" | "version") => replace_first(&mut arguments, "--version"),
        Some(flag) if flag.starts_with('-') => arguments.insert(1, "serve".into()),
        Some(_) => {}
    }
    arguments
}

fn replace_first(arguments: &mut [OsString], word: &str) {
    if let Some(first) = arguments.get_mut(1) {
        *first = word.into();
    }
}

/// The address of a host; of several the first, as Azurite does it.
fn address(host: &str) -> Result<IpAddr> {
    if host == "localhost" {
        // Where it means both families, one of them may not work.
        return Ok(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    if let Ok(address) = host.trim_matches(['[', ']']).parse() {
        return Ok(address);
    }
    let found = (host, 0).to_socket_addrs().ok().and_then(|mut found| found.next());
    Ok(found.with_context(|| format!("{host:?} is neither an address nor a host that is known here"))?.ip())
}

fn number(port: &str) -> Result<u16> {
    port.parse().ok().with_context(|| format!("{port:?} is no port"))
}

impl clap::FromArgMatches for AzuriteFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = TABLE.iter().filter_map(|row| match row.value {
            Some(_) => matches.get_one::<String>(row.long).map(|value| (row.long, value.clone())),
            None => matches.get_flag(row.long).then(|| (row.long, String::new())),
        });
        Ok(Self(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for AzuriteFlags {
    fn augment_args(command: Command) -> Command {
        TABLE.iter().fold(command, |command, row| {
            let argument = Arg::new(row.long).long(row.long).help(row.help());
            let argument = argument.help_heading("Flags of Azurite").hide_short_help(true);
            let argument = match row.value {
                Some(name) => argument.value_name(name).action(ArgAction::Set),
                None => argument.action(ArgAction::SetTrue),
            };
            command.arg(match row.short {
                Some(letter) => argument.short(letter),
                None => argument,
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl Row {
    fn help(&self) -> String {
        match (&self.does, self.long) {
            (Does::Nothing(_), _) => "No effect".to_owned(),
            (Does::Sets(..), "location") => "As --data-dir DIR/lazuli-data".to_owned(),
            (Does::Sets(..), "oauth") => "With basic: as --bearer-unsigned".to_owned(),
            (Does::Sets(..), "silent") => "As --request-log off".to_owned(),
            (Does::Sets(..), "inMemoryPersistence") => "As --durability memory".to_owned(),
            (Does::SetsAndSays(..), "debug") => "As --log-level debug; the file is not written".to_owned(),
            (Does::Sets(flag, _) | Does::SetsAndSays(flag, ..), _) => format!("As --{flag}"),
        }
    }
}

#[cfg(test)]
mod tests;
