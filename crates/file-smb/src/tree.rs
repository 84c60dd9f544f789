//! TREE_CONNECT: a session reaches a share.

use file::share_properties::{GetShareProperties, SharePreconditions};

use crate::{
    NtStatus,
    errors::status_of,
    names,
    open::Reply,
    request::Cx,
    session::TreeShare,
    wire::{
        create::access,
        session::{TreeConnectRequest, TreeConnectResponse, share_flags, share_type},
    },
};

/// Where pipes are.
const PIPES: &str = "IPC$";

/// Connects a session to a share.
pub(crate) async fn connect(cx: &Cx<'_>, request: &TreeConnectRequest<'_>) -> Result<Reply, NtStatus> {
    let name = names::share_of(request.path)?;
    let encrypts = if cx.logon.must_encrypt { share_flags::ENCRYPT_DATA } else { 0 };
    let (share, share_type, share_flags) = if name.eq_ignore_ascii_case(PIPES) {
        (TreeShare::Pipes, share_type::PIPE, share_flags::NO_CACHING)
    } else {
        let name = name.to_ascii_lowercase();
        let name = types::names::ShareName::parse(&name).map_err(|_| NtStatus::BAD_NETWORK_NAME)?;
        let share = file::share::ShareAddress { account: cx.logon.grant.account().unit, name, snapshot: None };
        let asked = cx
            .logon
            .grant
            .ask(GetShareProperties { share: share.clone(), preconditions: SharePreconditions::default() });
        match cx.files().get_share_properties(&asked).await {
            Ok(_) => {}
            Err(file::FileError::ShareNotFound) => return Err(NtStatus::BAD_NETWORK_NAME),
            Err(error) => return Err(status_of(&error)),
        }
        (TreeShare::Disk(share), share_type::DISK, share_flags::MANUAL_CACHING)
    };
    let tree = cx.session.connect(share)?;
    let response = TreeConnectResponse {
        share_type,
        share_flags: share_flags | encrypts,
        capabilities: 0,
        maximal_access: access::FILE_ALL,
    };
    Ok(Reply { tree: Some(tree.id), ..Reply::body(|body| response.write(body)) })
}
