//! Random histories into two engines; whatever they answer must be the same.
//!
//! A history is made of its seed alone: the same seed is the same test on every machine. The engine under test and the
//! reference engine do each step in turn, each step says what it saw, and the two must have seen the same. When they did
//! not, seed and step are printed: `LAZULI_MODEL_SEED` and `LAZULI_MODEL_STEPS` run that history again.
//!
//! ```ignore
//! #[test]
//! fn random_histories_match_the_reference_engine() {
//!     model::run(model::Plan::from_env(100_000, 1), fresh, reference);
//! }
//! ```

mod side;
mod step;

use std::future::Future;

use super::Subject;
use crate::testing::Random;
use side::Side;
use step::Step;

/// Which history, and how much of it.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub steps: u32,
    pub seed: u64,
}

impl Plan {
    /// The given plan, unless the environment asks for another.
    #[must_use]
    pub fn from_env(steps: u32, seed: u64) -> Self {
        fn asked<T: std::str::FromStr>(name: &str) -> Option<T> {
            std::env::var(name).ok()?.parse().ok()
        }
        Self { steps: asked("LAZULI_MODEL_STEPS").unwrap_or(steps), seed: asked("LAZULI_MODEL_SEED").unwrap_or(seed) }
    }
}

/// Runs a history on a fresh engine and a fresh reference.
pub fn run<Make, Made, MakeReference, MadeReference>(plan: Plan, make: Make, reference: MakeReference)
where
    Make: FnOnce() -> Made,
    Made: Future<Output = Box<dyn Subject>>,
    MakeReference: FnOnce() -> MadeReference,
    MadeReference: Future<Output = Box<dyn Subject>>,
{
    super::run(make, |subject| async move { compare(plan, subject, reference().await).await });
}

/// Drives both and compares.
///
/// # Panics
/// They saw different things.
pub async fn compare(plan: Plan, subject: Box<dyn Subject>, reference: Box<dyn Subject>) {
    let mut random = Random::new(plan.seed);
    let (mut subject, mut reference) = (Side::new(subject), Side::new(reference));
    let mut place = Place { plan, number: 0, step: None };
    for number in 0..plan.steps {
        place.number = number;
        let step = place.step.insert(Step::random(&mut random));
        both(&mut subject, &mut reference, step).await;
        if number % 250 == 249 {
            both(&mut subject, &mut reference, place.step.insert(Step::LookAtEverything)).await;
        }
    }
    for last in [Step::Reopen, Step::LookAtEverything] {
        both(&mut subject, &mut reference, place.step.insert(last)).await;
    }
}

async fn both(subject: &mut Side, reference: &mut Side, step: &Step) {
    let expected = reference.run(step).await;
    let seen = subject.run(step).await;
    assert!(seen == expected, "the engine saw\n{seen}\nand the reference\n{expected}");
}

/// Says where in which history a test failed.
struct Place {
    plan: Plan,
    number: u32,
    step: Option<Step>,
}

impl Drop for Place {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self { plan, number, step } = self;
            eprintln!("LAZULI_MODEL_SEED={} LAZULI_MODEL_STEPS={}: {step:?}", plan.seed, *number + 1);
        }
    }
}
