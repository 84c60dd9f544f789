//! `azure_data_tables`, the last of its line, against the built server.

use azure_core_legacy::{Error, RetryOptions, StatusCode};
use azure_data_tables::{
    IfMatchCondition,
    clients::{TableClient, TableServiceClient, TableServiceClientBuilder},
    operations::InsertEntityResponse,
};
use azure_storage::{CloudLocation, StorageCredentials};
use futures::TryStreamExt;
use lazuli_conformance::{ACCOUNT, Server};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Entity {
    #[serde(rename = "PartitionKey")]
    partition: String,
    #[serde(rename = "RowKey")]
    row: String,
    amount: i32,
}

fn entity(row: impl Into<String>, amount: i32) -> Entity {
    Entity { partition: "a partition".to_owned(), row: row.into(), amount }
}

/// By the account's key, and by a signature that stands for it.
fn services(server: &Server) -> [TableServiceClient; 2] {
    let key = StorageCredentials::access_key(ACCOUNT, server.key());
    let sas = StorageCredentials::sas_token(server.sas("t")).unwrap();
    [key, sas].map(|credentials| {
        let location = CloudLocation::Custom { account: ACCOUNT.to_owned(), uri: server.endpoint("Table") };
        TableServiceClientBuilder::with_location(location, credentials).retry(RetryOptions::none()).build()
    })
}

async fn table(service: &TableServiceClient, name: &str) -> TableClient {
    let table = service.table_client(name);
    table.create().await.unwrap();
    table
}

fn refused<T: std::fmt::Debug>(answer: Result<T, Error>) -> (StatusCode, String) {
    let error = answer.unwrap_err();
    let answer = error.as_http_error().unwrap();
    (answer.status(), answer.error_code().unwrap_or_default().to_owned())
}

fn code(status: StatusCode, code: &str) -> (StatusCode, String) {
    (status, code.to_owned())
}

#[tokio::test]
async fn entities_are_guarded_by_their_etags() {
    let server = Server::start();
    for (number, service) in services(&server).iter().enumerate() {
        let table = table(service, &format!("entities{number}")).await;
        assert_eq!(refused(table.create().await), code(StatusCode::Conflict, "TableAlreadyExists"));
        let listed = service.list().into_stream().try_collect::<Vec<_>>().await.unwrap();
        assert!(listed.iter().flat_map(|page| &page.tables).any(|found| found.name == table.table_name()));

        let one = entity("it's one", 1);
        let inserted: InsertEntityResponse<Entity> = table.insert(&one).unwrap().return_entity(true).await.unwrap();
        assert_eq!(inserted.entity_with_metadata.unwrap().entity, one);
        let again: Result<InsertEntityResponse<Entity>, _> = table.insert(&one).unwrap().await;
        assert_eq!(refused(again), code(StatusCode::Conflict, "EntityAlreadyExists"));

        // The client does not double the quotes of keys.
        let client = table.partition_key_client(&one.partition).entity_client("it''s one");
        let found = client.get::<Entity>().await.unwrap();
        assert_eq!(found.entity, one);
        let guard = || IfMatchCondition::from(found.etag.clone());
        let updated = client.update(entity("it's one", 2), guard()).unwrap().await.unwrap();
        assert_ne!(updated.etag, found.etag);
        let stale = code(StatusCode::PreconditionFailed, "UpdateConditionNotSatisfied");
        assert_eq!(refused(client.update(entity("it's one", 3), guard()).unwrap().await), stale);
        assert_eq!(refused(client.merge(entity("it's one", 3), guard()).unwrap().await), stale);
        client.insert_or_merge(entity("it's one", 4)).unwrap().await.unwrap();
        let found = client.get::<Entity>().await.unwrap();
        assert_eq!(found.entity.amount, 4);

        client.delete().await.unwrap();
        assert_eq!(refused(client.get::<Entity>().await), code(StatusCode::NotFound, "ResourceNotFound"));
        table.delete().await.unwrap();
    }
}

#[tokio::test]
async fn queries_go_on_page_after_page() {
    let server = Server::start();
    let [service, _] = services(&server);
    let table = table(&service, "queries").await;
    let partition = table.partition_key_client("a partition");
    let mut batch = partition.transaction();
    for number in 0..100 {
        batch = batch.insert(entity(format!("{number:03}"), number)).unwrap();
    }
    let done = batch.await.unwrap();
    assert_eq!(done.operation_responses.len(), 100);

    let query = table.query().filter("amount ge 20 and amount lt 90").top(30);
    let pages: Vec<_> = query.into_stream::<Entity>().try_collect().await.unwrap();
    assert!(pages.len() >= 3, "{} pages", pages.len());
    let found: Vec<_> = pages.iter().flat_map(|page| &page.entities).map(|found| found.amount).collect();
    assert_eq!(found, (20..90).collect::<Vec<_>>());

    let malformed: Result<Vec<_>, _> = table.query().filter("amount ge").into_stream::<Entity>().try_collect().await;
    assert_eq!(refused(malformed), code(StatusCode::BadRequest, "InvalidInput"));
}

/// This client leaves out the end of the last boundary.
#[tokio::test]
async fn transactions_are_all_or_nothing() {
    let server = Server::start();
    let [service, _] = services(&server);
    let table = table(&service, "transactions").await;
    let partition = table.partition_key_client("a partition");
    let transaction = partition.transaction();
    let transaction = transaction.insert(entity("giver", 100)).unwrap().insert(entity("taker", 0)).unwrap();
    let done = transaction.insert(entity("gone", 0)).unwrap().await.unwrap().operation_responses;
    assert_eq!(done.iter().map(|part| part.status_code).collect::<Vec<_>>(), [StatusCode::Created; 3]);
    let guard = |number: usize| Some(IfMatchCondition::from(done[number].etag.clone().unwrap()));

    let transfer = || {
        let transaction = partition.transaction();
        let transaction = transaction.update("giver", entity("giver", 60), guard(0)).unwrap();
        let transaction = transaction.merge("taker", entity("taker", 40), guard(1)).unwrap();
        transaction.insert_or_replace("receipt", entity("receipt", 40)).unwrap().delete("gone", guard(2)).unwrap()
    };
    let moved = transfer().await.unwrap().operation_responses;
    assert_eq!(moved.iter().map(|part| part.status_code).collect::<Vec<_>>(), [StatusCode::NoContent; 4]);
    let refused = transfer().await.unwrap().operation_responses;
    assert_eq!(refused.iter().map(|part| part.status_code).collect::<Vec<_>>(), [StatusCode::PreconditionFailed]);

    let pages: Vec<_> = table.query().into_stream::<Entity>().try_collect().await.unwrap();
    let found: Vec<_> = pages.into_iter().flat_map(|page| page.entities).collect();
    assert_eq!(found, [entity("giver", 60), entity("receipt", 40), entity("taker", 40)]);
}
