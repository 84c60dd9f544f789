//! Histories that are known to be right or wrong, and long ones made by a model that takes each call at one instant.

use std::fmt::Debug;

use super::{
    Bounds, Call, History, Model, Verdict, check,
    models::{
        append_blob::{self, AppendBlob, Content},
        blob::{Answer as B, Blob, Condition, Op},
        message::{self, Answer as M, Message},
        page_blob::{self, PageBlob},
        partition::{self, Change, IfMatch, Partition, Refusal},
    },
};
use crate::Random;

const SECOND: u64 = 1_000_000;

/// A call of a client of its own.
fn call<Op, Answer>(from: u64, to: u64, op: Op, answer: Answer) -> Call<Op, Answer> {
    Call { client: 0, op, called_at: from, answered: Some((to, answer)) }
}

fn lost<Op, Answer>(from: u64, op: Op) -> Call<Op, Answer> {
    Call { client: 0, op, called_at: from, answered: None }
}

fn put(value: u64) -> Op {
    Op::Put { value, condition: Condition::Always, lease: None }
}

fn put_if(value: u64, tag: u64) -> Op {
    Op::Put { value, condition: Condition::IfMatch(tag), lease: None }
}

const GET: Op = Op::Get { lease: None };

fn verdict<M: Model>(model: &M, history: &[Call<M::Op, M::Answer>]) -> Option<usize> {
    match check(model, history, Bounds::default()) {
        Verdict::Linearizable => None,
        Verdict::NotLinearizable { call, .. } => Some(call),
        Verdict::Unknown { why } => panic!("{why}"),
    }
}

/// What happened, and the call that nothing explains, if there is one.
type Row<'a, M> = (&'a str, History<<M as Model>::Op, <M as Model>::Answer>, Option<usize>);

fn table<M: Model>(model: &M, rows: Vec<Row<'_, M>>) {
    for (name, history, expected) in rows {
        assert_eq!(verdict(model, &history), expected, "{name}");
    }
}

#[test]
fn a_blob_read_and_written() {
    let first = || call(0, 10, put(1), B::Written(101));
    table(
        &Blob,
        vec![
            ("nothing", vec![], None),
            ("read what was written", vec![first(), call(11, 20, GET, B::Content(1, 101))], None),
            (
                "not there before it was written",
                vec![call(0, 5, GET, B::NotFound), call(6, 9, put(1), B::Written(1))],
                None,
            ),
            (
                "a stale read",
                vec![first(), call(11, 20, put(2), B::Written(102)), call(21, 30, GET, B::Content(1, 101))],
                Some(2),
            ),
            (
                "an old value while the write is open",
                vec![first(), call(11, 40, put(2), B::Written(102)), call(20, 30, GET, B::Content(1, 101))],
                None,
            ),
            (
                "new, then old, while the write is open",
                vec![
                    first(),
                    call(11, 50, put(2), B::Written(102)),
                    call(20, 30, GET, B::Content(2, 102)),
                    call(31, 40, GET, B::Content(1, 101)),
                ],
                Some(3),
            ),
            ("a value that nobody wrote", vec![first(), call(11, 20, GET, B::Content(7, 107))], Some(1)),
            ("the right value under a wrong ETag", vec![first(), call(11, 20, GET, B::Content(1, 102))], Some(1)),
            ("an acknowledged write that is gone", vec![first(), call(11, 20, GET, B::NotFound)], Some(1)),
            (
                "a lost update: both conditions met by one ETag",
                vec![
                    first(),
                    call(11, 20, put_if(2, 101), B::Written(102)),
                    call(11, 21, put_if(3, 101), B::Written(103)),
                ],
                Some(2),
            ),
            (
                "one condition met, the other not",
                vec![
                    first(),
                    call(11, 20, put_if(2, 101), B::Written(102)),
                    call(11, 21, put_if(3, 101), B::ConditionNotMet),
                ],
                None,
            ),
            (
                "refused although its ETag is the one",
                vec![first(), call(11, 20, put_if(2, 101), B::ConditionNotMet)],
                Some(1),
            ),
            (
                "two creators",
                vec![
                    call(0, 10, Op::Put { value: 1, condition: Condition::IfAbsent, lease: None }, B::Written(1)),
                    call(1, 11, Op::Put { value: 2, condition: Condition::IfAbsent, lease: None }, B::Written(2)),
                ],
                Some(1),
            ),
            (
                "a lost answer, seen",
                vec![
                    first(),
                    lost(11, put(2)),
                    call(20, 30, GET, B::Content(2, 9)),
                    call(31, 40, GET, B::Content(2, 9)),
                ],
                None,
            ),
            ("a lost answer, never seen", vec![first(), lost(11, put(2)), call(20, 30, GET, B::Content(1, 101))], None),
            (
                "a lost answer, seen and undone",
                vec![
                    first(),
                    lost(11, put(2)),
                    call(20, 30, GET, B::Content(2, 9)),
                    call(31, 40, GET, B::Content(1, 101)),
                ],
                Some(3),
            ),
            (
                "a lost answer takes effect late",
                vec![
                    first(),
                    lost(11, put(2)),
                    call(20, 30, GET, B::Content(1, 101)),
                    call(31, 40, GET, B::Content(2, 9)),
                ],
                None,
            ),
        ],
    );
}

