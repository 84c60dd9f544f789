//! Snapshots of a share by the names that SMB has for them: `@GMT-…`, to the second.

use file::{kept::ListSnapshots, share::ShareAddress};
use types::{Timestamp, calendar};

use crate::{NtStatus, described, errors::status_of, request::Cx, session::TreeShare};

/// The newest snapshot that was taken in the second of a FILETIME.
pub(crate) async fn named(cx: &Cx<'_>, share: &ShareAddress, filetime: u64) -> Result<Option<Timestamp>, NtStatus> {
    let second = |ticks: u64| ticks / 10_000_000;
    let times = times(cx, share).await?;
    Ok(times.into_iter().find(|time| second(described::filetime(*time)) == second(filetime)))
}

/// The names of the snapshots of the share of a tree, the newest first. Two of one second have one name.
pub(crate) async fn names(cx: &Cx<'_>, tree: u32) -> Result<Vec<String>, NtStatus> {
    let tree = cx.session.tree(tree)?;
    let TreeShare::Disk(share) = &tree.share else { return Err(NtStatus::INVALID_DEVICE_REQUEST) };
    let mut names: Vec<String> = times(cx, share).await?.into_iter().map(name).collect();
    names.dedup();
    Ok(names)
}

async fn times(cx: &Cx<'_>, share: &ShareAddress) -> Result<Vec<Timestamp>, NtStatus> {
    let asked = cx.logon.grant.ask(ListSnapshots { share: share.clone() });
    cx.files().share_snapshots(&asked).await.map_err(|error| status_of(&error))
}

fn name(time: Timestamp) -> String {
    let (day, second) = (time.seconds() / 86_400, time.seconds() % 86_400);
    let ((year, month, day), (hour, minute, second)) =
        (calendar::date_of(calendar::EPOCH_DAY + day), calendar::time_of(second));
    format!("@GMT-{year:04}.{month:02}.{day:02}-{hour:02}.{minute:02}.{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_to_the_second() {
        assert_eq!(name(Timestamp::from_seconds(1_700_000_000)), "@GMT-2023.11.14-22.13.20");
    }
}
