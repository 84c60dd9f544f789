//! Drives the target `head`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run("head", data));
