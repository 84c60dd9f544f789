//! Drives the target `chunks`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run("chunks", data));
