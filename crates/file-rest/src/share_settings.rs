//! How a share behaves, in headers: its quota, its tier, what was paid for, what SMB shows.

use file::{
    share::{ShareProperties, ShareSettings, ShareTier},
    share_properties::ShareSettingsChange,
};
use http::HeaderName;
use rest::{Headers, Response, ServiceError, dates, headers};
use types::{
    ServiceVersion, Switch,
    limits::{SHARE_QUOTA_MAX_GIB, SHARE_QUOTA_MIN_GIB},
};

use crate::header_names::{
    ACCESS_TIER, ACCESS_TIER_CHANGE_TIME, ENABLE_SMB_DIRECTORY_LEASE, ENABLE_SNAPSHOT_VIRTUAL_DIRECTORY,
    ENABLED_PROTOCOLS, SHARE_PAID_BURSTING_ENABLED, SHARE_PAID_BURSTING_MAX_BANDWIDTH, SHARE_PAID_BURSTING_MAX_IOPS,
    SHARE_PROVISIONED_BANDWIDTH, SHARE_PROVISIONED_IOPS, SHARE_QUOTA,
};

/// What a request sets.
pub(crate) fn change(sent: &Headers) -> Result<ShareSettingsChange, ServiceError> {
    Ok(ShareSettingsChange {
        quota_gib: quota(sent)?,
        tier: tier(sent)?,
        provisioned_iops: headers::number(sent, &SHARE_PROVISIONED_IOPS)?,
        provisioned_bandwidth_mibps: headers::number(sent, &SHARE_PROVISIONED_BANDWIDTH)?,
        paid_bursting: headers::boolean(sent, &SHARE_PAID_BURSTING_ENABLED)?,
        paid_bursting_max_iops: headers::number(sent, &SHARE_PAID_BURSTING_MAX_IOPS)?,
        paid_bursting_max_bandwidth_mibps: headers::number(sent, &SHARE_PAID_BURSTING_MAX_BANDWIDTH)?,
        snapshot_virtual_directory: headers::boolean(sent, &ENABLE_SNAPSHOT_VIRTUAL_DIRECTORY)?,
        smb_directory_lease: headers::boolean(sent, &ENABLE_SMB_DIRECTORY_LEASE)?,
    })
}

/// What a new share is set to. Shares are reached by SMB; other protocols are refused by name.
pub(crate) fn of_new(sent: &Headers) -> Result<ShareSettings, ServiceError> {
    if let Some(text) = headers::text(sent, &ENABLED_PROTOCOLS)?
        && !text.eq_ignore_ascii_case("SMB")
    {
        return Err(ServiceError::invalid_header(ENABLED_PROTOCOLS.as_str(), text)
            .with_detail("Reason", "shares are reached by SMB and REST only"));
    }
    let (change, usual) = (change(sent)?, ShareSettings::default());
    Ok(ShareSettings {
        quota_gib: change.quota_gib.unwrap_or(usual.quota_gib),
        tier: change.tier.unwrap_or(usual.tier),
        tier_changed: usual.tier_changed,
        provisioned_iops: change.provisioned_iops,
        provisioned_bandwidth_mibps: change.provisioned_bandwidth_mibps,
        paid_bursting: change.paid_bursting.unwrap_or_default(),
        paid_bursting_max_iops: change.paid_bursting_max_iops,
        paid_bursting_max_bandwidth_mibps: change.paid_bursting_max_bandwidth_mibps,
        snapshot_virtual_directory: change.snapshot_virtual_directory,
        smb_directory_lease: change.smb_directory_lease,
    })
}

fn quota(sent: &Headers) -> Result<Option<u32>, ServiceError> {
    let Some(number) = headers::number(sent, &SHARE_QUOTA)? else { return Ok(None) };
    let within = SHARE_QUOTA_MIN_GIB..=SHARE_QUOTA_MAX_GIB;
    let quota = u32::try_from(number).ok().filter(|quota| within.contains(quota));
    quota.map(Some).ok_or_else(|| ServiceError::invalid_header(SHARE_QUOTA.as_str(), &number.to_string()))
}

