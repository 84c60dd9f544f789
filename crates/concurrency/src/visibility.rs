//! Queue messages: who sees a message when, and whose pop receipt counts.
//!
//! Owns the visibility of one message, its pop receipt, its dequeue count and what each operation does to them. Must
//! never choose which message to hand out or make a receipt: fresh receipts come in as arguments.
//!
//! Invariants: between a Get and the end of its timeout nobody else gets the message; only the newest pop receipt is
//! accepted; an expired message is gone for everybody; a clock that goes backwards changes no outcome.

mod parameters;

pub use parameters::{
    MAX_MESSAGES, MessageParameter, ParameterRefusal, PutTimes, SEVEN_DAYS_SECONDS, VisibilityTimeout,
    number_of_messages,
};

use types::Timestamp;

/// A pop receipt: a value that is given out once. How it is written belongs to the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PopReceipt(u128);

impl PopReceipt {
    /// The receipt with this value. The caller guarantees that no message ever had it before.
    #[must_use]
    pub const fn new(value: u128) -> Self {
        Self(value)
    }

    /// The value, as it stands in records.
    #[must_use]
    pub const fn value(self) -> u128 {
        self.0
    }
}

/// How a message stands at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageState {
    /// Get and Peek return it.
    Visible,
    /// Somebody holds it, or it was put with a delay.
    Invisible,
    /// It is gone.
    Expired,
}

/// What is stored of a message besides its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// When it was put.
    pub insertion: Timestamp,
    /// From when on it is gone.
    pub expiry: Timestamp,
    /// From when on it is visible.
    pub next_visible: Timestamp,
    /// How often it was got.
    pub dequeue_count: u32,
    /// The newest pop receipt.
    pub receipt: PopReceipt,
    /// When it was last put, got or updated.
    pub changed_at: Timestamp,
}

/// The message is invisible or expired: Get and Peek pass it by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message is not visible")]
pub struct NotVisible;

/// The message is gone, or the pop receipt is not its newest (404 MessageNotFound).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the specified message does not exist")]
pub struct MessageNotFound;

/// Why an update is refused. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpdateRefusal {
    /// 404 MessageNotFound.
    #[error(transparent)]
    NotFound(#[from] MessageNotFound),
    /// The message would become visible after its expiry (400 OutOfRangeQueryParameterValue).
    #[error(transparent)]
    PastExpiry(ParameterRefusal),
}

impl Message {
    /// Put Message: a new message.
    ///
    /// ```
    /// use concurrency::visibility::{Message, MessageState, PopReceipt, PutTimes};
    /// use types::{ServiceVersion, Timestamp};
    ///
    /// let now = Timestamp::from_seconds(100);
    /// let message = Message::put(PutTimes::new(ServiceVersion::NEWEST, Some(10), Some(60))?, PopReceipt::new(1), now);
    /// assert_eq!(message.state(now), MessageState::Invisible);
    /// assert_eq!(message.state(Timestamp::from_seconds(110)), MessageState::Visible);
    /// assert_eq!(message.state(Timestamp::from_seconds(160)), MessageState::Expired);
    /// # Ok::<(), concurrency::visibility::ParameterRefusal>(())
    /// ```
    #[must_use]
    pub fn put(times: PutTimes, fresh: PopReceipt, now: Timestamp) -> Self {
        let lives_until = |ttl| now.saturating_add(ttl).min(Timestamp::NEVER);
        Self {
            insertion: now,
            expiry: times.time_to_live().map_or(Timestamp::NEVER, lives_until),
            next_visible: now.saturating_add(times.visibility_timeout().length()),
            dequeue_count: 0,
            receipt: fresh,
            changed_at: now,
        }
    }

    /// How the message stands at an instant.
    #[must_use]
    pub fn state(&self, now: Timestamp) -> MessageState {
        let now = self.not_before_last_change(now);
        if now >= self.expiry {
            MessageState::Expired
        } else if now >= self.next_visible {
            MessageState::Visible
        } else {
            MessageState::Invisible
        }
    }

