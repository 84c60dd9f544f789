//! Get and Set Share ACL: the stored access policies of a share.

use access::{
    Asked, Authorized, Operation,
    acl::{self, Acl, Holder, StoredAccessPolicy},
    need::{Need, PublicAccess, Service},
};
use concurrency::lease::{Leasable, LeaseUse};
use store::{Read, Txn};
use types::{Timestamp, UnitId};

use crate::{
    Files,
    errors::FileError,
    needs,
    share::ShareAddress,
    share_properties::{SharePreconditions, ShareWritten, set},
};

/// Whose access control list.
pub(crate) const fn holder(account: UnitId, name: &str) -> Holder<'_> {
    Holder { service: Service::File, account, name }
}

/// Get Share ACL.
#[derive(Clone, Debug)]
pub struct GetShareAcl<'a> {
    /// The share; no snapshot.
    pub share: ShareAddress,
    /// What it is decided by.
    pub preconditions: SharePreconditions<'a>,
}

impl Operation for GetShareAcl<'_> {
    fn need(&self) -> Need<'_> {
        self.share.need(needs::SHARE_ACL)
    }
}

/// Set Share ACL.
#[derive(Clone, Debug)]
pub struct SetShareAcl<'a> {
    /// The share; no snapshot.
    pub share: ShareAddress,
    /// What it is decided by.
    pub preconditions: SharePreconditions<'a>,
    /// The new policies; they replace the old ones.
    pub policies: Vec<StoredAccessPolicy>,
}

impl Operation for SetShareAcl<'_> {
    fn need(&self) -> Need<'_> {
        self.share.need(needs::SHARE_ACL)
    }
}

impl Files {
    /// Reads the stored access policies of a share.
    ///
    /// # Errors
    /// It does not exist or is a snapshot, the lease id does not hold it, a condition is not met, or the store failed.
    pub async fn get_share_acl(
        &self,
        asked: &Asked<GetShareAcl<'_>>,
    ) -> Result<(ShareWritten, Vec<StoredAccessPolicy>), FileError> {
        let (rows, now) = self.view();
        get(&rows, &asked.authorize(&rows).await?, now).await
    }

    /// Replaces the stored access policies of a share. They are in force for every request that ends after this one, also
    /// for those that are under way.
    ///
    /// # Errors
    /// It does not exist or is a snapshot, a lease or condition stands against it, or the store failed.
    pub async fn set_share_acl(&self, asked: &Asked<SetShareAcl<'_>>) -> Result<ShareWritten, FileError> {
        self.transact(|txn| async move { replace(&txn, &asked.authorize(&txn).await?).await }).await
    }
}

async fn get(
    rows: &impl Read,
    request: &Authorized<'_, GetShareAcl<'_>>,
    now: Timestamp,
) -> Result<(ShareWritten, Vec<StoredAccessPolicy>), FileError> {
    let share = request.share.writable(rows).await?;
    request.preconditions.admit(LeaseUse::Read, Leasable::Share, &share, now)?;
    let acl = acl::read(rows, holder(request.share.account, request.share.name.as_str())).await?;
    Ok((ShareWritten::of(&share), acl.policies))
}

async fn replace(txn: &Txn, request: &Authorized<'_, SetShareAcl<'_>>) -> Result<ShareWritten, FileError> {
    let ShareAddress { account, name, .. } = &request.share;
    let written = set(txn, &request.share, request.preconditions, |_| ()).await?;
    // Nobody reads a share without a credential.
    let acl = Acl { public_access: PublicAccess::Private, policies: request.policies.clone() };
    acl::write(txn, holder(*account, name.as_str()), &acl)?;
    Ok(written)
}
