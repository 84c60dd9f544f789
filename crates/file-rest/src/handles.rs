//! List Handles and Force Close Handles: those of SMB.

use concurrency::share_mode::Access;
use file::{
    handles::{CloseHandles, ListHandles},
    opens::{HandleId, HandleInfo},
};
use http::StatusCode;
use rest::{Caller, Request, Response, ServiceError, dates, headers, listing, xml::XmlWriter};
use types::{ServiceVersion, Switch, limits::LIST_PAGE_MAX};

use crate::{
    FileService,
    described::ROOT_ID,
    header_names::{HANDLE_ID, MARKER, NUMBER_OF_HANDLES_CLOSED, NUMBER_OF_HANDLES_FAILED, RECURSIVE},
    names, waiting,
};

/// The marker of an answer without a body.
const ALL: &str = "*";

pub(crate) async fn list(service: &FileService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    let asked = caller.ask(ListHandles {
        address: names::path(caller, request)?,
        recursive: recursive(request)?,
        after: after(request)?,
        limit: listing::max_results(request)?.unwrap_or(LIST_PAGE_MAX).min(LIST_PAGE_MAX),
    });
    let found = waiting::done(request, || service.files.list_handles(&asked)).await?;
    let mut xml = XmlWriter::document();
    xml.open("EnumerationResults");
    xml.open("Entries");
    for handle in &found.handles {
        write(&mut xml, caller.version, handle);
    }
    xml.close("Entries");
    Ok(listing::end(xml, found.next.map(|next| next.number().to_string())))
}

fn write(xml: &mut XmlWriter, version: ServiceVersion, handle: &HandleInfo) {
    let depth = handle.path.split('/').filter(|name| !name.is_empty()).count();
    let id = if depth == 0 { ROOT_ID } else { handle.file.number() };
    let parent = handle.parent.filter(|_| depth > 1).map_or(ROOT_ID, types::Inode::number);
    xml.open("Handle");
    xml.element("HandleId", &handle.id.number().to_string());
    if version.has(Switch::EncodedNames) {
        xml.encoded_element("Path", &handle.path);
    } else {
        xml.element("Path", &handle.path);
    }
    xml.element("FileId", &id.to_string());
    xml.element("ParentId", &parent.to_string());
    xml.element("SessionId", &handle.session.to_string());
    xml.element("ClientIp", &handle.client.to_string());
    if version.at_least(2024, 2, 4) {
        xml.element("ClientName", &handle.client_name);
    }
    xml.element("OpenTime", &dates::rfc1123(handle.opened_at));
    xml.optional("LastReconnectTime", handle.reconnected_at.map(dates::rfc1123).as_deref());
    if version.at_least(2023, 1, 3) {
        access(xml, handle.access);
    }
    xml.close("Handle");
}

fn access(xml: &mut XmlWriter, access: Access) {
    xml.open("AccessRightList");
    for (word, has) in [("Read", access.read), ("Write", access.write), ("Delete", access.delete)] {
        if has {
            xml.element("AccessRight", word);
        }
    }
    xml.close("AccessRightList");
}

pub(crate) async fn close(service: &FileService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    let id = headers::required(&request.headers, &HANDLE_ID)?;
    let handle = match id {
        ALL => None,
        id => Some(handle(id).ok_or_else(|| ServiceError::invalid_header(HANDLE_ID.as_str(), id))?),
    };
    let asked = caller.ask(CloseHandles {
        address: names::path(caller, request)?,
        recursive: recursive(request)?,
        handle,
        after: after(request)?,
        limit: LIST_PAGE_MAX,
    });
    let done = waiting::done(request, || service.files.close_handles(&asked)).await?;
    let closed = u64::try_from(done.closed).unwrap_or(u64::MAX);
    let response = Response::new(StatusCode::OK)
        .number_header(NUMBER_OF_HANDLES_CLOSED, closed)
        .number_header(NUMBER_OF_HANDLES_FAILED, 0);
    Ok(match done.next {
        Some(next) => response.number_header(MARKER, next.number()),
        None => response,
    })
}

fn recursive(request: &Request) -> Result<bool, ServiceError> {
    Ok(headers::boolean(&request.headers, &RECURSIVE)?.unwrap_or(false))
}

/// The handle behind which to go on.
fn after(request: &Request) -> Result<Option<HandleId>, ServiceError> {
    let Some(text) = request.target.query.get("marker").filter(|text| !text.is_empty()) else { return Ok(None) };
    handle(text).map(Some).ok_or_else(|| listing::not_given_out(text))
}

fn handle(text: &str) -> Option<HandleId> {
    let digits = text.bytes().all(|digit| digit.is_ascii_digit());
    text.parse().ok().filter(|_| digits).map(HandleId::new)
}
