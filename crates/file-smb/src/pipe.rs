//! stub
use crate::{NtStatus, request::Cx};
use bytes::Bytes;
pub(crate) struct Pipe {}
impl Pipe {
    pub(crate) fn named(_: &str) -> Option<Self> {
        None
    }
    pub(crate) fn read(&mut self, _: usize) -> Result<Bytes, NtStatus> {
        Err(NtStatus::NOT_SUPPORTED)
    }
    pub(crate) async fn write(&mut self, _: &Cx<'_>, _: &[u8]) -> Result<(), NtStatus> {
        Err(NtStatus::NOT_SUPPORTED)
    }
    pub(crate) fn answer(&mut self, _: usize) -> Result<(Vec<u8>, bool), NtStatus> {
        Err(NtStatus::NOT_SUPPORTED)
    }
}
