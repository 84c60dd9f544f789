//! Numbers that look random and are the same for the same seed.

/// A generator (splitmix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below a bound that is not zero.
    pub const fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// True so many times in a hundred.
    pub const fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }
}
