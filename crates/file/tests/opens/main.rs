//! The table of opens: the matrix of REST against opens, waiting, handles, places, a model and many threads.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod caches;
mod clients;
mod handles;
mod locks;
mod matrix;
mod model;
mod orphans;
mod places;
mod stress;
mod support;
mod waiting;
