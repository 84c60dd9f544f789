//! The command line of `lazuli sas`: each kind of signature with the flags that it has, and with no others.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(clap::Args, Debug)]
pub(crate) struct SasArgs {
    #[command(subcommand)]
    pub(crate) resource: SasResource,
}

#[derive(Subcommand, Debug)]
pub(crate) enum SasResource {
    /// Several services at once
    Account(AccountSas),
    /// A container and everything in it
    Container(ContainerSas),
    /// A blob
    Blob(BlobSas),
    /// A queue
    Queue(QueueSas),
    /// A table, or a range of its entities
    Table(TableSas),
    /// A share and everything in it
    Share(ShareSas),
    /// A file
    File(FileSas),
}

#[derive(clap::Args, Debug)]
pub(crate) struct AccountSas {
    /// Letters of the services: b blob, q queue, t table, f file
    #[arg(long, value_name = "LETTERS", default_value = "bqtf")]
    pub(crate) services: String,
    /// Letters of the kinds of resources: s service, c container, o object
    #[arg(long, value_name = "LETTERS", default_value = "sco")]
    pub(crate) resource_types: String,
    /// What it allows, as letters: r read, w write, d delete, x delete a version, y delete for good, l list, a add,
    /// c create, u update, p process, t tags, f find, i immutability
    #[arg(long, value_name = "LETTERS")]
    pub(crate) permissions: String,
    #[command(flatten)]
    pub(crate) common: SasCommon,
}

#[derive(clap::Args, Debug)]
pub(crate) struct ContainerSas {
    pub(crate) container: String,
    /// What it allows, as letters: r read, a add, c create, w write, d delete, x delete a version, y delete for good,
    /// l list, t tags, f find, m move, e execute, o ownership, p permissions, i immutability
    #[arg(long, value_name = "LETTERS")]
    pub(crate) permissions: Option<String>,
    #[command(flatten)]
    pub(crate) policy: SasPolicy,
    #[command(flatten)]
    pub(crate) answers: SasAnswers,
    #[command(flatten)]
    pub(crate) common: SasCommon,
}

#[derive(clap::Args, Debug)]
pub(crate) struct BlobSas {
    pub(crate) container: String,
    pub(crate) blob: String,
    /// What it allows, as letters: r read, a add, c create, w write, d delete, x delete a version, y delete for good,
    /// t tags, m move, e execute, o ownership, p permissions, i immutability
    #[arg(long, value_name = "LETTERS")]
    pub(crate) permissions: Option<String>,
    #[command(flatten)]
    pub(crate) policy: SasPolicy,
    #[command(flatten)]
    pub(crate) answers: SasAnswers,
    #[command(flatten)]
    pub(crate) common: SasCommon,
}

#[derive(clap::Args, Debug)]
pub(crate) struct QueueSas {
    pub(crate) queue: String,
    /// What it allows, as letters: r read, a add, u update, p process
    #[arg(long, value_name = "LETTERS")]
    pub(crate) permissions: Option<String>,
    #[command(flatten)]
    pub(crate) policy: SasPolicy,
    #[command(flatten)]
    pub(crate) common: SasCommon,
}

#[derive(clap::Args, Debug)]
pub(crate) struct TableSas {
    pub(crate) table: String,
    /// What it allows, as letters: r query, a add, u update, d delete
    #[arg(long, value_name = "LETTERS")]
    pub(crate) permissions: Option<String>,
    /// The first partition
    #[arg(long, value_name = "KEY")]
    pub(crate) start_partition: Option<String>,
    /// The first row of it
    #[arg(long, value_name = "KEY", requires = "start_partition")]
    pub(crate) start_row: Option<String>,
    /// The last partition
    #[arg(long, value_name = "KEY")]
    pub(crate) end_partition: Option<String>,
    /// The last row of it
    #[arg(long, value_name = "KEY", requires = "end_partition")]
    pub(crate) end_row: Option<String>,
    #[command(flatten)]
    pub(crate) policy: SasPolicy,
    #[command(flatten)]
    pub(crate) common: SasCommon,
}

#[derive(clap::Args, Debug)]
pub(crate) struct ShareSas {
    pub(crate) share: String,
    /// What it allows, as letters: r read, c create, w write, d delete, l list
    #[arg(long, value_name = "LETTERS")]
    pub(crate) permissions: Option<String>,
    #[command(flatten)]
    pub(crate) policy: SasPolicy,
    #[command(flatten)]
    pub(crate) answers: SasAnswers,
    #[command(flatten)]
    pub(crate) common: SasCommon,
}

#[derive(clap::Args, Debug)]
pub(crate) struct FileSas {
    pub(crate) share: String,
    pub(crate) path: String,
    /// What it allows, as letters: r read, c create, w write, d delete
    #[arg(long, value_name = "LETTERS")]
    pub(crate) permissions: Option<String>,
    #[command(flatten)]
    pub(crate) policy: SasPolicy,
    #[command(flatten)]
    pub(crate) answers: SasAnswers,
    #[command(flatten)]
    pub(crate) common: SasCommon,
}

/// What every kind has.
#[derive(clap::Args, Debug)]
pub(crate) struct SasCommon {
    /// Until when: a time such as 2030-11-15T08:00:00Z, or 30m, 2h, 7d from now
    #[arg(long, value_name = "TIME")]
    pub(crate) expiry: Option<String>,
    /// From when on
    #[arg(long, value_name = "TIME")]
    pub(crate) start: Option<String>,
    /// The address or range of addresses it is for
    #[arg(long, value_name = "ADDRESS[-ADDRESS]")]
    pub(crate) ip: Option<String>,
    /// https, or https,http
    #[arg(long, value_name = "PROTOCOLS", value_parser = ["https", "https,http"])]
    pub(crate) protocol: Option<String>,
    /// Print a URL: the service's endpoint with the account, to which the resource is added
    #[arg(long, value_name = "ENDPOINT")]
    pub(crate) url: Option<String>,
    /// The account [default: devstoreaccount1]
    #[arg(long, value_name = "NAME")]
    pub(crate) account: Option<String>,
    /// Its key in Base64 [default: the one of the data directory]
    #[arg(long, value_name = "KEY", env = "LAZULI_ACCOUNT_KEY", hide_env_values = true)]
    pub(crate) account_key: Option<String>,
    /// The data directory [default: ./lazuli-data]
    #[arg(long, env = "LAZULI_DATA_DIR", value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// TOML file that may name it
    #[arg(long, env = "LAZULI_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// What a signature of one service can leave to the service.
#[derive(clap::Args, Debug)]
pub(crate) struct SasPolicy {
    /// The stored access policy that says the rest
    #[arg(long, value_name = "ID")]
    pub(crate) policy: Option<String>,
}

/// What a signature can say about answers.
#[derive(clap::Args, Debug)]
pub(crate) struct SasAnswers {
    /// Cache-Control of answers
    #[arg(long, value_name = "TEXT")]
    pub(crate) cache_control: Option<String>,
    /// Content-Disposition of answers
    #[arg(long, value_name = "TEXT")]
    pub(crate) content_disposition: Option<String>,
    /// Content-Encoding of answers
    #[arg(long, value_name = "TEXT")]
    pub(crate) content_encoding: Option<String>,
    /// Content-Language of answers
    #[arg(long, value_name = "TEXT")]
    pub(crate) content_language: Option<String>,
    /// Content-Type of answers
    #[arg(long, value_name = "TEXT")]
    pub(crate) content_type: Option<String>,
}
