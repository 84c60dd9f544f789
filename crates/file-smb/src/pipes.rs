//! A pipe of IPC$ that is open: what is written to it are calls, what is read from it their answers.
//!
//! **Invariant.** What is not read yet is bounded: a client that does not read is not answered any more.

use std::collections::VecDeque;

use bytes::Bytes;
use file::share_list::ListShares;

use crate::{
    NtStatus,
    errors::status_of,
    pipe::{
        rpc,
        srvsvc::{Server, Share, share_kind},
    },
    request::Cx,
};

/// Shares that are listed: what one answer can hold.
const SHARES_MAX: usize = 5000;
/// Bytes that wait to be read.
const WAITING_MAX: usize = 4 * 1024 * 1024;

/// The pipe `srvsvc`.
#[derive(Default)]
pub(crate) struct Pipe {
    calls: rpc::Connection,
    answers: VecDeque<Vec<u8>>,
}

impl Pipe {
    /// The pipe with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        name.eq_ignore_ascii_case("srvsvc").then(Self::default)
    }

    /// Takes a call.
    pub(crate) async fn write(&mut self, cx: &Cx<'_>, bytes: &[u8]) -> Result<(), NtStatus> {
        if self.answers.iter().map(Vec::len).sum::<usize>() > WAITING_MAX {
            return Err(NtStatus::INSUFFICIENT_RESOURCES);
        }
        let account = cx.logon.grant.account();
        let list = ListShares {
            account: account.unit,
            prefix: String::new(),
            marker: None,
            limit: SHARES_MAX,
            metadata: false,
            snapshots: false,
            deleted: false,
        };
        let listed = cx.files().list_shares(&cx.logon.grant.ask(list)).await.map_err(|error| status_of(&error))?;
        let names: Vec<String> = listed.items.into_iter().map(|share| share.name).collect();
        let mut shares: Vec<Share<'_>> =
            names.iter().map(|name| Share { name, kind: share_kind::DISK, remark: "" }).collect();
        shares.push(Share { name: "IPC$", kind: share_kind::IPC | share_kind::SPECIAL, remark: "" });
        let server = Server { name: "LAZULI", comment: "", shares: &shares };
        self.answers.extend(self.calls.transact(bytes, &server)?);
        Ok(())
    }

    /// The next answer, as far as it fits. True when there is more of it.
    pub(crate) fn answer(&mut self, most: usize) -> Result<(Vec<u8>, bool), NtStatus> {
        let mut first = self.answers.pop_front().ok_or(NtStatus::PIPE_EMPTY)?;
        if first.len() <= most {
            return Ok((first, false));
        }
        let rest = first.split_off(most);
        self.answers.push_front(rest);
        Ok((first, true))
    }

    /// The same for a READ.
    pub(crate) fn read(&mut self, most: usize) -> Result<(Bytes, bool), NtStatus> {
        self.answer(most).map(|(bytes, more)| (bytes.into(), more))
    }
}
