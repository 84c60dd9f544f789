//! The simulator itself: the same seed is the same run, sound worlds are sound, and planted bugs are found.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::time::{Duration, Instant};

use sim::{Flaw, Size, World};

#[test]
fn two_runs_of_one_seed_are_the_same_byte_by_byte() {
    for seed in 1..6 {
        let run = |world: &mut World| world.run().unwrap();
        let [mut first, mut second] = [(); 2].map(|()| World::new(seed, Size::default(), None, true).unwrap());
        run(&mut first);
        run(&mut second);
        let (first, second) = (first.trace(), second.trace());
        let differing = first.text().lines().zip(second.text().lines()).enumerate().find(|(_, (a, b))| a != b);
        assert_eq!(differing, None, "seed {seed}");
        assert!(first.lines() > 1_000 && first.text() == second.text());
    }
}

#[test]
fn sound_worlds_are_sound() {
    for seed in 100..110 {
        let mut world = World::new(seed, Size::default(), None, false).unwrap();
        world.run().unwrap();
        assert!(world.counts().explained >= 5, "{:?}", world.counts());
    }
}

/// What `cargo xtask sim` does for hours. A test, because the program would have to be built once more, apart from the tests.
#[test]
#[expect(clippy::disallowed_methods, reason = "for a minute of real time")]
fn a_minute_of_worlds_is_as_it_should_be() {
    let (begin, mut seed) = (Instant::now(), 1_000);
    while begin.elapsed() < Duration::from_secs(60) {
        World::new(seed, Size::default(), None, false).unwrap().run().unwrap();
        seed += 1;
    }
    println!("{} worlds", seed - 1_000);
}

fn found(flaw: Flaw, size: Size) {
    let found = (1..300).find_map(|seed| World::new(seed, size, Some(flaw), false).unwrap().run().err());
    let found = found.map(|failure| failure.to_string());
    println!("{flaw:?}: {}", found.as_deref().unwrap_or_default().lines().next().unwrap_or_default());
    assert!(found.is_some(), "{flaw:?}");
}

#[test]
fn an_answer_before_the_sync_is_found() {
    found(Flaw::AnswerBeforeSync, Size::default());
}

#[test]
fn a_lost_directory_sync_is_found() {
    found(Flaw::LostDirectorySync, Size::default());
}

#[test]
fn a_log_that_is_let_go_before_the_checkpoint_is_found() {
    found(Flaw::LogBeforeCheckpoint, Size::default());
}

#[test]
fn a_lease_that_outlives_its_expiry_after_a_crash_is_found() {
    // A blob alone: what is found is its lease.
    found(Flaw::LeaseOutlivesExpiry, Size { objects: 1, calls: 200, ..Size::default() });
}
