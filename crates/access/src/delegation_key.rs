//! Get User Delegation Key: an operation that every service has, and only the holder of a token may do.

use types::UnitId;

use crate::{
    grant::Operation,
    need::{Action, Need, Permissions, Place, Rule, Service},
};

/// Get User Delegation Key.
#[derive(Clone, Copy, Debug)]
pub struct GetUserDelegationKey {
    /// The account.
    pub account: UnitId,
    /// The service.
    pub service: Service,
}

impl Operation for GetUserDelegationKey {
    fn need(&self) -> Need<'_> {
        let rule = Rule::new(Action::Delegate, Permissions::NONE);
        Need { account: self.account, service: self.service, place: Place::Service, rule }
    }
}
