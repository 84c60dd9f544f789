//! Get User Delegation Key: an operation that every service has, and only the holder of a token may do.

use std::time::Duration;

use types::{Timestamp, UnitId};

use crate::{
    grant::Operation,
    need::{Action, Need, Permissions, Place, Rule, Service},
};

/// Longest time from now to the end of a key.
const LIFE_MAX: Duration = Duration::from_hours(7 * 24);

/// Get User Delegation Key.
#[derive(Clone, Copy, Debug)]
pub struct GetUserDelegationKey {
    /// The account whose key it is derived from.
    pub account: UnitId,
    /// The service that signatures with it open.
    pub service: Service,
}

impl Operation for GetUserDelegationKey {
    fn need(&self) -> Need<'_> {
        let rule = Rule::new(Action::Delegate, Permissions::NONE);
        Need { account: self.account, service: self.service, place: Place::Service, rule }
    }
}

impl GetUserDelegationKey {
    /// Whether there are keys that begin and end then. A key may begin in the past.
    #[must_use]
    pub fn may_live(start: Timestamp, expiry: Timestamp, now: Timestamp) -> bool {
        start < expiry && expiry <= now.saturating_add(LIFE_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_lives_for_a_week_from_now() {
        let day = 86_400;
        // start, expiry, with now on day 10
        for (start, expiry, fine) in [
            (10 * day, 17 * day, true),
            (10 * day, 17 * day + 1, false),
            (0, 1, true),
            (12 * day, 12 * day, false),
            (13 * day, 12 * day, false),
        ] {
            let [start, expiry, now] = [start, expiry, 10 * day].map(Timestamp::from_seconds);
            assert_eq!(GetUserDelegationKey::may_live(start, expiry, now), fine, "{start:?} {expiry:?}");
        }
    }
}
