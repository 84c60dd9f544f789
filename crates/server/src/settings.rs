//! What can be set, in **one table**: the flags and their help, the environment variables, the keys of the file, and
//! `docs/configuration.md` all come from it.
//!
//! Nothing is checked or defaulted here: a setting that was not set stays `None` (or empty), so that a flag wins over
//! the environment, that over the file, and that over the default, which [`crate::config`] knows.

use std::{fmt, marker::PhantomData, net::IpAddr, path::PathBuf};

use serde::{
    Deserialize, Deserializer,
    de::{IntoDeserializer as _, SeqAccess, Visitor, value::SeqAccessDeserializer},
};

use crate::byte_size::ByteSize;

macro_rules! settings {
    ($(
        $(#[doc = $help:literal])+
        $field:ident: $type:ty, $flag:literal, $env:literal, $value:literal $(, [$($extra:tt)+])?;
    )*) => {
        /// Everything that can be set, as far as it was.
        #[derive(clap::Args, Clone, Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
        pub(crate) struct Settings {
            $(
                $(#[doc = $help])+
                #[arg(long = $flag, env = $env, value_name = $value $(, $($extra)+)?)]
                #[serde(deserialize_with = "Silent::of_file")]
                pub(crate) $field: $type,
            )*
        }

        impl Settings {
            /// These settings, and where they are silent the others.
            pub(crate) fn or(self, other: Self) -> Self {
                Self { $($field: self.$field.or_else_other(other.$field),)* }
            }
        }
    };
}

settings! {
    /// Where the data lives; created when missing [default: ./lazuli-data]
    data_dir: Option<PathBuf>, "data-dir", "LAZULI_DATA_DIR", "DIR";
    /// Address to listen on, IPv4 or IPv6; repeatable [default: 127.0.0.1]
    listen: Vec<IpAddr>, "listen", "LAZULI_LISTEN", "ADDRESS", [value_delimiter = ','];
    /// Address of the Blob service, where it differs from that of the others; repeatable [default: --listen]
    blob_listen: Vec<IpAddr>, "blob-listen", "LAZULI_BLOB_LISTEN", "ADDRESS", [value_delimiter = ','];
    /// Address of the Queue service; repeatable [default: --listen]
    queue_listen: Vec<IpAddr>, "queue-listen", "LAZULI_QUEUE_LISTEN", "ADDRESS", [value_delimiter = ','];
    /// Address of the Table service; repeatable [default: --listen]
    table_listen: Vec<IpAddr>, "table-listen", "LAZULI_TABLE_LISTEN", "ADDRESS", [value_delimiter = ','];
    /// Port of the Blob service; 0 takes a free one [default: 10000]
    blob_port: Option<u16>, "blob-port", "LAZULI_BLOB_PORT", "PORT";
    /// Port of the Queue service [default: 10001]
    queue_port: Option<u16>, "queue-port", "LAZULI_QUEUE_PORT", "PORT";
    /// Port of the Table service [default: 10002]
    table_port: Option<u16>, "table-port", "LAZULI_TABLE_PORT", "PORT";
    /// Port of the File service over REST [default: 10003]
    file_port: Option<u16>, "file-port", "LAZULI_FILE_PORT", "PORT";
    /// Port of the File service over SMB [default: 10445]
    smb_port: Option<u16>, "smb-port", "LAZULI_SMB_PORT", "PORT";
    /// Whether SMB clients must encrypt; who must speaks 3.0 or newer [default: required, on loopback optional]
    smb_encryption: Option<SmbEncryption>, "smb-encryption", "LAZULI_SMB_ENCRYPTION", "WHICH";
    /// Port of health, metrics and administration; plain HTTP [default: 10009]
    admin_port: Option<u16>, "admin-port", "LAZULI_ADMIN_PORT", "PORT";
    /// Address of the admin port [default: 127.0.0.1]
    admin_listen: Option<IpAddr>, "admin-listen", "LAZULI_ADMIN_LISTEN", "ADDRESS";
    /// File that says as JSON which ports are open, for who starts the server with port 0; written when they are, and
    /// taken away at a clean end [default: none]
    ports_file: Option<PathBuf>, "ports-file", "LAZULI_PORTS_FILE", "FILE";
    /// When a write is acknowledged: when it would survive a power failure (sync), when the kernel has it (relaxed), or
    /// never kept at all (memory) [default: sync]
    durability: Option<Durability>, "durability", "LAZULI_DURABILITY", "MODE";
    /// Free space of the disk below which writes are refused, such as 1GiB: deletes and the background need some to give
    /// space back [default: 256MiB]
    disk_reserve: Option<ByteSize>, "disk-reserve", "LAZULI_DISK_RESERVE", "SIZE";
    /// An account and its keys in Base64; repeatable. In the environment several are separated by semicolons, and
    /// AZURITE_ACCOUNTS (name:key1:key2;…) is understood too [default: the development account, on loopback only]
    account: Vec<String>, "account", "LAZULI_ACCOUNT", "NAME=KEY1[,KEY2]",
        [value_delimiter = ';', hide_env_values = true];
    /// Serve the development account, whose key everybody knows, on addresses that others can reach
    expose_development_account: Option<bool>, "expose-development-account", "LAZULI_EXPOSE_DEVELOPMENT_ACCOUNT",
        "BOOL", [num_args = 0..=1, default_missing_value = "true", require_equals = true];
    /// Allow containers to be public: to be read without a credential, as far as their own level says [default: true]
    public_access: Option<bool>, "public-access", "LAZULI_PUBLIC_ACCESS", "BOOL",
        [num_args = 0..=1, default_missing_value = "true", require_equals = true];
    /// Issuer whose bearer tokens are accepted, as it stands in the claim iss; repeatable [default: none]
    bearer_issuer: Vec<String>, "bearer-issuer", "LAZULI_BEARER_ISSUER", "URL", [value_delimiter = ','];
    /// Further audience of bearer tokens; repeatable [default: https://storage.azure.com and the account's endpoints]
    bearer_audience: Vec<String>, "bearer-audience", "LAZULI_BEARER_AUDIENCE", "TEXT", [value_delimiter = ','];
    /// The keys of the issuers, a JSON Web Key Set: a file, or an http or https URL; read again from time to time
    bearer_keys: Option<String>, "bearer-keys", "LAZULI_BEARER_KEYS", "FILE|URL";
    /// What a role or scope of a token allows: NAME=ROLE, another name of a known role, or NAME=SERVICE:ACTIONS, such as
    /// writers=blob:read,write; repeatable. In the environment several are separated by semicolons
    bearer_role: Vec<String>, "bearer-role", "LAZULI_BEARER_ROLE", "NAME=MEANING", [value_delimiter = ';'];
    /// Accept bearer tokens without looking at their signatures; for development, on loopback only
    bearer_unsigned: Option<bool>, "bearer-unsigned", "LAZULI_BEARER_UNSIGNED", "BOOL",
        [num_args = 0..=1, default_missing_value = "true", require_equals = true];
    /// A domain of your own; repeatable: with example.com, the account mine is also at mine.blob.example.com. Always
    /// served: the account in the path, ACCOUNT.blob.localhost and ACCOUNT.blob.core.windows.net
    domain: Vec<String>, "domain", "LAZULI_DOMAIN", "NAME", [value_delimiter = ','];
    /// Certificate chain in PEM: the service ports speak HTTPS; read again on SIGHUP
    tls_cert: Option<PathBuf>, "tls-cert", "LAZULI_TLS_CERT", "FILE";
    /// Private key of the certificate in PEM
    tls_key: Option<PathBuf>, "tls-key", "LAZULI_TLS_KEY", "FILE";
    /// From where blobs may be copied besides this server: from public addresses, also from internal ones (any), or from
    /// nowhere (none) [default: public]
    copy_sources: Option<CopySources>, "copy-sources", "LAZULI_COPY_SOURCES", "WHICH";
    /// An account whose name at core.windows.net is not the account here but the one in the cloud, when blobs are copied
    /// from it: for a migration; repeatable [default: every account of this server is the one here]
    copy_sources_remote: Vec<String>, "copy-sources-remote", "LAZULI_COPY_SOURCES_REMOTE", "ACCOUNT",
        [value_delimiter = ','];
    /// Form of the log on standard error [default: text]
    log: Option<LogFormat>, "log", "LAZULI_LOG", "FORMAT";
    /// Least severe events that are logged [default: info]
    log_level: Option<LogLevel>, "log-level", "LAZULI_LOG_LEVEL", "LEVEL";
    /// Requests that are logged: none (off), those that failed on our side (errors), or every one (all)
    /// [default: errors]
    request_log: Option<RequestLog>, "request-log", "LAZULI_REQUEST_LOG", "WHICH";
    /// Threads that answer requests [default: one a core, 2 to 8]
    workers: Option<u32>, "workers", "LAZULI_WORKERS", "COUNT";
    /// Connections at once, of all services together. Idle ones give way to new ones; when none is idle, more are answered
    /// 503 and closed. Never more than the limit of open files leaves [default: 4096]
    max_connections: Option<u32>, "max-connections", "LAZULI_MAX_CONNECTIONS", "COUNT";
    /// Requests in work at once on each service; more are answered 503 ServerBusy [default: 4096]
    max_requests: Option<u32>, "max-requests", "LAZULI_MAX_REQUESTS", "COUNT";
}

/// When a write is acknowledged.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Durability {
    #[default]
    Sync,
    Relaxed,
    Memory,
}

impl Durability {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Relaxed => "relaxed",
            Self::Memory => "memory",
        }
    }
}

