//! The embedded engine keeps every promise of the contract, on a real disk.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use store::{
    BoxFuture, ChunkRef, Store,
    conformance::{Restartable, Subject, model},
};
use store_embedded::{EmbeddedEngine, Options};
use store_memory::MemoryEngine;
use tempfile::TempDir;

struct Embedded {
    directory: TempDir,
    open: Option<(Arc<EmbeddedEngine>, Store)>,
}

impl Embedded {
    fn open(&mut self) {
        let engine = Arc::new(EmbeddedEngine::open(self.directory.path(), Options::default()).unwrap());
        let store = Store::new(Arc::<EmbeddedEngine>::clone(&engine));
        self.open = Some((engine, store));
    }
}

impl Subject for Embedded {
    fn store(&self) -> Store {
        self.open.as_ref().unwrap().1.clone()
    }

    fn reopen(&mut self) -> BoxFuture<'_, bool> {
        Box::pin(async {
            let (engine, store) = self.open.take().unwrap();
            drop(store);
            engine.close().unwrap();
            assert_eq!(Arc::strong_count(&engine), 1, "a case holds on to the store");
            drop(engine);
            self.open();
            true
        })
    }

    fn move_chunk(&self, chunk: ChunkRef) -> BoxFuture<'static, ()> {
        let engine = Arc::clone(&self.open.as_ref().unwrap().0);
        Box::pin(async move { assert!(engine.move_chunk(chunk).await.unwrap(), "{chunk} is not live") })
    }
}

async fn fresh() -> Box<dyn Subject> {
    let mut subject = Embedded { directory: tempfile::tempdir().unwrap(), open: None };
    subject.open();
    Box::new(subject)
}

store::conformance_tests!(fresh);

async fn reference() -> Box<dyn Subject> {
    Restartable::boxed(MemoryEngine::default(), MemoryEngine::store, MemoryEngine::restart)
}

#[test]
fn random_histories_match_the_reference_engine() {
    model::run(model::Plan::from_env(100_000, 1), fresh, reference);
}