    /// Get Messages: hides the message and counts. The timeout may pass the expiry.
    ///
    /// # Errors
    /// [`NotVisible`].
    ///
    /// ```
    /// use concurrency::visibility::{Message, PopReceipt, PutTimes, VisibilityTimeout};
    /// use types::{ServiceVersion, Timestamp};
    ///
    /// let now = Timestamp::from_seconds(100);
    /// let message = Message::put(PutTimes::new(ServiceVersion::NEWEST, None, None)?, PopReceipt::new(1), now);
    /// let timeout = VisibilityTimeout::for_get(Some(30))?;
    /// let got = message.get(timeout, PopReceipt::new(2), now).unwrap();
    /// assert!(got.dequeue_count == 1 && got.get(timeout, PopReceipt::new(3), now).is_err());
    /// # Ok::<(), concurrency::visibility::ParameterRefusal>(())
    /// ```
    pub fn get(&self, timeout: VisibilityTimeout, fresh: PopReceipt, now: Timestamp) -> Result<Self, NotVisible> {
        self.peek(now)?;
        let now = self.not_before_last_change(now);
        Ok(Self {
            next_visible: now.saturating_add(timeout.length()),
            dequeue_count: self.dequeue_count.saturating_add(1),
            receipt: fresh,
            changed_at: now,
            ..*self
        })
    }

    /// Peek Messages: sees the message and changes nothing.
    ///
    /// # Errors
    /// [`NotVisible`].
    pub fn peek(&self, now: Timestamp) -> Result<(), NotVisible> {
        if self.state(now) == MessageState::Visible { Ok(()) } else { Err(NotVisible) }
    }

    /// Update Message: hides the message anew, or shows it at once with a timeout of 0. It need not be invisible.
    ///
    /// # Errors
    /// An [`UpdateRefusal`].
    ///
    /// ```
    /// use concurrency::visibility::{Message, PopReceipt, PutTimes, VisibilityTimeout};
    /// use types::{ServiceVersion, Timestamp};
    ///
    /// let now = Timestamp::from_seconds(100);
    /// let message = Message::put(PutTimes::new(ServiceVersion::NEWEST, None, None)?, PopReceipt::new(1), now);
    /// let timeout = VisibilityTimeout::for_update(Some(30))?;
    /// let updated = message.update(PopReceipt::new(1), timeout, PopReceipt::new(2), now).unwrap();
    /// assert!(updated.dequeue_count == 0 && updated.delete(PopReceipt::new(1), now).is_err());
    /// # Ok::<(), concurrency::visibility::ParameterRefusal>(())
    /// ```
    pub fn update(
        &self,
        sent: PopReceipt,
        timeout: VisibilityTimeout,
        fresh: PopReceipt,
        now: Timestamp,
    ) -> Result<Self, UpdateRefusal> {
        self.delete(sent, now)?;
        let now = self.not_before_last_change(now);
        let next_visible = now.saturating_add(timeout.length());
        if next_visible > self.expiry {
            let left = self.expiry.saturating_since(now).as_secs();
            return Err(UpdateRefusal::PastExpiry(ParameterRefusal::OutOfRange {
                parameter: MessageParameter::VisibilityTimeout,
                value: i64::from(timeout.seconds()),
                minimum: 0,
                maximum: i64::try_from(left).unwrap_or(i64::MAX),
            }));
        }
        Ok(Self { next_visible, receipt: fresh, changed_at: now, ..*self })
    }

    /// Delete Message: decides whether the message may be removed. The receipt outlives the timeout of its Get, until
    /// somebody gets or updates the message again.
    ///
    /// # Errors
    /// [`MessageNotFound`].
    pub fn delete(&self, sent: PopReceipt, now: Timestamp) -> Result<(), MessageNotFound> {
        if self.state(now) == MessageState::Expired || sent != self.receipt { Err(MessageNotFound) } else { Ok(()) }
    }

    fn not_before_last_change(&self, now: Timestamp) -> Timestamp {
        now.max(self.changed_at)
    }
}

#[cfg(test)]
mod tests;
