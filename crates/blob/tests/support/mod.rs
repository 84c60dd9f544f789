//! What the tests of the Blob service share: a store with a container, and each operation in one short call.

#![allow(dead_code, reason = "each test file uses some of it")]

use std::time::Duration;

use access::Authorized;
use blob::{
    Preconditions, PublicAccess, Tags, Written,
    append_blob::{self, AppendBlock, Appended, CreateAppendBlob, SealBlob},
    audit::{self, Audit},
    block_blob::{self, NewBlob, PutBlob},
    block_list::{self, BlockSearch, PutBlockList},
    blocks::{self, BlockList, BlockListType, GetBlockList, PutBlock},
    container::{self, ContainerPreconditions, CreateContainer, DeleteContainer},
    copy::{self, Copied, CopyBlob, CopyMode, SourceBlob},
    errors::BlobError,
    lease::{self, LeaseAnswer, LeaseBlob},
    list::{self, ListBlobs, Listed, Marker},
    object::{self, Address, BlobProperties, DeleteBlob, DeleteSnapshots, ReadBlob, SnapshotTime},
    page_blob::{self, CreatePageBlob, PagesWritten, PutPages},
    page_ranges::{self, GetPageRanges, PageRange},
    reader::{self, BlobReader},
    settings::{self, Expiry, PropertiesSet, SetExpiry, SetMetadata, SetProperties},
    snapshot::{self, SnapshotBlob},
    sweep,
    tags::{self, SetTags},
    tier::{self, AccessTier, SetTier, TierSet},
};
use bytes::Bytes;
use concurrency::{
    append_condition::AppendConditions,
    conditions::Conditions,
    lease::{LeaseId, LeaseOperation},
    sequence_number::{SequenceNumber, SequenceNumberConditions},
};
use store::{PendingChunk, Scope, Store, StoreError, Txn};
use store_memory::{ManualTime, MemoryEngine};
use types::{
    ServiceVersion, Timestamp, UnitId,
    names::{BlobName, ContainerName},
};

/// The account of all tests.
pub(crate) const ACCOUNT: UnitId = UnitId::new(7);
/// The service version of all tests.
pub(crate) const VERSION: ServiceVersion = ServiceVersion::NEWEST;

/// What an operation answers.
pub(crate) type Outcome<T> = Result<T, BlobError>;

/// An operation that may be done.
pub(crate) const fn authorized<Op>(operation: Op) -> Authorized<Op> {
    Authorized::for_tests(operation)
}

/// Runs a test.
pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(test)
}

/// A name of a container.
pub(crate) fn container_name(name: &str) -> ContainerName {
    ContainerName::parse(name).unwrap()
}

/// A blob of the container of all tests.
pub(crate) fn address(blob: &str) -> Address {
    Address { account: ACCOUNT, container: container_name("things"), blob: BlobName::parse(blob).unwrap() }
}

/// A snapshot by its time.
pub(crate) fn at(time: Timestamp) -> SnapshotTime {
    SnapshotTime { time, text: time.ticks().to_string() }
}

/// Preconditions with a lease id.
pub(crate) fn with_lease<'a>(lease_id: Option<LeaseId>) -> Preconditions<'a> {
    Preconditions { lease_id, ..Preconditions::default() }
}

