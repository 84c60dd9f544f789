//! Durable handles: asked for with a CREATE, and taken back with another one when the connection was lost. What is kept, for how
//! long, and for whom, is decided by `concurrency` and the table of opens.

use std::{sync::Arc, time::Duration};

use concurrency::durable::{self, Claimant, NotTakenBack};
use file::share::ShareAddress;

use crate::{
    NtStatus,
    create::{self, Shown},
    creates::{Beginning, Created, Made},
    ioctl,
    open::{Open, Reply},
    orphans::Orphan,
    request::Cx,
    session::{Tree, TreeShare},
    wire::{
        FileId,
        create::{CreateRequest, create_action, oplock_level},
        create_contexts::{CreateContexts, ResponseContexts},
        fsctl::{self, Resiliency},
        header::flags,
        ioctl::IoctlRequest,
        negotiate::dialect,
        text,
    },
};

/// How an open outlives its connection.
pub(crate) struct Durable {
    pub(crate) timeout: Duration,
    /// Asked for in the second version.
    is_second: bool,
    create_guid: Option<[u8; 16]>,
    client: [u8; 16],
    share: ShareAddress,
}

/// What the contexts of a CREATE say about durable handles.
pub(crate) enum Wish {
    /// Nothing.
    None,
    /// It is to be durable.
    Durable {
        timeout: Duration,
        /// In the second version.
        create_guid: Option<[u8; 16]>,
    },
    /// One is to be taken back.
    Back { id: FileId, create_guid: Option<[u8; 16]> },
}

impl Wish {
    /// What is wished for.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: contexts that do not go together.
    pub(crate) fn of(contexts: &CreateContexts<'_>, is_third_dialect: bool) -> Result<Self, NtStatus> {
        // Versions before the third do not know the second of these.
        let request_v2 = contexts.durable_request_v2.filter(|_| is_third_dialect);
        let back_v2 = contexts.durable_reconnect_v2.filter(|_| is_third_dialect);
        match (contexts.durable_request, contexts.durable_reconnect, request_v2, back_v2) {
            (false, None, None, Some(back)) => Ok(Self::Back { id: back.file_id, create_guid: Some(back.create_guid) }),
            // Who takes back and asks anew, takes back.
            (_, Some(id), None, None) => Ok(Self::Back { id, create_guid: None }),
            (false, None, Some(request), None) => {
                let timeout = durable::timeout(Duration::from_millis(u64::from(request.timeout_ms)));
                Ok(Self::Durable { timeout, create_guid: Some(request.create_guid) })
            }
            (true, None, None, None) => Ok(Self::Durable { timeout: durable::DEFAULT_TIMEOUT, create_guid: None }),
            (false, None, None, None) => Ok(Self::None),
            _ => Err(NtStatus::INVALID_PARAMETER),
        }
    }

    /// What is remembered of an open that caches so much.
    pub(crate) fn granted(
        &self,
        cx: &Cx<'_>,
        share: &ShareAddress,
        caching: concurrency::oplock::CacheGrant,
    ) -> Option<Durable> {
        let Self::Durable { timeout, create_guid } = self else { return None };
        durable::may_be_durable(caching).then(|| Durable {
            timeout: *timeout,
            is_second: create_guid.is_some(),
            create_guid: *create_guid,
            client: cx.connection.client_guid(),
            share: share.clone(),
        })
    }
}

impl Durable {
    /// Tells the client. Nothing is persistent: handles end with the process.
    pub(crate) fn tell(&self, contexts: &mut ResponseContexts) {
        if self.is_second {
            contexts.durable_v2(u32::try_from(self.timeout.as_millis()).unwrap_or(u32::MAX), 0);
        } else {
            contexts.durable();
        }
    }
}

/// Whether the connection speaks 3.x.
pub(crate) fn is_third_dialect(cx: &Cx<'_>) -> bool {
    cx.connection.negotiated.get().is_some_and(|how| how.dialect >= dialect::SMB_3_0)
}

