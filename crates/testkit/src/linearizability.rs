//! Whether what concurrent clients saw can be explained by one order of all their calls, in which each call takes effect at an
//! instant between its begin and its end (Herlihy and Wing, 1990).
//!
//! [`history`] is what was seen, [`checker`] looks for the order, [`models`] say what each call does to the one object that a
//! history is about. The models are written from the documentation, not from the rules of the services: both must be right.

pub mod checker;
pub mod history;
pub mod models;
#[cfg(test)]
mod tests;

pub use checker::{Bounds, Model, Verdict, check};
pub use history::{Call, History};
