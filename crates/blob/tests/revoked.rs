//! A credential that is taken away between the arrival of a request and the view that serves it is not served any more,
//! whatever the operation is.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::sync::Arc;

use access::{
    Account, AccountKey, Accounts, Denied, Grant,
    acl::{Acl, StoredAccessPolicy},
    need::Service,
    sas::Fields,
    testing::{Used, signature},
};
use blob::{
    BlobKind, Blobs, HttpHeaders, Preconditions, PublicAccess,
    acl::GetContainerAcl,
    acl::SetContainerAcl,
    append_blob::{AppendBlock, CreateAppendBlob},
    block_blob::{NewBlob, PutBlob},
    block_list::{BlockSearch, PutBlockList},
    blocks::{BlockListType, GetBlockList, PutBlock},
    container::{ContainerPreconditions, CreateContainer, GetContainerProperties},
    copy::{CopyBlob, CopyMode, ForeignSource, SourceBlob},
    download::GetBlob,
    errors::BlobError,
    find::FindBlobs,
    list::ListBlobs,
    object::{Address, DeleteBlob, ReadBlob},
    page_blob::{CreatePageBlob, PutPages},
    page_ranges::GetPageRanges,
    part::NamedPart,
    settings::{SetMetadata, SetProperties},
    snapshot::SnapshotBlob,
    tags::GetTags,
};
use bytes::Bytes;
use concurrency::{
    append_condition::AppendConditions,
    conditions::Conditions,
    sequence_number::{SequenceNumber, SequenceNumberConditions},
    tag_condition::{Dialect, TagExpression},
};
use store_memory::MemoryEngine;
use support::{asked, bring, container_name, copy_request, name_of, run};
use types::names::{AccountName, BlobName};

/// A container with a block, a page and an append blob, and two ways in: a policy, and public access.
struct Scene {
    blobs: Blobs,
    accounts: Accounts,
    account: Arc<Account>,
    key: AccountKey,
}

impl Scene {
    async fn new() -> Self {
        let store = MemoryEngine::default().store();
        let key = AccountKey::new(b"a key of the account");
        let name = AccountName::parse("scene").unwrap();
        let accounts = Accounts::open(&store, [(name, vec![key.clone()])]).await.unwrap();
        let account = accounts.get("scene").unwrap();
        let scene = Self { blobs: Blobs::new(store), accounts, account, key };
        let request = asked(CreateContainer {
            account: scene.account.unit,
            name: container_name("things"),
            public_access: PublicAccess::Private,
            metadata: Vec::new(),
        });
        scene.blobs.create_container(&request).await.unwrap();
        let put = asked(scene.put_blob("block"));
        let body = bring(scene.blobs.begin_put_blob(&put, None).await.unwrap(), b"bytes").await;
        scene.blobs.put_blob(&put, &body, None).await.unwrap();
        let (preconditions, new) = (Preconditions::default(), NewBlob::default());
        let create = CreateAppendBlob { address: scene.address("append"), preconditions, new };
        scene.blobs.create_append_blob(&asked(create)).await.unwrap();
        let create = CreatePageBlob {
            address: scene.address("page"),
            preconditions: Preconditions::default(),
            new: NewBlob::default(),
            length: 1024,
            sequence_number: SequenceNumber::default(),
        };
        scene.blobs.create_page_blob(&asked(create)).await.unwrap();
        scene
    }

    fn address(&self, blob: &str) -> Address {
        let (account, container) = (self.account.unit, container_name("things"));
        Address { account, container, blob: BlobName::parse(blob).unwrap() }
    }

