//! Files of one directory: created, written in ranges, read, cleared, resized, renamed over each other, leased, deleted, listed.

use super::{Plan, WorkloadError, fresh, unexpected};
use crate::{
    ACCOUNT, Answer, Random,
    client::Request,
    linearizability::models::files::{self as model, Op, Refusal},
};

/// Bytes of what the model calls a page: writes of files begin and end anywhere.
const PAGE_BYTES: usize = 488;
/// Most pages of a file.
const PAGES: usize = 6;
/// Names in the directory.
const NAMES: u64 = 2;

/// The plan of one client of a directory that exists.
#[derive(Clone, Debug)]
pub struct FilesPlan {
    /// The path of the directory, with its share.
    directory: String,
    /// The lease id of this client.
    lease: u64,
}

impl FilesPlan {
    /// The plan of a client.
    #[must_use]
    pub fn new(directory: impl Into<String>, client: u32) -> Self {
        Self { directory: directory.into(), lease: u64::from(client) + 1 }
    }

    fn path(&self, name: u8) -> String {
        format!("{}/n{name}", self.directory)
    }

    /// A request with `comp`, under a lease.
    fn put(&self, name: u8, comp: &str, lease: Option<u64>) -> Request {
        let query = if comp.is_empty() { String::new() } else { format!("?comp={comp}") };
        under(Request::new("PUT", format!("{}{query}", self.path(name))), "x-ms-lease-id", lease)
    }
}

fn under(request: Request, header: &'static str, lease: Option<u64>) -> Request {
    match lease {
        Some(id) => request.header(header, guid(id)),
        None => request,
    }
}

fn guid(id: u64) -> String {
    format!("00000000-0000-4000-8000-{id:012x}")
}

fn bytes(first: usize, count: usize) -> String {
    format!("bytes={}-{}", first * PAGE_BYTES, (first + count) * PAGE_BYTES - 1)
}

fn small(random: &mut Random, below: usize) -> usize {
    usize::try_from(random.below(u64::try_from(below).unwrap_or(1))).unwrap_or_default()
}

impl Plan for FilesPlan {
    type Op = Op;
    type Answer = model::Answer;

    fn ask(&mut self, random: &mut Random) -> Op {
        let name = u8::try_from(random.below(NAMES)).unwrap_or_default();
        let lease = random.percent(25).then_some(self.lease);
        let first = small(random, PAGES);
        let count = 1 + small(random, PAGES - first);
        match random.below(100) {
            0..=11 => Op::Create { name, pages: 1 + small(random, PAGES), metadata: fresh(random), lease },
            12..=36 => Op::Write { name, first, count, value: fresh(random), lease },
            37..=41 => Op::Write { name, first, count, value: 0, lease },
            42..=58 => Op::Read { name, first, count },
            59..=65 => Op::Describe { name },
            66..=71 => Op::Resize { name, pages: 1 + small(random, PAGES), lease },
            72..=76 => Op::SetMetadata { name, metadata: fresh(random), lease },
            77..=82 => Op::Rename { from: name, to: 1 - name, replaces: random.percent(60), lease },
            83..=86 => Op::Acquire { name, id: self.lease },
            87..=89 => Op::Release { name, id: self.lease },
            90..=91 => Op::Break { name },
            92..=94 => Op::Delete { name, lease },
            _ => Op::List,
        }
    }

