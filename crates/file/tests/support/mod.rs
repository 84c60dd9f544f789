//! A share on the memory engine, and calls of somebody who may do everything.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "support of several tests"
)]

use std::sync::Arc;

use access::Asked;
use bytes::Bytes;
use concurrency::{
    delete_pending::DeleteIntent,
    file_open::{OpenRequest, Reach},
    lease::{LeaseDuration, LeaseId, LeaseOperation},
    oplock::{CacheGrant, Caching},
    share_mode::OpenMode,
};
pub use file::FileError;
use file::{
    Files, Preconditions, SmbChange,
    copy::{Copied, CopiedSmb, CopyCursor, CopyFile, CopyMaps},
    create::{CreateDirectory, CreateFile},
    delete::Delete,
    download::GetFile,
    file_lease::{LeaseAnswer, LeaseFile},
    list::{ListEntries, Listing},
    list_ranges::ListRanges,
    object::{Address, NodeProperties},
    open::{Disposition, OpenFile, Opened},
    opens::Owner,
    properties::{GetProperties, SetProperties},
    ranges::{PutRange, RangeWritten},
    rename::Rename,
    share::{CreateShare, ShareAddress, ShareSettings},
    share_delete::{DeleteShare, DeleteShareSnapshots},
    share_properties::SharePreconditions,
    share_snapshot::SnapshotShare,
    usage::GetShareStats,
};
use store::{Direction, Read as _, Store, clock::SystemTime};
use store_memory::{ManualTime, MemoryEngine};
pub use types::Timestamp;
use types::{FilePath, HttpHeaders, Metadata, ShareName, UnitId};

pub const ACCOUNT: UnitId = UnitId::new(7);

pub fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(test)
}

pub fn asked<Op>(operation: Op) -> Asked<Op> {
    Asked::for_tests(operation)
}

pub fn share_address(snapshot: Option<Timestamp>) -> ShareAddress {
    ShareAddress { account: ACCOUNT, name: ShareName::parse("share").unwrap(), snapshot }
}

/// An empty path is the topmost directory.
pub fn address(path: &str, snapshot: Option<Timestamp>) -> Address {
    let path = (!path.is_empty()).then(|| FilePath::parse(path).unwrap());
    Address::new(share_address(snapshot), path)
}

/// A copy into a file, which is called after it.
pub fn copy_request(to: &str) -> CopyFile<'static> {
    CopyFile {
        address: address(to, None),
        preconditions: Preconditions::default(),
        source_url: "http://source".to_owned(),
        copy_id: format!("copy-into-{to}"),
        metadata: None,
        smb: CopiedSmb::default(),
        ignores_read_only: false,
    }
}

#[derive(Clone)]
pub struct World {
    pub engine: MemoryEngine,
    pub files: Files,
}

impl World {
    pub async fn new() -> Self {
        let engine = MemoryEngine::new(SystemTime::default());
        let store = engine.store();
        Self::on(engine, store).await
    }

    /// Time passes only when the test says so.
    pub async fn timed() -> (Self, ManualTime) {
        let time = ManualTime::default();
        let engine = MemoryEngine::new(time.clone());
        let store = engine.store();
        (Self::on(engine, store).await, time)
    }

    /// The same on a store that a test made around the engine.
    pub async fn on(engine: MemoryEngine, store: Store) -> Self {
        let files = Files::new(store);
        let create = CreateShare {
            account: ACCOUNT,
            name: ShareName::parse("share").unwrap(),
            metadata: Metadata::new(),
            settings: ShareSettings::default(),
        };
        files.create_share(&asked(create)).await.unwrap();
        Self { engine, files }
    }

    pub async fn create_directory(&self, path: &str) -> Result<NodeProperties, FileError> {
        let address = address(path, None);
        let create = CreateDirectory { address, metadata: Metadata::new(), smb: SmbChange::default() };
        self.files.create_directory(&asked(create)).await
    }

    pub async fn create_file(&self, path: &str, length: u64) -> Result<NodeProperties, FileError> {
        let create = CreateFile {
            address: address(path, None),
            preconditions: Preconditions::default(),
            metadata: Metadata::new(),
            smb: SmbChange::default(),
            headers: HttpHeaders::default(),
            length,
        };
        self.files.create_file(&asked(create), None).await
    }

