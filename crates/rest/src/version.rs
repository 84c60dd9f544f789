//! Which version a request is served by. The header is read and checked when the request arrives; what a request without
//! one means is here, in one function.

use types::{ServiceVersion, Timestamp, calendar::DAY_SECONDS};

/// The day that this program was built on, counted from 1970.
const BUILD_DAY: &str = env!("LAZULI_BUILD_DAY");

/// True for a version more than a year after the later of today and the day of the build: nobody can know it yet, so
/// it is a mistake. Others that are newer than the newest known are served as that one. A wall clock that is far behind
/// does not make a program refuse the versions of its own time.
pub(crate) fn is_far_ahead(version: ServiceVersion, now: Timestamp) -> bool {
    if version <= ServiceVersion::NEWEST {
        return false;
    }
    let built = Timestamp::from_seconds(BUILD_DAY.parse::<u64>().unwrap_or_default() * DAY_SECONDS);
    version > ServiceVersion::of(now.max(built)).a_year_later()
}

/// What a request showed of itself, as far as its version depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialKind {
    /// A key of the account.
    SharedKey,
    /// A shared access signature, of the version in its `sv`.
    Signature(ServiceVersion),
    /// A bearer token.
    Bearer,
    /// No credential at all.
    Anonymous,
}

/// The version that a request is served by: what it asks for, else the version of its signature, else the default that
/// the service's properties set, else, without a credential, the oldest one, and with one the newest. A version of the
/// future is served as the newest known; the answer echoes what was asked for.
#[must_use]
pub fn effective(
    asked: Option<ServiceVersion>,
    default: Option<ServiceVersion>,
    credential: CredentialKind,
) -> ServiceVersion {
    let implied = match credential {
        CredentialKind::Signature(version) => Some(version),
        CredentialKind::SharedKey | CredentialKind::Bearer | CredentialKind::Anonymous => None,
    };
    let last = match credential {
        CredentialKind::Anonymous => ServiceVersion::OLDEST,
        _ => ServiceVersion::NEWEST,
    };
    asked.or(implied).or(default).unwrap_or(last).min(ServiceVersion::NEWEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_more_than_a_year_ahead_is_none() {
        // Long after any build of this test: the wall clock decides.
        let now = Timestamp::from_seconds(20_000 * 400 * DAY_SECONDS / 100);
        let today = ServiceVersion::of(now);
        assert!(!is_far_ahead(today.a_year_later(), now) && is_far_ahead(today.a_year_later().a_year_later(), now));
        // A wall clock that stands at the beginning: the day of the build decides.
        let built = Timestamp::from_seconds(BUILD_DAY.parse::<u64>().unwrap() * DAY_SECONDS);
        let built = ServiceVersion::of(built);
        for (version, far) in [
            (ServiceVersion::NEWEST, false),
            (built, false),
            (built.a_year_later(), false),
            (built.a_year_later().a_year_later().max(ServiceVersion::NEWEST.a_year_later()), true),
        ] {
            assert_eq!(is_far_ahead(version, Timestamp::EPOCH), far, "{version}");
        }
    }

    #[test]
    fn a_request_without_a_version_has_one() {
        use CredentialKind::{Anonymous, Bearer, SharedKey, Signature};
        let v = |year| ServiceVersion::new(year, 1, 1);
        let (oldest, newest) = (ServiceVersion::OLDEST, ServiceVersion::NEWEST);
        let table = [
            (Some(v(2015)), Some(v(2020)), Signature(v(2018)), v(2015)),
            (Some(v(2099)), None, SharedKey, newest),
            (None, Some(v(2020)), Signature(v(2018)), v(2018)),
            (None, None, Signature(v(2099)), newest),
            (None, Some(v(2020)), SharedKey, v(2020)),
            (None, Some(v(2020)), Anonymous, v(2020)),
            (None, None, SharedKey, newest),
            (None, None, Bearer, newest),
            (None, None, Anonymous, oldest),
        ];
        for (asked, default, credential, expected) in table {
            assert_eq!(effective(asked, default, credential), expected, "{asked:?} {default:?} {credential:?}");
        }
    }
}
