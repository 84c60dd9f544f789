//! Real threads on the embedded engine: nothing is lost, nothing is held twice, and nothing is passed by for good.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on fails, and has a deadline"
)]

mod support;

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use queue::message::MessageId;
use store::{Store, clock::SystemTime};
use store_embedded::{Durability, EmbeddedEngine, Options, disk::SimulatedDisk};
use store_memory::{ManualTime, MemoryEngine};
use support::{Engine, Rig, run};

const PRODUCERS: usize = 3;
const CONSUMERS: usize = 5;
const MESSAGES: usize = 600;

/// Rigs of several threads that share a store and what its process remembers.
fn shared(store: &Store, queues: &queue::Queues) -> Rig {
    let rig = Rig::on(ManualTime::default(), Engine::Memory(MemoryEngine::default()), store.clone());
    Rig { queues: queues.clone(), ..rig }
}

#[test]
fn producers_and_consumers_share_a_queue() {
    let index = tempfile::tempdir().unwrap();
    let options = Options { reserve_bytes: 0, durability: Durability::Relaxed, ..Options::default() };
    let opened = EmbeddedEngine::open_on(Arc::new(SimulatedDisk::new()), index.path(), SystemTime::default(), options);
    let engine = Arc::new(opened.unwrap());
    let store = Store::new(Arc::<EmbeddedEngine>::clone(&engine));
    let queues = queue::Queues::new(store.clone());
    run(shared(&store, &queues).create("jobs")).unwrap();

    let held: Mutex<HashSet<MessageId>> = Mutex::default();
    let processed: Mutex<HashMap<String, usize>> = Mutex::default();
    let left = AtomicUsize::new(PRODUCERS * MESSAGES);
    let deadline = Instant::now() + Duration::from_secs(60);
    std::thread::scope(|scope| {
        for producer in 0..PRODUCERS {
            let rig = shared(&store, &queues);
            scope.spawn(move || {
                for number in 0..MESSAGES {
                    run(rig.put("jobs", &format!("{producer}-{number}")));
                }
            });
        }
        for consumer in 0..CONSUMERS {
            let rig = shared(&store, &queues);
            let (held, processed, left) = (&held, &processed, &left);
            scope.spawn(move || {
                let mut turn = consumer;
                while left.load(Ordering::Relaxed) > 0 {
                    assert!(Instant::now() < deadline, "{} messages were passed by", left.load(Ordering::Relaxed));
                    let number = u8::try_from(turn % 3 + 1).unwrap();
                    let got = run(rig.get("jobs", number, 600)).unwrap();
                    for message in &got {
                        assert!(held.lock().unwrap().insert(message.properties.id), "two hold {}", message.text);
                    }
                    for message in got {
                        let (id, receipt) = (message.properties.id, message.hold.receipt);
                        turn += 1;
                        // From here on it may be somebody else's.
                        assert!(held.lock().unwrap().remove(&id));
                        // Some give their message back; it is then visible to everybody at once.
                        if turn.is_multiple_of(4) {
                            run(rig.update("jobs", id, receipt, 0, None)).unwrap();
                            continue;
                        }
                        run(rig.delete("jobs", id, receipt)).unwrap();
                        *processed.lock().unwrap().entry(message.text).or_default() += 1;
                        left.fetch_sub(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let processed = processed.into_inner().unwrap();
    assert_eq!(processed.len(), PRODUCERS * MESSAGES);
    assert!(processed.values().all(|times| *times == 1));
    run(async {
        let rig = shared(&store, &queues);
        assert_eq!(rig.count("jobs").await, 0);
        rig.audit().await;
    });
    engine.close().unwrap();
}
