//! What clients saw: each call with when it was made and when it was answered, if it was.

/// One call of one client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call<Op, Answer> {
    /// Who made it; a client makes one call at a time.
    pub client: u32,
    /// What was asked.
    pub op: Op,
    /// When, by the one clock of all clients, in microseconds.
    pub called_at: u64,
    /// The answer and when it was there. `None` when nobody knows what became of the call: a connection that broke, an answer
    /// that says so. It may have taken effect at any time from its begin on, or never.
    pub answered: Option<(u64, Answer)>,
}

impl<Op, Answer> Call<Op, Answer> {
    /// When the call was over; never for one without an answer.
    #[must_use]
    pub fn ended_at(&self) -> u64 {
        self.answered.as_ref().map_or(u64::MAX, |(at, _)| *at)
    }

    /// What came back; `None` while nobody knows.
    #[must_use]
    pub fn answer(&self) -> Option<&Answer> {
        self.answered.as_ref().map(|(_, answer)| answer)
    }
}

/// All calls on one object, in any order.
pub type History<Op, Answer> = Vec<Call<Op, Answer>>;
