//! The search for an order: just-in-time linearization (Lowe, 2017).
//!
//! The events of a history are taken in the order of time. A *configuration* is a state that the object may be in, together
//! with the open calls that have taken effect in it. When a call is answered, every configuration must have let it take
//! effect, so those that have not try the open calls, in every order, until it has. A call that only
//! observes takes effect as soon as it can. What is equal is kept once, so memory grows with the calls that are open at the same time and
//! not with the length of the history: wherever few are open the history is cut by itself.
//!
//! A call that is never answered stays open to the end, so each would double what is kept. It need never take effect: where
//! it would change nothing it is not tried, and of two configurations that are in the same state, the one that has used fewer of
//! these calls can do whatever the other can, and stands for both.

use std::{
    collections::{HashMap, VecDeque},
    fmt::Debug,
    hash::Hash,
};

use super::history::Call;

/// What calls do to an object.
pub trait Model {
    /// What the object remembers.
    type State: Clone + Eq + Hash + Debug;
    /// What is asked.
    type Op: Debug;
    /// What is answered.
    type Answer: Debug;

    /// The object before the first call.
    fn start(&self) -> Self::State;

    /// The states after a call that takes effect in `state` and is answered so; none when it cannot be answered so there. A
    /// call without an answer can be answered in any way.
    fn step(&self, state: &Self::State, call: &Call<Self::Op, Self::Answer>) -> Vec<Self::State>;

    /// Whether a call that is answered so changes the object in no state: a read, a refusal. Not a write that happens to change
    /// nothing in one of them.
    fn observes(&self, call: &Call<Self::Op, Self::Answer>) -> bool;
}

/// How far the search goes.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Most configurations at once.
    pub configurations: usize,
    /// Most calls that are open at once, those that are never answered among them. At most 128.
    pub open: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { configurations: 1_000_000, open: 128 }
    }
}

/// What the search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is such an order.
    Linearizable,
    /// There is none: the answer to this call, by its index in the history, fits nowhere.
    NotLinearizable {
        /// Its index in the history.
        call: usize,
        /// The call and what was possible before it, for people.
        why: String,
    },
    /// The bounds were met before an answer was found. Says nothing, and so must never count as success.
    Unknown {
        /// The bound that was met.
        why: String,
    },
}

/// A state, and which of the open calls, by their slots, have taken effect.
type Configuration<S> = (S, u128);

/// Looks for an order of the calls of one object.
pub fn check<M: Model>(model: &M, history: &[Call<M::Op, M::Answer>], bounds: Bounds) -> Verdict {
    let mut search = Search { model, history, bounds, slots: Vec::new(), configurations: vec![(model.start(), 0)] };
    for event in events(history) {
        let ended = match event {
            Event::Begin(call) => search.begin(call),
            Event::End(call) => search.end(call),
        };
        if let Some(verdict) = ended {
            return verdict;
        }
    }
    Verdict::Linearizable
}

#[derive(Clone, Copy)]
enum Event {
    Begin(usize),
    End(usize),
}

/// Begins before ends at the same instant: what touches may overlap.
fn events<Op, Answer>(history: &[Call<Op, Answer>]) -> Vec<Event> {
    let mut events = Vec::with_capacity(2 * history.len());
    for (index, call) in history.iter().enumerate() {
        events.push((call.called_at, 0, index, Event::Begin(index)));
        if let Some((at, _)) = &call.answered {
            events.push((*at, 1, index, Event::End(index)));
        }
    }
    events.sort_by_key(|(at, kind, index, _)| (*at, *kind, *index));
    events.into_iter().map(|(_, _, _, event)| event).collect()
}

/// What was reached, each once, without what something else stands for.
struct Reached<S> {
    /// By the state and the answered calls that have taken effect: the least sets of calls without an answer that led there.
    by_state: HashMap<Configuration<S>, Vec<u128>>,
    /// The slots of the calls without an answer.
    unanswered: u128,
    count: usize,
}

impl<S: Clone + Eq + Hash> Reached<S> {
    fn new(unanswered: u128) -> Self {
        Self { by_state: HashMap::new(), unanswered, count: 0 }
    }

    /// False when it was reached before, or something that stands for it.
    fn insert(&mut self, (state, effective): &Configuration<S>) -> bool {
        let least = self.by_state.entry((state.clone(), effective & !self.unanswered)).or_default();
        let used = effective & self.unanswered;
        if least.iter().any(|fewer| fewer & !used == 0) {
            return false;
        }
        self.count -= least.len();
        least.retain(|more| used & !more != 0);
        least.push(used);
        self.count += least.len();
        true
    }

    fn into_configurations(self) -> Vec<Configuration<S>> {
        let each = self
            .by_state
            .into_iter()
            .flat_map(|((state, answered), least)| least.into_iter().map(move |used| (state.clone(), answered | used)));
        each.collect()
    }
}

