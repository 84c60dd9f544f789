//! The reference engine passes the suite that it is the reference for, and agrees with itself on random histories.

use store::conformance::{Restartable, Subject, model};
use store_memory::MemoryEngine;

async fn fresh() -> Box<dyn Subject> {
    Restartable::boxed(MemoryEngine::default(), MemoryEngine::store, MemoryEngine::restart)
}

/// An engine that forgets everything when it is opened again.
async fn forgetful() -> Box<dyn Subject> {
    Restartable::boxed(MemoryEngine::default(), MemoryEngine::store, |_| MemoryEngine::default())
}

store::conformance_tests!(fresh);

#[test]
fn random_histories_match_the_reference_engine() {
    model::run(model::Plan::from_env(3_000, 1), fresh, fresh);
}

#[test]
#[should_panic(expected = "the engine saw")]
fn an_engine_that_forgets_is_found_out() {
    model::run(model::Plan { steps: 300, seed: 7 }, forgetful, fresh);
}