/// Each would double what is kept, if all that they may have done were kept.
#[test]
fn lost_answers_do_not_double_the_search() {
    let lost_puts = (1..=100).map(|value| lost(0, put(value)));
    let seen = (1..=100).map(|value| call(value * 10, value * 10 + 5, GET, B::Content(value, value)));
    let explained: Vec<_> = lost_puts.chain(seen).collect();
    assert_eq!(verdict(&Blob, &explained), None);
    let undone = [explained, vec![call(2_000, 2_005, GET, B::Content(1, 1))]].concat();
    assert_eq!(verdict(&Blob, &undone), Some(200), "each takes effect at most once");
}

fn acquire(id: u64) -> Op {
    Op::Acquire { id, duration: Some(15 * SECOND) }
}

#[test]
fn a_leased_blob() {
    let first = || call(0, 10, put(1), B::Written(101));
    let leased = || vec![first(), call(20, 30, acquire(1), B::Leased)];
    let and = |more: Vec<Call<Op, B>>| leased().into_iter().chain(more).collect::<Vec<_>>();
    let with = |lease| Op::Put { value: 2, condition: Condition::Always, lease };
    let late = 15 * SECOND + 40;
    table(
        &Blob,
        vec![
            ("held twice", and(vec![call(40, 50, acquire(2), B::Leased)]), Some(2)),
            ("the second one is told", and(vec![call(40, 50, acquire(2), B::LeaseConflict)]), None),
            ("again by its holder", and(vec![call(40, 50, acquire(1), B::Leased)]), None),
            ("taken after it expired", and(vec![call(late, late + 10, acquire(2), B::Leased)]), None),
            (
                "a write that was decided in time and is seen late",
                and(vec![
                    call(40, late + 30, with(Some(1)), B::Written(102)),
                    call(late + 10, late + 20, GET, B::Content(1, 101)),
                    call(late + 40, late + 50, GET, B::Content(2, 102)),
                ]),
                None,
            ),
            (
                "a write that cannot have been decided in time",
                and(vec![
                    call(late + 10, late + 20, GET, B::Content(1, 101)),
                    call(late + 10, late + 30, with(Some(1)), B::Written(102)),
                ]),
                Some(3),
            ),
            ("a holder although it expired", and(vec![call(late, late + 10, acquire(2), B::LeaseConflict)]), Some(2)),
            ("a write without the id", and(vec![call(40, 50, with(None), B::Written(102))]), Some(2)),
            ("refused without the id", and(vec![call(40, 50, with(None), B::LeaseNotMet)]), None),
            (
                "a write with the id of what should not exist",
                and(vec![call(
                    40,
                    50,
                    Op::Put { value: 2, condition: Condition::IfAbsent, lease: Some(1) },
                    B::Written(102),
                )]),
                None,
            ),
            ("a write with the id", and(vec![call(40, 50, with(Some(1)), B::Written(102))]), None),
            (
                "a write with the id after it expired",
                and(vec![call(late, late + 9, with(Some(1)), B::Written(102))]),
                Some(2),
            ),
            (
                "refused with the id after it expired",
                and(vec![call(late, late + 9, with(Some(1)), B::LeaseNotMet)]),
                None,
            ),
            (
                "renewed in time",
                and(vec![
                    call(40, 50, Op::Renew { id: 1 }, B::Leased),
                    call(late, late + 9, acquire(2), B::LeaseConflict),
                ]),
                None,
            ),
            (
                "renewed after it expired and the blob was written",
                and(vec![
                    call(late, late + 9, with(None), B::Written(102)),
                    call(late + 10, late + 19, Op::Renew { id: 1 }, B::Leased),
                ]),
                Some(3),
            ),
            (
                "released, then taken",
                and(vec![call(40, 50, Op::Release { id: 1 }, B::Leased), call(60, 70, acquire(2), B::Leased)]),
                None,
            ),
            (
                "broken at once, then written without an id",
                and(vec![call(40, 50, Op::Break { period: 0 }, B::Leased), call(60, 70, with(None), B::Written(102))]),
                None,
            ),
            (
                "breaking, and taken before that is over",
                and(vec![
                    call(40, 50, Op::Break { period: 5 * SECOND }, B::Leased),
                    call(60, 70, acquire(2), B::Leased),
                ]),
                Some(3),
            ),
        ],
    );
}

