//! Random histories on both engines, with crashes, clocks and background work, compared with a plain list.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod support;

use proptest::prelude::*;
use queue::{Receipt, message::MessageId};
use support::{Rig, run};
use types::Timestamp;

const QUEUE: &str = "jobs";

#[derive(Clone, Debug)]
enum Step {
    Put { timeout: i64, ttl: i64, long: bool },
    Get { number: u8, timeout: i64 },
    Peek { number: u8 },
    Update { which: usize, timeout: i64, text: Option<bool> },
    Delete { which: usize },
    Clear,
    Recreate,
    Pass { milliseconds: u64 },
    Expire,
    Sweep,
    Crash,
}

fn steps() -> impl Strategy<Value = Step> {
    let ttl = prop_oneof![2 => 6_i64..40, 1 => Just(-1), 1 => Just(604_800)];
    prop_oneof![
        8 => (0_i64..5, ttl, prop::bool::weighted(0.2)).prop_map(|(timeout, ttl, long)| Step::Put { timeout, ttl, long }),
        8 => (1_u8..5, 1_i64..8).prop_map(|(number, timeout)| Step::Get { number, timeout }),
        3 => (1_u8..33).prop_map(|number| Step::Peek { number }),
        4 => (any::<usize>(), 0_i64..8, prop::option::of(any::<bool>()))
            .prop_map(|(which, timeout, text)| Step::Update { which, timeout, text }),
        5 => any::<usize>().prop_map(|which| Step::Delete { which }),
        1 => Just(Step::Clear),
        1 => Just(Step::Recreate),
        6 => (1_u64..6000).prop_map(|milliseconds| Step::Pass { milliseconds }),
        2 => Just(Step::Expire),
        2 => Just(Step::Sweep),
        1 => Just(Step::Crash),
    ]
}

/// A message as the model has it: no rows, no index, just what is promised.
#[derive(Clone, Debug)]
struct Expected {
    id: MessageId,
    receipt: Receipt,
    visible: Timestamp,
    order: usize,
    expiry: Timestamp,
    count: u32,
    text: String,
}

#[derive(Default)]
struct Model {
    messages: Vec<Expected>,
    /// Everything that was ever given out: mostly stale.
    receipts: Vec<(MessageId, Receipt)>,
    puts: usize,
}

impl Model {
    fn visible(&self, now: Timestamp) -> Vec<usize> {
        let mut found: Vec<usize> = (0..self.messages.len())
            .filter(|at| self.messages[*at].visible <= now && now < self.messages[*at].expiry)
            .collect();
        found.sort_by_key(|at| (self.messages[*at].visible, self.messages[*at].order));
        found
    }

    /// The message that this receipt gives a right to.
    fn held(&self, which: usize, now: Timestamp) -> Option<(MessageId, Receipt, Option<usize>)> {
        let (id, receipt) = *self.receipts.get(which.checked_rem(self.receipts.len())?)?;
        let holds = |message: &Expected| message.id == id && message.receipt == receipt && now < message.expiry;
        Some((id, receipt, self.messages.iter().position(holds)))
    }
}

fn after(now: Timestamp, seconds: i64) -> Timestamp {
    now.saturating_add(std::time::Duration::from_secs(u64::try_from(seconds).unwrap()))
}

