//! Every action of a lease, on a share and on a snapshot of one, which has a lease of its own.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use std::time::Duration;

use support::{Refusal, done, refused, with_file};
use testkit::RestService;

const ONE: &str = "00000000-0000-0000-0000-00000000000a";
const OTHER: &str = "00000000-0000-0000-0000-00000000000b";

/// What is leased, as a query behind the share.
struct Leased<'a> {
    files: &'a RestService,
    suffix: String,
}

impl Leased<'_> {
    fn target(&self) -> String {
        format!("/abc?restype=share&comp=lease{}", self.suffix)
    }

    async fn does(&self, sent: support::Sent<'_>, status: u16) -> testkit::Answer {
        done(self.files, "PUT", &self.target(), sent, b"", status).await
    }

    async fn is_refused(&self, sent: support::Sent<'_>, verdict: (u16, &str)) {
        let target = self.target();
        let table: [Refusal<'_>; 1] = [("PUT", &target, sent, b"", verdict)];
        refused(self.files, &table).await;
    }

    async fn state(&self) -> [String; 3] {
        let target = format!("/abc?restype=share{}", self.suffix);
        let found = done(self.files, "GET", &target, &[], b"", 200).await;
        ["x-ms-lease-state", "x-ms-lease-status", "x-ms-lease-duration"].map(|name| found.header(name).to_owned())
    }
}

#[tokio::test]
async fn leases_of_shares_and_of_their_snapshots_go_through_every_action() {
    let files = with_file().await;
    let taken = done(&files, "PUT", "/abc?restype=share&comp=snapshot", &[], b"", 201).await;
    let suffixes = [String::new(), format!("&sharesnapshot={}", taken.header("x-ms-snapshot"))];
    for suffix in suffixes {
        let leased = Leased { files: &files, suffix };
        let action = |action| ("x-ms-lease-action", action);
        let (with, with_other) = (("x-ms-lease-id", ONE), ("x-ms-lease-id", OTHER));
        let (proposed, proposed_other) = (("x-ms-proposed-lease-id", ONE), ("x-ms-proposed-lease-id", OTHER));
        let fixed = ("x-ms-lease-duration", "15");
        assert_eq!(leased.state().await, ["available", "unlocked", ""]);
        let acquired = leased.does(&[action("acquire"), fixed, proposed], 201).await;
        assert_eq!(acquired.header("x-ms-lease-id"), ONE);
        assert_eq!(leased.state().await, ["leased", "locked", "fixed"]);
        leased.is_refused(&[action("acquire"), fixed, proposed_other], (409, "LeaseAlreadyPresent")).await;
        leased.is_refused(&[action("renew"), with_other], (409, "LeaseIdMismatchWithLeaseOperation")).await;
        leased.is_refused(&[action("release"), with_other], (409, "LeaseIdMismatchWithLeaseOperation")).await;
        leased.does(&[action("renew"), with], 200).await;
        let changed = leased.does(&[action("change"), with, proposed_other], 200).await;
        assert_eq!(changed.header("x-ms-lease-id"), OTHER);
        leased.is_refused(&[action("renew"), with], (409, "LeaseIdMismatchWithLeaseOperation")).await;
        // It ends by itself, and comes back by a renewal.
        files.time.advance(Duration::from_secs(16));
        assert_eq!(leased.state().await, ["expired", "unlocked", ""]);
        leased.does(&[action("renew"), with_other], 200).await;
        let breaking = leased.does(&[action("break"), ("x-ms-lease-break-period", "5")], 202).await;
        let left: u64 = breaking.header("x-ms-lease-time").parse().unwrap();
        assert!(left <= 5, "{breaking:?}");
        assert_eq!(leased.state().await, ["breaking", "locked", ""]);
        leased.is_refused(&[action("renew"), with_other], (409, "LeaseIsBrokenAndCannotBeRenewed")).await;
        leased
            .is_refused(&[action("acquire"), fixed, proposed_other], (409, "LeaseIsBreakingAndCannotBeAcquired"))
            .await;
        files.time.advance(Duration::from_secs(6));
        assert_eq!(leased.state().await, ["broken", "unlocked", ""]);
        leased.is_refused(&[action("renew"), with_other], (409, "LeaseIsBrokenAndCannotBeRenewed")).await;
        leased.does(&[action("acquire"), ("x-ms-lease-duration", "-1"), proposed], 201).await;
        assert_eq!(leased.state().await, ["leased", "locked", "infinite"]);
        leased.does(&[action("release"), with], 200).await;
        assert_eq!(leased.state().await, ["available", "unlocked", ""]);
        leased.is_refused(&[action("break")], (409, "LeaseNotPresentWithLeaseOperation")).await;
        leased.is_refused(&[action("acquire"), ("x-ms-lease-duration", "14")], (400, "InvalidHeaderValue")).await;
        leased.does(&[action("acquire"), ("x-ms-lease-duration", "-1"), proposed], 201).await;
    }
    // Both are leased by now: each is deleted with its own lease only.
    let snapshot = format!("/abc?restype=share&sharesnapshot={}", taken.header("x-ms-snapshot"));
    let all = [("x-ms-lease-id", ONE), ("x-ms-delete-snapshots", "include")];
    let table: [Refusal<'_>; 3] = [
        ("DELETE", &snapshot, &[], b"", (412, "LeaseIdMissing")),
        ("DELETE", &snapshot, &[("x-ms-lease-id", OTHER)], b"", (412, "LeaseIdMismatchWithContainerOperation")),
        ("DELETE", "/abc?restype=share", &all, b"", (412, "LeaseIdMissing")),
    ];
    refused(&files, &table).await;
    let leased = [("x-ms-lease-id", ONE), ("x-ms-delete-snapshots", "include-leased")];
    done(&files, "DELETE", "/abc?restype=share", &leased, b"", 202).await;
}
