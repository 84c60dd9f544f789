//! Drives the target `file_route`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run("file_route", data));
