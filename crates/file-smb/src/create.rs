//! CREATE: a name becomes an open. Everything that can stand against it is decided by the File service; here the request is
//! translated and its answer written.

use std::sync::Arc;

use concurrency::{delete_pending::DeleteIntent, file_open::OpenRequest};
use file::{
    FileAttributes, PermissionChange, SecurityDescriptor, SmbChange,
    kept::OpenKept,
    open::{Action, Disposition, OpenFile, Opened},
    opens::Handle,
    share::ShareAddress,
};

use crate::{
    NtStatus,
    creates::Made,
    described::Described,
    durable::{self, Durable, Wish},
    errors::status_of,
    names,
    open::{Disk, Open, Remembered, Reply, What},
    oplock,
    pipes::Pipe,
    request::Cx,
    rights::{self, Rights},
    session::{Tree, TreeShare},
    snapshots, waiting,
    wire::{
        FileId,
        create::{CreateRequest, CreateResponse, access, attributes, create_action, disposition, options},
        create_contexts::ResponseContexts,
        text,
    },
};

/// Opens a file, a directory or a pipe.
pub(crate) async fn create(cx: &Cx<'_>, tree: &Tree, request: &CreateRequest<'_>) -> Result<Reply, NtStatus> {
    cx.session.may_open()?;
    match &tree.share {
        TreeShare::Disk(share) => on_disk(cx, tree, share, request).await,
        TreeShare::Pipes => pipe(cx, tree, request),
    }
}

fn pipe(cx: &Cx<'_>, tree: &Tree, request: &CreateRequest<'_>) -> Result<Reply, NtStatus> {
    let pipe = Pipe::named(&text::decode(request.name)?).ok_or(NtStatus::OBJECT_NAME_NOT_FOUND)?;
    let rights = Rights::asked(request.desired_access)?;
    let id = cx.connection.shared.fresh_file_id();
    let what = What::Pipe(tokio::sync::Mutex::new(pipe));
    let open = Open { id, tree: tree.id, rights, write_through: false, remembered: Arc::default(), what };
    cx.session.add(open).map_err(|_| NtStatus::NETWORK_NAME_DELETED)?;
    let response = CreateResponse {
        create_action: create_action::OPENED,
        file_attributes: attributes::NORMAL,
        file_id: id,
        ..CreateResponse::default()
    };
    Ok(answer(&response, &ResponseContexts::default(), id))
}