/// From where blobs may be copied besides this server.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CopySources {
    #[default]
    Public,
    Any,
    None,
}

/// Whether SMB clients must encrypt.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SmbEncryption {
    Required,
    Optional,
}

/// The form of the log.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

/// The least severe events of the log.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LogLevel {
    Error,
    Warn,
    #[default]
    Info,
    Debug,
    Trace,
}

/// Which requests are logged.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RequestLog {
    Off,
    #[default]
    Errors,
    All,
}

/// A setting that can be silent.
trait Silent: Sized {
    fn or_else_other(self, other: Self) -> Self;

    /// Reads what the file says.
    fn of_file<'de, D: Deserializer<'de>>(file: D) -> Result<Self, D::Error>;
}

impl<T: for<'de> Deserialize<'de>> Silent for Option<T> {
    fn or_else_other(self, other: Self) -> Self {
        self.or(other)
    }

    fn of_file<'de, D: Deserializer<'de>>(file: D) -> Result<Self, D::Error> {
        T::deserialize(file).map(Some)
    }
}

impl<T: for<'de> Deserialize<'de>> Silent for Vec<T> {
    fn or_else_other(self, other: Self) -> Self {
        if self.is_empty() { other } else { self }
    }

    fn of_file<'de, D: Deserializer<'de>>(file: D) -> Result<Self, D::Error> {
        file.deserialize_any(OneOrMany(PhantomData))
    }
}

