//! The reference engine passes the suite that it is the reference for.

use store::{BoxFuture, Store, conformance::Subject};
use store_memory::MemoryEngine;

struct Memory(MemoryEngine);

impl Subject for Memory {
    fn store(&self) -> Store {
        self.0.store()
    }

    fn reopen(&mut self) -> BoxFuture<'_, bool> {
        Box::pin(async {
            self.0 = self.0.restart();
            true
        })
    }
}

async fn fresh() -> Box<dyn Subject> {
    Box::new(Memory(MemoryEngine::default()))
}

store::conformance_tests!(fresh);
