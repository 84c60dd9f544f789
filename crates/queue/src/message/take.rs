//! Get Messages and Peek Messages: the first visible ones.
//!
//! Gets of one queue run one behind the other, each for microseconds, and never during a sync: whoever comes next begins
//! where the last one ended. Peeks read beside them.

use access::{Asked, Authorized, Operation, need::Need};
use concurrency::visibility::{MessageState, PopReceipt, VisibilityTimeout};
use store::{Direction, Read, Scope, Txn};
use types::Timestamp;

use super::{GotMessage, PeekedMessage, properties, settle, text};
use crate::{
    Queues,
    errors::QueueError,
    heads::{Head, Heads},
    keys::{self, MessageIndex, Place},
    permissions,
    queue::{self, Address},
    records::{self, StoredMessage},
};

/// Get Messages.
#[derive(Clone, Debug)]
pub struct GetMessages {
    /// The queue whose first messages are wanted.
    pub address: Address,
    /// The most that are taken; fewer when fewer are visible.
    pub number: u8,
    /// How long they stay invisible.
    pub timeout: VisibilityTimeout,
    /// The value of the first receipt, drawn at random; the others count on from it.
    pub receipt: u128,
}

impl Operation for GetMessages {
    fn need(&self) -> Need<'_> {
        permissions::messages(self.address.account, &self.address.queue, permissions::GET_MESSAGES)
    }
}

/// Peek Messages.
#[derive(Clone, Debug)]
pub struct PeekMessages {
    /// The queue whose first messages are wanted.
    pub address: Address,
    /// The most that are shown; fewer when fewer are visible.
    pub number: u8,
}

impl Operation for PeekMessages {
    fn need(&self) -> Need<'_> {
        permissions::messages(self.address.account, &self.address.queue, permissions::PEEK_MESSAGES)
    }
}

impl Queues {
    /// Takes the first visible messages and hides them.
    ///
    /// # Errors
    /// It is not allowed, the queue does not exist, or the store failed.
    pub async fn get_messages(&self, asked: &Asked<GetMessages>) -> Result<Vec<GotMessage>, QueueError> {
        let now = self.store.now();
        // A Get moves messages, and so puts them too: at least the timeout ahead.
        let _arrival = self.heads.arrive(now.saturating_add(asked.timeout.length()));
        let floor = self.heads.floor(now);
        let (object, heads) = (asked.address.key(), &self.heads);
        let scope = Scope::of(&object);
        let get = |txn| async move { get(&txn, &asked.authorize(&txn).await?, heads, floor).await };
        self.store.transact(scope, get).await
    }

    /// Looks at the first visible messages.
    ///
    /// # Errors
    /// It is not allowed, the queue does not exist, or the store failed.
    pub async fn peek_messages(&self, asked: &Asked<PeekMessages>) -> Result<Vec<PeekedMessage>, QueueError> {
        let (rows, now) = (&self.store.snapshot(), self.store.now());
        let request = asked.authorize(rows).await?;
        let index = queue::find(rows, &request.address).await?.index();
        let mut visible = Visible::new(index, self.heads.of(rows, index).await?, now);
        let mut peeked = Vec::new();
        while peeked.len() < usize::from(request.number)
            && let Some((place, stored)) = visible.next(rows).await?
        {
            let text = text(rows, index, place.number, &stored).await?;
            peeked.push(PeekedMessage { properties: properties(&stored), text });
        }
        Ok(peeked)
    }
}

async fn get(
    txn: &Txn,
    request: &Authorized<'_, GetMessages>,
    heads: &Heads,
    floor: Place,
) -> Result<Vec<GotMessage>, QueueError> {
    let index = queue::find(txn, &request.address).await?.index();
    let (head, now) = (heads.of(txn, index).await?, txn.now());
    let mut visible = Visible::new(index, head, now);
    let (mut got, mut receipt) = (Vec::new(), request.receipt);
    while got.len() < usize::from(request.number)
        && let Some((place, mut stored)) = visible.next(txn).await?
    {
        // What is in the way of the rule (it cannot be: the index is in the order of visibility) stays where it is.
        let Ok(message) = stored.message.get(request.timeout, PopReceipt::new(receipt), now) else { break };
        receipt = receipt.wrapping_add(1);
        stored.message = message;
        let hold = settle(txn, index, place.number, Some(place), &stored);
        visible.take();
        let text = text(txn, index, place.number, &stored).await?;
        got.push(GotMessage { properties: properties(&stored), hold, text });
    }
    let mut head = head.passed(visible.behind.min(floor));
    if let Some(from) = head.probe_from(floor, now) {
        let first = txn.scan(keys::messages(index, from, floor), Direction::Ascending).next().await?;
        let first = first.map(|row| keys::parse_message(&row.key)).transpose()?;
        head = head.probed(from, first.map(|(_, place)| place), floor, now);
    }
    if !got.is_empty()
        && let Some(saved) = head.save(now)
    {
        txn.put(keys::mark(index), records::encode_place(saved.mark));
        head = saved;
    }
    let heads = heads.clone();
    txn.on_sequenced(move || heads.learn(index, head));
    Ok(got)
}

/// The visible messages of an index, in order. Expired ones are passed by; their own job removes them.
struct Visible {
    index: MessageIndex,
    now: Timestamp,
    stretches: std::array::IntoIter<(Place, Place), 2>,
    scan: Option<store::Scan>,
    end: Place,
    /// Before this stands nothing that can be delivered, if everything before it was taken.
    behind: Place,
}

impl Visible {
    fn new(index: MessageIndex, head: Head, now: Timestamp) -> Self {
        let end = Place::at(Timestamp::from_ticks(now.ticks().saturating_add(1)));
        let behind = head.mark;
        Self { index, now, stretches: head.stretches(end).into_iter(), scan: None, end, behind }
    }

    /// The message that came last was taken.
    const fn take(&mut self) {
        self.behind = self.behind.next();
    }

    async fn next(&mut self, rows: &impl Read) -> Result<Option<(Place, StoredMessage)>, QueueError> {
        loop {
            let Some(scan) = &mut self.scan else {
                let Some((from, to)) = self.stretches.next() else {
                    self.behind = self.end;
                    return Ok(None);
                };
                self.scan = Some(rows.scan(keys::messages(self.index, from, to), Direction::Ascending));
                continue;
            };
            let Some(row) = scan.next().await? else {
                self.scan = None;
                continue;
            };
            let (_, place) = keys::parse_message(&row.key)?;
            let stored = StoredMessage::decode(place, &row.value)?;
            if stored.message.state(self.now) != MessageState::Expired {
                self.behind = place;
                return Ok(Some((place, stored)));
            }
        }
    }
}
