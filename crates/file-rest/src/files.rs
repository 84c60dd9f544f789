//! Create File, Get File, Get and Set File Properties, Get and Set File Metadata, Delete File.

use file::{
    create::CreateFile,
    download::{Download, FileReader, GetFile},
    object::{Address, FileProperties, NodeProperties},
    properties::{GetProperties, SetProperties},
};
use http::{HeaderValue, StatusCode, header};
use rest::{
    ByteRange, Caller, Headers, Request, Response, ResponseBody, ServiceError, StreamError,
    checksum::{self, Checksums},
    headers, metadata,
    range::content_range,
    range_checks::RangeChecks,
    served, stamps, structured,
    upload::{self, Upload},
};
use types::{HttpHeaders, Switch, limits};

use crate::{
    FileService, described, directories, errors,
    header_names::{CONTENT_LENGTH, TYPE},
    names, preconditions,
    smb_headers::{self, For},
    waiting,
};

/// Answers up to this are collected before they begin.
const SMALL_BYTES: u64 = 64 * 1024;

pub(crate) async fn create(
    service: &FileService,
    caller: &Caller,
    mut request: Request,
) -> Result<Response, ServiceError> {
    let kind = headers::required(&request.headers, &TYPE)?;
    if !kind.eq_ignore_ascii_case("file") {
        return Err(ServiceError::invalid_header(TYPE.as_str(), kind));
    }
    let upload = body(caller, &mut request)?;
    let address = names::written_path(caller, &request)?;
    let sent = std::mem::take(&mut request.headers);
    let length = headers::number(&sent, &CONTENT_LENGTH)?;
    let asked = caller.ask(CreateFile {
        address,
        preconditions: preconditions::of_path(caller, &sent)?,
        metadata: metadata::from_headers(&sent)?,
        smb: smb_headers::read(&sent, caller.version, For::NewFile)?,
        headers: described::SERVED.read(&sent)?,
        length: length.ok_or_else(|| ServiceError::missing_header(CONTENT_LENGTH.as_str()))?,
    });
    let received = match &upload {
        None => None,
        Some(upload) => {
            let begun = service.files.begin_create_file(&asked).await.map_err(errors::of)?;
            Some(upload.receive(begun, &mut request, true).await?)
        }
    };
    let body = received.as_ref().map(|received| &received.body);
    let made = waiting::done(&request, || service.files.create_file(&asked, body)).await?;
    let response = described::written(Response::new(StatusCode::CREATED), caller.version, &asked.address, &made);
    Ok(match (&upload, &received) {
        (Some(upload), Some(received)) => upload.acknowledged(response, received),
        _ => response,
    })
}

/// The first bytes of a file, from 2026-06-06 on. Before, a file is made without any.
fn body(caller: &Caller, request: &mut Request) -> Result<Option<Upload>, ServiceError> {
    if !caller.version.has(Switch::CreateFileWithData) {
        upload::no_body(request)?;
        return Ok(None);
    }
    if request.body.declared_length() == Some(0) {
        return Ok(None);
    }
    Upload::new(request, limits::PUT_RANGE_MAX_BYTES).map(Some)
}

