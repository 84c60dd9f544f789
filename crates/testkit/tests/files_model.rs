//! The model of files, by histories that it must explain and others that it must not.

use testkit::linearizability::{
    Bounds, Call, Verdict, check,
    models::files::{Answer, Files, Op, Refusal},
};

/// A call of somebody: from when, until when, what, and what was answered.
type Seen = (u64, Option<u64>, Op, Option<Answer>);

fn explained(seen: Vec<Seen>) -> bool {
    let calls = (0_u32..).zip(seen).map(|(client, (called_at, ended_at, op, answer))| Call {
        client,
        op,
        called_at,
        answered: ended_at.zip(answer),
    });
    match check(&Files, &calls.collect::<Vec<_>>(), Bounds::default()) {
        Verdict::Linearizable => true,
        Verdict::NotLinearizable { .. } => false,
        Verdict::Unknown { why } => unreachable!("{why}"),
    }
}

/// A call that was answered.
fn done(from: u64, to: u64, op: Op, answer: Answer) -> Seen {
    (from, Some(to), op, Some(answer))
}

fn create(name: u8) -> Op {
    Op::Create { name, pages: 3, metadata: 5, lease: None }
}

const fn write(first: usize, count: usize, value: u64) -> Op {
    Op::Write { name: 0, first, count, value, lease: None }
}

const READ: Op = Op::Read { name: 0, first: 0, count: 3 };

/// A file of three pages, and what comes behind.
fn with_file(more: Vec<Seen>) -> bool {
    let mut all = vec![done(0, 1, create(0), Answer::Done)];
    all.extend(more);
    explained(all)
}

#[test]
fn a_range_is_written_at_one_instant() {
    let pages = |pages: [u64; 3]| Answer::Pages(pages.to_vec());
    for (seen, fits) in [([7, 7, 0], true), ([0, 0, 0], false), ([7, 0, 0], false), ([7, u64::MAX, 0], false)] {
        let history = vec![done(2, 3, write(0, 2, 7), Answer::Done), done(4, 5, READ, pages(seen))];
        assert_eq!(with_file(history), fits, "{seen:?}");
    }
    // Two beside each other: one is first, for everybody.
    for (seen, fits) in [([7, 7, 8], true), ([7, 8, 8], true), ([7, 7, 7], false), ([0, 8, 8], false)] {
        let writes = [done(2, 9, write(0, 2, 7), Answer::Done), done(2, 9, write(1, 2, 8), Answer::Done)];
        let history = [&writes[..], &[done(10, 11, READ, pages(seen))]].concat();
        assert_eq!(with_file(history), fits, "{seen:?}");
    }
    // Whether an unanswered one happened, nobody knows; but it happened whole, and not back and forth.
    for (first, second, fits) in [(0, 0, true), (0, 7, true), (7, 7, true), (7, 0, false)] {
        let lost = (2, None, write(0, 3, 7), None);
        let history = vec![lost, done(4, 5, READ, pages([first; 3])), done(6, 7, READ, pages([second; 3]))];
        assert_eq!(with_file(history), fits, "{first} {second}");
    }
}

#[test]
fn lengths_metadata_and_refusals_are_those_of_one_state() {
    let resize = Op::Resize { name: 0, pages: 1, lease: None };
    let behind = Answer::Refused(Refusal::BehindTheEnd);
    let table = [
        (vec![done(2, 3, resize.clone(), Answer::Done), done(4, 5, write(0, 2, 7), behind.clone())], true),
        (vec![done(2, 3, resize.clone(), Answer::Done), done(4, 5, write(0, 2, 7), Answer::Done)], false),
        (vec![done(2, 3, write(0, 2, 7), behind)], false),
        (vec![done(2, 3, resize.clone(), Answer::Done), done(4, 5, READ, Answer::Pages(vec![0]))], true),
        (vec![done(2, 3, resize, Answer::Done), done(4, 5, Op::Describe { name: 0 }, Answer::Described(1, 5))], true),
        (vec![done(2, 3, Op::Describe { name: 0 }, Answer::Described(3, 6))], false),
        (vec![done(2, 3, Op::Describe { name: 1 }, Answer::Refused(Refusal::NotFound))], true),
        (vec![done(2, 3, Op::Describe { name: 0 }, Answer::Refused(Refusal::NotFound))], false),
    ];
    for (number, (history, fits)) in table.into_iter().enumerate() {
        assert_eq!(with_file(history), fits, "row {number}");
    }
}

#[test]
fn a_rename_is_one_instant() {
    let rename = |replaces| Op::Rename { from: 0, to: 1, replaces, lease: None };
    let names = |names: &[u8]| Answer::Names(names.to_vec());
    let exists = Answer::Refused(Refusal::AlreadyExists);
    let table = [
        (vec![done(2, 3, rename(false), Answer::Done), done(4, 5, Op::List, names(&[1]))], true),
        (vec![done(2, 3, rename(false), Answer::Done), done(4, 5, Op::List, names(&[0, 1]))], false),
        (vec![done(2, 9, rename(false), Answer::Done), done(4, 5, Op::List, names(&[]))], false),
        (vec![done(2, 3, create(1), Answer::Done), done(4, 5, rename(false), exists.clone())], true),
        (vec![done(2, 3, create(1), Answer::Done), done(4, 5, rename(true), exists)], false),
        (vec![done(2, 3, create(1), Answer::Done), done(4, 5, rename(true), Answer::Done)], true),
    ];
    for (number, (history, fits)) in table.into_iter().enumerate() {
        assert_eq!(with_file(history), fits, "row {number}");
    }
}

#[test]
fn a_lease_keeps_others_out() {
    let acquire = |id| Op::Acquire { name: 0, id };
    let write = |lease| Op::Write { name: 0, first: 0, count: 1, value: 7, lease };
    let (unmet, conflict) = (Answer::Refused(Refusal::LeaseNotMet), Answer::Refused(Refusal::LeaseConflict));
    let leased = |more: Vec<Seen>| with_file([vec![done(2, 3, acquire(1), Answer::Done)], more].concat());
    let table = [
        (vec![done(4, 5, write(None), unmet.clone())], true),
        (vec![done(4, 5, write(None), Answer::Done)], false),
        (vec![done(4, 5, write(Some(1)), Answer::Done)], true),
        (vec![done(4, 5, write(Some(2)), unmet.clone())], true),
        (vec![done(4, 5, acquire(2), conflict)], true),
        (vec![done(4, 5, acquire(2), Answer::Done)], false),
        (vec![done(4, 5, Op::Break { name: 0 }, Answer::Done), done(6, 7, write(None), Answer::Done)], true),
        (vec![done(4, 5, Op::Break { name: 0 }, Answer::Done), done(6, 7, write(Some(1)), unmet)], true),
        (vec![done(4, 5, Op::Break { name: 0 }, Answer::Done), done(6, 7, acquire(2), Answer::Done)], true),
        (vec![done(4, 5, Op::Release { name: 0, id: 1 }, Answer::Done), done(6, 7, acquire(2), Answer::Done)], true),
        (vec![done(4, 5, Op::Delete { name: 0, lease: None }, Answer::Done)], false),
    ];
    for (number, (history, fits)) in table.into_iter().enumerate() {
        assert_eq!(leased(history), fits, "row {number}");
    }
}
