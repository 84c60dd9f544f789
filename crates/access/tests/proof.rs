//! What is allowed rests on rows and on the keys of the account: what changes after it was asked for counts.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{net::IpAddr, sync::Arc};

use access::{
    Account, AccountKey, Accounts, Denied, Grant, Operation,
    acl::{self, Acl, Holder, StoredAccessPolicy},
    anonymous,
    need::{Action, Need, Part, Permissions, Place, PublicAccess, Rule, Service},
    sas::{self, Fields, SignedTarget, sign::sign},
};
use store::{Scope, Store, clock::SystemTime};
use store_memory::MemoryEngine;
use types::{Timestamp, UnitId, names::AccountName};

const READ: Rule = Rule::new(Action::Read, Permissions::READ).public(PublicAccess::Blob);
const WRITE: Rule = Rule::new(Action::Write, Permissions::WRITE.or(Permissions::CREATE));
/// 2026-11-15T00:00:00Z
const NOW: Timestamp = Timestamp::from_seconds(1_794_700_800);

#[derive(Clone, Copy, Debug)]
struct Touch {
    account: UnitId,
    rule: Rule,
}

impl Operation for Touch {
    fn need(&self) -> Need<'_> {
        let place = Place::Object { container: "box", path: "b", part: Part::Base };
        Need { account: self.account, service: Service::Blob, place, rule: self.rule }
    }
}

struct World {
    store: Store,
    accounts: Accounts,
    account: Arc<Account>,
}

fn key(byte: u8) -> AccountKey {
    AccountKey::new(&[byte; 64])
}

fn name() -> AccountName {
    AccountName::parse("mine").unwrap()
}

impl World {
    async fn new() -> Self {
        let store = MemoryEngine::new(SystemTime::default()).store();
        let accounts = Accounts::open(&store, []).await.unwrap();
        accounts.add(&store, &name(), &[key(1), key(2)]).await.unwrap();
        let account = accounts.get("mine").unwrap();
        Self { store, accounts, account }
    }

    async fn set_acl(&self, acl: &Acl) {
        let holder = Holder { service: Service::Blob, account: self.account.unit, name: "box" };
        let write = |txn| async move { acl::write(&txn, holder, acl) };
        self.store.transact(Scope::new(), write).await.unwrap();
    }

    fn signature(&self, fields: &Fields<'_>) -> Grant {
        let fields = Fields { version: Some("2026-10-06"), resource: Some("c"), ..*fields };
        let signed = sign(&key(1), Service::Blob, "mine", Some("box"), Some("b"), &fields).unwrap();
        let query: Vec<(&str, &str)> = signed.iter().map(|(name, value)| (*name, &**value)).collect();
        let target = SignedTarget {
            service: Service::Blob,
            account: "mine",
            container: Some("box"),
            path: Some("b"),
            query: &query,
            headers: &[],
            peer: IpAddr::from([127, 0, 0, 1]),
            secure: false,
        };
        let found = Fields::find(&query).unwrap().unwrap();
        sas::verify(&self.accounts, &self.account, &target, &found, None, NOW).unwrap()
    }

    fn touch(&self, rule: Rule) -> Touch {
        Touch { account: self.account.unit, rule }
    }
}

fn policy(permissions: &str) -> Acl {
    let policy = StoredAccessPolicy {
        id: "p".into(),
        start: None,
        expiry: Some(Timestamp::NEVER),
        permissions: Some(permissions.into()),
    };
    Acl { policies: vec![policy], ..Acl::default() }
}

#[tokio::test]
async fn a_policy_that_changes_after_it_was_asked_for_counts() {
    let world = World::new().await;
    world.set_acl(&policy("rw")).await;
    let grant = world.signature(&Fields { policy: Some("p"), ..Fields::default() });
    let asked = grant.ask(world.touch(WRITE));
    let may_overwrite = async || {
        let allowed = asked.authorize(&world.store.snapshot()).await?;
        Ok::<_, Denied>(allowed.may_overwrite())
    };
    assert!(may_overwrite().await.unwrap());
    world.set_acl(&policy("c")).await;
    assert!(!may_overwrite().await.unwrap(), "it may only create by now");
    world.set_acl(&policy("r")).await;
    assert!(matches!(may_overwrite().await, Err(Denied::PermissionMismatch)));
    world.set_acl(&Acl::default()).await;
    assert!(matches!(may_overwrite().await, Err(Denied::Authentication(_))));
}

#[tokio::test]
async fn a_key_that_is_rotated_or_an_account_that_is_removed_counts() {
    let world = World::new().await;
    let fields = Fields { permissions: Some("w"), expiry: Some("2026-11-16"), ..Fields::default() };
    let asked = world.signature(&fields).ask(world.touch(WRITE));
    asked.authorize(&world.store.snapshot()).await.unwrap();
    world.accounts.rotate_key(&world.store, &name(), 2, &key(3)).await.unwrap();
    asked.authorize(&world.store.snapshot()).await.unwrap();
    world.accounts.rotate_key(&world.store, &name(), 1, &key(4)).await.unwrap();
    assert!(matches!(asked.authorize(&world.store.snapshot()).await, Err(Denied::Authentication(_))));
    world.accounts.rotate_key(&world.store, &name(), 1, &key(1)).await.unwrap();
    asked.authorize(&world.store.snapshot()).await.unwrap();
    world.accounts.remove(&world.store, &name()).await.unwrap();
    assert!(matches!(asked.authorize(&world.store.snapshot()).await, Err(Denied::Authentication(_))));
}

#[tokio::test]
async fn a_container_that_stops_being_public_counts() {
    let world = World::new().await;
    let nobody = anonymous(&world.accounts, &world.account, NOW);
    let rows = world.store.snapshot();
    assert!(matches!(nobody.ask(world.touch(READ)).authorize(&rows).await, Err(Denied::NotPublic)));
    assert!(matches!(nobody.ask(world.touch(WRITE)).authorize(&rows).await, Err(Denied::NoCredential)));
    world.set_acl(&Acl { public_access: PublicAccess::Blob, ..Acl::default() }).await;
    let asked = nobody.ask(world.touch(READ));
    asked.authorize(&world.store.snapshot()).await.unwrap();
    world.set_acl(&Acl::default()).await;
    assert!(matches!(asked.authorize(&world.store.snapshot()).await, Err(Denied::NotPublic)));
    let closed = world.accounts.clone().with_public_access(false);
    let nobody = anonymous(&closed, &world.account, NOW);
    let asked = nobody.ask(world.touch(READ));
    let denied = asked.authorize(&world.store.snapshot()).await;
    assert!(matches!(denied, Err(Denied::PublicAccessNotPermitted)));
}

#[tokio::test]
async fn no_credential_opens_another_account() {
    let world = World::new().await;
    let fields = Fields { permissions: Some("r"), expiry: Some("2026-11-16"), ..Fields::default() };
    let other = Touch { account: UnitId::new(u64::MAX), rule: READ };
    for grant in [world.signature(&fields), anonymous(&world.accounts, &world.account, NOW)] {
        let asked = grant.ask(other);
        let denied = asked.authorize(&world.store.snapshot()).await;
        assert!(matches!(denied, Err(Denied::NotAuthorized)));
    }
}
