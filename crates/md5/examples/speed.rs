//! How fast: one stream, and sixteen side by side.
#![expect(clippy::as_conversions, reason = "numbers for people")]

use std::time::Instant;

use md5_lanes::{LANES_MAX, Md5, update_together};

fn main() {
    let piece = vec![7_u8; 64 * 1024];
    for lanes in [1, 2, 4, 8, LANES_MAX] {
        let mut streams: Vec<(Md5, &[u8])> = (0..lanes).map(|_| (Md5::default(), &*piece)).collect();
        let rounds = 4000 / lanes;
        let started = Instant::now();
        for _ in 0..rounds {
            update_together(&mut streams);
        }
        let bytes = (rounds * lanes * piece.len()) as f64;
        println!("{lanes} streams: {:.2} GB/s", bytes / started.elapsed().as_secs_f64() / 1e9);
    }
}
