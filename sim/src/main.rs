//! Runs worlds, one seed after the other, and stops at the first that is not as it should be.

use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
use sim::{Counts, Size, World};

/// Runs worlds.
#[derive(Parser)]
struct Arguments {
    /// For how long.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The first seed. A failure names the seed that repeats it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Prints what happens, line by line.
    #[arg(long)]
    trace: bool,
}

#[expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a program: its time is real, and it tells what it did"
)]
fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let begin = Instant::now();
    let mut sum = Counts::default();
    let mut seed = arguments.seed;
    loop {
        let mut world = World::new(seed, Size::default(), None, arguments.trace)?;
        let lived = world.run();
        if arguments.trace {
            println!("{}", world.trace().text());
        }
        lived?;
        let counts = world.counts();
        sum.calls += counts.calls;
        sum.turns += counts.turns;
        sum.crashes += counts.crashes;
        sum.faults += counts.faults;
        sum.checkpoints += counts.checkpoints;
        sum.explained += counts.explained;
        sum.undecided += counts.undecided;
        seed += 1;
        if begin.elapsed() >= Duration::from_secs(arguments.seconds) {
            break;
        }
    }
    let worlds = seed - arguments.seed;
    println!(
        "simulated: {worlds} worlds from seed {}, {} operations, {} turns, {} crashes, {} faults, {} checkpoints, {} histories \
         explained, {} undecided, in {:.0?}",
        arguments.seed,
        sum.calls,
        sum.turns,
        sum.crashes,
        sum.faults,
        sum.checkpoints,
        sum.explained,
        sum.undecided,
        begin.elapsed()
    );
    Ok(())
}
