//! Drives the target `range`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run("range", data));
