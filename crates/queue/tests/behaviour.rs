//! What the Queue service promises, one promise a test, on the reference engine.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use concurrency::visibility::ParameterRefusal;
use jobs::Job as _;
use queue::{errors::QueueError, queue::Created, sweep::SweepQueues};
use support::{Rig, run};

const LONG: usize = 60_000;

#[test]
fn creating_a_queue_twice_needs_the_same_metadata() {
    run(async {
        let rig = Rig::memory();
        let table = [
            (vec![("a", "1"), ("b", "2")], Some(Created::New)),
            (vec![("a", "1"), ("b", "2")], Some(Created::Same)),
            (vec![("A", "1"), ("b", "2")], Some(Created::Same)),
            (vec![("B", "2"), ("a", "1")], Some(Created::Same)),
            (vec![("a", "1")], None),
            (vec![("a", "1"), ("b", "x")], None),
        ];
        for (metadata, expected) in table {
            let made = rig.create_with("jobs", &metadata).await;
            assert_eq!(made.as_ref().ok(), expected.as_ref(), "{metadata:?}");
            assert!(made.is_ok() || matches!(made, Err(QueueError::QueueAlreadyExists)));
        }
    });
}

#[test]
fn messages_come_in_the_order_in_which_they_became_visible() {
    run(async {
        let rig = Rig::memory();
        rig.create("jobs").await.unwrap();
        rig.put_with("jobs", "late", 10, 100).await.unwrap();
        rig.put("jobs", "first").await;
        rig.put("jobs", "second").await;
        assert_eq!(rig.texts("jobs", 32, 5).await, ["first", "second"]);
        assert_eq!(rig.texts("jobs", 32, 5).await, Vec::<String>::new());
        rig.pass(10);
        assert_eq!(rig.texts("jobs", 2, 5).await, ["first", "second"], "visible again before the third");
        assert_eq!(rig.texts("jobs", 2, 5).await, ["late"]);
    });
}

#[test]
fn a_message_that_is_held_is_nobody_elses() {
    run(async {
        let rig = Rig::memory();
        rig.create("jobs").await.unwrap();
        let put_at = rig.store.now();
        rig.put("jobs", "work").await;
        let got = rig.get("jobs", 1, 30).await.unwrap().remove(0);
        assert_eq!(got.hold.next_visible, put_at.saturating_add(std::time::Duration::from_secs(30)));
        assert_eq!(got.properties.dequeue_count, 1);
        rig.pass(29);
        assert!(rig.get("jobs", 1, 30).await.unwrap().is_empty() && rig.peek("jobs", 1).await.unwrap().is_empty());
        rig.pass(1);
        let peeked = rig.peek("jobs", 1).await.unwrap().remove(0);
        assert_eq!((peeked.properties, peeked.text.as_str()), (got.properties, "work"));
        // The receipt outlives its timeout, until somebody else gets the message.
        let again = rig.get("jobs", 1, 30).await.unwrap().remove(0);
        assert_eq!(again.properties.dequeue_count, 2);
        let stale = rig.delete("jobs", got.properties.id, got.hold.receipt).await;
        assert!(matches!(stale, Err(QueueError::MessageNotFound(_))));
        rig.delete("jobs", again.properties.id, again.hold.receipt).await.unwrap();
        assert_eq!(rig.count("jobs").await, 0);
    });
}

#[test]
fn the_receipt_of_put_deletes_and_a_foreign_one_does_not() {
    run(async {
        let rig = Rig::memory();
        rig.create("jobs").await.unwrap();
        rig.create("other").await.unwrap();
        let (id, hold) = rig.put("jobs", "one").await;
        let (second, second_hold) = rig.put("jobs", "two").await;
        for (queue, id, receipt) in
            [("jobs", id, second_hold.receipt), ("jobs", second, hold.receipt), ("other", id, hold.receipt)]
        {
            assert!(matches!(rig.delete(queue, id, receipt).await, Err(QueueError::MessageNotFound(_))));
            assert!(matches!(rig.update(queue, id, receipt, 0, None).await, Err(QueueError::MessageNotFound(_))));
        }
        assert!(matches!(rig.delete("none", id, hold.receipt).await, Err(QueueError::QueueNotFound)));
        rig.delete("jobs", id, hold.receipt).await.unwrap();
        assert!(matches!(rig.delete("jobs", id, hold.receipt).await, Err(QueueError::MessageNotFound(_))));
        assert_eq!(rig.texts("jobs", 32, 5).await, ["two"]);
    });
}

#[test]
fn an_update_shows_hides_and_rewrites() {
    run(async {
        let rig = Rig::memory();
        rig.create("jobs").await.unwrap();
        rig.put("jobs", "draft").await;
        let got = rig.get("jobs", 1, 30).await.unwrap().remove(0);
        let id = got.properties.id;
        let long = "x".repeat(LONG);
        let hold = rig.update("jobs", id, got.hold.receipt, 60, Some(&long)).await.unwrap();
        rig.pass(30);
        assert!(rig.get("jobs", 1, 30).await.unwrap().is_empty(), "hidden anew");
        let hold = rig.update("jobs", id, hold.receipt, 0, None).await.unwrap();
        let seen = rig.peek("jobs", 1).await.unwrap().remove(0);
        assert_eq!((seen.text.len(), seen.properties.dequeue_count), (LONG, 1), "the text is kept, and not counted");
        let hold = rig.update("jobs", id, hold.receipt, 0, Some("short")).await.unwrap();
        assert_eq!(rig.texts("jobs", 1, 1).await, ["short"]);
        assert!(rig.update("jobs", id, hold.receipt, 0, None).await.is_err(), "somebody got it since");
        rig.audit().await;
    });
}

