//! The pipe `srvsvc` of IPC$: DCE/RPC over named pipes, as much of it as lists shares.

pub mod ndr;
pub mod rpc;
pub mod srvsvc;
#[cfg(test)]
mod tests;
