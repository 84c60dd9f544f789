//! What the tests of shares have in common: each operation in one short call, and the background until it is done.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::panic, reason = "support of several tests")]

use access::need::Service;
use account::{PropertiesChange, RetentionPolicy, SetServiceProperties, Settings};
use concurrency::{
    conditions::Conditions,
    lease::{LeaseDuration, LeaseId, LeaseOperation},
};
use file::{
    FileError,
    audit::audit,
    share::{CreateShare, ShareAddress, ShareProperties, ShareSettings},
    share_delete::{DeleteShare, DeleteShareSnapshots},
    share_lease::LeaseShare,
    share_properties::{GetShareProperties, SharePreconditions},
    sweep,
};
use store::Store;
use types::{Metadata, ShareName, Timestamp};

use crate::support::{ACCOUNT, World, asked, share_address};

/// A short name for what went wrong.
pub fn name_of<T>(outcome: &Result<T, FileError>) -> String {
    match outcome {
        Ok(_) => "ok".to_owned(),
        Err(FileError::Lease(_, refusal)) => format!("{refusal:?}"),
        Err(error) => {
            let text = format!("{error:?}");
            text.split(['(', ' ', '{']).next().unwrap_or_default().to_owned()
        }
    }
}

pub async fn create(world: &World, name: &str) -> Result<(), FileError> {
    let (name, settings) = (ShareName::parse(name).unwrap(), ShareSettings::default());
    let create = CreateShare { account: ACCOUNT, name, metadata: Metadata::new(), settings };
    world.files.create_share(&asked(create)).await.map(|_| ())
}

pub async fn get(
    world: &World,
    snapshot: Option<Timestamp>,
    lease_id: Option<LeaseId>,
) -> Result<ShareProperties, FileError> {
    let preconditions = SharePreconditions { lease_id, ..SharePreconditions::default() };
    let get = GetShareProperties { share: share_address(snapshot), preconditions };
    world.files.get_share_properties(&asked(get)).await
}

pub async fn properties(world: &World, snapshot: Option<Timestamp>) -> Result<ShareProperties, FileError> {
    get(world, snapshot, None).await
}

pub async fn acquire(world: &World, snapshot: Option<Timestamp>, id: LeaseId) -> Result<(), FileError> {
    let operation = LeaseOperation::Acquire { proposed: None, fresh: id, duration: LeaseDuration::Infinite };
    let lease = LeaseShare { share: share_address(snapshot), conditions: Conditions::default(), operation };
    world.files.lease_share(&asked(lease)).await.map(|_| ())
}

pub async fn delete(
    world: &World,
    snapshot: Option<Timestamp>,
    snapshots: DeleteShareSnapshots,
    lease_id: Option<LeaseId>,
) -> Result<(), FileError> {
    let preconditions = SharePreconditions { lease_id, ..SharePreconditions::default() };
    let delete = DeleteShare { share: share_address(snapshot), preconditions, snapshots };
    world.files.delete_share(&asked(delete)).await
}

pub async fn delete_named(world: &World, name: &str) -> Result<(), FileError> {
    let share = ShareAddress { account: ACCOUNT, name: ShareName::parse(name).unwrap(), snapshot: None };
    let (preconditions, snapshots) = (SharePreconditions::default(), DeleteShareSnapshots::Refuse);
    world.files.delete_share(&asked(DeleteShare { share, preconditions, snapshots })).await
}

/// From now on deleted shares are kept for so many days.
pub async fn retain(world: &World, days: Option<u32>) {
    let share_delete_retention = Some(RetentionPolicy { days });
    let change = PropertiesChange { share_delete_retention, ..PropertiesChange::default() };
    let set = SetServiceProperties { account: ACCOUNT, service: Service::File, change };
    Settings::new(world.engine.store()).set(&asked(set)).await.unwrap();
}

/// Runs the background until nothing is left to do.
pub async fn settle(world: &World) {
    settle_on(&world.engine.store()).await;
}

pub async fn settle_on(store: &Store) {
    let mut cursor = sweep::Cursor::default();
    for _ in 0..10_000 {
        let more = sweep::step(store, &mut cursor).await.unwrap();
        if !store::sweep::step(store).await.unwrap().more && !more {
            return;
        }
    }
    panic!("the background does not come to an end");
}

/// Rows of the service.
pub async fn rows(world: &World) -> u64 {
    audit(&world.engine.store().snapshot()).await.unwrap().rows
}

/// Chunks that live.
pub async fn chunks(world: &World) -> u64 {
    store::audit::audit(&world.engine.store().snapshot(), |_| Ok(())).await.unwrap().chunks
}

/// Nothing is wrong with any row.
pub async fn assert_sound(world: &World) {
    assert_sound_on(&world.engine.store()).await;
}

pub async fn assert_sound_on(store: &Store) {
    let rows = store.snapshot();
    assert_eq!(audit(&rows).await.unwrap().problems, Vec::<String>::new());
    assert_eq!(store::audit::audit(&rows, |_| Ok(())).await.unwrap().problems, Vec::<String>::new());
}
