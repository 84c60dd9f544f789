//! Entities of one partition: inserts, updates under ETags, upserts, deletes, transactions, queries.

use std::collections::BTreeMap;

use super::{Plan, WorkloadError, fresh, number_of, unexpected};
use crate::{
    Answer, Random,
    client::Request,
    linearizability::models::partition::{self as model, Change, IfMatch, Op, Refusal},
};

const ROWS: u64 = 4;
const JSON: &str = "application/json;odata=nometadata";

/// The plan of one client of a partition of a table that exists.
#[derive(Clone, Debug)]
pub struct PartitionPlan {
    table: String,
    partition: String,
    /// The ETags that this client saw last, by row, and as they were written.
    last: BTreeMap<u8, u64>,
    etags: BTreeMap<u64, String>,
}

impl PartitionPlan {
    /// The plan of a client.
    #[must_use]
    pub fn new(table: impl Into<String>, partition: impl Into<String>) -> Self {
        Self { table: table.into(), partition: partition.into(), last: BTreeMap::new(), etags: BTreeMap::new() }
    }

    fn change(&self, random: &mut Random, row: u8) -> Change {
        let value = fresh(random);
        let if_match = match self.last.get(&row) {
            Some(tag) if random.percent(70) => IfMatch::Tag(*tag),
            _ => IfMatch::Any,
        };
        match random.below(10) {
            0..=1 => Change::Insert { row, value },
            2..=6 => Change::Update { row, value, if_match },
            7..=8 => Change::Upsert { row, value },
            _ => Change::Delete { row, if_match },
        }
    }

    fn entity(&self, row: u8) -> String {
        format!("/{}(PartitionKey='{}',RowKey='{row}')", self.table, self.partition)
    }

    /// Method, path, `If-Match` and body of one change.
    fn parts(&self, change: &Change) -> (&'static str, String, Option<String>, String) {
        let body = |row: &u8, value: &u64| {
            format!(r#"{{"PartitionKey":"{}","RowKey":"{row}","V":"{value}"}}"#, self.partition)
        };
        let tag = |if_match: &IfMatch| match if_match {
            IfMatch::Any => "*".to_owned(),
            IfMatch::Tag(tag) => self.etags.get(tag).cloned().unwrap_or_else(|| "W/\"x\"".to_owned()),
        };
        match change {
            Change::Insert { row, value } => ("POST", format!("/{}", self.table), None, body(row, value)),
            Change::Update { row, value, if_match } => {
                ("PUT", self.entity(*row), Some(tag(if_match)), body(row, value))
            }
            Change::Upsert { row, value } => ("PUT", self.entity(*row), None, body(row, value)),
            Change::Delete { row, if_match } => ("DELETE", self.entity(*row), Some(tag(if_match)), String::new()),
        }
    }

    fn transaction(&self, changes: &[Change]) -> Request {
        let mut body = String::from("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n");
        for change in changes {
            let (method, path, if_match, entity) = self.parts(change);
            body.push_str("--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n");
            let account = crate::ACCOUNT;
            body.push_str(&format!("{method} http://127.0.0.1/{account}{path} HTTP/1.1\r\n"));
            body.push_str(&format!("Accept: {JSON}\r\nPrefer: return-no-content\r\nDataServiceVersion: 3.0\r\n"));
            if let Some(tag) = if_match {
                body.push_str(&format!("If-Match: {tag}\r\n"));
            }
            if !entity.is_empty() {
                body.push_str(&format!("Content-Type: application/json\r\nContent-Length: {}\r\n", entity.len()));
            }
            body.push_str(&format!("\r\n{entity}\r\n"));
        }
        body.push_str("--c--\r\n--b--\r\n");
        Request::new("POST", "/$batch").header("Content-Type", "multipart/mixed; boundary=b").body(body)
    }
}

impl Plan for PartitionPlan {
    type Op = Op;
    type Answer = model::Answer;

    fn ask(&mut self, random: &mut Random) -> Op {
        let mut row = || u8::try_from(random.below(ROWS)).unwrap_or_default();
        let (first, second) = (row(), row());
        match random.below(10) {
            0..=2 => Op::Get { row: first },
            3 => Op::Scan,
            4 | 5 if first != second => Op::Write(vec![self.change(random, first), self.change(random, second)]),
            _ => Op::Write(vec![self.change(random, first)]),
        }
    }

