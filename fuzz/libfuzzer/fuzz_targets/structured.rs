//! Drives the target `structured`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run("structured", data));
