//! Handles as SMB opens them, beside the service that is called over REST.

use std::sync::{Arc, Mutex, OnceLock};

use access::Asked;
use account::Settings;
use concurrency::{
    delete_pending::DeleteIntent,
    file_open::{OpenRequest, Reach},
    oplock::{CacheGrant, Caching},
    share_mode::{Access, OpenMode, ShareMode},
};
use file::{
    Files, SmbChange,
    object::Address,
    open::{Disposition, OpenFile, Opened},
    opens::{LeaseKey, Notice, Owner},
    share::ShareAddress,
};
use file_rest::FileService;
use testkit::{ACCOUNT, Nowhere, RestService};
use transfer::{Here, Transfers};
use types::{FilePath, ShareName, UnitId};

/// The service, and the files behind it.
pub(crate) struct Shared {
    pub(crate) rest: RestService,
    pub(crate) files: Files,
    account: UnitId,
    /// What clients were told.
    pub(crate) notices: Arc<Mutex<Vec<Notice>>>,
}

impl Shared {
    /// With the share `abc`, the directory `d`, and the file `d/f` of ten bytes.
    pub(crate) async fn new() -> Self {
        let inside = Arc::new(OnceLock::new());
        let kept = Arc::clone(&inside);
        let build = move |parts: testkit::Parts| -> Arc<dyn rest::Service> {
            let (files, settings) = (Files::new(parts.store.clone()), Settings::new(parts.store));
            let account = parts.accounts.get(ACCOUNT).unwrap().unit;
            kept.set((files.clone(), account)).unwrap();
            let transfers = Arc::new(Transfers::new(Arc::new(Nowhere), Here::default()));
            Arc::new(FileService::new(files, settings, parts.accounts, transfers))
        };
        let rest = RestService::new(build).await.unwrap();
        super::fill(&rest).await;
        let (files, account) = inside.get().cloned().unwrap();
        Self { rest, files, account, notices: Arc::default() }
    }

    /// Opens a directory or a file for reading, sharing everything, caching this. An empty path is the topmost directory.
    pub(crate) async fn open(&self, path: &str, caching: Caching) -> Opened {
        self.open_for(path, Access::READ, caching).await
    }

    /// The same for everything.
    pub(crate) async fn open_to_delete(&self, path: &str) -> Opened {
        self.open_for(path, Access::ALL, Caching::None).await
    }

    async fn open_for(&self, path: &str, access: Access, caching: Caching) -> Opened {
        let notices = Arc::clone(&self.notices);
        let owner = Owner {
            session: 3,
            client: ([10, 0, 0, 7], 5000).into(),
            client_name: "machine".into(),
            notify: Box::new(move |notice| notices.lock().unwrap().push(notice)),
        };
        let mode = OpenMode { access, share: ShareMode::ALL };
        let name = ShareName::parse("abc").unwrap();
        let share = ShareAddress { account: self.account, name, snapshot: None };
        let path = (!path.is_empty()).then(|| FilePath::parse(path).unwrap());
        let delete = DeleteIntent { delete_on_close: false, delete_access: access.delete };
        let lease_key = LeaseKey { account: UnitId::new(1), client: [1; 16], key: [2; 16] };
        let open = OpenFile {
            address: Address::new(share, path),
            disposition: Disposition::Open,
            is_directory: None,
            request: OpenRequest { mode, reach: Reach::File, overwrites: false, delete },
            smb: SmbChange::default(),
            cache: CacheGrant::Lease(caching),
            lease_key: (caching != Caching::None).then_some(lease_key),
            epoch: None,
            owner: Arc::new(owner),
        };
        self.files.open(&Asked::for_tests(open)).await.unwrap()
    }
}
