//! Drives the target `table_batch`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run("table_batch", data));
