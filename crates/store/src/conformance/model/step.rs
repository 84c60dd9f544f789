//! The steps of a history, and how they are chosen. A step names things by number; what the number means is the same on
//! both sides because both did the same steps before.

use crate::{conformance::maps, read::Direction, testing::Random};

/// Rows that histories play with. Few, so that they meet.
pub(super) const NAMES: u64 = 48;
/// Maps that histories play with.
pub(super) const MAPS: usize = 3;

#[derive(Clone, Debug)]
pub(super) enum Action {
    Get { name: u64 },
    Put { name: u64, length: usize, seed: u64 },
    Delete { name: u64 },
    Scan { from: u64, to: u64, direction: Direction, limit: usize },
    GuardShared { name: u64 },
    GuardExclusive { name: u64 },
    Emit { seed: u64 },
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A transaction; another one commits between its first attempt and its commit.
    Transact {
        actions: Vec<Action>,
        interloper: Vec<Action>,
        refuse: bool,
        latched: bool,
    },
    TakeSnapshot,
    ReadSnapshot {
        which: usize,
        actions: Vec<Action>,
    },
    DropSnapshot {
        which: usize,
    },
    WriteChunk {
        length: usize,
        piece: usize,
        seed: u64,
        abandon: bool,
    },
    ReadChunk {
        which: usize,
        start: u64,
        length: usize,
    },
    MoveChunk {
        which: usize,
    },
    FreeChunk {
        which: usize,
        by_owner: bool,
    },
    AddEdge {
        source: usize,
        user: usize,
    },
    Pin {
        which: usize,
        pin: u64,
        expired: bool,
    },
    Unpin {
        which: usize,
        pin: u64,
    },
    Release {
        which: usize,
    },
    BeginDownload {
        which: usize,
    },
    EndDownload {
        which: usize,
    },
    Sweep,
    Map {
        which: usize,
        op: maps::Op,
    },
    CheckMap {
        which: usize,
    },
    Reopen,
    LookAtEverything,
}

fn direction(random: &mut Random) -> Direction {
    if random.one_in(2) { Direction::Ascending } else { Direction::Descending }
}

/// Mostly small; sometimes spilled; rarely huge.
fn length(random: &mut Random) -> usize {
    match random.below(400) {
        0 => random.index(2 * 1024 * 1024 + 1),
        1..=19 => 16_000 + random.index(1_000),
        20..=29 => random.index(100_000),
        _ => random.index(300),
    }
}

impl Action {
    fn random(random: &mut Random) -> Self {
        let name = random.below(NAMES);
        match random.below(20) {
            0..=5 => Self::Get { name },
            6..=11 => Self::Put { name, length: length(random), seed: random.number() },
            12..=13 => Self::Delete { name },
            14..=15 => {
                let limit = if random.one_in(2) { random.index(10) } else { usize::MAX };
                Self::Scan { from: name, to: random.below(NAMES + 1), direction: direction(random), limit }
            }
            16..=17 => Self::GuardShared { name: name % 4 },
            18 => Self::GuardExclusive { name: name % 4 },
            _ => Self::Emit { seed: random.number() },
        }
    }

    fn several(random: &mut Random, most: usize) -> Vec<Self> {
        (0..=random.index(most)).map(|_| Self::random(random)).collect()
    }
}

impl Step {
    pub(super) fn random(random: &mut Random) -> Self {
        let which = random.index(1 << 16);
        match random.below(1000) {
            0..=449 => {
                let interloper = if random.one_in(4) { Action::several(random, 5) } else { Vec::new() };
                let (refuse, latched) = (random.one_in(8), random.one_in(2));
                Self::Transact { actions: Action::several(random, 8), interloper, refuse, latched }
            }
            450..=479 => Self::TakeSnapshot,
            480..=519 => Self::ReadSnapshot { which, actions: Action::several(random, 8) },
            520..=544 => Self::DropSnapshot { which },
            545..=619 => {
                let piece = 1 + random.index(70_000);
                let (length, seed) = (length(random), random.number());
                Self::WriteChunk { length, piece, seed, abandon: random.one_in(8) }
            }
            620..=689 => Self::ReadChunk { which, start: random.below(400), length: random.index(70_000) },
            690..=699 => Self::MoveChunk { which },
            700..=719 => Self::FreeChunk { which, by_owner: !random.one_in(4) },
            720..=749 => Self::AddEdge { source: which, user: random.index(1 << 16) },
            750..=764 => Self::Pin { which, pin: random.below(3), expired: random.one_in(2) },
            765..=774 => Self::Unpin { which, pin: random.below(3) },
            775..=804 => Self::Release { which },
            805..=814 => Self::BeginDownload { which },
            815..=824 => Self::EndDownload { which },
            825..=849 => Self::Sweep,
            850..=979 => Self::Map { which: which % MAPS, op: map_op(random) },
            980..=994 => Self::CheckMap { which: which % MAPS },
            995..=996 => Self::Reopen,
            _ => Self::LookAtEverything,
        }
    }
}

fn map_op(random: &mut Random) -> maps::Op {
    let offset = random.below(maps::WINDOW);
    let length = (1 + random.below(maps::WINDOW / 3)).min(maps::WINDOW - offset);
    match random.below(20) {
        0..=9 => maps::Op::Write { offset, length, skip: random.below(3) },
        10..=13 => maps::Op::Clear { offset, length },
        14..=15 => maps::Op::Snapshot,
        16..=18 => maps::Op::Forget(random.index(1 << 16)),
        _ => maps::Op::Prune(1 + random.index(20)),
    }
}
