//! What tests share: a REST service called as a function without a socket, the program itself with clients behind sockets,
//! workloads of concurrent clients, and the checker of what they saw.
//!
//! A test of a service is a table: a request a line, and the status, the code and the headers that it must be answered with.
//! Nothing here decides anything; a request takes the whole way from its text to the bytes of its answer.

mod answer;
pub mod client;
pub mod flawed;
mod lazuli;
pub mod linearizability;
mod nowhere;
mod rest_service;
mod sas;
mod shared_key;
mod wire;
pub mod workload;

pub use answer::Answer;
pub use lazuli::Lazuli;
pub use nowhere::Nowhere;
pub use rest_service::{Parts, RestService};
pub use sas::account_sas;
pub use shared_key::{ACCOUNT, KEY, authorization};
pub use store::testing::Random;
pub use wire::Wire;
