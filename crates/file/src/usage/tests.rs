//! Counters and the quota, on rows alone.

use store::Direction;
use store_memory::MemoryEngine;
use types::{Metadata, names::ShareName};

use super::*;
use crate::share::{CreateShare, ShareSettings};

const ACCOUNT: UnitId = UnitId::new(7);

fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(test)
}

fn address() -> ShareAddress {
    ShareAddress { account: ACCOUNT, name: ShareName::parse("things").unwrap(), snapshot: None }
}

async fn world() -> Files {
    let files = Files::new(MemoryEngine::default().store());
    let settings = ShareSettings { quota_gib: 1, ..ShareSettings::default() };
    let create = CreateShare { account: ACCOUNT, name: address().name, metadata: Metadata::new(), settings };
    files.create_share(&Asked::for_tests(create)).await.unwrap();
    files
}

async fn count(files: &Files, inode: u64, delta: i64) -> Result<(), FileError> {
    files
        .transact(|txn| async move {
            let share = address().writable(&txn).await?;
            change(&txn, &share, Inode::new(inode), delta).await
        })
        .await
}

async fn held(files: &Files) -> u64 {
    let stats = GetShareStats { share: address(), lease_id: None };
    files.get_share_stats(&Asked::for_tests(stats)).await.unwrap().usage_bytes
}

#[test]
fn a_share_holds_the_sum_of_its_stripes() {
    run(async {
        let files = world().await;
        assert_eq!(held(&files).await, 0);
        for inode in 0..100 {
            count(&files, inode, 10).await.unwrap();
        }
        count(&files, 3, -4).await.unwrap();
        assert_eq!(held(&files).await, 996);
        let share = address().writable(&files.view().0).await.unwrap();
        let rows = files.view().0.scan(keys::of_share(keys::USAGE, share.unit), Direction::Ascending).take(100).await;
        assert_eq!(rows.unwrap().len(), 32, "however many files there are");
    });
}

#[test]
fn a_share_does_not_grow_beyond_its_quota() {
    run(async {
        let files = world().await;
        let gib = i64::try_from(GIB).unwrap();
        count(&files, 1, gib - 1).await.unwrap();
        count(&files, 2, 1).await.unwrap();
        let refused = count(&files, 3, 1).await.unwrap_err();
        assert!(matches!(refused, FileError::ShareSizeLimitReached), "{refused:?}");
        assert_eq!(held(&files).await, GIB, "nothing was counted");
        count(&files, 2, 0).await.unwrap();
        count(&files, 1, -1).await.unwrap();
        count(&files, 3, 1).await.unwrap();
    });
}

#[test]
fn files_that_lose_more_than_they_hold_are_corruption() {
    run(async {
        let files = world().await;
        count(&files, 1, 5).await.unwrap();
        let refused = count(&files, 1, -6).await.unwrap_err();
        assert!(matches!(refused, FileError::Store(StoreError::Corrupt { .. })), "{refused:?}");
    });
}

async fn promised(files: &Files) -> u64 {
    let share = address().writable(&files.view().0).await.unwrap();
    let mut sum = 0;
    for number in 0..STRIPES {
        let row = files.view().0.get(&keys::usage(share.unit, number)).await.unwrap();
        sum += Stripe::of(row).unwrap().promised_under(share.settings.quota_gib);
    }
    sum
}

#[test]
fn what_is_held_and_promised_is_never_more_than_the_quota() {
    run(async {
        let files = world().await;
        let mut random = store::testing::Random::new(17);
        let (mut own, mut refused) = ([0_i64; 64], 0);
        for _ in 0..4000 {
            let inode = random.below(64);
            let place = usize::try_from(inode).unwrap();
            let delta = match random.below(4) {
                0 => -own[place],
                _ => i64::try_from(1 + random.below(GIB / 40)).unwrap(),
            };
            let free = GIB - held(&files).await;
            match count(&files, inode, delta).await {
                Ok(()) => own[place] += delta,
                Err(FileError::ShareSizeLimitReached) => {
                    assert!(u64::try_from(delta).unwrap() > free, "{delta} of {free} are refused");
                    refused += 1;
                }
                Err(other) => panic!("{other:?}"),
            }
            assert_eq!(i64::try_from(held(&files).await).unwrap(), own.iter().sum::<i64>());
            assert!(held(&files).await + promised(&files).await <= GIB);
        }
        assert!(refused > 0, "the share was never full");
    });
}

#[test]
fn a_promise_under_another_quota_is_void() {
    run(async {
        let files = world().await;
        count(&files, 1, 1).await.unwrap();
        assert!(promised(&files).await > 0);
        let quota = |gib| async move {
            let mut share = address().writable(&files.view().0).await.unwrap();
            share.settings.quota_gib = gib;
            let (key, row) = (keys::share(ACCOUNT, &address().name), share.encode());
            let put = |txn: Txn| {
                txn.put(key.clone(), row.clone());
                std::future::ready(Ok::<_, FileError>(()))
            };
            files.transact(put).await.unwrap();
            files
        };
        let files = quota(2).await;
        assert_eq!(promised(&files).await, 0);
        count(&files, 2, i64::try_from(2 * GIB - 1).unwrap()).await.unwrap();
        let refused = count(&files, 1, 1).await.unwrap_err();
        assert!(matches!(refused, FileError::ShareSizeLimitReached), "{refused:?}");
    });
}