#[test]
fn a_message() {
    use message::Op::{Delete, Get, Missed, Put, Update};
    let put = || call(0, 10, Put { hidden: 0 }, M::Held(1));
    let got = |from, to, receipt, dequeue_count| {
        call(from, to, Get { hidden: SECOND }, M::Brought { receipt, dequeue_count })
    };
    table(
        &Message,
        vec![
            ("got once", vec![put(), got(20, 30, 2, 1), call(40, 50, Delete { receipt: 2 }, M::Deleted)], None),
            ("delivered twice", vec![put(), got(20, 30, 2, 1), got(40, 50, 3, 2)], Some(2)),
            ("delivered twice at once", vec![put(), got(20, 30, 2, 1), got(20, 30, 3, 1)], Some(2)),
            ("again after its time", vec![put(), got(20, 30, 2, 1), got(SECOND + 40, SECOND + 50, 3, 2)], None),
            (
                "delivered after it was deleted",
                vec![put(), call(11, 19, Delete { receipt: 1 }, M::Deleted), got(20, 30, 2, 1)],
                Some(2),
            ),
            (
                "an old receipt",
                vec![put(), got(20, 30, 2, 1), call(40, 50, Delete { receipt: 1 }, M::Deleted)],
                Some(2),
            ),
            (
                "an old receipt is told",
                vec![put(), got(20, 30, 2, 1), call(40, 50, Delete { receipt: 1 }, M::Mismatch)],
                None,
            ),
            (
                "hidden longer by an update",
                vec![
                    put(),
                    got(20, 30, 2, 1),
                    call(40, 50, Update { receipt: 2, hidden: 9 * SECOND }, M::Held(3)),
                    got(2 * SECOND, 2 * SECOND + 10, 4, 2),
                ],
                Some(3),
            ),
            ("not brought although it is visible", vec![put(), call(20, 30, Missed, M::NotBrought)], Some(1)),
            (
                "not brought while it is hidden",
                vec![put(), got(20, 30, 2, 1), call(40, 50, Missed, M::NotBrought)],
                None,
            ),
            (
                "brought by a call whose answer was lost",
                vec![put(), lost(11, Get { hidden: SECOND }), call(20, 30, Missed, M::NotBrought)],
                None,
            ),
        ],
    );
}

