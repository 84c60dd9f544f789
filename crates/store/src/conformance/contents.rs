//! Who keeps bytes alive: owners, users, pins, downloads; and the sweep that comes when none is left.

use std::time::Duration;

use bytes::Bytes;
use types::{ContentId, Timestamp};

use super::{Subject, manifests, maps, support::*};
use crate::{
    chunk::ChunkRef,
    content::{self, Holdings},
    sweep,
    transact::Store,
};

async fn release(store: &Store, content: ContentId, holdings: Holdings) {
    commit(store, |txn| async move { content::release(&txn, content, holdings).await }).await;
}

async fn add_edge(store: &Store, source: ContentId, user: ContentId) -> bool {
    commit(store, |txn| async move { content::add_edge(&txn, source, user).await }).await
}

async fn pin(store: &Store, source: ContentId, pin: u64, until: Timestamp) -> bool {
    commit(store, |txn| async move { content::pin(&txn, source, pin, until).await }).await
}

async fn unpin(store: &Store, source: ContentId, pin: u64) {
    commit(store, |txn| async move { content::unpin(&txn, source, pin).await }).await;
}

async fn owned(store: &Store) -> (ContentId, ChunkRef) {
    let content = content_id(store);
    (content, linked(store, content, format!("the bytes of {content:?}")).await)
}

/// All orders of the numbers below `count`.
fn orders(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for shorter in orders(count - 1) {
        for place in 0..count {
            let mut order = shorter.clone();
            order.insert(place, count - 1);
            all.push(order);
        }
    }
    all
}

pub async fn a_content_lives_until_its_last_user_goes_in_every_order(subject: Box<dyn Subject>) {
    let store = subject.store();
    for order in orders(4) {
        for sweep_between in [true, false] {
            let (source, chunk) = owned(&store).await;
            let users = [content_id(&store), content_id(&store)];
            for user in users {
                assert!(add_edge(&store, source, user).await);
            }
            assert!(pin(&store, source, 1, Timestamp::NEVER).await);
            for (done, step) in order.iter().enumerate() {
                assert!(is_live(&store, chunk).await, "after {done} steps of {order:?}");
                match step {
                    0 => release(&store, source, Holdings::Chunk(chunk)).await,
                    1 => release(&store, users[0], Holdings::Nothing).await,
                    2 => release(&store, users[1], Holdings::Nothing).await,
                    _ => unpin(&store, source, 1).await,
                }
                if sweep_between {
                    sweep_all(&store).await;
                }
            }
            sweep_all(&store).await;
            assert!(!is_live(&store, chunk).await, "after all of {order:?}");
        }
    }
    assert!(live_chunks(&store).await.is_empty());
}

pub async fn a_chain_of_users_keeps_its_source(subject: Box<dyn Subject>) {
    let store = subject.store();
    let (source, chunk) = owned(&store).await;
    let mut chain = vec![source];
    for _ in 0..5 {
        let user = content_id(&store);
        assert!(add_edge(&store, chain[chain.len() - 1], user).await);
        chain.push(user);
    }
    release(&store, source, Holdings::Chunk(chunk)).await;
    for content in &chain[1..] {
        sweep_all(&store).await;
        assert!(is_live(&store, chunk).await);
        release(&store, *content, Holdings::Nothing).await;
    }
    sweep_all(&store).await;
    assert!(!is_live(&store, chunk).await);
}

pub async fn a_pin_ends_by_itself(subject: Box<dyn Subject>) {
    let store = subject.store();
    let (lasting, lasting_chunk) = owned(&store).await;
    let (ending, ending_chunk) = owned(&store).await;
    let an_hour = store.now().saturating_add(Duration::from_secs(3600));
    assert!(pin(&store, lasting, 1, an_hour).await);
    assert!(pin(&store, ending, 2, Timestamp::from_seconds(1)).await);
    release(&store, lasting, Holdings::Chunk(lasting_chunk)).await;
    release(&store, ending, Holdings::Chunk(ending_chunk)).await;
    sweep_all(&store).await;
    assert!(is_live(&store, lasting_chunk).await);
    assert!(!is_live(&store, ending_chunk).await);
    unpin(&store, ending, 2).await; // dropping one that expired is no error
    unpin(&store, lasting, 1).await;
    sweep_all(&store).await;
    assert!(!is_live(&store, lasting_chunk).await);
}

pub async fn a_renewed_pin_lasts_to_its_new_deadline(subject: Box<dyn Subject>) {
    let store = subject.store();
    let (source, chunk) = owned(&store).await;
    assert!(pin(&store, source, 1, Timestamp::from_seconds(1)).await);
    assert!(pin(&store, source, 1, Timestamp::NEVER).await);
    release(&store, source, Holdings::Chunk(chunk)).await;
    sweep_all(&store).await;
    assert!(is_live(&store, chunk).await);
    assert!(pin(&store, source, 1, Timestamp::from_seconds(2)).await);
    sweep_all(&store).await;
    assert!(!is_live(&store, chunk).await);
}

pub async fn a_content_being_swept_takes_no_new_users(subject: Box<dyn Subject>) {
    let store = subject.store();
    let (source, chunk) = owned(&store).await;
    release(&store, source, Holdings::Chunk(chunk)).await;
    assert!(!add_edge(&store, source, content_id(&store)).await);
    assert!(!pin(&store, source, 1, Timestamp::NEVER).await);
    sweep_all(&store).await;
    assert!(!is_live(&store, chunk).await);

    // The same race, decided by the guard.
    let (source, chunk) = owned(&store).await;
    let user = content_id(&store);
    let attempts = interrupted(
        &store,
        |txn| async move {
            content::add_edge(&txn, source, user).await?;
            Ok(())
        },
        |txn| async move { content::release(&txn, source, Holdings::Chunk(chunk)).await },
    )
    .await;
    assert_eq!(attempts, 2);
    sweep_all(&store).await;
    assert!(!is_live(&store, chunk).await);
}

