//! Drives the target `table_atom`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::run("table_atom", data));
