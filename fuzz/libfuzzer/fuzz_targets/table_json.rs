//! Drives the target `table_json`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run("table_json", data));