    fn put_blob(&self, blob: &str) -> PutBlob<'static> {
        let preconditions = Preconditions::default();
        PutBlob { address: self.address(blob), preconditions, new: NewBlob::default() }
    }

    /// Sets the access control list.
    async fn allow(&self, policy: bool, public_access: PublicAccess) {
        let permissions = Some("racwdltf".to_owned());
        let expiry = Some(self.blobs.now().saturating_add(std::time::Duration::from_hours(1)));
        let policy = policy.then(|| StoredAccessPolicy { id: "p".to_owned(), start: None, expiry, permissions });
        let request = asked(SetContainerAcl {
            account: self.account.unit,
            name: container_name("things"),
            preconditions: ContainerPreconditions::default(),
            acl: Acl { public_access, policies: policy.into_iter().collect() },
        });
        self.blobs.set_container_acl(&request).await.unwrap();
    }

    /// A signature for the container that says nothing but which policy it goes by.
    fn by_policy(&self) -> Grant {
        let fields =
            Fields { version: Some("2021-12-02"), resource: Some("c"), policy: Some("p"), ..Fields::default() };
        let used = Used { service: Service::Blob, container: "things", path: None };
        signature((&self.accounts, &self.account), &self.key, used, &fields, self.blobs.now()).unwrap()
    }

    /// Does every operation that a signature for the container can do, and tells what each of them answered.
    async fn everything(&self, grant: &Grant) -> Vec<(&'static str, String)> {
        let Self { blobs, .. } = self;
        let pre = Preconditions::default;
        let read = |blob| ReadBlob { address: self.address(blob), part: NamedPart::Base, preconditions: pre() };
        let body = || async {
            // Bytes that came while the caller still was allowed.
            bring(blobs.begin_put_blob(&asked(self.put_blob("block")), None).await.unwrap(), &[1; 512]).await
        };
        let mut answers = Vec::new();
        macro_rules! ask {
            ($name:literal, $method:ident($operation:expr $(, $more:expr)*)) => {
                answers.push(($name, name_of(&blobs.$method(&grant.ask($operation) $(, $more)*).await)));
            };
        }
        ask!("Get Blob", get_blob(GetBlob { read: read("block"), range: None, if_range: None }));
        ask!("Get Blob Properties", get_blob_properties(read("block")));
        ask!("List Blobs", list_blobs(ListBlobs::new(self.account.unit, container_name("things"), 10)));
        let expression = TagExpression::parse("a = 'b'", Dialect::Find).unwrap();
        let (account, container) = (self.account.unit, Some(container_name("things")));
        ask!("Find Blobs", find_blobs_by_tags(FindBlobs { account, container, expression, marker: None, limit: 10 }));
        let (address, list) = (self.address("block"), BlockListType::All);
        ask!(
            "Get Block List",
            get_block_list(GetBlockList { address, part: NamedPart::Base, lease_id: None, if_tags: None, list })
        );
        let ranges = GetPageRanges {
            address: self.address("page"),
            part: NamedPart::Base,
            preconditions: pre(),
            range: None,
            previous: None,
            marker: None,
            limit: 10,
            at_once: true,
        };
        ask!("Get Page Ranges", get_page_ranges(ranges));
        let tags = GetTags { address: self.address("block"), part: NamedPart::Base, preconditions: pre() };
        ask!("Get Blob Tags", get_blob_tags(tags));
        ask!("Put Blob", begin_put_blob(self.put_blob("new"), None));
        ask!("Put Blob, its bytes here", put_blob(self.put_blob("new"), &body().await, None));
        let (version, block_id) = (support::VERSION, Bytes::from_static(b"x"));
        let block = PutBlock { address: self.address("list"), version, lease_id: None, block_id: block_id.clone() };
        ask!("Put Block", begin_put_block(block.clone(), Some(1)));
        ask!("Put Block, its bytes here", put_block(block, &body().await));
        let blocks = vec![(BlockSearch::Latest, block_id)];
        let (address, new) = (self.address("list"), NewBlob::default());
        ask!("Put Block List", put_block_list(PutBlockList { address, preconditions: pre(), new, blocks }));
        let append =
            AppendBlock { address: self.address("append"), preconditions: pre(), append: AppendConditions::default() };
        ask!("Append Block", begin_append_block(append.clone(), Some(1)));
        ask!("Append Block, its bytes here", append_block(append, &body().await));
        let pages = PutPages {
            address: self.address("page"),
            preconditions: pre(),
            sequence_number: SequenceNumberConditions::default(),
            start: 0,
            end: 512,
        };
        ask!("Put Page", begin_put_page(pages.clone(), Some(512)));
        ask!("Put Page, its bytes here", put_page(pages.clone(), &body().await));
        ask!("Clear Page", clear_page(pages));
        let metadata = SetMetadata { address: self.address("block"), preconditions: pre(), metadata: Vec::new() };
        ask!("Set Blob Metadata", set_blob_metadata(metadata));
        let properties = SetProperties {
            address: self.address("block"),
            preconditions: pre(),
            headers: Some(HttpHeaders::default()),
            length: None,
            sequence_number: None,
        };
        ask!("Set Blob Properties", set_blob_properties(properties));
        let snapshot = SnapshotBlob { address: self.address("block"), preconditions: pre(), metadata: None };
        ask!("Snapshot Blob", snapshot_blob(snapshot));
        let copy = |to| CopyBlob { address: self.address(to), ..copy_request(to, pre(), CopyMode::CopyBlob) };
        ask!("Copy Blob", copy_blob(copy("copied"), &asked(self.source())));
        ask!("Copy Blob from elsewhere", begin_pending_copy(copy("pending"), &elsewhere()));
        let shared = blobs.copy_blob(&asked(copy("copied")), &grant.ask(self.source())).await;
        answers.push(("a source that is shared", name_of(&shared)));
        answers.push(("a source that is read", name_of(&blobs.open_source(&grant.ask(self.source()), None, 9).await)));
        let delete = DeleteBlob {
            address: self.address("copied"),
            part: NamedPart::Base,
            preconditions: pre(),
            snapshots: None,
            tier_modified_since: None,
            tier_unmodified_since: None,
        };
        ask!("Delete Blob", delete_blob(delete));
        answers
    }

    fn source(&self) -> SourceBlob<'static> {
        let conditions = Conditions::default();
        SourceBlob { address: self.address("block"), part: NamedPart::Base, conditions, if_tags: None, tags: false }
    }
}