async fn play(mut rig: Rig, history: Vec<Step>) {
    let mut model = Model::default();
    rig.create(QUEUE).await.unwrap();
    for (number, step) in history.into_iter().enumerate() {
        let now = rig.store.now();
        match step {
            Step::Put { timeout, ttl, long } => {
                let text = if long { format!("{number} ").repeat(3000) } else { format!("{number}") };
                let (id, hold) = rig.put_with(QUEUE, &text, timeout, ttl).await.unwrap();
                let expiry = if ttl < 0 { Timestamp::NEVER } else { after(now, ttl) };
                let (receipt, order) = (hold.receipt, model.puts);
                model.puts += 1;
                model.receipts.push((id, receipt));
                let visible = after(now, timeout);
                assert_eq!(hold.next_visible, visible);
                model.messages.push(Expected { id, receipt, visible, order, expiry, count: 0, text });
            }
            Step::Get { number, timeout } => {
                let got = rig.get(QUEUE, number, timeout).await.unwrap();
                let expected: Vec<usize> = model.visible(now).into_iter().take(number.into()).collect();
                assert_eq!(got.len(), expected.len(), "step {step:?}");
                for (got, at) in got.into_iter().zip(expected) {
                    let message = &mut model.messages[at];
                    message.visible = after(now, timeout);
                    message.count += 1;
                    message.receipt = got.hold.receipt;
                    assert_eq!((got.properties.id, &got.text), (message.id, &message.text));
                    assert_eq!((got.hold.next_visible, got.properties.dequeue_count), (message.visible, message.count));
                    model.receipts.push((message.id, message.receipt));
                }
            }
            Step::Peek { number } => {
                let peeked = rig.peek(QUEUE, number).await.unwrap();
                let expected: Vec<usize> = model.visible(now).into_iter().take(number.into()).collect();
                assert_eq!(peeked.len(), expected.len());
                for (peeked, at) in peeked.iter().zip(expected) {
                    let message = &model.messages[at];
                    assert_eq!((peeked.properties.id, &peeked.text), (message.id, &message.text));
                    assert_eq!(peeked.properties.dequeue_count, message.count);
                }
            }
            Step::Update { which, timeout, text } => {
                let Some((id, receipt, at)) = model.held(which, now) else { continue };
                let text = text.map(|long| format!("new {number}").repeat(if long { 2000 } else { 1 }));
                let updated = rig.update(QUEUE, id, receipt, timeout, text.as_deref()).await;
                let at = at.filter(|at| after(now, timeout) <= model.messages[*at].expiry);
                assert_eq!(updated.is_ok(), at.is_some(), "{updated:?}");
                if let (Ok(hold), Some(at)) = (updated, at) {
                    let message = &mut model.messages[at];
                    message.visible = hold.next_visible;
                    message.receipt = hold.receipt;
                    message.text = text.unwrap_or_else(|| message.text.clone());
                    assert_eq!(hold.next_visible, after(now, timeout));
                    model.receipts.push((id, hold.receipt));
                }
            }
            Step::Delete { which } => {
                let Some((id, receipt, at)) = model.held(which, now) else { continue };
                let deleted = rig.delete(QUEUE, id, receipt).await;
                assert_eq!(deleted.is_ok(), at.is_some(), "{deleted:?}");
                if let Some(at) = at {
                    model.messages.remove(at);
                }
            }
            Step::Clear => {
                rig.clear(QUEUE).await.unwrap();
                model.messages.clear();
            }
            Step::Recreate => {
                rig.delete_queue(QUEUE).await.unwrap();
                rig.create(QUEUE).await.unwrap();
                model.messages.clear();
            }
            Step::Pass { milliseconds } => rig.time.advance(std::time::Duration::from_millis(milliseconds)),
            Step::Expire => {
                rig.expire().await;
                model.messages.retain(|message| now < message.expiry);
                assert_eq!(rig.count(QUEUE).await, u64::try_from(model.messages.len()).unwrap());
            }
            Step::Sweep => rig.sweep().await,
            Step::Crash => rig = rig.crash(),
        }
    }
    let now = rig.store.now();
    let alive = model.messages.iter().filter(|message| now < message.expiry).count();
    assert!(rig.count(QUEUE).await >= u64::try_from(alive).unwrap(), "expired ones may count");
    rig.audit().await;
    rig.sweep().await;
    rig.expire().await;
    assert_eq!(rig.count(QUEUE).await, u64::try_from(alive).unwrap());
    rig.audit().await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_queue_in_memory_does_what_a_list_does(history in prop::collection::vec(steps(), 1..80)) {
        run(play(Rig::memory(), history));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_queue_on_disk_does_what_a_list_does(history in prop::collection::vec(steps(), 1..80)) {
        run(play(Rig::embedded(), history));
    }
}
