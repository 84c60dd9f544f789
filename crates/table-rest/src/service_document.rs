//! What the service says about itself: the service document, which names its one collection, and the schema.
//!
//! The schema has the type of tables, and one open type for entities with the three properties that all of them have. It
//! does not list the tables, of which there may be any number.

use bytes::Bytes;
use http::StatusCode;
use rest::{ODataMetadata, Response, ServiceError, xml::XmlWriter};
use table::table::{QueryTables, TABLE_NAME};

use crate::{TableService, answer::Answer, atom, errors, exchange::Scene, format::Format, json::JsonWriter};

const EDMX: &str = "http://schemas.microsoft.com/ado/2007/06/edmx";
const METADATA: &str = "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata";
const EDM: &str = "http://schemas.microsoft.com/ado/2009/11/edm";
const TABLES: &str = "Tables";
/// What the type of entities is called.
const ENTITY: &str = "Entity";

/// `GET /`
pub(crate) async fn document(
    service: &TableService,
    scene: &Scene<'_>,
    format: Format,
) -> Result<Answer, ServiceError> {
    authorize(service, scene).await?;
    let (kind, body) = match format {
        Format::Json(metadata) => (format.content_type(), json(scene, metadata)),
        Format::Atom => ("application/atomsvc+xml;charset=utf-8", atom::service(&scene.base)),
    };
    Ok(Answer::new(StatusCode::OK, format).body(kind, body))
}

/// `GET /$metadata`: XML, whatever is asked for.
pub(crate) async fn metadata(service: &TableService, scene: &Scene<'_>) -> Result<Response, ServiceError> {
    authorize(service, scene).await?;
    let answer = Answer::new(StatusCode::OK, Format::Json(ODataMetadata::Minimal));
    Ok(answer.body("application/xml;charset=utf-8", schema(scene.account())).into_response())
}

/// Who may list tables may know what there is. This asks for none of them.
async fn authorize(service: &TableService, scene: &Scene<'_>) -> Result<(), ServiceError> {
    let nothing = QueryTables { account: scene.caller.unit(), filter: None, top: 0, next: None };
    service.tables.query_tables(&scene.caller.ask(nothing)).await.map(drop).map_err(errors::of)
}

fn json(scene: &Scene<'_>, metadata: ODataMetadata) -> Bytes {
    let mut writer = JsonWriter::with_capacity(256);
    writer.raw("{");
    if metadata != ODataMetadata::None {
        writer.member("odata.metadata", &format!("{}/$metadata", scene.base));
    }
    writer.raw("\"value\":[{");
    writer.member("name", TABLES);
    writer.member("url", TABLES);
    writer.close(b'}');
    writer.raw("]}");
    writer.finish()
}

fn schema(account: &str) -> Bytes {
    let mut xml = XmlWriter::document();
    xml.open_with("edmx:Edmx", &[("Version", "1.0"), ("xmlns:edmx", EDMX)]);
    xml.open_with("edmx:DataServices", &[("m:DataServiceVersion", "3.0"), ("xmlns:m", METADATA)]);
    xml.open_with("Schema", &[("Namespace", account), ("xmlns", EDM)]);
    entity_type(&mut xml, &[("Name", TABLES)], &[TABLE_NAME], &[(TABLE_NAME, "Edm.String")]);
    let properties = [("PartitionKey", "Edm.String"), ("RowKey", "Edm.String"), ("Timestamp", "Edm.DateTime")];
    entity_type(&mut xml, &[("Name", ENTITY), ("OpenType", "true")], &["PartitionKey", "RowKey"], &properties);
    xml.open_with("EntityContainer", &[("Name", account), ("m:IsDefaultEntityContainer", "true")]);
    xml.open_with("EntitySet", &[("Name", TABLES), ("EntityType", &format!("{account}.{TABLES}"))]);
    for open in ["EntitySet", "EntityContainer", "Schema", "edmx:DataServices", "edmx:Edmx"] {
        xml.close(open);
    }
    xml.finish()
}

fn entity_type(xml: &mut XmlWriter, attributes: &[(&str, &str)], keys: &[&str], properties: &[(&str, &str)]) {
    xml.open_with("EntityType", attributes);
    xml.open("Key");
    for key in keys {
        xml.open_with("PropertyRef", &[("Name", key)]);
        xml.close("PropertyRef");
    }
    xml.close("Key");
    for (name, kind) in properties {
        xml.open_with("Property", &[("Name", name), ("Type", kind), ("Nullable", "false")]);
        xml.close("Property");
    }
    xml.close("EntityType");
}