    fn range(path: &str, start: u64, end: u64) -> PutRange<'static> {
        PutRange { address: address(path, None), preconditions: Preconditions::default(), start, end, written: None }
    }

    pub async fn put_range(&self, path: &str, start: u64, content: &[u8]) -> Result<RangeWritten, FileError> {
        let length = u64::try_from(content.len()).unwrap();
        let asked = asked(Self::range(path, start, start + length));
        let mut writer = self.files.begin_put_range(&asked, Some(length)).await?.writer(length)?;
        writer.write(Bytes::copy_from_slice(content)).await?;
        self.files.put_range(&asked, &writer.finish().await?).await
    }

    pub async fn clear_range(&self, path: &str, start: u64, end: u64) -> Result<RangeWritten, FileError> {
        self.files.clear_range(&asked(Self::range(path, start, end))).await
    }

    pub async fn resize(&self, path: &str, length: u64) -> Result<NodeProperties, FileError> {
        let set = SetProperties {
            address: address(path, None),
            preconditions: Preconditions::default(),
            is_directory: false,
            smb: SmbChange::default(),
            headers: None,
            length: Some(length),
        };
        self.files.set_properties(&asked(set)).await
    }

    pub async fn properties(&self, path: &str, is_directory: bool) -> Result<NodeProperties, FileError> {
        let address = address(path, None);
        let get = GetProperties { address, preconditions: Preconditions::default(), is_directory };
        self.files.get_properties(&asked(get)).await
    }

    pub async fn rename(&self, from: &str, to: &str, is_directory: bool) -> Result<NodeProperties, FileError> {
        let rename = Rename {
            source: address(from, None),
            destination: address(to, None),
            is_directory,
            replaces: false,
            ignores_read_only: false,
            source_lease: None,
            destination_lease: None,
            smb: SmbChange::default(),
            metadata: None,
            content_type: None,
        };
        let source = asked(GetProperties {
            address: rename.source.clone(),
            preconditions: Preconditions::default(),
            is_directory,
        });
        self.files.rename(&asked(rename), &source).await
    }

    pub async fn copy(&self, from: &str, snapshot: Option<Timestamp>, to: &str) -> Result<Copied, FileError> {
        self.copy_with(from, snapshot, copy_request(to)).await
    }

    pub async fn copy_with(
        &self,
        from: &str,
        snapshot: Option<Timestamp>,
        copy: CopyFile<'_>,
    ) -> Result<Copied, FileError> {
        let address = address(from, snapshot);
        let source = GetFile { address, preconditions: Preconditions::default(), range: None };
        self.files.copy_file(&asked(copy), &asked(source)).await
    }

    pub async fn delete(&self, path: &str) -> Result<(), FileError> {
        self.remove(path, false).await
    }

    pub async fn delete_directory(&self, path: &str) -> Result<(), FileError> {
        self.remove(path, true).await
    }

    async fn remove(&self, path: &str, is_directory: bool) -> Result<(), FileError> {
        let address = address(path, None);
        self.files.delete(&asked(Delete { address, preconditions: Preconditions::default(), is_directory })).await
    }

    pub async fn read(&self, path: &str, snapshot: Option<Timestamp>) -> Result<Vec<u8>, FileError> {
        let address = address(path, snapshot);
        let get = asked(GetFile { address, preconditions: Preconditions::default(), range: None });
        let mut download = self.files.get_file(&get).await?;
        Ok(download.reader.collect(download.range).await?.to_vec())
    }

    pub async fn ranges(&self, path: &str, snapshot: Option<Timestamp>) -> Result<Vec<(u64, u64)>, FileError> {
        let list = ListRanges {
            address: address(path, snapshot),
            preconditions: Preconditions::default(),
            range: None,
            previous: None,
            follows_renames: false,
            marker: None,
            limit: 10_000,
            at_once: true,
        };
        let found = self.files.list_ranges(&asked(list)).await?;
        Ok(found.ranges.into_iter().map(|range| (range.start, range.end)).collect())
    }

    pub async fn list(&self, path: &str, snapshot: Option<Timestamp>) -> Result<Listing, FileError> {
        self.page(path, snapshot, None, 5_000).await
    }

    pub async fn page(
        &self,
        path: &str,
        snapshot: Option<Timestamp>,
        marker: Option<String>,
        limit: usize,
    ) -> Result<Listing, FileError> {
        let list = ListEntries { address: address(path, snapshot), prefix: String::new(), marker, limit };
        self.files.list_entries(&asked(list)).await
    }

    pub async fn names(&self, path: &str, snapshot: Option<Timestamp>) -> Vec<String> {
        self.list(path, snapshot).await.unwrap().entries.into_iter().map(|entry| entry.name).collect()
    }

    pub async fn usage(&self) -> u64 {
        let stats = GetShareStats { share: share_address(None), lease_id: None };
        self.files.get_share_stats(&asked(stats)).await.unwrap().usage_bytes
    }

    pub async fn open(
        &self,
        path: &str,
        disposition: Disposition,
        mode: OpenMode,
        delete_on_close: bool,
    ) -> Result<Opened, FileError> {
        let owner = Owner {
            session: 1,
            client: ([127, 0, 0, 1], 5000).into(),
            client_name: "client".into(),
            notify: Box::new(|_| {}),
        };
        let delete = DeleteIntent { delete_on_close, delete_access: mode.access.delete };
        let open = OpenFile {
            address: address(path, None),
            disposition,
            is_directory: None,
            request: OpenRequest { mode, reach: Reach::File, overwrites: false, delete },
            smb: SmbChange::default(),
            cache: CacheGrant::Lease(Caching::None),
            lease_key: None,
            epoch: None,
            owner: Arc::new(owner),
        };
        self.files.open(&asked(open)).await
    }

    pub async fn lease(&self, path: &str) -> Result<LeaseAnswer, FileError> {
        let fresh = LeaseId::from_u128(1);
        let operation = LeaseOperation::Acquire { proposed: None, fresh, duration: LeaseDuration::Infinite };
        self.files.lease_file(&asked(LeaseFile { address: address(path, None), operation })).await
    }

    /// Whether a file is leased.
    pub async fn lease_id(&self, path: &str) -> Option<()> {
        let found = self.properties(path, false).await.unwrap();
        found.lease_state().is_locked().then_some(())
    }

    /// Waits whenever it is asked to, and asks again.
    pub async fn patiently<T, F, Fut>(&self, operation: F) -> Result<T, FileError>
    where
        F: Fn() -> Fut,
        Fut: Future<Output = Result<T, FileError>>,
    {
        let mut ticket = None;
        loop {
            let outcome = operation().await;
            drop(ticket.take());
            match outcome {
                Err(FileError::Wait(mut waiting)) => {
                    (&mut waiting).await;
                    ticket = Some(waiting);
                }
                outcome => return outcome,
            }
        }
    }

    pub async fn snapshot(&self) -> Timestamp {
        let snapshot = SnapshotShare { share: share_address(None), metadata: None };
        self.files.snapshot_share(&asked(snapshot)).await.unwrap().snapshot
    }

    pub async fn delete_snapshot(&self, snapshot: Timestamp) {
        let delete = DeleteShare {
            share: share_address(Some(snapshot)),
            preconditions: SharePreconditions::default(),
            snapshots: DeleteShareSnapshots::Refuse,
        };
        self.files.delete_share(&asked(delete)).await.unwrap();
    }

    /// Does all that the background has to do.
    pub async fn sweep(&self) {
        let (store, mut cursor) = (self.engine.store(), file::sweep::Cursor::default());
        loop {
            let more = file::sweep::step(&store, &mut cursor).await.unwrap();
            let contents = store::sweep::step(&store).await.unwrap();
            if !more && !contents.more && contents.finished == 0 {
                return;
            }
        }
    }

    /// Does a step of the copies of maps. False when there was nothing to do.
    pub async fn copy_step(&self) -> bool {
        use jobs::Job as _;

        let (store, mut cursor) = (self.engine.store(), CopyCursor::default());
        CopyMaps::step(&store, &mut cursor).await.unwrap().more
    }

    /// The share goes, and after it everything: nothing is left behind.
    pub async fn check_empties(&self) {
        let delete = DeleteShare {
            share: share_address(None),
            preconditions: SharePreconditions::default(),
            snapshots: DeleteShareSnapshots::Include,
        };
        self.files.delete_share(&asked(delete)).await.unwrap();
        self.sweep().await;
        self.audit().await;
        let left = file::audit::audit(&self.engine.store().snapshot()).await.unwrap();
        assert_eq!(left.rows, 0, "rows of files are left");
        let chunks = store::content::chunks(b"");
        let chunks = self.engine.store().snapshot().scan(chunks, Direction::Ascending).take(10).await.unwrap();
        assert_eq!(chunks.len(), 0, "bytes are left");
    }

    pub async fn audit(&self) {
        let found = file::audit::audit(&self.engine.store().snapshot()).await.unwrap();
        assert!(found.problems.is_empty(), "{:?}", found.problems);
    }
}
