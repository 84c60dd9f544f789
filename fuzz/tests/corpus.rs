//! What the fuzzer found worth keeping, with the stable compiler, on every run of the tests.

#![expect(clippy::disallowed_methods, reason = "a test that reads its own files")]

use std::path::Path;

#[test]
fn every_kept_input_holds() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (name, target) in fuzz::TARGETS {
        let kept = std::fs::read_dir(corpus.join(name)).unwrap();
        let inputs: Vec<_> = kept.map(|entry| entry.unwrap().path()).collect();
        assert!(!inputs.is_empty(), "{name} has no corpus");
        for path in inputs {
            target(&std::fs::read(&path).unwrap());
        }
    }
}

#[test]
fn every_target_is_driven_by_libfuzzer() {
    let drivers = Path::new(env!("CARGO_MANIFEST_DIR")).join("libfuzzer").join("fuzz_targets");
    for (name, _) in fuzz::TARGETS {
        let driver = std::fs::read_to_string(drivers.join(format!("{name}.rs"))).unwrap();
        assert!(driver.contains(&format!("fuzz::run(\"{name}\", data)")), "{name}");
    }
}