#[test]
fn a_partition() {
    use partition::{Answer, Op};
    let insert = |row, value| Change::Insert { row, value };
    let written = |tags: &[u64]| Answer::Written(tags.iter().map(|tag| Some(*tag)).collect());
    let both = || call(0, 10, Op::Write(vec![insert(1, 5), insert(2, 5)]), written(&[11, 12]));
    let update = |row, value, tag| Change::Update { row, value, if_match: IfMatch::Tag(tag) };
    table(
        &Partition,
        vec![
            ("both rows", vec![both(), call(11, 20, Op::Scan, Answer::Rows(vec![(1, 5), (2, 5)]))], None),
            ("half of a transaction", vec![both(), call(5, 20, Op::Scan, Answer::Rows(vec![(1, 5)]))], Some(1)),
            (
                "a sum that moved in part",
                vec![
                    both(),
                    call(20, 40, Op::Write(vec![update(1, 4, 11), update(2, 6, 12)]), written(&[21, 22])),
                    call(20, 40, Op::Scan, Answer::Rows(vec![(1, 4), (2, 5)])),
                ],
                Some(2),
            ),
            (
                "two updates of one ETag",
                vec![
                    both(),
                    call(20, 30, Op::Write(vec![update(1, 6, 11)]), written(&[21])),
                    call(20, 31, Op::Write(vec![update(1, 7, 11)]), written(&[22])),
                ],
                Some(2),
            ),
            (
                "refused, and nothing of it was done",
                vec![
                    both(),
                    call(
                        20,
                        30,
                        Op::Write(vec![update(2, 9, 12), insert(1, 9)]),
                        Answer::Refused { change: 1, refusal: Refusal::AlreadyExists },
                    ),
                    call(40, 50, Op::Get { row: 2 }, Answer::Found(5, 12)),
                ],
                None,
            ),
        ],
    );
}

#[test]
fn appends_and_pages() {
    use append_blob::{Answer as A, Op as Append};
    let append = |block, position| Append::Append { block, position };
    table(
        &AppendBlob,
        vec![
            (
                "two at once, each behind the other",
                vec![
                    call(0, 10, append(1, None), A::Appended { offset: 0 }),
                    call(0, 10, append(2, None), A::Appended { offset: 1 }),
                    call(11, 20, Append::Read, A::Content(Content::of(&[1, 2]))),
                ],
                None,
            ),
            (
                "two at the same place",
                vec![
                    call(0, 10, append(1, None), A::Appended { offset: 0 }),
                    call(0, 10, append(2, None), A::Appended { offset: 0 }),
                ],
                Some(1),
            ),
            (
                "read in another order",
                vec![
                    call(0, 10, append(1, None), A::Appended { offset: 0 }),
                    call(0, 10, append(2, None), A::Appended { offset: 1 }),
                    call(11, 20, Append::Read, A::Content(Content::of(&[2, 1]))),
                ],
                Some(2),
            ),
            (
                "a position that was met twice",
                vec![
                    call(0, 10, append(1, Some(0)), A::Appended { offset: 0 }),
                    call(0, 11, append(2, Some(0)), A::Appended { offset: 1 }),
                ],
                Some(1),
            ),
        ],
    );
    use page_blob::{Answer as P, Op as Page};
    let write = |first, count, value| Page::Write { first, count, value };
    let read = |from, to, pages: &[u64]| call(from, to, Page::Read { first: 0, count: 4 }, P::Pages(pages.to_vec()));
    table(
        &PageBlob { pages: 4 },
        vec![
            ("a range", vec![call(0, 9, write(1, 2, 7), P::Written), read(10, 20, &[0, 7, 7, 0])], None),
            ("half of a range", vec![call(0, 30, write(1, 2, 7), P::Written), read(10, 20, &[0, 7, 0, 0])], Some(1)),
            (
                // A clear that would change nothing at first takes effect behind a write that is open with it.
                "a clear of what is clear, behind a write",
                vec![
                    call(0, 30, write(1, 2, 7), P::Written),
                    call(1, 31, write(2, 2, 0), P::Written),
                    read(10, 20, &[0, 7, 0, 0]),
                ],
                None,
            ),
            (
                "two that overlap, mixed",
                vec![
                    call(0, 9, write(0, 3, 1), P::Written),
                    call(0, 9, write(1, 3, 2), P::Written),
                    read(10, 20, &[1, 1, 2, 1]),
                ],
                Some(2),
            ),
        ],
    );
}

