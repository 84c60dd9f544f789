//! Drives the target `target`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run("target", data));