fn elsewhere() -> ForeignSource {
    ForeignSource {
        url: "http://elsewhere.test/b".into(),
        etag: None,
        kind: BlobKind::Block,
        length: 1,
        headers: HttpHeaders::default(),
        metadata: Vec::new(),
        tags: Vec::new(),
        sealed: false,
    }
}

#[test]
fn a_stored_access_policy_that_is_removed_meanwhile_serves_nothing() {
    run(async {
        let scene = Scene::new().await;
        scene.allow(true, PublicAccess::Private).await;
        // The credential is verified, as it is when a request arrives; nothing is decided by it yet.
        let grant = scene.by_policy();
        for (operation, answer) in scene.everything(&grant).await {
            assert_eq!(answer, "ok", "{operation}");
        }
        scene.allow(false, PublicAccess::Private).await;
        for (operation, answer) in scene.everything(&grant).await {
            let expected = if operation.starts_with("a source") { "SourceDenied" } else { "Denied" };
            assert_eq!(answer, expected, "{operation}");
        }
    });
}

#[test]
fn a_container_that_becomes_private_meanwhile_serves_nobody() {
    run(async {
        let scene = Scene::new().await;
        scene.allow(false, PublicAccess::Container).await;
        let anybody = access::anonymous(&scene.accounts, &scene.account, scene.blobs.now());
        let (account, name) = (scene.account.unit, container_name("things"));
        let properties = anybody.ask(GetContainerProperties { account, name: name.clone(), lease_id: None });
        let listing = anybody.ask(ListBlobs::new(account, name.clone(), 10));
        let read = ReadBlob {
            address: scene.address("block"),
            part: NamedPart::Base,
            preconditions: Preconditions::default(),
        };
        let download = anybody.ask(GetBlob { read, range: None, if_range: None });
        let table = [
            (PublicAccess::Container, ["ok", "ok", "ok"]),
            (PublicAccess::Blob, ["Denied", "Denied", "ok"]),
            (PublicAccess::Private, ["Denied", "Denied", "Denied"]),
        ];
        for (access, expected) in table {
            scene.allow(false, access).await;
            let answers = [
                name_of(&scene.blobs.get_container_properties(&properties).await),
                name_of(&scene.blobs.list_blobs(&listing).await),
                name_of(&scene.blobs.get_blob(&download).await),
            ];
            assert_eq!(answers, expected, "{access:?}");
        }
        let acl = anybody.ask(GetContainerAcl { account, name, lease_id: None });
        let refused = scene.blobs.get_container_acl(&acl).await;
        assert!(matches!(refused, Err(BlobError::Denied(Denied::NoCredential))), "{refused:?}");
    });
}

#[test]
fn a_policy_that_may_only_create_by_now_does_not_overwrite() {
    run(async {
        let scene = Scene::new().await;
        scene.allow(true, PublicAccess::Private).await;
        let put = scene.by_policy().ask(scene.put_blob("block"));
        let body = bring(scene.blobs.begin_put_blob(&put, None).await.unwrap(), b"late").await;
        let policy = StoredAccessPolicy {
            id: "p".to_owned(),
            start: None,
            expiry: Some(scene.blobs.now().saturating_add(std::time::Duration::from_hours(1))),
            permissions: Some("c".to_owned()),
        };
        let narrower = asked(SetContainerAcl {
            account: scene.account.unit,
            name: container_name("things"),
            preconditions: ContainerPreconditions::default(),
            acl: Acl { public_access: PublicAccess::Private, policies: vec![policy] },
        });
        scene.blobs.set_container_acl(&narrower).await.unwrap();
        assert_eq!(name_of(&scene.blobs.put_blob(&put, &body, None).await), "UnauthorizedBlobOverwrite");
    });
}