/// LMR_REQUEST_RESILIENCY: an open outlives its connection, whatever it caches.
pub(crate) fn resilient(cx: &Cx<'_>, open: &Open, request: &IoctlRequest<'_>) -> Result<Reply, NtStatus> {
    let asked: Resiliency = fsctl::read(request.input)?;
    let timeout = Duration::from_millis(u64::from(asked.timeout_ms));
    let tree = cx.session.tree(open.tree)?;
    let (TreeShare::Disk(share), false) = (&tree.share, open.disk()?.is_directory) else {
        return Err(NtStatus::INVALID_DEVICE_REQUEST);
    };
    if timeout > durable::LONGEST_TIMEOUT {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    open.remembered.becomes_resilient(Durable {
        timeout: durable::timeout(timeout),
        is_second: false,
        create_guid: None,
        client: cx.connection.client_guid(),
        share: share.clone(),
    });
    Ok(ioctl::reply(request, &[]))
}

/// A CREATE with a guid begins: the guid, if it is the first one, or the answer to the one before.
pub(crate) async fn begin(
    cx: &Cx<'_>,
    tree: &Tree,
    share: &ShareAddress,
    request: &CreateRequest<'_>,
    wish: &Wish,
) -> Result<Result<Option<Created>, Reply>, NtStatus> {
    let Wish::Durable { create_guid: Some(guid), .. } = wish else { return Ok(Ok(None)) };
    let made = match cx.connection.shared.creates.begin(cx.connection.client_guid(), *guid) {
        Beginning::First(created) => return Ok(Ok(Some(created))),
        Beginning::UnderWay => return Err(NtStatus::FILE_NOT_AVAILABLE),
        Beginning::Done(made) => made,
    };
    if !cx.header.has(flags::REPLAY_OPERATION) {
        return Err(NtStatus::DUPLICATE_OBJECTID);
    }
    if made.session == cx.session.id {
        let open = cx.session.open(made.id, tree.id).map_err(|_| NtStatus::DUPLICATE_OBJECTID)?;
        return replayed(cx, request, &open).await.map(Err);
    }
    // The answer was lost with the connection.
    let reply = back(cx, tree, share, request, made.id, Some(*guid)).await;
    reply.map(Err).map_err(|_| NtStatus::DUPLICATE_OBJECTID)
}

/// The answer to a CREATE that was done, once more.
async fn replayed(cx: &Cx<'_>, request: &CreateRequest<'_>, open: &Open) -> Result<Reply, NtStatus> {
    let disk = open.disk()?;
    if request.contexts.lease.map(|lease| lease.key) != open.remembered.lease {
        return Err(NtStatus::ACCESS_DENIED);
    }
    let handle = disk.handle().await?;
    // Of an oplock, what is asked for is told, and not what is held: as Windows has it.
    let level = request.requested_oplock_level;
    let is_told = matches!(level, oplock_level::BATCH | oplock_level::LEASE);
    let durable = open.remembered.durable().filter(|_| is_told);
    let shown =
        Shown { action: open.remembered.action, level: open.remembered.lease.is_none().then_some(level), durable };
    create::answer_about(cx, request, open, &handle, &shown).await
}

/// Takes a handle back whose client was gone.
///
/// # Errors
/// `OBJECT_NAME_NOT_FOUND`: there is none that this client could take back; `INVALID_PARAMETER`: it is of another path.
pub(crate) async fn back(
    cx: &Cx<'_>,
    tree: &Tree,
    share: &ShareAddress,
    request: &CreateRequest<'_>,
    id: FileId,
    create_guid: Option<[u8; 16]>,
) -> Result<Reply, NtStatus> {
    let shared = &cx.connection.shared;
    let orphan = shared.orphans.get(id.persistent).ok_or(NtStatus::OBJECT_NAME_NOT_FOUND)?;
    check(cx, share, request, &orphan, create_guid)?;
    let taken = cx.files().opens().take_back(orphan.file, orphan.handle, &cx.logon.owner, cx.files().now());
    let handle = taken.map_err(|_| NtStatus::OBJECT_NAME_NOT_FOUND)?;
    shared.orphans.forget(orphan.handle);
    let id = FileId { persistent: orphan.persistent, ..shared.fresh_file_id() };
    let open = Arc::new(orphan.reopened(handle, id, tree.id));
    open.remembered.made(Made { session: cx.session.id, id });
    if cx.session.add_shared(Arc::clone(&open)).is_err() {
        let _closed = open.close(cx.files()).await;
        return Err(NtStatus::NETWORK_NAME_DELETED);
    }
    let handle = open.disk()?.handle().await?;
    let shown = Shown { action: create_action::OPENED, level: None, durable: None };
    create::answer_about(cx, request, &open, &handle, &shown).await
}

fn check(
    cx: &Cx<'_>,
    share: &ShareAddress,
    request: &CreateRequest<'_>,
    orphan: &Orphan,
    create_guid: Option<[u8; 16]>,
) -> Result<(), NtStatus> {
    let (_, durable) = orphan.remembered.kept().ok_or(NtStatus::OBJECT_NAME_NOT_FOUND)?;
    let path = cx.files().opens().path(orphan.file).ok_or(NtStatus::OBJECT_NAME_NOT_FOUND)?;
    let path = file::upcased_name(&path);
    let name = file::upcased_name(&text::decode(request.name).unwrap_or_default().replace('\\', "/"));
    let known = Claimant {
        account: orphan.account,
        share: &durable.share,
        client: durable.client,
        create_guid: durable.create_guid,
        lease_key: orphan.remembered.lease,
        path: path.as_str(),
    };
    let shown = Claimant {
        account: cx.logon.grant.account().unit,
        share,
        client: cx.connection.client_guid(),
        create_guid,
        lease_key: request.contexts.lease.map(|lease| lease.key),
        path: name.as_str(),
    };
    durable::take_back(&known, &shown).map_err(|refusal| match refusal {
        NotTakenBack::Unknown => NtStatus::OBJECT_NAME_NOT_FOUND,
        NotTakenBack::OtherPath => NtStatus::INVALID_PARAMETER,
    })
}
