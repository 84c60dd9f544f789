//! Drives the target `sas`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run("sas", data));
