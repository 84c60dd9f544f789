//! What was written through a handle counts for a change by REST that begins later, also when it is stored at the worst
//! moment: an engine that lets others go first, right behind the view of a transaction.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::{
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Waker},
};

use bytes::Bytes;
use concurrency::share_mode::{Access, OpenMode, ShareMode};
use file::open::Disposition;
use store::{Engine, Horizon, Store, clock::SystemTime, engine::View, testing::Around};
use store_memory::MemoryEngine;
use support::{World, run};

type Interlude = Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>;

struct Interrupted {
    inner: MemoryEngine,
    interlude: Interlude,
}

impl Around for Interrupted {
    fn inner(&self) -> &dyn Engine {
        &self.inner
    }

    fn view(&self, horizon: Horizon) -> Box<dyn View> {
        let view = self.inner.view(horizon);
        let interlude = match horizon {
            Horizon::Sequenced => self.interlude.lock().unwrap().take(),
            Horizon::Durable => None,
        };
        if let Some(interlude) = interlude {
            interlude();
        }
        view
    }
}

#[test]
fn a_flush_behind_the_look_of_a_change_does_not_make_it_judge_by_what_was_before() {
    run(async {
        let (inner, interlude) = (MemoryEngine::new(SystemTime::default()), Interlude::default());
        let engine = Interrupted { inner: inner.clone(), interlude: Arc::clone(&interlude) };
        // A seed, so that the file and its path do not by chance share a latch.
        let world = World::on(inner, Store::seeded(Arc::new(engine), 7)).await;
        let mode = OpenMode { access: Access::ALL, share: ShareMode::ALL };
        let opened = Arc::new(world.open("a", Disposition::OpenIf, mode, false).await.unwrap());
        world.files.write_at(&opened.handle, 0, Bytes::from_static(b"abcd"), false).await.unwrap();
        let (files, flushed) = (world.files.clone(), Arc::clone(&opened));
        let flush = move || {
            let flush = pin!(files.flush(&flushed.handle));
            // The memory engine answers at once.
            assert!(flush.poll(&mut Context::from_waker(Waker::noop())).is_ready());
        };
        *interlude.lock().unwrap() = Some(Box::new(flush));
        world.put_range("a", 1, b"xy").await.unwrap();
        assert!(interlude.lock().unwrap().is_none(), "it was flushed meanwhile");
        assert_eq!(world.read("a", None).await.unwrap(), b"axyd");
    });
}
