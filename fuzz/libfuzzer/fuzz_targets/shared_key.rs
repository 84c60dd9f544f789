//! Drives the target `shared_key`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run("shared_key", data));
