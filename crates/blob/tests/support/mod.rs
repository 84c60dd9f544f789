//! What the tests of the Blob service share: a store with a container, and each operation in one short call.

#![allow(dead_code, reason = "each test file uses some of it")]

use std::time::Duration;

use access::Asked;
use blob::{
    Blobs, Preconditions, PublicAccess, Tags, Written,
    append_blob::{AppendBlock, Appended, CreateAppendBlob, SealBlob},
    audit::{self, Audit},
    block_blob::{NewBlob, PutBlob},
    block_list::{BlockSearch, PutBlockList},
    blocks::{BlockList, BlockListType, GetBlockList, PutBlock},
    body::{Begun, Body},
    container::{ContainerPreconditions, CreateContainer, DeleteContainer},
    copy::{Copied, CopyBlob, CopyMode, SourceBlob},
    download::GetBlob,
    errors::BlobError,
    lease::{LeaseAnswer, LeaseBlob},
    list::{ListBlobs, Listed, Marker},
    object::{Address, BlobProperties, DeleteBlob, DeleteSnapshots, ReadBlob},
    page_blob::{CreatePageBlob, PagesWritten, PutPages},
    page_ranges::{GetPageRanges, PageRange},
    part::{BlobPart, NamedPart, NamedTime},
    reader::BlobReader,
    settings::{Expiry, PropertiesSet, SetExpiry, SetMetadata, SetProperties},
    snapshot::SnapshotBlob,
    tags::SetTags,
    tier::{AccessTier, SetTier, TierSet},
};
use bytes::Bytes;
use concurrency::{
    append_condition::AppendConditions,
    conditions::Conditions,
    lease::{LeaseId, LeaseOperation},
    sequence_number::{SequenceNumber, SequenceNumberConditions},
};
use store::{Store, StoreError};
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

/// An operation, asked for by somebody who may do everything.
pub(crate) const fn asked<Op>(operation: Op) -> Asked<Op> {
    Asked::for_tests(operation)
}