/// What is repeatable may also stand alone, as on the command line. An account that stands alone must be no error: the
/// message would show its key.
struct OneOrMany<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMany<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of texts")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
        T::deserialize(text.into_deserializer()).map(|one| vec![one])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list))
    }
}

#[cfg(test)]
mod tests {
    use clap::Args;
    use expect_test::expect_file;

    use super::*;

    #[test]
    fn what_is_set_first_wins() {
        let flags = Settings { blob_port: Some(1), listen: vec![[127, 0, 0, 2].into()], ..Settings::default() };
        let file = toml::from_str("blob-port = 2\nqueue-port = 3\nlisten = ['::1']\nlog = 'json'\n").unwrap();
        let merged = flags.or(file);
        assert_eq!((merged.blob_port, merged.queue_port), (Some(1), Some(3)));
        assert_eq!((merged.listen.len(), merged.log), (1, Some(LogFormat::Json)));
        assert_eq!(merged.listen.first().unwrap().to_string(), "127.0.0.2");
    }

    #[test]
    fn what_is_repeatable_may_stand_alone() {
        let read = |text: &str| toml::from_str::<Settings>(text).unwrap();
        assert_eq!(read("listen = '::1'").listen, read("listen = ['::1']").listen);
        assert_eq!(read("account = 'abc=AQI='").account, ["abc=AQI="]);
        assert_eq!(read("account = ['abc=AQI=', 'def=AQI=']").account, ["abc=AQI=", "def=AQI="]);
    }

    #[test]
    fn a_file_with_an_unknown_key_is_refused() {
        for text in
            ["blob-prot = 2", "durability = 'never'", "listen = 'localhost'", "listen = 1", "account = [['a=AQI=']]"]
        {
            assert!(toml::from_str::<Settings>(text).is_err(), "{text}");
        }
    }

    /// Run with `UPDATE_EXPECT=1` after a change of the table.
    #[test]
    fn the_document_says_what_the_table_says() {
        let mut text = String::from(
            "# Configuration\n\nMade from the table in `crates/server/src/settings.rs`. A flag wins over its environment \
             variable, that over the key in the file named by `--config` (TOML; the key is the flag without its dashes), \
             and that over the default.\n\n| flag | environment | what it sets |\n|---|---|---|\n",
        );
        let command = Settings::augment_args(clap::Command::new("serve"));
        for argument in command.get_arguments() {
            let (Some(flag), Some(env)) = (argument.get_long(), argument.get_env()) else { continue };
            let value = argument.get_value_names().unwrap_or_default().join(" ").replace('|', "\\|");
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            let help = help.replace('[', "(").replace(']', ")");
            text.push_str(&format!("| `--{flag} {value}` | `{}` | {help} |\n", env.to_string_lossy()));
        }
        expect_file!["../../../docs/configuration.md"].assert_eq(&text);
    }
}
