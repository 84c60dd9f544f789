//! What a verified credential allows, and why it does not.
//!
//! **Invariant.** A [`Grant`] is made only by this crate, from a verified credential. It decides by rows, and only for an
//! [`Asked`] operation.

use std::{fmt, sync::Arc};

use store::{Read, StoreError};
use types::Timestamp;

use crate::{
    Accounts,
    account::{Account, AccountKey},
    acl::{self, Holder, StoredAccessPolicy},
    anonymous,
    asked::Asked,
    bearer::Identity,
    need::Need,
    sas::{Overrides, Sas},
};

/// Something that can be authorised.
pub trait Operation {
    /// What it needs of a credential.
    fn need(&self) -> Need<'_>;
}

/// What a verified credential allows.
#[derive(Clone)]
pub struct Grant {
    accounts: Accounts,
    account: Arc<Account>,
    /// When the request began: a long one is measured by the time it was asked at.
    began: Timestamp,
    credential: Credential,
}

/// The kinds of credentials. Every place that tells them apart names all of them.
#[derive(Clone)]
enum Credential {
    SharedKey(AccountKey),
    Sas(Arc<Sas>),
    Bearer(Arc<Identity>),
    Anonymous,
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.credential {
            Credential::SharedKey(_) => "SharedKey",
            Credential::Sas(_) => "Sas",
            Credential::Bearer(_) => "Bearer",
            Credential::Anonymous => "Anonymous",
        };
        write!(f, "Grant({kind} of {})", self.account.name.as_str())
    }
}

