//! The File service. It is a value whose methods are the operations: one operation is one function over one transaction or
//! one view, which authorises, reads rows, asks `concurrency` and the table of opens, writes rows.
//!
//! Knows no protocol, no engine and no clock: REST and SMB call the same methods.

pub mod opens;
