//! Drives the target `bearer`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run("bearer", data));
