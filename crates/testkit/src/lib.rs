//! What tests share: a REST service called as a function, without a socket.
//!
//! A test is a table: a request a line, and the status, the code and the headers that it must be answered with. Nothing here
//! decides anything; a request takes the whole way from its text to the bytes of its answer.

mod answer;
pub mod linearizability;
mod nowhere;
mod rest_service;
mod shared_key;

pub use answer::Answer;
pub use nowhere::Nowhere;
pub use rest_service::{Parts, RestService};
pub use shared_key::{ACCOUNT, KEY, authorization};