    fn request(&self, op: &Op) -> Request {
        let length = |pages: &usize| (pages * PAGE_BYTES).to_string();
        match op {
            Op::Create { name, pages, metadata, lease } => self
                .put(*name, "", *lease)
                .header("x-ms-type", "file")
                .header("x-ms-content-length", length(pages))
                .header("x-ms-meta-value", metadata.to_string()),
            Op::Write { name, first, count, value, lease } => {
                let put = self.put(*name, "range", *lease).header("x-ms-range", bytes(*first, *count));
                match value {
                    0 => put.header("x-ms-write", "clear"),
                    value => {
                        put.header("x-ms-write", "update").body(value.to_be_bytes().repeat(count * PAGE_BYTES / 8))
                    }
                }
            }
            Op::Read { name, first, count } => {
                Request::new("GET", self.path(*name)).header("x-ms-range", bytes(*first, *count))
            }
            Op::Describe { name } => Request::new("HEAD", self.path(*name)),
            Op::Resize { name, pages, lease } => {
                self.put(*name, "properties", *lease).header("x-ms-content-length", length(pages))
            }
            Op::SetMetadata { name, metadata, lease } => {
                self.put(*name, "metadata", *lease).header("x-ms-meta-value", metadata.to_string())
            }
            Op::Rename { from, to, replaces, lease } => {
                let source = format!("http://127.0.0.1/{ACCOUNT}{}", self.path(*from));
                let put = self.put(*to, "rename", None).header("x-ms-file-rename-source", source);
                let put = put.header("x-ms-file-rename-replace-if-exists", replaces.to_string());
                under(put, "x-ms-source-lease-id", *lease)
            }
            Op::Acquire { name, id } => self
                .put(*name, "lease", None)
                .header("x-ms-lease-action", "acquire")
                .header("x-ms-lease-duration", "-1")
                .header("x-ms-proposed-lease-id", guid(*id)),
            Op::Release { name, id } => self.put(*name, "lease", Some(*id)).header("x-ms-lease-action", "release"),
            Op::Break { name } => self.put(*name, "lease", None).header("x-ms-lease-action", "break"),
            Op::Delete { name, lease } => under(Request::new("DELETE", self.path(*name)), "x-ms-lease-id", *lease),
            Op::List => Request::new("GET", format!("{}?restype=directory&comp=list", self.directory)),
        }
    }

    fn read(&self, op: &Op, answer: &Answer) -> Result<Option<model::Answer>, WorkloadError> {
        let bad = || unexpected(&self.request(op), answer);
        let refused = |refusal| model::Answer::Refused(refusal);
        let about_lease = answer.code().starts_with("Lease");
        Ok(Some(match (op, answer.status) {
            (_, 500..) => return Ok(None),
            (Op::Read { .. }, 206) => model::Answer::Pages(answer.body.chunks(PAGE_BYTES).map(value).collect()),
            (Op::Describe { .. }, 200) => {
                let number = |name: &str| answer.header(name).parse::<usize>().map_err(|_| bad());
                let (length, metadata) = (number("content-length")?, number("x-ms-meta-value")?);
                if !length.is_multiple_of(PAGE_BYTES) {
                    return Err(bad());
                }
                model::Answer::Described(length / PAGE_BYTES, u64::try_from(metadata).map_err(|_| bad())?)
            }
            (Op::List, 200) => model::Answer::Names(names(&answer.text())),
            (Op::Read { .. } | Op::Describe { .. } | Op::List, 200..300) => return Err(bad()),
            (_, 200..300) => model::Answer::Done,
            (_, 404) if answer.code() == "ResourceNotFound" => refused(Refusal::NotFound),
            (_, 409) if answer.code() == "ResourceAlreadyExists" => refused(Refusal::AlreadyExists),
            (_, 409) if about_lease => refused(Refusal::LeaseConflict),
            (_, 412) if about_lease => refused(Refusal::LeaseNotMet),
            (_, 416) => refused(Refusal::BehindTheEnd),
            _ => return Err(bad()),
        }))
    }
}

/// The value of a page; a torn one has one that nobody writes.
fn value(page: &[u8]) -> u64 {
    let first = page.get(..8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes);
    if *page == *first.to_be_bytes().repeat(PAGE_BYTES / 8) { first } else { u64::MAX }
}

/// The names of a listing, as numbers.
fn names(text: &str) -> Vec<u8> {
    let parts = text.split("<Name>n").skip(1);
    parts.filter_map(|part| part.split('<').next()?.parse().ok()).collect()
}
