//! Drives the target `table_filter`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run("table_filter", data));