/// Why an operation is not allowed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Denied {
    /// The credential is not for this account, or not for this resource or operation at all.
    #[error("this credential does not authorise the operation")]
    NotAuthorized,
    /// The credential does not hold any more, or not with what a policy says.
    #[error("{0}")]
    Authentication(String),
    /// Its permissions or roles do not include what is needed.
    #[error("the credential does not have the permission for this operation")]
    PermissionMismatch,
    /// It is for another service.
    #[error("the signature is for another service")]
    ServiceMismatch,
    /// It is for other kinds of resources.
    #[error("the signature is for other kinds of resources")]
    ResourceTypeMismatch,
    /// A field stands in the signature and in its policy.
    #[error("{0} stands in the signature and in its stored access policy")]
    AlsoInPolicy(&'static str),
    /// There is no credential, and it takes one.
    #[error("there is no credential")]
    NoCredential,
    /// There is no credential, and the container is not public, or not as public as it takes.
    #[error("there is no credential, and the container is not public")]
    NotPublic,
    /// There is no credential, and the account is never public.
    #[error("public access is not permitted on this account")]
    PublicAccessNotPermitted,
    /// Whether it is allowed could not be found out.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Grant {
    fn new(accounts: &Accounts, account: &Arc<Account>, began: Timestamp, credential: Credential) -> Self {
        Self { accounts: accounts.clone(), account: Arc::clone(account), began, credential }
    }

    /// The holder of an account's key may do everything in it.
    pub(crate) fn shared_key(accounts: &Accounts, account: &Arc<Account>, key: AccountKey, now: Timestamp) -> Self {
        Self::new(accounts, account, now, Credential::SharedKey(key))
    }

    pub(crate) fn sas(accounts: &Accounts, account: &Arc<Account>, sas: Sas, now: Timestamp) -> Self {
        Self::new(accounts, account, now, Credential::Sas(Arc::new(sas)))
    }

    pub(crate) fn bearer(accounts: &Accounts, account: &Arc<Account>, who: Arc<Identity>, now: Timestamp) -> Self {
        Self::new(accounts, account, now, Credential::Bearer(who))
    }

    pub(crate) fn anonymous(accounts: &Accounts, account: &Arc<Account>, now: Timestamp) -> Self {
        Self::new(accounts, account, now, Credential::Anonymous)
    }

    /// The account that it was verified for.
    #[must_use]
    pub const fn account(&self) -> &Arc<Account> {
        &self.account
    }

    /// Who it is, if that is known: the subject of a token.
    #[must_use]
    pub fn identity(&self) -> Option<&Identity> {
        match &self.credential {
            Credential::Bearer(identity) => Some(identity),
            Credential::SharedKey(_) | Credential::Sas(_) | Credential::Anonymous => None,
        }
    }

    /// True when nothing was shown.
    #[must_use]
    pub const fn is_anonymous(&self) -> bool {
        matches!(self.credential, Credential::Anonymous)
    }

    /// The headers of the answer that the credential sets.
    #[must_use]
    pub fn overrides(&self) -> Option<&Overrides> {
        self.signature().map(|sas| &sas.overrides)
    }

    /// The encryption scope that the credential demands of writes.
    #[must_use]
    pub fn encryption_scope(&self) -> Option<&str> {
        self.signature().and_then(|sas| sas.encryption_scope.as_deref())
    }

    pub(crate) fn signature(&self) -> Option<&Sas> {
        match &self.credential {
            Credential::Sas(sas) => Some(sas),
            Credential::SharedKey(_) | Credential::Bearer(_) | Credential::Anonymous => None,
        }
    }

    /// Asks for an operation with this credential.
    #[must_use]
    pub fn ask<Op: Operation>(&self, operation: Op) -> Asked<Op> {
        Asked::new(self.clone(), operation)
    }

    /// Whether the operation is allowed by what the rows say now, and if so, whether it may replace what exists.
    pub(crate) async fn decide(&self, rows: &impl Read, need: &Need<'_>) -> Result<bool, Denied> {
        if need.account != self.account.unit {
            return Err(Denied::NotAuthorized);
        }
        match &self.credential {
            Credential::SharedKey(key) => self.still_a_key(key).map(|()| true),
            Credential::Sas(sas) => {
                self.still_a_key(&sas.key)?;
                let policy = self.policy(rows, sas).await?;
                sas.allows(need, policy.as_ref(), self.began)?;
                Ok(sas.may_overwrite(policy.as_ref()))
            }
            Credential::Bearer(identity) => {
                self.still_served()?;
                if identity.roles.of(need.service).allows(need.rule.action) {
                    Ok(true)
                } else {
                    Err(Denied::PermissionMismatch)
                }
            }
            Credential::Anonymous => {
                self.still_served()?;
                anonymous::allows(rows, need, self.accounts.public_access()).await.map(|()| false)
            }
        }
    }

    /// The policy that a signature names.
    async fn policy(&self, rows: &impl Read, sas: &Sas) -> Result<Option<StoredAccessPolicy>, Denied> {
        let (Some(id), Some((service, name))) = (&sas.policy, sas.policy_holder()) else { return Ok(None) };
        let holder = Holder { service, account: self.account.unit, name };
        let found = acl::read(rows, holder).await?.policies.into_iter().find(|policy| policy.id == *id);
        let missing = || Denied::Authentication(format!("there is no stored access policy {id}"));
        found.map(Some).ok_or_else(missing)
    }

    /// A key that was rotated, or an account that was removed, during the request counts.
    fn still_a_key(&self, key: &AccountKey) -> Result<(), Denied> {
        if self.live()?.has(key) {
            Ok(())
        } else {
            Err(Denied::Authentication(
                "the key that the credential rests on is not a key of the account any more".into(),
            ))
        }
    }

    fn still_served(&self) -> Result<(), Denied> {
        self.live().map(|_| ())
    }

    fn live(&self) -> Result<Arc<Account>, Denied> {
        let live = self.accounts.get(self.account.name.as_str()).filter(|live| live.unit == self.account.unit);
        live.ok_or_else(|| Denied::Authentication("the account is not served any more".into()))
    }
}

/// One served account with these keys.
#[cfg(test)]
pub(crate) fn served_for_tests(name: &str, keys: &[&str]) -> (Accounts, Arc<Account>) {
    use store::clock::SystemTime;
    use types::names::AccountName;

    let keys = keys.iter().map(|key| AccountKey::parse(key).unwrap()).collect();
    let configured = [(AccountName::parse(name).unwrap(), keys)];
    let store = store_memory::MemoryEngine::new(SystemTime::default()).store();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let accounts = runtime.block_on(Accounts::open(&store, configured)).unwrap();
    let account = accounts.get(name).unwrap();
    (accounts, account)
}