#[test]
fn an_update_never_reaches_past_the_expiry() {
    run(async {
        let rig = Rig::memory();
        rig.create("jobs").await.unwrap();
        let (id, hold) = rig.put_with("jobs", "brief", 0, 100).await.unwrap();
        let refused = rig.update("jobs", id, hold.receipt, 101, None).await.unwrap_err();
        let QueueError::Parameter(ParameterRefusal::OutOfRange { value, maximum, .. }) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!((value, maximum), (101, 100));
        rig.update("jobs", id, hold.receipt, 100, None).await.unwrap();
    });
}

#[test]
fn an_expired_message_is_gone_before_and_after_it_is_removed() {
    run(async {
        let mut rig = Rig::memory();
        rig.create("jobs").await.unwrap();
        let (id, hold) = rig.put_with("jobs", &"x".repeat(LONG), 0, 10).await.unwrap();
        rig.put_with("jobs", "stays", 0, -1).await.unwrap();
        let held = rig.get("jobs", 1, 60).await.unwrap().remove(0);
        assert_eq!(held.properties.id, id);
        rig.expire().await;
        assert_eq!(rig.count("jobs").await, 2);
        rig.pass(10);
        for receipt in [hold.receipt, held.hold.receipt] {
            assert!(matches!(rig.delete("jobs", id, receipt).await, Err(QueueError::MessageNotFound(_))));
        }
        assert_eq!(rig.peek("jobs", 32).await.unwrap().len(), 1);
        rig.expire().await;
        assert_eq!((rig.count("jobs").await, rig.texts("jobs", 32, 1).await), (1, vec!["stays".to_owned()]));
        rig.pass(604_800 * 60);
        rig.expire().await;
        assert_eq!(rig.texts("jobs", 32, 1).await, ["stays"], "it never expires");
        // The queue, the message, the two rows of its count, and where it begins.
        assert_eq!(rig.audit().await, 5);
    });
}

#[test]
fn clearing_and_deleting_take_everything_at_once_and_nothing_is_left_behind() {
    run(async {
        let mut rig = Rig::memory();
        rig.create("jobs").await.unwrap();
        for number in 0..600 {
            rig.put("jobs", &format!("old {number}")).await;
        }
        rig.put("jobs", &"x".repeat(LONG)).await;
        let held = rig.get("jobs", 1, 60).await.unwrap().remove(0);
        rig.clear("jobs").await.unwrap();
        assert_eq!((rig.count("jobs").await, rig.peek("jobs", 32).await.unwrap().len()), (0, 0));
        assert!(rig.delete("jobs", held.properties.id, held.hold.receipt).await.is_err());
        rig.put("jobs", "new").await;
        rig.audit().await;
        assert!(SweepQueues::step(&rig.store, &mut ()).await.unwrap().more);
        rig.audit().await;
        // Expiry and sweep meet half-way.
        rig.pass(700_000);
        rig.expire().await;
        rig.audit().await;
        rig.sweep().await;
        rig.put("jobs", "newer").await;
        assert_eq!(rig.texts("jobs", 32, 1).await, ["newer"]);
        rig.delete_queue("jobs").await.unwrap();
        assert!(matches!(rig.get("jobs", 1, 1).await, Err(QueueError::QueueNotFound)));
        assert_eq!(rig.create("jobs").await.unwrap(), Created::New, "the name is free at once");
        assert_eq!(rig.count("jobs").await, 0);
        rig.sweep().await;
        assert_eq!(rig.audit().await, 1, "only the queue is left");
    });
}

#[test]
fn a_crash_loses_no_message_no_count_and_no_receipt() {
    run(async {
        for rig in [Rig::memory(), Rig::embedded()] {
            rig.create("jobs").await.unwrap();
            let (first, first_hold) = rig.put("jobs", "first").await;
            rig.put("jobs", &"x".repeat(LONG)).await;
            rig.put("jobs", "third").await;
            rig.delete("jobs", first, first_hold.receipt).await.unwrap();
            let held = rig.get("jobs", 1, 30).await.unwrap().remove(0);
            let rig = rig.crash();
            assert_eq!(rig.count("jobs").await, 2);
            assert_eq!(rig.texts("jobs", 32, 30).await, ["third"], "what was held is still held");
            rig.delete("jobs", held.properties.id, held.hold.receipt).await.unwrap();
            assert_eq!(rig.count("jobs").await, 1);
            rig.audit().await;
        }
    });
}

#[test]
fn queues_that_come_and_go_were_swept_one_a_step() {
    run(async {
        let rig = Rig::memory();
        rig.create("jobs").await.unwrap();
        for number in 0..100 {
            rig.put("jobs", &format!("{number}")).await;
            rig.clear("jobs").await.unwrap();
        }
        let mut steps = 0;
        while SweepQueues::step(&rig.store, &mut ()).await.unwrap().more {
            steps += 1;
        }
        assert_eq!(steps, 2);
        assert_eq!(rig.count("jobs").await, 0);
        rig.audit().await;
    });
}
