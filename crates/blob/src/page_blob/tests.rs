//! Writers between the steps of a long clear.

use concurrency::{
    conditions::{Conditions, ETagCondition},
    sequence_number::SequenceNumberConditions,
};

use crate::{Preconditions, support::*};

const PAGE: u64 = 512;

/// A range of pages, by their numbers.
const fn pages(start: u64, end: u64) -> (u64, u64) {
    (start * PAGE, end * PAGE)
}

#[test]
fn what_is_written_behind_a_clear_in_steps_stays() {
    run(async {
        let world = World::new().await;
        world.create_pages("p", 40_000 * PAGE).await.unwrap();
        for page in 0..9_000 {
            world.fill("p", pages(page * 4, page * 4 + 1), b'a').await.unwrap();
        }
        let text = world.properties("p").await.unwrap().etag.to_string();
        let conditions = Conditions { if_match: Some(ETagCondition::parse(&text).unwrap()), ..Conditions::default() };
        let preconditions = Preconditions { conditions, ..Preconditions::default() };
        let numbers = SequenceNumberConditions::default();
        let clear = world.put_pages("p", pages(0, 40_000), None, preconditions, numbers);
        // Whoever waits for the blob comes next: the write is between the first step and the second.
        let write = async {
            let wait = |_| async {
                tokio::task::yield_now().await;
                Ok(())
            };
            world.blobs.on_blob(&address("p"), wait).await.unwrap();
            world.fill("p", pages(0, 1), b'w').await.unwrap()
        };
        let (written, cleared) = tokio::join!(write, clear);
        assert!(written.written.etag < cleared.unwrap().written.etag, "it came in between");
        assert_eq!(world.ranges("p", None, None).await.unwrap(), "0-1", "the clear was decided before the write");
        world.check_empties().await;
    });
}
