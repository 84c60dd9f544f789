//! The containers that belong to the service: `$logs`. They are there in every account, only the service writes into them,
//! and a listing shows them when it is asked for them.
//!
//! Users read them and delete their blobs. Nothing is logged into them yet; see `docs/compat.md`.

use access::need::PublicAccess;
use store::Read;
use types::{UnitId, names::ContainerName};

use super::{CreateContainer, make};
use crate::{Blobs, errors::BlobError, keys};

/// True for a container of the service.
#[must_use]
pub fn is_system(name: &ContainerName) -> bool {
    name.as_str() == ContainerName::LOGS
}

/// Decides whether users may write here. They may delete blobs everywhere.
///
/// # Errors
/// It is a container of the service.
pub fn admit_user_write(name: &ContainerName) -> Result<(), BlobError> {
    if is_system(name) { Err(BlobError::SystemContainer) } else { Ok(()) }
}

impl Blobs {
    /// Makes the containers of the service in an account, if they are not there yet: when somebody first asks for them.
    ///
    /// # Errors
    /// The store failed.
    pub async fn ensure_system_containers(&self, account: UnitId) -> Result<(), BlobError> {
        let Ok(name) = ContainerName::parse(ContainerName::LOGS) else { return Ok(()) };
        if self.store.snapshot().get(&keys::container(account, &name)).await?.is_some() {
            return Ok(());
        }
        let wanted = &CreateContainer { account, name, public_access: PublicAccess::Private, metadata: Vec::new() };
        match self.transact(|txn| async move { make(&txn, wanted).await }).await {
            // Somebody else was faster.
            Ok(_) | Err(BlobError::ContainerAlreadyExists) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
