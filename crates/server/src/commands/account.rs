//! `lazuli account`: the accounts that are kept in a data directory. Opens it, or asks the server that has it.

use std::{path::Path, sync::Arc};

use access::{AccountKey, Accounts, account::DEVELOPMENT_ACCOUNT, account::DEVELOPMENT_KEY};
use anyhow::{Context as _, Result, bail};
use store::Store;
use store_embedded::{EmbeddedEngine, OpenError};
use types::names::AccountName;

use crate::{
    admin::{self, ACCOUNTS_PATH, KEYS_PATH},
    admin_client,
    cli::{AccountCommand, Place},
    config,
    engine::{self, OpenExistingError},
    failure::misconfigured,
    files::DataDirectory,
    output, randomness,
    settings::Durability,
};

/// What is done to the accounts, whoever has them.
enum Change {
    List,
    Keys(AccountName),
    Add(AccountName, Vec<AccountKey>),
    Remove(AccountName),
    RotateKey(AccountName, usize, AccountKey),
}

pub(crate) fn run(command: AccountCommand) -> Result<()> {
    match command {
        AccountCommand::List { place } => {
            output::print(&apply(&place, false, &Change::List)?);
        }
        AccountCommand::Keys { place, name } => {
            output::print(&apply(&place, false, &Change::Keys(parse(&name)?))?);
        }
        AccountCommand::Add { place, name, key, create } => {
            let keys = if key.is_empty() {
                vec![randomness::account_key()?, randomness::account_key()?]
            } else {
                key.iter().map(|text| parse_key(text)).collect::<Result<_>>()?
            };
            apply(&place, create, &Change::Add(parse(&name)?, keys.clone()))?;
            output::print(&format!("the account {name} is added\n{}", shown(&keys)));
        }
        AccountCommand::Remove { place, name } => {
            apply(&place, false, &Change::Remove(parse(&name)?))?;
            output::print(&format!(
                "the account {name} is removed; its data stays and comes back with `account add`\n"
            ));
        }
        AccountCommand::RotateKey { place, name, number, key } => {
            let key = key.as_deref().map_or_else(randomness::account_key, parse_key)?;
            apply(&place, false, &Change::RotateKey(parse(&name)?, usize::from(number), key.clone()))?;
            output::print(&format!("key {number} of the account {name} is replaced\n{}", shown(&[key])));
        }
    }
    Ok(())
}

/// The first key of an account, for a command that signs.
pub(crate) fn first_key(place: &Place, name: &str) -> Result<AccountKey> {
    if name == DEVELOPMENT_ACCOUNT {
        return parse_key(DEVELOPMENT_KEY);
    }
    let keys = zeroize::Zeroizing::new(apply(place, false, &Change::Keys(parse(name)?))?);
    parse_key(keys.lines().next().with_context(|| format!("the account {name} has no key"))?)
}

pub(crate) fn parse_key(text: &str) -> Result<AccountKey> {
    // The text itself stays out of the message.
    AccountKey::parse(text).context("a key is not right").map_err(misconfigured)
}

fn parse(name: &str) -> Result<AccountName> {
    AccountName::parse(name).with_context(|| format!("{name:?} cannot be an account")).map_err(misconfigured)
}

fn shown(keys: &[AccountKey]) -> String {
    keys.iter().map(|key| format!("{}\n", &*key.to_base64())).collect()
}

fn apply(place: &Place, create: bool, change: &Change) -> Result<String> {
    let data_dir = config::data_dir(place.data_dir.clone(), place.config.as_deref())?;
    if matches!(change, Change::Add(..)) {
        match engine::look(&data_dir)? {
            DataDirectory::Missing | DataDirectory::Empty if !create => bail!(
                "there is no data directory {} yet; --create makes it, and so does the first `lazuli serve`",
                data_dir.display()
            ),
            DataDirectory::Ours => {}
            _ => engine::open(&data_dir, Durability::Sync)?.close()?,
        }
    }
    match engine::open_existing(&data_dir) {
        Ok(engine) => directly(Arc::new(engine), change),
        Err(OpenExistingError::Open(OpenError::Locked(_))) => ask(&data_dir, change),
        Err(error) => Err(error.explained(&data_dir)),
    }
}

/// On a data directory that nobody serves.
fn directly(engine: Arc<EmbeddedEngine>, change: &Change) -> Result<String> {
    let store = Store::new(Arc::<EmbeddedEngine>::clone(&engine));
    let runtime = tokio::runtime::Builder::new_current_thread().build().context("cannot start")?;
    let done: Result<String> = runtime.block_on(async {
        let accounts = Accounts::open(&store, []).await?;
        match change {
            Change::List => return Ok(admin::list_accounts(&accounts)),
            Change::Keys(name) => {
                let account = accounts.get(name.as_str());
                let account = account.with_context(|| format!("there is no stored account {}", name.as_str()))?;
                return Ok(shown(&account.keys));
            }
            Change::Add(name, keys) => accounts.add(&store, name, keys).await?,
            Change::Remove(name) => accounts.remove(&store, name).await?,
            Change::RotateKey(name, number, key) => accounts.rotate_key(&store, name, *number, key).await?,
        }
        Ok(String::new())
    });
    drop(store);
    let closed = engine.close();
    let done = done?;
    closed?;
    Ok(done)
}

/// Through the server that has the data directory.
fn ask(data_dir: &Path, change: &Change) -> Result<String> {
    let named = |path: &str, name: &AccountName| format!("{path}?name={}", name.as_str());
    match change {
        Change::List => admin_client::ask(data_dir, "GET", ACCOUNTS_PATH, ""),
        Change::Keys(name) => admin_client::ask(data_dir, "GET", &named(KEYS_PATH, name), ""),
        Change::Add(name, keys) => admin_client::ask(data_dir, "POST", &named(ACCOUNTS_PATH, name), &shown(keys)),
        Change::Remove(name) => admin_client::ask(data_dir, "DELETE", &named(ACCOUNTS_PATH, name), ""),
        Change::RotateKey(name, number, key) => {
            let target = format!("{}&number={number}", named(ACCOUNTS_PATH, name));
            admin_client::ask(data_dir, "PUT", &target, &shown(std::slice::from_ref(key)))
        }
    }
}