pub(crate) async fn get(service: &FileService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    let range = ByteRange::from_headers(&request.headers)?;
    let message = structured::requested(&request.headers)?;
    let asked = caller.ask(GetFile {
        address: names::path(caller, request)?,
        preconditions: preconditions::of_path(caller, &request.headers)?,
        range: range.map(|range| (range.start, range.end.map(|end| end.saturating_add(1)))),
    });
    let download = waiting::done(request, || service.files.get_file(&asked)).await?;
    let Download { properties: mut found, mut reader, range: wanted } = download;
    let file = of_file(caller, &mut found)?;
    let (ranged, bytes) = (range.is_some(), wanted.end - wanted.start);
    let checks = RangeChecks::of(&request.headers, ranged, bytes)?;

    let status = if ranged { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
    let response = described::read(Response::new(status), caller.version, &asked.address, &found);
    let mut response = described::file(response, caller.version, &file)
        .header(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if ranged {
        response = response.text_header(header::CONTENT_RANGE, &content_range(&wanted, file.length));
    }
    let md5_name = if ranged { headers::X_MS_CONTENT_MD5 } else { headers::CONTENT_MD5 };
    response = described::md5(response, md5_name, &file);
    if let Some(checks) = checks {
        let part = reader.collect(wanted).await.map_err(errors::of)?;
        let computed = Checksums::new(checks.md5, checks.crc64).take(part.clone()).await.finish();
        if let Some(md5) = computed.md5 {
            response = response.text_header(headers::CONTENT_MD5, &checksum::format_md5(&md5));
        }
        if let Some(crc64) = computed.crc64 {
            response = response.text_header(headers::X_MS_CONTENT_CRC64, &checksum::format_crc64(crc64));
        }
        return Ok(response.content(ResponseBody::bytes(part)));
    }
    let body = if bytes <= SMALL_BYTES {
        ResponseBody::bytes(reader.collect(wanted).await.map_err(errors::of)?)
    } else {
        stream(reader, wanted.start, bytes)
    };
    if message {
        return Ok(response
            .text_header(headers::X_MS_STRUCTURED_BODY, structured::KIND)
            .number_header(headers::X_MS_STRUCTURED_CONTENT_LENGTH, bytes)
            .content(body.structured()));
    }
    Ok(response.content(body))
}

fn stream(reader: FileReader, start: u64, bytes: u64) -> ResponseBody {
    ResponseBody::pieces(reader, start, bytes, |mut reader, place, wanted| async move {
        let piece = reader.read(place, wanted).await.map_err(|error| StreamError(error.to_string()))?;
        Ok((reader, piece))
    })
}

/// What only a file has, served as the credential says.
fn of_file(caller: &Caller, found: &mut NodeProperties) -> Result<FileProperties, ServiceError> {
    let mut file = found.file.take().ok_or_else(|| errors::of(file::FileError::ResourceTypeMismatch))?;
    served::override_headers(&mut file.headers, caller);
    Ok(file)
}

pub(crate) async fn properties(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let (address, mut found) = read(service, caller, request).await?;
    let file = of_file(caller, &mut found)?;
    let response = described::read(Response::new(StatusCode::OK), caller.version, &address, &found);
    let response = described::length(described::file(response, caller.version, &file), &file);
    Ok(described::md5(response, headers::CONTENT_MD5, &file))
}

pub(crate) async fn get_metadata(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let (_, found) = read(service, caller, request).await?;
    let response = Response::new(StatusCode::OK);
    let response = stamps::stamped(response, caller.version, found.etag, found.last_modified);
    Ok(metadata::to_headers(response, &found.metadata))
}

async fn read(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<(Address, NodeProperties), ServiceError> {
    let address = names::path(caller, request)?;
    let asked = caller.ask(GetProperties {
        address: address.clone(),
        preconditions: preconditions::of_path(caller, &request.headers)?,
        is_directory: false,
    });
    Ok((address, waiting::done(request, || service.files.get_properties(&asked)).await?))
}

pub(crate) async fn set_properties(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let sent = &request.headers;
    let asked = caller.ask(SetProperties {
        address: names::written_path(caller, request)?,
        preconditions: preconditions::of_path(caller, sent)?,
        is_directory: false,
        smb: smb_headers::read(sent, caller.version, For::Existing)?,
        headers: changed_headers(sent)?,
        length: headers::number(sent, &CONTENT_LENGTH)?,
    });
    let set = waiting::done(request, || service.files.set_properties(&asked)).await?;
    Ok(described::written(Response::new(StatusCode::OK), caller.version, &asked.address, &set))
}

/// The HTTP properties that a request sets: all of them, or none when it names none. A type that is not named is taken away.
fn changed_headers(sent: &Headers) -> Result<Option<HttpHeaders>, ServiceError> {
    if !described::SERVED.any_in(sent) {
        return Ok(None);
    }
    let named = described::SERVED.read(sent)?;
    Ok(Some(HttpHeaders { content_type: Some(named.content_type.unwrap_or_default()), ..named }))
}

pub(crate) async fn set_metadata(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    directories::write_metadata(service, caller, request, false).await
}

pub(crate) async fn delete(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    directories::remove(service, caller, request, false).await
}