struct Search<'a, M: Model> {
    model: &'a M,
    history: &'a [Call<M::Op, M::Answer>],
    bounds: Bounds,
    /// The open calls; a bit of a configuration is a slot here.
    slots: Vec<Option<usize>>,
    configurations: Vec<Configuration<M::State>>,
}

impl<M: Model> Search<'_, M> {
    fn begin(&mut self, index: usize) -> Option<Verdict> {
        let call = self.history.get(index)?;
        if call.answered.is_none() && self.model.observes(call) {
            return None;
        }
        let free = self.slots.iter().position(Option::is_none);
        let slot = free.unwrap_or(self.slots.len());
        if slot >= self.bounds.open.min(128) {
            return Some(Verdict::Unknown { why: format!("more than {} calls are open at once", self.bounds.open) });
        }
        match self.slots.get_mut(slot) {
            Some(place) => *place = Some(index),
            None => self.slots.push(Some(index)),
        }
        let mut settled = Reached::new(self.unanswered());
        for (state, effective) in std::mem::take(&mut self.configurations) {
            settled.insert(&self.settled(state, effective));
        }
        self.configurations = settled.into_configurations();
        None
    }

    /// Lets every open call take effect that only observes, and is explained by the state: whatever order there is, the call can
    /// be moved to here, so that there is no need to try it later as well.
    fn settled(&self, state: M::State, mut effective: u128) -> Configuration<M::State> {
        for (bit, call) in self.open(effective) {
            if self.model.observes(call) && matches!(self.model.step(&state, call).as_slice(), [same] if *same == state)
            {
                effective |= bit;
            }
        }
        (state, effective)
    }

    /// Lets the call take effect in every configuration; those in which it cannot are gone.
    fn end(&mut self, call: usize) -> Option<Verdict> {
        let slot = self.slots.iter().position(|open| *open == Some(call))?;
        let bit = 1_u128 << slot;
        let unanswered = self.unanswered();
        let (mut done, mut seen) = (Reached::new(unanswered), Reached::new(unanswered));
        let before = std::mem::take(&mut self.configurations);
        // In the order of how many calls they took, so that what stands for others comes before them.
        let mut left: VecDeque<_> = before.iter().cloned().collect();
        while let Some((state, effective)) = left.pop_front() {
            if effective & bit != 0 {
                done.insert(&(state, effective & !bit));
            } else {
                for (other, next) in self.possible(&state, effective) {
                    let configuration = self.settled(next, effective | other);
                    if seen.insert(&configuration) {
                        left.push_back(configuration);
                    }
                }
            }
            if seen.count + done.count > self.bounds.configurations {
                let why = format!("more than {} configurations", self.bounds.configurations);
                return Some(Verdict::Unknown { why });
            }
        }
        if done.count == 0 {
            return Some(Verdict::NotLinearizable { call, why: self.explain(call, &before) });
        }
        if let Some(place) = self.slots.get_mut(slot) {
            *place = None;
        }
        self.configurations = done.into_configurations();
        None
    }

    /// The open calls that have not taken effect, by their bits.
    fn open(&self, effective: u128) -> impl Iterator<Item = (u128, &Call<M::Op, M::Answer>)> {
        self.slots.iter().enumerate().filter_map(move |(slot, open)| {
            let bit = 1_u128 << slot;
            let call = open.and_then(|index| self.history.get(index));
            call.filter(|_| effective & bit == 0).map(|call| (bit, call))
        })
    }

    /// The slots of the open calls that are never answered.
    fn unanswered(&self) -> u128 {
        let bits = self.open(0).filter(|(_, call)| call.answered.is_none()).map(|(bit, _)| bit);
        bits.fold(0, |all, bit| all | bit)
    }

    /// Every open call that can take effect next, by its bit, with the states that it leads to.
    fn possible(&self, state: &M::State, effective: u128) -> Vec<(u128, M::State)> {
        let mut found = Vec::new();
        for (bit, call) in self.open(effective) {
            let useful = |next: &M::State| call.answered.is_some() || next != state;
            found.extend(self.model.step(state, call).into_iter().filter(useful).map(|next| (bit, next)));
        }
        found
    }

    fn explain(&self, call: usize, before: &[Configuration<M::State>]) -> String {
        let mut text = format!("nothing explains call {call}: {:?}\nopen with it:\n", self.history.get(call));
        for open in self.slots.iter().flatten().filter(|open| **open != call) {
            text.push_str(&format!("  call {open}: {:?}\n", self.history.get(*open)));
        }
        text.push_str(&format!("possible before it ({} in all):\n", before.len()));
        for (state, _) in before.iter().take(4) {
            text.push_str(&format!("  {state:?}\n"));
        }
        text
    }
}