pub async fn a_pinned_download_is_not_swept(subject: Box<dyn Subject>) {
    let store = subject.store();
    let (content, chunk) = owned(&store).await;
    let (other, other_chunk) = owned(&store).await;
    let download = store.pins().hold(content);
    let second = store.clone().pins().hold(content);
    release(&store, content, Holdings::Chunk(chunk)).await;
    release(&store, other, Holdings::Chunk(other_chunk)).await;
    assert_eq!(sweep_all(&store).await, 1);
    assert!(is_live(&store, chunk).await);
    assert!(!is_live(&store, other_chunk).await);
    drop(download);
    assert_eq!(sweep_all(&store).await, 1);
    assert!(is_live(&store, chunk).await);
    drop(second);
    assert_eq!(sweep_all(&store).await, 0);
    assert!(!is_live(&store, chunk).await);
}

pub async fn a_sweep_frees_exactly_what_is_unreachable(subject: Box<dyn Subject>) {
    let store = subject.store();
    let mut kept = Vec::new();
    let mut gone = Vec::new();
    for number in 0..24 {
        let content = content_id(&store);
        let (holdings, chunks) = match number % 3 {
            0 => {
                let chunk = linked(&store, content, format!("chunk {number}")).await;
                (Holdings::Chunk(chunk), vec![chunk])
            }
            1 => {
                let (manifest, mut chunks) = manifests::committed(&store, content, 5).await;
                chunks.push(manifest);
                (Holdings::Manifest { manifest, next: 0 }, chunks)
            }
            _ => (Holdings::Map, maps::striped(&store, content, 5).await),
        };
        match number % 4 {
            0 => kept.extend(chunks),
            1 => {
                // Gone by name, but used by a content that stays.
                assert!(add_edge(&store, content, content_id(&store)).await);
                release(&store, content, holdings).await;
                kept.extend(chunks);
            }
            _ => {
                release(&store, content, holdings).await;
                gone.extend(chunks);
            }
        }
    }
    sweep_all(&store).await;
    for chunk in &gone {
        assert!(!is_live(&store, *chunk).await, "{chunk} is unreachable");
    }
    kept.sort_unstable();
    assert_eq!(live_chunks(&store).await.into_keys().collect::<Vec<_>>(), kept);
    assert_eq!(sweep::step(&store).await.unwrap(), sweep::Progress::default(), "nothing is left to do");
}

pub async fn releasing_twice_is_harmless(subject: Box<dyn Subject>) {
    let store = subject.store();
    let content = content_id(&store);
    let (manifest, _) = manifests::committed(&store, content, 3).await;
    for _ in 0..2 {
        release(&store, content, Holdings::Manifest { manifest, next: 0 }).await;
        sweep_all(&store).await;
        assert!(live_chunks(&store).await.is_empty());
    }
}

pub async fn two_sweepers_at_once_are_harmless(subject: Box<dyn Subject>) {
    let store = subject.store();
    for _ in 0..5 {
        for number in 0..20 {
            let content = content_id(&store);
            if number % 2 == 0 {
                let (manifest, _) = manifests::committed(&store, content, 3).await;
                release(&store, content, Holdings::Manifest { manifest, next: 0 }).await;
            } else {
                let chunk = linked(&store, content, Bytes::from("chunk")).await;
                release(&store, content, Holdings::Chunk(chunk)).await;
            }
        }
        let sweepers = [0; 3].map(|_| {
            let store = store.clone();
            tokio::spawn(async move { sweep_all(&store).await })
        });
        for sweeper in sweepers {
            sweeper.await.unwrap();
        }
        assert_eq!(sweep_all(&store).await, 0);
        assert!(live_chunks(&store).await.is_empty());
    }
}

pub async fn what_the_only_user_needs_can_be_adopted(subject: Box<dyn Subject>) {
    let store = subject.store();
    let heir = content_id(&store);
    let (gone, kept) = owned(&store).await;
    let dropped = pending(&store, "not needed").await;
    let dropped = &dropped;
    commit(&store, |txn| async move {
        content::link(&txn, dropped, gone);
        Ok(())
    })
    .await;
    assert!(add_edge(&store, gone, heir).await);
    let found = |gone| {
        let store = &store;
        async move { commit(store, |txn| async move { content::heir(&txn, gone).await }).await }
    };
    assert_eq!(found(gone).await, None, "a name still points to it");
    release(&store, gone, Holdings::Chunk(dropped.reference())).await;
    let other = content_id(&store);
    assert!(add_edge(&store, gone, other).await);
    assert_eq!(found(gone).await, None, "two users");
    release(&store, other, Holdings::Nothing).await;
    sweep_all(&store).await;
    assert_eq!(found(gone).await, Some(heir));
    commit(&store, |txn| async move {
        assert!(content::adopt(&txn, kept, gone, heir).await?);
        assert!(!content::adopt(&txn, kept, gone, heir).await?, "it has another owner now");
        assert_eq!(content::sources(&txn, heir, 10).await?, [gone]);
        content::drop_edge(&txn, gone, heir).await
    })
    .await;
    sweep_all(&store).await;
    assert_eq!(live_chunks(&store).await.into_keys().collect::<Vec<_>>(), [kept]);
    release(&store, heir, Holdings::Chunk(kept)).await;
    sweep_all(&store).await;
    assert!(live_chunks(&store).await.is_empty());
}
