//! The built program from outside: it starts, says what it must, refuses what it must, and ends cleanly.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test, with files of its own"
)]

mod azurite;
mod commands;
mod messages;
mod pages;
mod permissions;
mod ports_file;
mod sas;
mod start;
mod support;