async fn on_disk(
    cx: &Cx<'_>,
    tree: &Tree,
    share: &ShareAddress,
    request: &CreateRequest<'_>,
) -> Result<Reply, NtStatus> {
    let wish = Wish::of(&request.contexts, durable::is_third_dialect(cx))?;
    if let Wish::Back { id, create_guid } = wish {
        // What else it asks for was decided when it was opened.
        return durable::back(cx, tree, share, request, id, create_guid).await;
    }
    rights::check(request)?;
    if request.contexts.extended_attributes.is_some_and(|list| !list.is_empty()) {
        return Err(NtStatus::EAS_NOT_SUPPORTED);
    }
    if let Some(time) = request.contexts.timewarp {
        return previous_version(cx, tree, share, request, time).await;
    }
    let mut rights = Rights::asked(request.desired_access)?;
    let deletes = request.create_options & options::DELETE_ON_CLOSE != 0;
    if deletes && !rights.has(access::DELETE) {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    if deletes && request.file_attributes & attributes::READONLY != 0 {
        return Err(NtStatus::CANNOT_DELETE);
    }
    let address = names::address(share, request.name)?;
    let smb = made(request)?;
    let created = match durable::begin(cx, tree, share, request, &wish).await? {
        Ok(created) => created,
        Err(replayed) => return Ok(replayed),
    };
    let oplock::Wanted { cache, lease_key, epoch } = oplock::wanted(cx, request);
    let wanted = |rights: Rights| {
        let disposition = disposition_of(request.create_disposition);
        let overwrites = matches!(disposition, Disposition::Overwrite | Disposition::OverwriteIf);
        OpenFile {
            address: address.clone(),
            disposition,
            is_directory: kind_of(request.create_options),
            request: OpenRequest {
                mode: rights.mode(request.share_access, overwrites),
                reach: rights.reach(),
                overwrites,
                delete: DeleteIntent { delete_on_close: deletes, delete_access: rights.has(access::DELETE) },
            },
            smb: smb.clone(),
            cache,
            lease_key,
            epoch,
            owner: Arc::clone(&cx.logon.owner),
        }
    };
    let mut opened = open(cx, wanted(rights)).await;
    if rights.maximum && matches!(opened, Err(NtStatus::ACCESS_DENIED)) {
        // Of a file that is read-only, the most is to read it.
        rights = rights.without_writing();
        opened = open(cx, wanted(rights)).await;
    }
    let Opened { handle, properties, action } = opened.map_err(|status| kind_mismatch(status, request))?;
    let is_directory = properties.file.is_none();
    if let (Some(size), false, Action::Created | Action::Overwritten) =
        (request.contexts.allocation_size, is_directory, action)
        && size > types::limits::FILE_MAX_BYTES
    {
        let _closed = cx.files().close(handle).await;
        return Err(NtStatus::DISK_FULL);
    }
    let id = cx.connection.shared.fresh_file_id();
    let described = Described::of(&properties);
    // Directories are not cached.
    let lease = request.contexts.lease.filter(|_| lease_key.is_some() && !is_directory);
    let cached = handle.cache();
    let response = CreateResponse {
        oplock_level: oplock::level_of(cached.held(), lease.is_some()),
        flags: 0,
        create_action: match (action, request.create_disposition) {
            (Action::Opened, _) => create_action::OPENED,
            (Action::Created, _) => create_action::CREATED,
            (Action::Overwritten, disposition::SUPERSEDE) => create_action::SUPERSEDED,
            (Action::Overwritten, _) => create_action::OVERWRITTEN,
        },
        times: described.times(),
        allocation_size: described.allocation,
        end_of_file: described.length,
        file_attributes: described.attributes,
        file_id: id,
    };
    let mut contexts = ResponseContexts::default();
    if request.contexts.maximal_access.is_some() {
        contexts.maximal_access(NtStatus::SUCCESS, access::FILE_ALL);
    }
    if request.contexts.query_on_disk_id {
        contexts.on_disk_id(properties.inode.number(), handle.file().share.number());
    }
    if let Some(lease) = &lease {
        contexts.lease(&oplock::granted(lease, &cached));
    }
    let durable = wish.granted(cx, share, cached.held());
    if let Some(durable) = &durable {
        durable.tell(&mut contexts);
    }
    let remembered = Remembered::new(durable, response.create_action, created, lease.map(|lease| lease.key));
    remembered.made(Made { session: cx.session.id, id });
    let open = Open {
        id,
        tree: tree.id,
        rights,
        write_through: request.create_options & options::WRITE_THROUGH != 0,
        remembered: Arc::new(remembered),
        what: What::Disk(Disk::new(handle, is_directory)),
    };
    if let Err(open) = cx.session.add(open) {
        let _closed = open.close(cx.files()).await;
        return Err(NtStatus::NETWORK_NAME_DELETED);
    }
    Ok(answer(&response, &contexts, id))
}

/// Opens what a snapshot keeps: to read it, whatever is asked for.
async fn previous_version(
    cx: &Cx<'_>,
    tree: &Tree,
    share: &ShareAddress,
    request: &CreateRequest<'_>,
    time: u64,
) -> Result<Reply, NtStatus> {
    let rights = Rights::asked(request.desired_access)?;
    let makes = !matches!(request.create_disposition, disposition::OPEN | disposition::OPEN_IF);
    if makes || rights.writes() && !rights.maximum {
        return Err(NtStatus::MEDIA_WRITE_PROTECTED);
    }
    let snapshot = snapshots::named(cx, share, time).await?.ok_or(NtStatus::OBJECT_NAME_NOT_FOUND)?;
    let share = ShareAddress { snapshot: Some(snapshot), ..share.clone() };
    let asked = cx.logon.grant.ask(OpenKept { address: names::address(&share, request.name)? });
    let (kept, properties) = cx.files().open_kept(&asked).await.map_err(|error| status_of(&error))?;
    let described = Described::of(&properties);
    match (kind_of(request.create_options), described.is_directory) {
        (Some(true), false) => return Err(NtStatus::NOT_A_DIRECTORY),
        (Some(false), true) => return Err(NtStatus::FILE_IS_A_DIRECTORY),
        _ => {}
    }
    let id = cx.connection.shared.fresh_file_id();
    let response = CreateResponse {
        create_action: create_action::OPENED,
        times: described.times(),
        allocation_size: described.allocation,
        end_of_file: described.length,
        file_attributes: described.attributes,
        file_id: id,
        ..CreateResponse::default()
    };
    let mut contexts = ResponseContexts::default();
    if request.contexts.maximal_access.is_some() {
        contexts.maximal_access(NtStatus::SUCCESS, Rights::READING);
    }
    if request.contexts.query_on_disk_id {
        contexts.on_disk_id(described.inode, kept.file().share.number());
    }
    let what = What::Disk(Disk::of_kept(kept, described.is_directory));
    let rights = rights.reading_only();
    let open = Open { id, tree: tree.id, rights, write_through: false, remembered: Arc::default(), what };
    cx.session.add(open).map_err(|_| NtStatus::NETWORK_NAME_DELETED)?;
    Ok(answer(&response, &contexts, id))
}

/// What the answer to a CREATE says about an open that exists, besides its properties.
pub(crate) struct Shown<'a> {
    pub(crate) action: u32,
    /// The level of the oplock, when it is not the one that is held.
    pub(crate) level: Option<u8>,
    pub(crate) durable: Option<&'a Durable>,
}

