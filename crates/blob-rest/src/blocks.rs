//! Put Block, Put Block List, Get Block List.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use blob::{
    block_blob::NewBlob,
    block_list::{BlockSearch, PutBlockList},
    blocks::{self, BlockList, BlockListType, GetBlockList, ListedBlock, PutBlock},
};
use bytes::Bytes;
use http::StatusCode;
use rest::{
    Caller, Request, Response, ServiceError, checksum, headers, limits as rest_limits,
    xml::{self, Element, XmlWriter},
};
use types::{ErrorCode, ServiceVersion, Switch, limits};

use crate::{
    BlobService, answers, conditions, errors,
    header_names::BLOB_CONTENT_LENGTH,
    metadata, names, put_blob, tags,
    upload::{self, Upload},
};

pub(crate) async fn put(
    service: &BlobService,
    caller: &Caller,
    mut request: Request,
) -> Result<Response, ServiceError> {
    let upload = Upload::new(&mut request, blocks::block_limit(caller.version))?;
    upload.must_not_be_empty()?;
    let asked = caller.ask(PutBlock {
        address: names::base(caller.unit(), &request)?,
        version: caller.version,
        lease_id: conditions::lease_id(&request.headers)?,
        block_id: block_id(&request)?,
    });
    let begun = service.blobs.begin_put_block(&asked, Some(upload.length)).await.map_err(errors::of)?;
    let received = upload.receive(begun, &mut request, false).await?;
    service.blobs.put_block(&asked, &received.body).await.map_err(errors::of)?;
    Ok(answers::not_encrypted(upload.acknowledged(Response::new(StatusCode::CREATED), &received)))
}

/// The id of a block, out of its Base64. Its length is a rule of the service.
pub(crate) fn block_id(request: &Request) -> Result<Bytes, ServiceError> {
    let text = request.target.query.get("blockid").ok_or_else(|| ServiceError::missing_query("blockid"))?;
    let id = BASE64_STANDARD.decode(text);
    id.map(Bytes::from).map_err(|_| ServiceError::invalid_query("blockid", text, "it is not Base64"))
}

pub(crate) async fn put_list(
    service: &BlobService,
    caller: &Caller,
    mut request: Request,
) -> Result<Response, ServiceError> {
    let (body, found) = upload::document(&mut request, caller.known()?, rest_limits::XML_MAX_BYTES).await?;
    let blocks = parse_list(&xml::parse(&body)?)?;
    drop(body);
    let sent = &request.headers;
    let asked = caller.ask(PutBlockList {
        address: names::base(caller.unit(), &request)?,
        preconditions: conditions::of_blob(caller, sent, service.blobs.now())?,
        new: NewBlob {
            headers: metadata::blob_http_headers(sent)?,
            metadata: metadata::from_headers(sent)?,
            tags: tags::from_header(sent)?,
            tier: put_blob::asked_tier(sent)?,
            expiry: None,
        },
        blocks,
    });
    let written = service.blobs.put_block_list(&asked).await.map_err(errors::of)?;
    let mut response = answers::written(Response::new(StatusCode::CREATED), caller.version, written);
    // The checksums are those of the list, not of the blob.
    if let Some(md5) = found.md5 {
        response = response.text_header(headers::CONTENT_MD5, &checksum::format_md5(&md5));
    }
    if let Some(crc64) = found.crc64 {
        response = response.text_header(headers::X_MS_CONTENT_CRC64, &checksum::format_crc64(crc64));
    }
    Ok(answers::not_encrypted(response))
}

fn parse_list(root: &Element) -> Result<Vec<(BlockSearch, Bytes)>, ServiceError> {
    if root.name != "BlockList" {
        return Err(not_a_list(&root.name));
    }
    root.children.iter().map(parse_block).collect()
}

fn parse_block(element: &Element) -> Result<(BlockSearch, Bytes), ServiceError> {
    let search = match element.name.as_str() {
        "Committed" => BlockSearch::Committed,
        "Uncommitted" => BlockSearch::Uncommitted,
        "Latest" => BlockSearch::Latest,
        other => return Err(not_a_list(other)),
    };
    let id = BASE64_STANDARD.decode(element.text.trim()).ok().filter(|id| !id.is_empty());
    let wrong = || {
        ServiceError::new(ErrorCode::InvalidBlockList, "The specified block list is invalid.")
            .with_detail("Reason", "a block id is not Base64")
    };
    Ok((search, Bytes::from(id.ok_or_else(wrong)?)))
}

