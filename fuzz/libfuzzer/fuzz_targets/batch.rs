//! Drives the target `batch`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run("batch", data));
