//! `cargo xtask`: reads the command line and runs one command of the library.
//!
//! Exit codes: 0 all is well, 1 a test or a rule failed, 2 the command could not do its work (bad arguments, set-up).

use std::process::ExitCode;
use xtask::Outcome;

const HELP: &str = "\
the front door of the project

usage: cargo xtask <command>

commands:
  test    set up what the tests need, then check format and lints and run every test
  bench   measure against peers in one run: [--quick] [--only store|http|blob|queue|table|file|smb];
          or this build and another one in turns: --against PROGRAM [--quick]
  crash   run the crash tests N times over: crash N
  fuzz    let libFuzzer drive the readers of hostile bytes: [TARGET …] [--seconds 60]; needs nightly and cargo-fuzz
  sim     run the services under simulated faults, a world a seed: [--seconds 60] [--seed 1] [--trace]
  smbtorture
          run Samba's own tests against a fresh server, beside what smbd passes: [--quick] [SUITE …]
  tidy    check the rules of the tree: dependency arrows, file lengths, module headers, hosts and paths
  help    show this text
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["test"] => xtask::suite::run(&xtask::root()),
        ["bench", rest @ ..] => xtask::bench::run(&xtask::root(), rest),
        ["crash", rounds] => xtask::crash::run(&xtask::root(), rounds),
        ["fuzz", rest @ ..] => xtask::fuzz::run(&xtask::root(), rest),
        ["sim", rest @ ..] => xtask::sim::run(&xtask::root(), rest),
        ["smbtorture", rest @ ..] => xtask::smbtorture::run(&xtask::root(), rest),
        ["tidy"] => xtask::tidy::command(&xtask::root()),
        ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(Outcome::Good)
        }
        _ => {
            eprint!("unknown command {arguments:?}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(Outcome::Good) => ExitCode::SUCCESS,
        Ok(Outcome::Failed) => ExitCode::FAILURE,
        Ok(Outcome::Unable) => ExitCode::from(2),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
