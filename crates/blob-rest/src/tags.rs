//! Get and Set Blob Tags, and the tags that other operations bring in a header.

use blob::{
    Tags,
    tags::{GetTags, SetTags},
};
use http::StatusCode;
use rest::{
    Caller, Headers, Query, Request, Response, ServiceError, headers,
    xml::{self, Element, XmlWriter},
};
use types::ErrorCode;

use crate::{BlobService, conditions, errors, header_names::TAGS, names, upload};

/// Most bytes of a document of tags: ten of them with every character escaped, and room for line breaks.
const DOCUMENT_MAX_BYTES: usize = 64 * 1024;

pub(crate) async fn get(service: &BlobService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    let (address, part) = names::read_part(caller.unit(), request)?;
    let asked = caller.ask(GetTags {
        address,
        part,
        preconditions: conditions::of_tags(caller, &request.headers, service.blobs.now())?,
    });
    let found = service.blobs.get_blob_tags(&asked).await.map_err(errors::of)?;
    let mut xml = XmlWriter::document();
    write(&mut xml, &found);
    Ok(Response::new(StatusCode::OK).xml(xml.finish()))
}

pub(crate) async fn set(
    service: &BlobService,
    caller: &Caller,
    mut request: Request,
) -> Result<Response, ServiceError> {
    let (body, _) = upload::document(&mut request, caller.known()?, DOCUMENT_MAX_BYTES).await?;
    let address = names::base(caller.unit(), &request)?;
    let asked = caller.ask(SetTags {
        address,
        preconditions: conditions::of_tags(caller, &request.headers, service.blobs.now())?,
        tags: parse(&xml::parse(&body)?)?,
    });
    let set = service.blobs.set_blob_tags(&asked);
    set.await.map_err(errors::of)?;
    Ok(Response::new(StatusCode::NO_CONTENT))
}

/// `<Tags><TagSet><Tag><Key>…</Key><Value>…</Value></Tag>…`
pub(crate) fn write(xml: &mut XmlWriter, tags: &Tags) {
    xml.open("Tags");
    xml.open("TagSet");
    for (key, value) in tags {
        xml.open("Tag");
        xml.element("Key", key);
        xml.element("Value", value);
        xml.close("Tag");
    }
    xml.close("TagSet");
    xml.close("Tags");
}

fn parse(root: &Element) -> Result<Tags, ServiceError> {
    let invalid = |reason: String| {
        ServiceError::new(ErrorCode::InvalidXmlDocument, "XML specified is not syntactically valid.")
            .with_detail("Reason", reason)
    };
    let missing = |name: &str| invalid(format!("the element {name} is missing"));
    if root.name != "Tags" {
        return Err(missing("Tags"));
    }
    let set = root.child("TagSet").ok_or_else(|| missing("TagSet"))?;
    let tag = |element: &Element| {
        if element.name != "Tag" {
            return Err(invalid(format!("the element {:?} is not one of tags", element.name)));
        }
        let text = |name: &str| element.text_of(name).map(str::to_owned).ok_or_else(|| missing(name));
        Ok((text("Key")?, text("Value")?))
    };
    set.children.iter().map(tag).collect()
}

/// `x-ms-tags`: written as the parameters of a query are, where a space can be a plus.
pub(crate) fn from_header(sent: &Headers) -> Result<Tags, ServiceError> {
    let Some(text) = headers::text(sent, &TAGS)? else { return Ok(Tags::new()) };
    let pairs = Query::parse(&text.replace('+', "%20"));
    let pairs = pairs.map_err(|_| ServiceError::invalid_header(TAGS.as_str(), text))?;
    Ok(pairs.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Lines<'a> = &'a [(&'a str, &'a str)];

    #[test]
    fn documents_of_tags() {
        let pairs = |pairs: &[(&str, &str)]| -> Tags {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let tag = |inner: &str| format!("<Tags><TagSet>{inner}</TagSet></Tags>");
        let table = [
            (tag(""), Ok(pairs(&[]))),
            (tag("<Tag><Key>a</Key><Value>b c</Value></Tag>"), Ok(pairs(&[("a", "b c")]))),
            (tag("<Tag><Key>a</Key><Value/></Tag>"), Ok(pairs(&[("a", "")]))),
            (tag("<Tag><Key>a</Key></Tag>"), Err(ErrorCode::InvalidXmlDocument)),
            (tag("<Pair/>"), Err(ErrorCode::InvalidXmlDocument)),
            ("<Tags/>".to_owned(), Err(ErrorCode::InvalidXmlDocument)),
            ("<TagSet/>".to_owned(), Err(ErrorCode::InvalidXmlDocument)),
        ];
        for (document, expected) in table {
            let root = xml::parse(document.as_bytes()).unwrap();
            assert_eq!(parse(&root).map_err(|error| error.code), expected, "{document}");
        }
    }

    #[test]
    fn tags_in_a_header() {
        let table: [(&str, Option<Lines<'_>>); 6] = [
            ("a=b&c=d%20e", Some(&[("a", "b"), ("c", "d e")])),
            ("a=b+c", Some(&[("a", "b c")])),
            ("a%2B=%3D", Some(&[("a+", "=")])),
            ("a=", Some(&[("a", "")])),
            ("", Some(&[])),
            ("a=%zz", None),
        ];
        for (text, expected) in table {
            let sent: Headers = [("x-ms-tags", text)].into_iter().collect();
            let found = from_header(&sent).ok();
            let found = found
                .as_ref()
                .map(|tags| tags.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect::<Vec<_>>());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