fn tier(sent: &Headers) -> Result<Option<ShareTier>, ServiceError> {
    let Some(text) = headers::text(sent, &ACCESS_TIER)? else { return Ok(None) };
    let tiers = [ShareTier::TransactionOptimized, ShareTier::Hot, ShareTier::Cool, ShareTier::Premium];
    let tier = tiers.into_iter().find(|tier| tier_name(*tier).eq_ignore_ascii_case(text));
    tier.map(Some).ok_or_else(|| ServiceError::invalid_header(ACCESS_TIER.as_str(), text))
}

/// The word of a tier.
pub(crate) const fn tier_name(tier: ShareTier) -> &'static str {
    match tier {
        ShareTier::TransactionOptimized => "TransactionOptimized",
        ShareTier::Hot => "Hot",
        ShareTier::Cool => "Cool",
        ShareTier::Premium => "Premium",
    }
}

/// What a share says about how it behaves.
pub(crate) fn described(mut response: Response, version: ServiceVersion, found: &ShareProperties) -> Response {
    let settings = &found.settings;
    response = response.number_header(SHARE_QUOTA, u64::from(settings.quota_gib));
    if !version.has(Switch::TagsAndVersions) {
        return response;
    }
    response = response.text_header(ACCESS_TIER, tier_name(settings.tier)).text_header(ENABLED_PROTOCOLS, "SMB");
    let changed = settings.tier_changed.unwrap_or(found.last_modified);
    response = response.text_header(ACCESS_TIER_CHANGE_TIME, &dates::rfc1123(changed));
    let numbers: [(HeaderName, Option<u64>); 4] = [
        (SHARE_PROVISIONED_IOPS, settings.provisioned_iops),
        (SHARE_PROVISIONED_BANDWIDTH, settings.provisioned_bandwidth_mibps),
        (SHARE_PAID_BURSTING_MAX_IOPS, settings.paid_bursting_max_iops),
        (SHARE_PAID_BURSTING_MAX_BANDWIDTH, settings.paid_bursting_max_bandwidth_mibps),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            response = response.number_header(name, number);
        }
    }
    let flags: [(HeaderName, Option<bool>); 3] = [
        (SHARE_PAID_BURSTING_ENABLED, settings.paid_bursting.then_some(true)),
        (ENABLE_SNAPSHOT_VIRTUAL_DIRECTORY, settings.snapshot_virtual_directory),
        (ENABLE_SMB_DIRECTORY_LEASE, settings.smb_directory_lease),
    ];
    for (name, flag) in flags {
        if let Some(flag) = flag {
            response = response.text_header(name, if flag { "true" } else { "false" });
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use types::ErrorCode;

    use super::*;

    #[test]
    fn what_a_new_share_can_be_set_to() {
        let (quota, tier, protocols) = ("x-ms-share-quota", "x-ms-access-tier", "x-ms-enabled-protocols");
        let usual = (102_400, ShareTier::TransactionOptimized);
        type Case<'a> = (&'a [(&'a str, &'a str)], Result<(u32, ShareTier), ErrorCode>);
        let table: [Case<'_>; 10] = [
            (&[], Ok(usual)),
            (&[(quota, "1")], Ok((1, usual.1))),
            (&[(quota, "102400")], Ok(usual)),
            (&[(quota, "0")], Err(ErrorCode::InvalidHeaderValue)),
            (&[(quota, "102401")], Err(ErrorCode::InvalidHeaderValue)),
            (&[(tier, "hot")], Ok((usual.0, ShareTier::Hot))),
            (&[(tier, "Archive")], Err(ErrorCode::InvalidHeaderValue)),
            (&[(protocols, "SMB")], Ok(usual)),
            (&[(protocols, "NFS")], Err(ErrorCode::InvalidHeaderValue)),
            (&[("x-ms-share-paid-bursting-enabled", "maybe")], Err(ErrorCode::InvalidHeaderValue)),
        ];
        for (lines, expected) in table {
            let sent: Headers = lines.iter().copied().collect();
            let found = of_new(&sent).map(|found| (found.quota_gib, found.tier)).map_err(|error| error.code);
            assert_eq!(found, expected, "{lines:?}");
        }
    }
}
