//! The rules of concurrency: one pure crate that every service and both file protocols use.
//!
//! It decides and never acts. Nothing here does I/O, is async, reads a clock, makes a random number, or knows HTTP, SMB
//! or a store: time and fresh ids come in as arguments, and each decision returns either the new state or a typed
//! refusal that a service maps to exactly one status and code. A decision counts only inside the transaction of the
//! write that it allows.
//!
//! | module | rule |
//! |---|---|
//! | [`conditions`] | `If-Match`, `If-None-Match`, `If-Modified-Since`, `If-Unmodified-Since` |
//! | [`tag_condition`] | `x-ms-if-tags` and the `where` of Find Blobs by Tags |
//! | [`append_condition`], [`sequence_number`], [`source_crc64`] | append position, maximum size, sequence numbers, checksums |
//! | [`lease`] | leases of blobs, containers, shares, share snapshots and files |
//! | [`gate`] | lease and conditions together, in one order |
//! | [`table_etag`] | the ETag of an entity and what each entity operation needs |
//! | [`visibility`] | queue messages: visible, invisible, expired; pop receipts |
//! | [`share_mode`], [`range_lock`], [`oplock`], [`delete_pending`] | what open files allow each other |
//! | [`durable`] | opens that outlive the connection of their client |
//! | [`file_open`], [`rest_open`] | an SMB open, and a REST operation as a momentary open, through all of these |

pub mod append_condition;
pub mod conditions;
pub mod delete_pending;
pub mod durable;
pub mod file_open;
pub mod gate;
pub mod lease;
pub mod oplock;
pub mod range_lock;
pub mod rest_open;
pub mod sequence_number;
pub mod share_mode;
pub mod source_crc64;
pub mod table_etag;
pub mod tag_condition;
pub mod visibility;

#[cfg(test)]
mod table_test;
