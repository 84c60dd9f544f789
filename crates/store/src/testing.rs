//! What tests above the store share, without what the conformance suite brings: an engine around an engine, and numbers
//! with a seed.

mod around;
mod random;

pub use around::Around;
pub use random::Random;
