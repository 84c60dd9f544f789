//! The settings of accounts as a value that owns its rows: who asks is authorised in the same view, or the same transaction,
//! that reads or writes what is asked for.

use access::{Asked, Denied, GetUserDelegationKey, need::Service};
use store::{Scope, Store, StoreError};
use types::UnitId;

use crate::properties::{
    self, GetServiceProperties, GetServiceStats, PropertiesError, ServiceProperties, SetServiceProperties,
};

/// What accounts say about their services. Cheap to clone; clones are the same.
#[derive(Clone)]
pub struct Settings {
    store: Store,
}

impl Settings {
    /// The settings in this store.
    #[must_use]
    pub const fn new(store: Store) -> Self {
        Self { store }
    }

    /// Get Service Properties.
    ///
    /// # Errors
    /// The caller may not, or the store failed.
    pub async fn get(&self, asked: &Asked<GetServiceProperties>) -> Result<ServiceProperties, PropertiesError> {
        let rows = self.store.snapshot();
        let allowed = asked.authorize(&rows).await?;
        Ok(properties::of(&rows, allowed.account, allowed.service).await?)
    }

    /// Set Service Properties. They act on the very next request.
    ///
    /// # Errors
    /// The caller may not, or the store failed.
    pub async fn set(&self, asked: &Asked<SetServiceProperties>) -> Result<(), PropertiesError> {
        let set = |txn| async move { properties::set(&txn, &asked.authorize(&txn).await?).await };
        self.store.transact(Scope::unit(asked.account), set).await
    }

    /// Get Service Stats. There is one copy, and it is always current: all there is to decide is who may hear that.
    ///
    /// # Errors
    /// The caller may not, or the store failed.
    pub async fn stats(&self, asked: &Asked<GetServiceStats>) -> Result<(), PropertiesError> {
        asked.authorize(&self.store.snapshot()).await?;
        Ok(())
    }

    /// Get User Delegation Key: whether the caller may have one. The key itself is made of the account's, and of no row.
    ///
    /// # Errors
    /// The caller may not, or the store failed.
    pub async fn permit_delegation(&self, asked: &Asked<GetUserDelegationKey>) -> Result<(), Denied> {
        asked.authorize(&self.store.snapshot()).await?;
        Ok(())
    }

    /// The properties that a service acts by. No credential: it asks for itself.
    ///
    /// # Errors
    /// The store failed.
    pub async fn in_force(&self, account: UnitId, service: Service) -> Result<ServiceProperties, StoreError> {
        properties::of(&self.store.snapshot(), account, service).await
    }
}

#[cfg(test)]
mod tests;
