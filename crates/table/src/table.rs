//! Tables: create, query, delete. Names compare without case and keep the case they were created with.

use access::{
    Asked, Authorized, Operation,
    acl::{self, Acl, Holder},
    need::{Need, Service},
};
use store::{Direction, Read, Scope, Txn, key::KeyRange};
use types::{UnitId, limits::QUERY_PAGE_MAX, names::TableName};

use crate::{
    Tables, ValueRef,
    errors::TableError,
    keys, permissions,
    query::{Filter, plan},
    records,
};

/// The one property of a table.
pub const TABLE_NAME: &str = "TableName";

/// Rows that one page looks at, so that a filter that matches nothing ends too.
const SCANNED_MAX: usize = 10_000;

/// A table as its row says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// Its id, never given twice: a table of the same name that is created later has another.
    pub(crate) unit: UnitId,
    /// The name in the case it was created with.
    pub(crate) name: TableName,
}

/// A table of an account, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableAddress {
    account: UnitId,
    name: TableName,
    folded: String,
}

impl TableAddress {
    /// The table of this name in this account.
    #[must_use]
    pub fn new(account: UnitId, name: TableName) -> Self {
        let folded = name.folded();
        Self { account, name, folded }
    }

    /// The name as it was sent.
    #[must_use]
    pub const fn name(&self) -> &TableName {
        &self.name
    }

    pub(crate) const fn account(&self) -> UnitId {
        self.account
    }

    pub(crate) fn folded(&self) -> &str {
        &self.folded
    }

    pub(crate) fn holder(&self) -> Holder<'_> {
        Holder { service: Service::Table, account: self.account, name: &self.folded }
    }
}

/// Create Table.
#[derive(Clone, Debug)]
pub struct CreateTable {
    /// The account and the name of the new table.
    pub address: TableAddress,
}

impl Operation for CreateTable {
    fn need(&self) -> Need<'_> {
        permissions::table(self.address.account, &self.address.folded, permissions::CREATE_TABLE)
    }
}

impl Tables {
    /// Creates a table.
    ///
    /// # Errors
    /// It is not allowed, the table exists, or the store failed.
    pub async fn create_table(&self, asked: &Asked<CreateTable>) -> Result<(), TableError> {
        let create = |txn| async move { create(&txn, &asked.authorize(&txn).await?).await };
        self.store.transact(Scope::new(), create).await
    }

    /// Deletes a table with everything in it. Its name is free at once; the entities are swept later.
    ///
    /// # Errors
    /// It is not allowed, the table does not exist, or the store failed.
    pub async fn delete_table(&self, asked: &Asked<DeleteTable>) -> Result<(), TableError> {
        let delete = |txn| async move { delete(&txn, &asked.authorize(&txn).await?).await };
        self.store.transact(Scope::new().reclaims(), delete).await
    }

    /// Queries tables: one page.
    ///
    /// # Errors
    /// It is not allowed, or the store failed.
    pub async fn query_tables(&self, asked: &Asked<QueryTables>) -> Result<TablePage, TableError> {
        let rows = self.store.snapshot();
        query(&rows, &asked.authorize(&rows).await?).await
    }
}

async fn create(txn: &Txn, request: &Authorized<'_, CreateTable>) -> Result<(), TableError> {
    let address = &request.address;
    let key = keys::table(address.account, &address.name);
    if txn.get(&key).await?.is_some() {
        return Err(TableError::TableAlreadyExists);
    }
    let table = Table { unit: UnitId::new(txn.fresh_id()), name: address.name.clone() };
    txn.put(key, records::encode_table(&table));
    Ok(())
}

/// Delete Table.
#[derive(Clone, Debug)]
pub struct DeleteTable {
    /// The table that goes, with its entities and policies.
    pub address: TableAddress,
}

impl Operation for DeleteTable {
    fn need(&self) -> Need<'_> {
        permissions::table(self.address.account, &self.address.folded, permissions::DELETE_TABLE)
    }
}

async fn delete(txn: &Txn, request: &Authorized<'_, DeleteTable>) -> Result<(), TableError> {
    let table = find(txn, &request.address).await?;
    txn.delete(keys::table(request.address.account, &request.address.name));
    acl::write(txn, request.address.holder(), &Acl::default())?;
    txn.put(keys::sweep(table.unit), records::encode_sweep(b""));
    Ok(())
}

/// Query Tables.
#[derive(Clone, Debug)]
pub struct QueryTables {
    /// The account whose tables are queried.
    pub account: UnitId,
    /// What holds for the tables that are answered; names compare without case.
    pub filter: Option<Filter>,
    /// The longest page (`$top`); a shorter one may have more behind it.
    pub top: usize,
    /// Go on from this name, which is included.
    pub next: Option<String>,
}

impl Operation for QueryTables {
    fn need(&self) -> Need<'_> {
        permissions::tables(self.account, permissions::QUERY_TABLES)
    }
}

/// A page of tables.
#[derive(Clone, Debug)]
pub struct TablePage {
    /// Their names, in order.
    pub names: Vec<TableName>,
    /// The name to go on from; `None` at the end.
    pub next: Option<String>,
}

async fn query(rows: &impl Read, request: &Authorized<'_, QueryTables>) -> Result<TablePage, TableError> {
    let top = request.top.min(QUERY_PAGE_MAX);
    if top == 0 {
        return Ok(TablePage { names: Vec::new(), next: None });
    }
    let filter = request.filter.as_ref().map(|filter| filter.folded(TABLE_NAME));
    let ranges = plan::tables(request.account, filter.as_ref());
    let from = request.next.as_ref().map(|name| keys::tables(request.account).bytes(name.as_bytes()).build());
    let (mut names, mut scanned) = (Vec::new(), 0);
    for range in plan::from(ranges, from) {
        let mut scan = rows.scan(range, Direction::Ascending);
        while let Some(row) = scan.next().await? {
            let (_, folded) = keys::parse_table(&row.key)?;
            if names.len() == top || scanned == SCANNED_MAX {
                return Ok(TablePage { names, next: Some(folded) });
            }
            scanned += 1;
            let value = |name: &str| Ok((name == TABLE_NAME).then_some(ValueRef::String(&folded)));
            if filter.as_ref().map_or(Ok(true), |filter| filter.matches(&value))? {
                names.push(records::decode_table(&row.value)?.name);
            }
        }
    }
    Ok(TablePage { names, next: None })
}

/// The table at this address.
pub(crate) async fn find(rows: &impl Read, address: &TableAddress) -> Result<Table, TableError> {
    match rows.get(&keys::table(address.account, &address.name)).await? {
        Some(row) => Ok(records::decode_table(&row)?),
        None => Err(TableError::TableNotFound),
    }
}

/// The range of every entity of a table.
pub(crate) fn contents(unit: UnitId) -> KeyRange {
    keys::entities(unit).range()
}