/// The answer to a CREATE that leads to an open which exists.
pub(crate) async fn answer_about(
    cx: &Cx<'_>,
    request: &CreateRequest<'_>,
    open: &Open,
    handle: &Handle,
    shown: &Shown<'_>,
) -> Result<Reply, NtStatus> {
    let properties = cx.files().open_properties(handle).await.map_err(|error| status_of(&error))?;
    let (described, cached) = (Described::of(&properties), handle.cache());
    let lease = request.contexts.lease.filter(|lease| open.remembered.lease == Some(lease.key));
    let response = CreateResponse {
        oplock_level: shown.level.unwrap_or_else(|| oplock::level_of(cached.held(), lease.is_some())),
        flags: 0,
        create_action: shown.action,
        times: described.times(),
        allocation_size: described.allocation,
        end_of_file: described.length,
        file_attributes: described.attributes,
        file_id: open.id,
    };
    let mut contexts = ResponseContexts::default();
    if request.contexts.maximal_access.is_some() {
        contexts.maximal_access(NtStatus::SUCCESS, access::FILE_ALL);
    }
    if request.contexts.query_on_disk_id {
        contexts.on_disk_id(properties.inode.number(), handle.file().share.number());
    }
    if let Some(lease) = &lease {
        contexts.lease(&oplock::granted(lease, &cached));
    }
    if let Some(durable) = shown.durable {
        durable.tell(&mut contexts);
    }
    Ok(answer(&response, &contexts, open.id))
}

fn answer(response: &CreateResponse, contexts: &ResponseContexts, id: FileId) -> Reply {
    Reply { opened: Some(id), ..Reply::body(|body| response.encode(contexts, body)) }
}

async fn open(cx: &Cx<'_>, open: OpenFile) -> Result<Opened, NtStatus> {
    let asked = cx.logon.grant.ask(open);
    let asked = &asked;
    waiting::done(cx, || async move { cx.files().open(asked).await }).await
}

/// Attributes, times and the security descriptor of what is made.
fn made(request: &CreateRequest<'_>) -> Result<SmbChange, NtStatus> {
    let permission = request.contexts.security_descriptor.filter(|bytes| !bytes.is_empty());
    let permission = permission.map(SecurityDescriptor::from_bytes).transpose().map_err(|error| status_of(&error))?;
    let wanted = FileAttributes(request.file_attributes);
    let is_directory = request.create_options & options::DIRECTORY_FILE != 0;
    // A file that is made or emptied is one that has changed since the last backup.
    let wanted = if is_directory { wanted } else { FileAttributes(wanted.0 | FileAttributes::ARCHIVE.0) };
    Ok(SmbChange {
        attributes: Some(wanted),
        permission: permission.map(PermissionChange::Descriptor),
        ..SmbChange::default()
    })
}

const fn disposition_of(number: u32) -> Disposition {
    match number {
        disposition::OPEN => Disposition::Open,
        disposition::CREATE => Disposition::Create,
        disposition::OPEN_IF => Disposition::OpenIf,
        disposition::OVERWRITE => Disposition::Overwrite,
        _ => Disposition::OverwriteIf,
    }
}

const fn kind_of(create_options: u32) -> Option<bool> {
    match (create_options & options::DIRECTORY_FILE != 0, create_options & options::NON_DIRECTORY_FILE != 0) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    }
}

/// What is there is of the other kind: which one was asked for decides the status.
const fn kind_mismatch(status: NtStatus, request: &CreateRequest<'_>) -> NtStatus {
    match (status, kind_of(request.create_options)) {
        (NtStatus::FILE_IS_A_DIRECTORY, Some(true)) => NtStatus::NOT_A_DIRECTORY,
        (status, _) => status,
    }
}
