//! Random writes, clears, snapshots and prunes against a plain array of bytes.
