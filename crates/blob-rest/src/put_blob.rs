//! Put Blob: a block blob with its content, or a page or append blob without any.

use blob::{
    ContentMd5,
    append_blob::CreateAppendBlob,
    block_blob::{NewBlob, PutBlob},
    page_blob::CreatePageBlob,
    tier::AccessTier,
};
use http::StatusCode;
use rest::{Caller, Headers, Request, Response, ServiceError, headers};
use types::{ServiceVersion, Switch, Timestamp, limits};

use crate::{
    BlobService, answers, conditions, errors,
    header_names::{ACCESS_TIER, BLOB_CONTENT_LENGTH, BLOB_SEQUENCE_NUMBER, BLOB_TYPE},
    metadata, names, properties, tags, tier,
    upload::{self, Upload},
};

pub(crate) async fn put(service: &BlobService, caller: &Caller, request: Request) -> Result<Response, ServiceError> {
    match headers::required(&request.headers, &BLOB_TYPE)? {
        "BlockBlob" => block(service, caller, request).await,
        "PageBlob" => page(service, caller, &request).await,
        "AppendBlob" if caller.version.has(Switch::AppendBlobs) => append(service, caller, &request).await,
        other => Err(ServiceError::invalid_header(BLOB_TYPE.as_str(), other)),
    }
}

/// The largest body of a service version.
pub(crate) fn limit(version: ServiceVersion) -> u64 {
    match version {
        version if version.has(Switch::HugeBlocks) => limits::PUT_BLOB_MAX_BYTES,
        version if version.has(Switch::LargeBlocks) => limits::PUT_BLOB_MAX_BYTES_2016_05_31,
        _ => limits::PUT_BLOB_MAX_BYTES_OLDEST,
    }
}

/// What a new blob is made with.
pub(crate) fn new_blob(sent: &Headers, now: Timestamp) -> Result<NewBlob, ServiceError> {
    Ok(NewBlob {
        headers: metadata::http_headers(sent)?,
        metadata: metadata::from_headers(sent)?,
        tags: tags::from_header(sent)?,
        tier: asked_tier(sent)?,
        expiry: properties::expiry_of_new(sent, now)?,
    })
}

pub(crate) fn asked_tier(sent: &Headers) -> Result<Option<AccessTier>, ServiceError> {
    headers::text(sent, &ACCESS_TIER)?.map(tier::parse).transpose()
}

async fn block(service: &BlobService, caller: &Caller, mut request: Request) -> Result<Response, ServiceError> {
    let mut upload = Upload::new(&mut request, limit(caller.version))?;
    let sent = std::mem::take(&mut request.headers);
    let new = new_blob(&sent, service.blobs.now())?;
    if let Some(md5) = new.headers.content_md5.as_ref().and_then(ContentMd5::md5) {
        upload.expect_md5(md5);
    }
    let asked = caller.ask(PutBlob {
        address: names::base(caller.unit(), &request)?,
        preconditions: conditions::of_blob(caller, &sent, service.blobs.now())?,
        new,
    });
    let begun = service.blobs.begin_put_blob(&asked, Some(upload.length)).await.map_err(errors::of)?;
    let received = upload.receive(begun, &mut request, true).await?;
    let written = service.blobs.put_blob(&asked, &received.body, received.md5).await.map_err(errors::of)?;
    let response = answers::written(Response::new(StatusCode::CREATED), caller.version, written);
    Ok(answers::not_encrypted(upload.acknowledged(response, &received)))
}

async fn page(service: &BlobService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    upload::no_body(request)?;
    let sent = &request.headers;
    let length = headers::number(sent, &BLOB_CONTENT_LENGTH)?;
    let address = names::base(caller.unit(), request)?;
    let asked = caller.ask(CreatePageBlob {
        address,
        preconditions: conditions::of_blob(caller, sent, service.blobs.now())?,
        new: new_blob(sent, service.blobs.now())?,
        length: length.ok_or_else(|| ServiceError::missing_header(BLOB_CONTENT_LENGTH.as_str()))?,
        sequence_number: conditions::sequence_number(sent, &BLOB_SEQUENCE_NUMBER)?.unwrap_or_default(),
    });
    let written = service.blobs.create_page_blob(&asked);
    let written = written.await.map_err(errors::of)?;
    Ok(answers::not_encrypted(answers::written(Response::new(StatusCode::CREATED), caller.version, written)))
}

async fn append(service: &BlobService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    upload::no_body(request)?;
    let address = names::base(caller.unit(), request)?;
    let asked = caller.ask(CreateAppendBlob {
        address,
        preconditions: conditions::of_blob(caller, &request.headers, service.blobs.now())?,
        new: new_blob(&request.headers, service.blobs.now())?,
    });
    let written = service.blobs.create_append_blob(&asked);
    let written = written.await.map_err(errors::of)?;
    Ok(answers::not_encrypted(answers::written(Response::new(StatusCode::CREATED), caller.version, written)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_body_grew_with_the_versions() {
        let table = [((2009, 9, 19), 64), ((2016, 5, 30), 64), ((2016, 5, 31), 256), ((2019, 12, 12), 5000)];
        for ((year, month, day), mib) in table {
            assert_eq!(limit(ServiceVersion::new(year, month, day)), mib << 20);
        }
    }
}