    fn request(&self, op: &Op) -> Request {
        match op {
            Op::Get { row } => Request::new("GET", self.entity(*row)).header("Accept", JSON),
            Op::Scan => {
                let filter = format!("$filter=PartitionKey%20eq%20'{}'", self.partition);
                Request::new("GET", format!("/{}()?{filter}", self.table)).header("Accept", JSON)
            }
            Op::Write(changes) => match changes.as_slice() {
                [change] => {
                    let (method, path, if_match, entity) = self.parts(change);
                    let mut request = Request::new(method, path).header("Accept", JSON);
                    request = request.header("Prefer", "return-no-content");
                    if let Some(tag) = if_match {
                        request = request.header("If-Match", tag);
                    }
                    if entity.is_empty() {
                        return request;
                    }
                    request.header("Content-Type", "application/json").body(entity)
                }
                changes => self.transaction(changes),
            },
        }
    }

    fn read(&self, op: &Op, answer: &Answer) -> Result<Option<model::Answer>, WorkloadError> {
        let bad = || unexpected(&self.request(op), answer);
        Ok(Some(match (op, answer.status) {
            (_, 500..) => return Ok(None),
            (Op::Get { .. }, 200) => {
                let value = value(&answer.text()).ok_or_else(bad)?;
                model::Answer::Found(value, number_of(answer.header("etag")))
            }
            (Op::Get { .. }, 404) => model::Answer::NotFound,
            (Op::Scan, 200) => model::Answer::Rows(rows(&answer.text())),
            (Op::Write(_), 202) if answer.text().contains("HTTP/1.1 5") => return Ok(None),
            (Op::Write(changes), 202) => {
                if changes.len() < 2 {
                    return Err(bad());
                }
                transaction(&answer.text()).ok_or_else(bad)?
            }
            (Op::Write(_), 201 | 204) => {
                let etag = answer.header("etag");
                model::Answer::Written(vec![(!etag.is_empty()).then(|| number_of(etag))])
            }
            (Op::Write(_), status) => model::Answer::Refused { change: 0, refusal: refusal(status).ok_or_else(bad)? },
            _ => return Err(bad()),
        }))
    }

    fn heard(&mut self, answer: &Answer) {
        let text = answer.text();
        let inside =
            text.lines().filter_map(|line| line.strip_prefix("ETag: ").or_else(|| line.strip_prefix("etag: ")));
        for etag in inside.chain([answer.header("etag")]).map(str::trim).filter(|etag| !etag.is_empty()) {
            self.etags.insert(number_of(etag), etag.to_owned());
        }
    }

    fn saw(&mut self, op: &Op, answer: &model::Answer) {
        match (op, answer) {
            (Op::Get { row }, model::Answer::Found(_, tag)) => drop(self.last.insert(*row, *tag)),
            (Op::Write(changes), model::Answer::Written(tags)) => {
                for (change, tag) in changes.iter().zip(tags) {
                    if let (
                        Change::Insert { row, .. } | Change::Update { row, .. } | Change::Upsert { row, .. },
                        Some(tag),
                    ) = (change, tag)
                    {
                        self.last.insert(*row, *tag);
                    }
                }
            }
            _ => {}
        }
    }
}

const fn refusal(status: u16) -> Option<Refusal> {
    match status {
        404 => Some(Refusal::NotFound),
        409 => Some(Refusal::AlreadyExists),
        412 => Some(Refusal::ConditionNotMet),
        _ => None,
    }
}

/// The value of `V` of the first entity in a text.
fn value(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once(r#""V":""#)?;
    rest.split('"').next()?.parse().ok()
}

/// Rows with their values, as they stand in a page.
fn rows(text: &str) -> Vec<(u8, u64)> {
    let entities = text.split(r#""RowKey":""#).skip(1);
    entities.filter_map(|entity| Some((entity.split('"').next()?.parse().ok()?, value(entity)?))).collect()
}

/// What the parts of a transaction's answer say together.
fn transaction(text: &str) -> Option<model::Answer> {
    let parts: Vec<&str> = text.split("HTTP/1.1 ").skip(1).collect();
    let status = |part: &str| part.get(..3)?.parse::<u16>().ok();
    if let [only] = parts.as_slice()
        && let Some(refusal) = refusal(status(only)?)
    {
        // The message begins with the index of the change that was refused.
        let (_, message) = only.split_once(r#""value":""#)?;
        let change = message.split(':').next()?.parse().ok()?;
        return Some(model::Answer::Refused { change, refusal });
    }
    let mut tags = Vec::new();
    for part in parts {
        if !(200..300).contains(&status(part)?) {
            return None;
        }
        // A delete leaves nothing that could have one.
        let line = part.lines().find(|line| line.to_ascii_lowercase().starts_with("etag:"));
        tags.push(line.and_then(|line| line.get(5..)).map(|etag| number_of(etag.trim())));
    }
    Some(model::Answer::Written(tags))
}