/// Tags from pairs.
pub(crate) fn tags_of(pairs: &[(&str, &str)]) -> Tags {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// A short name for what went wrong.
pub(crate) fn name_of<T>(outcome: &Outcome<T>) -> String {
    match outcome {
        Ok(_) => "ok".to_owned(),
        Err(BlobError::Lease(_, refusal)) => format!("{refusal:?}"),
        Err(BlobError::LeaseOperation(refusal)) => format!("{refusal:?}"),
        Err(BlobError::Read(refusal)) => format!("{refusal:?}"),
        Err(BlobError::Write(refusal)) => format!("{refusal:?}"),
        Err(error) => {
            let text = format!("{error:?}");
            text.split(['(', ' ', '{']).next().unwrap_or_default().to_owned()
        }
    }
}

/// A store with a container, and what is asked of it.
pub(crate) struct World {
    /// The engine, when it is the reference model.
    pub(crate) engine: MemoryEngine,
    /// The store.
    pub(crate) store: Store,
}

impl World {
    /// A new one, on the reference engine.
    pub(crate) async fn new() -> Self {
        let engine = MemoryEngine::default();
        let store = engine.store();
        let world = Self { engine, store };
        world.create().await.unwrap();
        world
    }

    /// One on any engine.
    pub(crate) async fn on(store: Store) -> Self {
        let world = Self { engine: MemoryEngine::default(), store };
        world.create().await.unwrap();
        world
    }

    /// A new one, with a clock that stands still until it is told.
    pub(crate) async fn with_time() -> (Self, ManualTime) {
        let time = ManualTime::default();
        let engine = MemoryEngine::new(time.clone());
        let store = engine.store();
        let world = Self { engine, store };
        world.create().await.unwrap();
        (world, time)
    }

    /// A transaction that queues on a blob.
    pub(crate) async fn transact<T, F, Fut>(&self, blob: &str, body: F) -> Outcome<T>
    where
        F: Fn(Txn) -> Fut,
        Fut: Future<Output = Outcome<T>>,
    {
        let latch = address(blob).latch();
        self.store.transact(Scope::of(&latch), body).await
    }

    /// Bytes in a chunk that nothing links yet.
    pub(crate) async fn chunk(&self, data: &[u8]) -> PendingChunk {
        let mut writer = self.store.write_chunk(None).unwrap();
        writer.write(Bytes::copy_from_slice(data)).await.unwrap();
        writer.finish().await.unwrap()
    }

    /// Creates the container.
    pub(crate) async fn create(&self) -> Outcome<()> {
        self.create_named("things").await
    }

    /// Creates a container.
    pub(crate) async fn create_named(&self, name: &str) -> Outcome<()> {
        let request = &authorized(CreateContainer {
            account: ACCOUNT,
            name: container_name(name),
            public_access: PublicAccess::Private,
            metadata: Vec::new(),
        });
        self.store.transact(Scope::new(), |txn| async move { container::create(&txn, request).await }).await?;
        Ok(())
    }

    /// Deletes the container.
    pub(crate) async fn drop_container(&self) -> Outcome<()> {
        let request = &authorized(DeleteContainer {
            account: ACCOUNT,
            name: container_name("things"),
            preconditions: ContainerPreconditions::default(),
        });
        self.store.transact(Scope::new(), |txn| async move { container::delete(&txn, request).await }).await
    }

    /// Put Blob.
    pub(crate) async fn put(&self, blob: &str, data: &[u8]) -> Outcome<Written> {
        self.put_with(blob, data, Preconditions::default(), NewBlob::default()).await
    }

    /// Put Blob with everything.
    pub(crate) async fn put_with(
        &self,
        blob: &str,
        data: &[u8],
        preconditions: Preconditions<'_>,
        new: NewBlob,
    ) -> Outcome<Written> {
        let request = &authorized(PutBlob { address: address(blob), preconditions, new });
        block_blob::begin(&self.store.snapshot(), request, self.store.now()).await?;
        let body = &self.chunk(data).await;
        self.transact(blob, |txn| async move { block_blob::finish(&txn, request, body, None).await }).await
    }

    /// Put Block.
    pub(crate) async fn stage(&self, blob: &str, id: &str, data: &[u8]) -> Outcome<()> {
        self.stage_with(blob, id, data, None).await
    }

    /// Put Block with a lease id.
    pub(crate) async fn stage_with(&self, blob: &str, id: &str, data: &[u8], lease_id: Option<LeaseId>) -> Outcome<()> {
        let block_id = Bytes::copy_from_slice(id.as_bytes());
        let request = &authorized(PutBlock { address: address(blob), version: VERSION, lease_id, block_id });
        blocks::begin(&self.store.snapshot(), request, self.store.now()).await?;
        let body = &self.chunk(data).await;
        self.transact(blob, |txn| async move { blocks::finish(&txn, request, body).await }).await
    }

    /// Put Block List; each id with `c`, `u` or `l` before it.
    pub(crate) async fn commit(&self, blob: &str, list: &[&str]) -> Outcome<Written> {
        self.commit_with(blob, list, Preconditions::default()).await
    }

    /// Put Block List with everything.
    pub(crate) async fn commit_with(
        &self,
        blob: &str,
        list: &[&str],
        preconditions: Preconditions<'_>,
    ) -> Outcome<Written> {
        let block = |entry: &&str| {
            let (search, id) = entry.split_at(1);
            let search = match search {
                "c" => BlockSearch::Committed,
                "u" => BlockSearch::Uncommitted,
                _ => BlockSearch::Latest,
            };
            (search, Bytes::copy_from_slice(id.as_bytes()))
        };
        let request = authorized(PutBlockList {
            address: address(blob),
            preconditions,
            new: NewBlob::default(),
            blocks: list.iter().map(block).collect(),
        });
        block_list::put(&self.store, &request).await
    }

    /// Get Block List of everything.
    pub(crate) async fn block_list(&self, blob: &str) -> Outcome<BlockList> {
        let request = authorized(GetBlockList {
            address: address(blob),
            snapshot: None,
            lease_id: None,
            if_tags: None,
            list: BlockListType::All,
        });
        blocks::list(&self.store, &request).await
    }

    /// Put Blob of a page blob.
    pub(crate) async fn create_pages(&self, blob: &str, length: u64) -> Outcome<Written> {
        let request = &authorized(CreatePageBlob {
            address: address(blob),
            preconditions: Preconditions::default(),
            new: NewBlob::default(),
            length,
            sequence_number: SequenceNumber::default(),
        });
        self.transact(blob, |txn| async move { page_blob::create(&txn, request).await }).await
    }

    /// Put Page; without data, a clear.
    pub(crate) async fn put_pages(
        &self,
        blob: &str,
        (start, end): (u64, u64),
        data: Option<&[u8]>,
        preconditions: Preconditions<'_>,
        sequence_number: SequenceNumberConditions,
    ) -> Outcome<PagesWritten> {
        let address = address(blob);
        let request = &authorized(PutPages { address, preconditions, sequence_number, start, end });
        let Some(data) = data else { return page_blob::clear(&self.store, request).await };
        page_blob::begin(&self.store.snapshot(), request, self.store.now()).await?;
        let body = &self.chunk(data).await;
        self.transact(blob, |txn| async move { page_blob::update(&txn, request, body).await }).await
    }

    /// Writes pages of one letter.
    pub(crate) async fn fill(&self, blob: &str, range: (u64, u64), letter: u8) -> Outcome<PagesWritten> {
        let data = vec![letter; usize::try_from(range.1 - range.0).unwrap()];
        self.put_pages(blob, range, Some(&data), Preconditions::default(), SequenceNumberConditions::default()).await
    }

    /// Clears pages.
    pub(crate) async fn clear(&self, blob: &str, range: (u64, u64)) -> Outcome<PagesWritten> {
        self.put_pages(blob, range, None, Preconditions::default(), SequenceNumberConditions::default()).await
    }

    /// Get Page Ranges as `start-end` texts, cleared ones in brackets.
    pub(crate) async fn ranges(
        &self,
        blob: &str,
        part: Option<Timestamp>,
        previous: Option<Timestamp>,
    ) -> Outcome<String> {
        let mut all = Vec::new();
        let mut marker = None;
        loop {
            let request = authorized(GetPageRanges {
                address: address(blob),
                snapshot: part.map(at),
                preconditions: Preconditions::default(),
                range: None,
                previous,
                marker,
                limit: 2,
            });
            let page = page_ranges::list(&self.store.snapshot(), &request, self.store.now()).await?;
            all.extend(page.ranges);
            match page.next {
                Some(next) => marker = Some(next),
                None => break,
            }
        }
        let text = |range: &PageRange| {
            let pages = format!("{}-{}", range.start / 512, range.end / 512);
            if range.written { pages } else { format!("({pages})") }
        };
        Ok(all.iter().map(text).collect::<Vec<_>>().join(" "))
    }

    /// Put Blob of an append blob.
    pub(crate) async fn create_append(&self, blob: &str) -> Outcome<Written> {
        let (address, preconditions) = (address(blob), Preconditions::default());
        let request = &authorized(CreateAppendBlob { address, preconditions, new: NewBlob::default() });
        self.transact(blob, |txn| async move { append_blob::create(&txn, request).await }).await
    }

    /// Append Block.
    pub(crate) async fn append(&self, blob: &str, data: &[u8]) -> Outcome<Appended> {
        self.append_with(blob, data, Preconditions::default(), AppendConditions::default()).await
    }

    /// Append Block with everything.
    pub(crate) async fn append_with(
        &self,
        blob: &str,
        data: &[u8],
        preconditions: Preconditions<'_>,
        append: AppendConditions,
    ) -> Outcome<Appended> {
        let request = &authorized(AppendBlock { address: address(blob), preconditions, append });
        let body = &self.chunk(data).await;
        self.transact(blob, |txn| async move { append_blob::finish(&txn, request, body).await }).await
    }

    /// Append Blob Seal.
    pub(crate) async fn seal(&self, blob: &str) -> Outcome<Written> {
        let (address, preconditions) = (address(blob), Preconditions::default());
        let request = &authorized(SealBlob { address, preconditions, append_position: None });
        self.transact(blob, |txn| async move { append_blob::seal(&txn, request).await }).await
    }

    /// Get Blob Properties.
    pub(crate) async fn properties(&self, blob: &str) -> Outcome<BlobProperties> {
        self.properties_with(blob, None, Preconditions::default()).await
    }

    /// Get Blob Properties with everything.
    pub(crate) async fn properties_with(
        &self,
        blob: &str,
        part: Option<Timestamp>,
        preconditions: Preconditions<'_>,
    ) -> Outcome<BlobProperties> {
        let request = authorized(ReadBlob { address: address(blob), snapshot: part.map(at), preconditions });
        Ok(object::read(&self.store.snapshot(), &request, self.store.now()).await?.properties)
    }

    /// Opens a blob to read all of it.
    pub(crate) async fn open(&self, blob: &str, part: Option<Timestamp>) -> Outcome<(BlobProperties, BlobReader)> {
        let preconditions = Preconditions::default();
        let request = authorized(ReadBlob { address: address(blob), snapshot: part.map(at), preconditions });
        loop {
            let snapshot = self.store.snapshot();
            let found = object::read_content(&snapshot, &request, self.store.now()).await?;
            let range = 0..found.properties.length;
            if let Some(reader) = reader::open(&self.store, &snapshot, &found, range).await? {
                return Ok((found.properties, reader));
            }
        }
    }

    /// Get Blob.
    pub(crate) async fn get(&self, blob: &str) -> Outcome<Vec<u8>> {
        self.get_part(blob, None).await
    }

    /// Get Blob of a snapshot.
    pub(crate) async fn get_part(&self, blob: &str, part: Option<Timestamp>) -> Outcome<Vec<u8>> {
        let (properties, mut reader) = self.open(blob, part).await?;
        let whole = reader.collect(0..properties.length).await?;
        assert_eq!(u64::try_from(whole.len()).unwrap(), properties.length);
        Ok(whole.to_vec())
    }

    /// Snapshot Blob.
    pub(crate) async fn snapshot(&self, blob: &str) -> Outcome<Timestamp> {
        let (address, preconditions) = (address(blob), Preconditions::default());
        let request = &authorized(SnapshotBlob { address, preconditions, metadata: None });
        let taken = self.transact(blob, |txn| async move { snapshot::take(&txn, request).await }).await?;
        Ok(taken.snapshot)
    }

    /// Delete Blob.
    pub(crate) async fn delete(&self, blob: &str) -> Outcome<()> {
        self.delete_with(blob, None, None, Preconditions::default()).await
    }

    /// Delete Blob with everything.
    pub(crate) async fn delete_with(
        &self,
        blob: &str,
        part: Option<Timestamp>,
        snapshots: Option<DeleteSnapshots>,
        preconditions: Preconditions<'_>,
    ) -> Outcome<()> {
        let request = &authorized(DeleteBlob {
            address: address(blob),
            snapshot: part.map(at),
            preconditions,
            snapshots,
            tier_modified_since: None,
            tier_unmodified_since: None,
        });
        self.transact(blob, |txn| async move { object::delete(&txn, request).await }).await
    }

    /// Copy Blob of the same account.
    pub(crate) async fn copy(&self, from: &str, part: Option<Timestamp>, to: &str) -> Outcome<Copied> {
        self.copy_with(from, part, copy_request(to, Preconditions::default(), CopyMode::CopyBlob)).await
    }

    /// A copy with everything.
    pub(crate) async fn copy_with(
        &self,
        from: &str,
        part: Option<Timestamp>,
        request: CopyBlob<'_>,
    ) -> Outcome<Copied> {
        let source = &authorized(SourceBlob {
            address: address(from),
            snapshot: part.map(at),
            conditions: Conditions::default(),
            if_tags: None,
            tags: request.copy_tags,
        });
        let to = request.address.blob.as_str().to_owned();
        let request = &authorized(request);
        self.transact(&to, |txn| async move { copy::copy(&txn, request, source).await }).await
    }

    /// Lease Blob.
    pub(crate) async fn lease(&self, blob: &str, operation: LeaseOperation) -> Outcome<LeaseAnswer> {
        let conditions = Conditions::default();
        let request = &authorized(LeaseBlob { address: address(blob), conditions, if_tags: None, operation });
        self.transact(blob, |txn| async move { lease::lease(&txn, request).await }).await
    }

    /// Set Blob Tags.
    pub(crate) async fn set_tags(
        &self,
        blob: &str,
        pairs: &[(&str, &str)],
        preconditions: Preconditions<'_>,
    ) -> Outcome<()> {
        let request = &authorized(SetTags { address: address(blob), preconditions, tags: tags_of(pairs) });
        self.transact(blob, |txn| async move { tags::set(&txn, request).await }).await
    }

    /// Set Blob Tier.
    pub(crate) async fn set_tier(
        &self,
        blob: &str,
        tier: AccessTier,
        preconditions: Preconditions<'_>,
    ) -> Outcome<TierSet> {
        let request = &authorized(SetTier {
            address: address(blob),
            snapshot: None,
            preconditions,
            tier,
            priority: None,
            rehydration: Duration::from_secs(10),
        });
        self.transact(blob, |txn| async move { tier::set(&txn, request).await }).await
    }

    /// Set Blob Metadata.
    pub(crate) async fn set_metadata(&self, blob: &str, preconditions: Preconditions<'_>) -> Outcome<Written> {
        let metadata = vec![("Key".to_owned(), "Value".to_owned())];
        let request = &authorized(SetMetadata { address: address(blob), preconditions, metadata });
        self.transact(blob, |txn| async move { settings::set_metadata(&txn, request).await }).await
    }

    /// Set Blob Properties.
    pub(crate) async fn set_properties(&self, request: SetProperties<'_>) -> Outcome<PropertiesSet> {
        settings::set_properties(&self.store, &authorized(request)).await
    }

    /// Set Blob Properties: a new length.
    pub(crate) async fn resize(&self, blob: &str, length: u64) -> Outcome<PropertiesSet> {
        self.set_properties(SetProperties {
            address: address(blob),
            preconditions: Preconditions::default(),
            headers: None,
            length: Some(length),
            sequence_number: None,
        })
        .await
    }

    /// Set Blob Expiry.
    pub(crate) async fn expire(
        &self,
        blob: &str,
        expiry: Expiry,
        preconditions: Preconditions<'_>,
    ) -> Outcome<Written> {
        let request = &authorized(SetExpiry { address: address(blob), preconditions, expiry });
        self.transact(blob, |txn| async move { settings::set_expiry(&txn, request).await }).await
    }

    /// Every page of a listing; snapshots as `name@ticks`, uncommitted ones as `name?`, groups as `name…`.
    pub(crate) async fn listing(&self, request: ListBlobs) -> Vec<String> {
        let mut names = Vec::new();
        let mut marker: Option<Marker> = None;
        loop {
            let limit = request.limit;
            let request = authorized(ListBlobs { marker: marker.take(), ..request.clone() });
            let page = list::blobs(&self.store.snapshot(), &request, self.store.now()).await.unwrap();
            assert!(page.items.len() <= limit);
            names.extend(page.items.into_iter().map(|item| match item {
                Listed::Blob(name, properties) => match (properties.snapshot, properties.committed) {
                    (Some(time), _) => format!("{name}@{}", time.ticks()),
                    (None, false) => format!("{name}?"),
                    (None, true) => name,
                },
                Listed::Prefix(prefix) => format!("{prefix}…"),
            }));
            match page.next {
                Some(next) => marker = Some(next),
                None => return names,
            }
        }
    }

    /// Does all the work of the background.
    pub(crate) async fn sweep(&self) {
        let mut cursor = sweep::Cursor::default();
        loop {
            let blobs = sweep::step(&self.store, &mut cursor).await.unwrap();
            let contents = store::sweep::step(&self.store).await.unwrap();
            if !blobs && !contents.more && contents.finished == 0 {
                return;
            }
        }
    }

    /// What the two audits find.
    pub(crate) async fn problems(&self) -> Vec<String> {
        let snapshot = self.store.snapshot();
        let Audit { mut problems, .. } = audit::audit(&snapshot).await.unwrap();
        problems.extend(store::audit::audit(&snapshot, |_| Ok::<_, StoreError>(())).await.unwrap().problems);
        problems
    }

    /// Nothing is wrong, and once everything is deleted nothing is left.
    pub(crate) async fn check_empties(&self) {
        self.sweep().await;
        assert_eq!(self.problems().await, Vec::<String>::new());
        self.drop_container().await.unwrap();
        self.sweep().await;
        let snapshot = self.store.snapshot();
        assert_eq!(audit::audit(&snapshot).await.unwrap(), Audit::default(), "rows are left");
        let left = store::audit::audit(&snapshot, |_| Ok::<_, StoreError>(())).await.unwrap();
        assert_eq!((left.rows, left.chunks, left.problems), (0, 0, Vec::new()), "the store keeps something");
    }
}

/// A copy to a blob, with nothing special.
pub(crate) fn copy_request<'a>(to: &str, preconditions: Preconditions<'a>, mode: CopyMode) -> CopyBlob<'a> {
    CopyBlob {
        address: address(to),
        preconditions,
        mode,
        source_url: "http://example.test/source".to_owned(),
        copy_id: format!("copy-to-{to}"),
        metadata: None,
        headers: None,
        tags: Tags::new(),
        copy_tags: false,
        tier: None,
        priority: None,
        rehydration: Duration::from_secs(10),
        seal: None,
    }
}
