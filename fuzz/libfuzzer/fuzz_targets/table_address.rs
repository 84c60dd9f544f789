//! Drives the target `table_address`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run("table_address", data));