fn not_a_list(name: &str) -> ServiceError {
    ServiceError::new(ErrorCode::InvalidXmlDocument, "XML specified is not syntactically valid.")
        .with_detail("Reason", format!("the element {name:?} is not one of a block list"))
}

pub(crate) async fn get_list(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let (address, part) = names::read_part(caller.unit(), request)?;
    let asked = caller.ask(GetBlockList {
        address,
        part,
        lease_id: conditions::lease_id(&request.headers)?,
        if_tags: conditions::if_tags(&request.headers)?,
        list: list_type(request.target.query.get("blocklisttype"))?,
    });
    let found = service.blobs.get_block_list(&asked).await.map_err(errors::of)?;
    refuse_old_versions(&found, caller.version)?;
    let mut response = Response::new(StatusCode::OK).number_header(BLOB_CONTENT_LENGTH, found.length);
    if let Some(written) = found.written {
        response = answers::written(response, caller.version, written);
    }
    let mut xml = XmlWriter::document();
    xml.open("BlockList");
    for (name, listed) in [("CommittedBlocks", found.committed), ("UncommittedBlocks", found.uncommitted)] {
        if let Some(listed) = listed {
            write(&mut xml, name, &listed);
        }
    }
    xml.close("BlockList");
    Ok(response.xml(xml.finish()))
}

fn list_type(text: Option<&str>) -> Result<BlockListType, ServiceError> {
    match text {
        None => Ok(BlockListType::Committed),
        Some(text) if text.eq_ignore_ascii_case("committed") => Ok(BlockListType::Committed),
        Some(text) if text.eq_ignore_ascii_case("uncommitted") => Ok(BlockListType::Uncommitted),
        Some(text) if text.eq_ignore_ascii_case("all") => Ok(BlockListType::All),
        Some(other) => {
            Err(ServiceError::invalid_query("blocklisttype", other, "it is neither committed nor uncommitted nor all"))
        }
    }
}

/// Clients of old versions cannot hold the length of a larger block.
fn refuse_old_versions(found: &BlockList, version: ServiceVersion) -> Result<(), ServiceError> {
    if version.has(Switch::HugeBlocks) {
        return Ok(());
    }
    let mut all = found.committed.iter().chain(&found.uncommitted).flatten();
    if all.any(|block| block.length > limits::BLOCK_MAX_BYTES_2016_05_31) {
        let message = "The blob has blocks that are larger than this version of the service knows.";
        return Err(ServiceError::new(ErrorCode::FeatureVersionMismatch, message));
    }
    Ok(())
}

fn write(xml: &mut XmlWriter, name: &str, listed: &[ListedBlock]) {
    xml.open(name);
    for block in listed {
        xml.open("Block");
        xml.element("Name", &BASE64_STANDARD.encode(&block.id));
        xml.element("Size", &block.length.to_string());
        xml.close("Block");
    }
    xml.close(name);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_blocks() {
        let table = [
            ("<BlockList/>", Ok(vec![])),
            (
                "<BlockList><Latest>YQ==</Latest><Committed> Yg== </Committed><Uncommitted>Yw==</Uncommitted></BlockList>",
                Ok(vec![
                    (BlockSearch::Latest, Bytes::from_static(b"a")),
                    (BlockSearch::Committed, Bytes::from_static(b"b")),
                    (BlockSearch::Uncommitted, Bytes::from_static(b"c")),
                ]),
            ),
            ("<BlockList><Newest>YQ==</Newest></BlockList>", Err(ErrorCode::InvalidXmlDocument)),
            ("<Blocks/>", Err(ErrorCode::InvalidXmlDocument)),
            ("<BlockList><Latest>?</Latest></BlockList>", Err(ErrorCode::InvalidBlockList)),
            ("<BlockList><Latest/></BlockList>", Err(ErrorCode::InvalidBlockList)),
        ];
        for (document, expected) in table {
            let root = xml::parse(document.as_bytes()).unwrap();
            assert_eq!(parse_list(&root).map_err(|error| error.code), expected, "{document}");
        }
    }

    #[test]
    fn old_versions_see_no_large_blocks() {
        let list = |length| BlockList {
            written: None,
            length,
            committed: None,
            uncommitted: Some(vec![ListedBlock { id: Bytes::from_static(b"a"), length }]),
        };
        let (old, new) = (ServiceVersion::new(2019, 7, 7), ServiceVersion::new(2019, 12, 12));
        let limit = limits::BLOCK_MAX_BYTES_2016_05_31;
        assert!(refuse_old_versions(&list(limit), old).is_ok() && refuse_old_versions(&list(limit + 1), new).is_ok());
        assert!(refuse_old_versions(&list(limit + 1), old).is_err());
    }
}