/// A history of so many clients in which every call takes effect at an instant between its ends. `ask` makes a call from what the
/// client saw last; `serve` does it.
fn simulated<S: Default, O: Clone + Debug, A: Clone + Debug>(
    clients: u32,
    calls: usize,
    seed: u64,
    ask: impl Fn(&mut Random, u64, Option<&A>) -> O,
    mut serve: impl FnMut(&mut S, &O, u64) -> A,
) -> History<O, A> {
    let mut random = Random::new(seed);
    // When each client's call begins, takes effect and ends; the call itself; what it saw last.
    let mut open: Vec<(u64, u64, u64, O, Option<A>)> = Vec::new();
    for client in 0..clients {
        let begin = u64::from(client);
        let op = ask(&mut random, begin, None);
        open.push((begin, begin + 1 + random.below(50), begin + 60 + random.below(50), op, None));
    }
    let mut state = S::default();
    let mut history = Vec::new();
    while history.len() < calls {
        let (client, _) = open.iter().enumerate().min_by_key(|(_, call)| call.1).unwrap();
        let (begin, effect, end, op, _) = open[client].clone();
        let answer = serve(&mut state, &op, effect);
        let number = u32::try_from(client).unwrap();
        history.push(Call { client: number, op, called_at: begin, answered: Some((end, answer.clone())) });
        let next = end + 1 + random.below(20);
        let op = ask(&mut random, next, Some(&answer));
        let effect = next + 1 + random.below(50);
        open[client] = (next, effect, effect + random.below(50), op, Some(answer));
    }
    history
}

/// Values and ETags in turn.
fn register(clients: u32, calls: usize, seed: u64) -> History<Op, B> {
    let ask = |random: &mut Random, at: u64, last: Option<&B>| match (random.below(4), last) {
        (0 | 1, _) => GET,
        (2, Some(B::Content(_, tag) | B::Written(tag))) => put_if(at, *tag),
        _ => put(at),
    };
    let serve = |state: &mut Option<(u64, u64)>, op: &Op, at: u64| match (op, *state) {
        (Op::Put { condition: Condition::IfMatch(tag), .. }, found) if found.map(|(_, tag)| tag) != Some(*tag) => {
            B::ConditionNotMet
        }
        (Op::Put { value, .. }, _) => {
            *state = Some((*value, at * 1000 + value % 1000));
            B::Written(state.unwrap().1)
        }
        (_, Some((value, tag))) => B::Content(value, tag),
        (_, None) => B::NotFound,
    };
    simulated(clients, calls, seed, ask, serve)
}

#[test]
fn what_happens_one_after_the_other_is_always_explained() {
    for seed in 0..200 {
        let history = register(8, 60, seed);
        assert_eq!(verdict(&Blob, &history), None, "seed {seed}");
    }
}

#[test]
fn a_long_history_of_one_object_is_checked_in_memory_that_does_not_grow() {
    let history = register(16, 10_000, 1);
    let bounds = Bounds { configurations: 50_000, ..Bounds::default() };
    assert_eq!(check(&Blob, &history, bounds), Verdict::Linearizable);
}

#[test]
fn one_stale_read_in_a_long_history_is_found() {
    let mut history = register(16, 10_000, 2);
    let old = history.iter().find_map(|call| call.answer().filter(|answer| matches!(answer, B::Content(..)))).cloned();
    let read = history.iter().rposition(|call| matches!(call.answer(), Some(B::Content(..)))).unwrap();
    let end = history[read].ended_at();
    history[read].answered = old.map(|answer| (end, answer));
    assert_eq!(verdict(&Blob, &history), Some(read));
}

#[test]
fn what_cannot_be_found_out_is_said_so() {
    let history = register(16, 200, 3);
    let few = check(&Blob, &history, Bounds { configurations: 2, open: 128 });
    assert!(matches!(few, Verdict::Unknown { .. }), "{few:?}");
    let narrow = check(&Blob, &history, Bounds { configurations: 1000, open: 2 });
    assert!(matches!(narrow, Verdict::Unknown { .. }), "{narrow:?}");
}