/// Brings the bytes of an operation that was begun.
pub(crate) async fn bring(begun: Begun<'_>, data: &[u8]) -> Body {
    let mut writer = begun.writer(u64::try_from(data.len()).unwrap()).unwrap();
    writer.write(Bytes::copy_from_slice(data)).await.unwrap();
    writer.finish().await.unwrap()
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

/// A snapshot by its time; without one, the blob itself.
pub(crate) fn named(snapshot: Option<Timestamp>) -> NamedPart {
    let named = |time: Timestamp| NamedPart::Snapshot(NamedTime { time, text: time.ticks().to_string() });
    snapshot.map_or(NamedPart::Base, named)
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
    pub(crate) store: Store,
    /// The service on it.
    pub(crate) blobs: Blobs,
}

impl World {
    /// A new one, on the reference engine.
    pub(crate) async fn new() -> Self {
        let engine = MemoryEngine::default();
        let store = engine.store();
        let world = Self { engine, blobs: Blobs::new(store.clone()), store };
        world.create().await.unwrap();
        world
    }

    /// One on any engine.
    pub(crate) async fn on(store: Store) -> Self {
        let world = Self { engine: MemoryEngine::default(), blobs: Blobs::new(store.clone()), store };
        world.create().await.unwrap();
        world
    }

    /// A new one, with a clock that stands still until it is told.
    pub(crate) async fn with_time() -> (Self, ManualTime) {
        let time = ManualTime::default();
        let engine = MemoryEngine::new(time.clone());
        let store = engine.store();
        let world = Self { engine, blobs: Blobs::new(store.clone()), store };
        world.create().await.unwrap();
        (world, time)
    }

    /// Creates the container.
    pub(crate) async fn create(&self) -> Outcome<()> {
        self.create_named("things").await
    }

    /// Creates a container.
    pub(crate) async fn create_named(&self, name: &str) -> Outcome<()> {
        let request = &asked(CreateContainer {
            account: ACCOUNT,
            name: container_name(name),
            public_access: PublicAccess::Private,
            metadata: Vec::new(),
        });
        self.blobs.create_container(request).await?;
        Ok(())
    }

    /// Deletes the container.
    pub(crate) async fn drop_container(&self) -> Outcome<()> {
        let request = &asked(DeleteContainer {
            account: ACCOUNT,
            name: container_name("things"),
            preconditions: ContainerPreconditions::default(),
        });
        self.blobs.delete_container(request).await
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
        let request = &asked(PutBlob { address: address(blob), preconditions, new });
        let begun = self.blobs.begin_put_blob(request, None).await?;
        self.blobs.put_blob(request, &bring(begun, data).await, None).await
    }

    /// Put Block.
    pub(crate) async fn stage(&self, blob: &str, id: &str, data: &[u8]) -> Outcome<()> {
        self.stage_with(blob, id, data, None).await
    }

    /// Put Block with a lease id.
    pub(crate) async fn stage_with(&self, blob: &str, id: &str, data: &[u8], lease_id: Option<LeaseId>) -> Outcome<()> {
        let block_id = Bytes::copy_from_slice(id.as_bytes());
        let request = &asked(PutBlock { address: address(blob), version: VERSION, lease_id, block_id });
        let begun = self.blobs.begin_put_block(request, None).await?;
        self.blobs.put_block(request, &bring(begun, data).await).await
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
        let request = asked(PutBlockList {
            address: address(blob),
            preconditions,
            new: NewBlob::default(),
            blocks: list.iter().map(block).collect(),
        });
        self.blobs.put_block_list(&request).await
    }

    /// Get Block List of everything.
    pub(crate) async fn block_list(&self, blob: &str) -> Outcome<BlockList> {
        let request = asked(GetBlockList {
            address: address(blob),
            part: NamedPart::Base,
            lease_id: None,
            if_tags: None,
            list: BlockListType::All,
        });
        self.blobs.get_block_list(&request).await
    }

    /// Put Blob of a page blob.
    pub(crate) async fn create_pages(&self, blob: &str, length: u64) -> Outcome<Written> {
        let request = &asked(CreatePageBlob {
            address: address(blob),
            preconditions: Preconditions::default(),
            new: NewBlob::default(),
            length,
            sequence_number: SequenceNumber::default(),
        });
        self.blobs.create_page_blob(request).await
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
        let request = &asked(PutPages { address, preconditions, sequence_number, start, end });
        let Some(data) = data else { return self.blobs.clear_page(request).await };
        let begun = self.blobs.begin_put_page(request, None).await?;
        self.blobs.put_page(request, &bring(begun, data).await).await
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
            let request = asked(GetPageRanges {
                address: address(blob),
                part: named(part),
                preconditions: Preconditions::default(),
                range: None,
                previous,
                marker,
                limit: 2,
                at_once: false,
            });
            let page = self.blobs.get_page_ranges(&request).await?;
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
        let request = &asked(CreateAppendBlob { address, preconditions, new: NewBlob::default() });
        self.blobs.create_append_blob(request).await
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
        let request = &asked(AppendBlock { address: address(blob), preconditions, append });
        // A body of so few bytes is decided on when it is there.
        let begun = self.blobs.begin_append_block(request, Some(0)).await?;
        self.blobs.append_block(request, &bring(begun, data).await).await
    }

    /// Append Blob Seal.
    pub(crate) async fn seal(&self, blob: &str) -> Outcome<Written> {
        let (address, preconditions) = (address(blob), Preconditions::default());
        let request = &asked(SealBlob { address, preconditions, append_position: None });
        self.blobs.seal_append_blob(request).await
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
        let request = asked(ReadBlob { address: address(blob), part: named(part), preconditions });
        self.blobs.get_blob_properties(&request).await
    }

    /// Opens a blob to read all of it.
    pub(crate) async fn open(&self, blob: &str, part: Option<Timestamp>) -> Outcome<(BlobProperties, BlobReader)> {
        let preconditions = Preconditions::default();
        let read = ReadBlob { address: address(blob), part: named(part), preconditions };
        let download = self.blobs.get_blob(&asked(GetBlob { read, range: None, if_range: None })).await?;
        Ok((download.properties, download.reader))
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
        let request = &asked(SnapshotBlob { address, preconditions, metadata: None });
        Ok(self.blobs.snapshot_blob(request).await?.snapshot)
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
        let request = &asked(DeleteBlob {
            address: address(blob),
            part: named(part),
            preconditions,
            snapshots,
            tier_modified_since: None,
            tier_unmodified_since: None,
        });
        self.blobs.delete_blob(request).await
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
        let source = &asked(SourceBlob {
            address: address(from),
            part: named(part),
            conditions: Conditions::default(),
            if_tags: None,
            tags: request.copy_tags,
        });
        self.blobs.copy_blob(&asked(request), source).await
    }

    /// Lease Blob.
    pub(crate) async fn lease(&self, blob: &str, operation: LeaseOperation) -> Outcome<LeaseAnswer> {
        let conditions = Conditions::default();
        let request = &asked(LeaseBlob { address: address(blob), conditions, if_tags: None, operation });
        self.blobs.lease_blob(request).await
    }

    /// Set Blob Tags.
    pub(crate) async fn set_tags(
        &self,
        blob: &str,
        pairs: &[(&str, &str)],
        preconditions: Preconditions<'_>,
    ) -> Outcome<()> {
        let request = &asked(SetTags { address: address(blob), preconditions, tags: tags_of(pairs) });
        self.blobs.set_blob_tags(request).await
    }

    /// Set Blob Tier.
    pub(crate) async fn set_tier(
        &self,
        blob: &str,
        tier: AccessTier,
        preconditions: Preconditions<'_>,
    ) -> Outcome<TierSet> {
        let request = &asked(SetTier {
            address: address(blob),
            part: NamedPart::Base,
            preconditions,
            tier,
            priority: None,
            rehydration: Duration::from_secs(10),
        });
        self.blobs.set_blob_tier(request).await
    }

    /// Set Blob Metadata.
    pub(crate) async fn set_metadata(&self, blob: &str, preconditions: Preconditions<'_>) -> Outcome<Written> {
        let metadata = vec![("Key".to_owned(), "Value".to_owned())];
        let request = &asked(SetMetadata { address: address(blob), preconditions, metadata });
        self.blobs.set_blob_metadata(request).await
    }

    /// Set Blob Properties.
    pub(crate) async fn set_properties(&self, request: SetProperties<'_>) -> Outcome<PropertiesSet> {
        self.blobs.set_blob_properties(&asked(request)).await
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
        let request = &asked(SetExpiry { address: address(blob), preconditions, expiry });
        self.blobs.set_blob_expiry(request).await
    }

    /// Every page of a listing; snapshots as `name@ticks`, uncommitted ones as `name?`, groups as `name…`.
    pub(crate) async fn listing(&self, request: ListBlobs) -> Vec<String> {
        let mut names = Vec::new();
        let mut marker: Option<Marker> = None;
        loop {
            let limit = request.limit;
            let request = asked(ListBlobs { marker: marker.take(), ..request.clone() });
            let page = self.blobs.list_blobs(&request).await.unwrap();
            assert!(page.items.len() <= limit);
            names.extend(page.items.into_iter().map(|item| match item {
                Listed::Blob(name, properties) => match (properties.part, properties.committed) {
                    (BlobPart::Snapshot(time), _) => format!("{name}@{}", time.ticks()),
                    (BlobPart::Version(time), _) => format!("{name}#{}", time.ticks()),
                    (BlobPart::Base, false) => format!("{name}?"),
                    (BlobPart::Base, true) => name,
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
        let mut jobs = blob::jobs(&self.store);
        loop {
            let blobs = jobs::round(&mut jobs).await.unwrap().more;
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
