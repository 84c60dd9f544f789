"""Access tiers with the archive, and blobs that end by themselves."""

import datetime
import threading
import time

import pytest
from azure.storage.blob import StandardBlobTier

from expect import refused


def until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        threading.Event().wait(0.1)


def test_tiers(container):
    blob = container.upload_blob("tiered", b"content")
    found = blob.get_blob_properties()
    assert (found.blob_tier, found.blob_tier_inferred, found.blob_tier_change_time) == ("Hot", True, None)
    blob.set_standard_blob_tier("Cool")
    set_ = blob.get_blob_properties()
    assert (set_.blob_tier, set_.blob_tier_inferred, set_.etag) == ("Cool", None, found.etag)
    assert set_.blob_tier_change_time
    blob.upload_blob(b"again", overwrite=True)
    assert blob.get_blob_properties().blob_tier == "Cool", "the tier stays with the name"
    blob.upload_blob(b"again", overwrite=True, standard_blob_tier=StandardBlobTier.COLD)
    assert blob.get_blob_properties().blob_tier == "Cold"
    assert [item.blob_tier for item in container.list_blobs()] == ["Cold"]


def test_the_archive(container):
    blob = container.upload_blob("archived", b"content", standard_blob_tier=StandardBlobTier.ARCHIVE)
    assert blob.get_blob_properties().blob_tier == "Archive"
    for refuse in (blob.download_blob, blob.get_block_list, blob.create_snapshot,
                   lambda: blob.set_blob_metadata({"a": "b"}),
                   lambda: blob.upload_blob(b"new", overwrite=True)):
        with refused(409, "BlobArchived"):
            refuse()
    blob.set_blob_tags({"still": "allowed"})
    blob.set_standard_blob_tier("Hot", rehydrate_priority="High")
    found = blob.get_blob_properties()
    assert (found.blob_tier, found.archive_status) == ("Archive", "rehydrate-pending-to-hot")
    assert found.rehydrate_priority == "High"
    with refused(409, "BlobBeingRehydrated"):
        blob.download_blob()
    with refused(409, "BlobBeingRehydrated"):
        blob.set_standard_blob_tier("Cool")
    listed = next(iter(container.list_blobs()))
    assert (listed.archive_status, listed.rehydrate_priority) == ("rehydrate-pending-to-hot", "High")
    until(lambda: blob.get_blob_properties().blob_tier == "Hot")
    assert blob.download_blob().readall() == b"content"
    assert blob.get_blob_properties().archive_status is None


def test_rehydration_is_202(container, raw):
    container.upload_blob("b", b"x", standard_blob_tier=StandardBlobTier.ARCHIVE)
    path = f"/{container.container_name}/b"
    answer = raw.call("PUT", path, {"comp": "tier"}, {"x-ms-access-tier": "Archive"})
    assert answer.status == 200 and "ETag" not in answer.headers
    assert raw.call("PUT", path, {"comp": "tier"}, {"x-ms-access-tier": "Cool"}).status == 202


@pytest.mark.parametrize("headers, status, code", [
    ({}, 400, "MissingRequiredHeader"),
    ({"x-ms-access-tier": "Tepid"}, 400, "InvalidHeaderValue"),
    ({"x-ms-access-tier": "P10"}, 400, "AccessTierNotSupportedForBlobType"),
    ({"x-ms-access-tier": "Cool", "x-ms-rehydrate-priority": "Now"}, 400, "InvalidHeaderValue"),
    ({"x-ms-access-tier": "Cool", "x-ms-if-tags": "a = 'b'"}, 412, "ConditionNotMet"),
])
def test_refusals_of_set_tier(container, raw, headers, status, code):
    container.upload_blob("b", b"x", overwrite=True)
    answer = raw.call("PUT", f"/{container.container_name}/b", {"comp": "tier"}, headers)
    assert (answer.status, answer.code) == (status, code), answer.text


def test_a_lease_guards_the_tier(container):
    blob = container.upload_blob("leased", b"x")
    lease = blob.acquire_lease()
    with refused(412, "LeaseIdMissing"):
        blob.set_standard_blob_tier("Cool")
    blob.set_standard_blob_tier("Cool", lease=lease)
    lease.release()


def test_a_snapshot_has_a_tier_of_its_own(container, raw):
    blob = container.upload_blob("b", b"x")
    taken = blob.create_snapshot()["snapshot"]
    path = f"/{container.container_name}/b"
    assert raw.call("PUT", path, {"comp": "tier", "snapshot": taken}, {"x-ms-access-tier": "Cool"}).status == 200
    assert raw.call("HEAD", path, {"snapshot": taken}).headers["x-ms-access-tier"] == "Cool"
    assert raw.call("HEAD", path).headers["x-ms-access-tier"] == "Hot"


def test_delete_by_the_time_of_the_tier(container, raw):
    container.upload_blob("b", b"x", standard_blob_tier=StandardBlobTier.COOL)
    path = f"/{container.container_name}/b"
    future = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    answer = raw.call("DELETE", path, headers={"x-ms-access-tier-if-modified-since": future})
    assert (answer.status, answer.code) == (412, "ConditionNotMet")
    assert raw.call("DELETE", path, headers={"x-ms-access-tier-if-unmodified-since": future}).status == 202


# Set Blob Expiry is not in this SDK's Blob client.

def expire(raw, container, option, when=None, name="b"):
    headers = {"x-ms-expiry-option": option, **({"x-ms-expiry-time": when} if when else {})}
    return raw.call("PUT", f"/{container.container_name}/{name}", {"comp": "expiry"}, headers)


def test_a_blob_that_ends(container, raw):
    blob = container.upload_blob("b", b"x", tags={"ends": "soon"})
    blob.create_snapshot()
    before = blob.get_blob_properties().etag
    answer = expire(raw, container, "RelativeToNow", "1500")
    assert answer.status == 200 and answer.headers["ETag"] != before and answer.headers["Last-Modified"]
    assert raw.call("HEAD", f"/{container.container_name}/b").headers["x-ms-expiry-time"]
    assert blob.exists()
    until(lambda: not blob.exists())
    assert list(container.list_blobs(include=["snapshots", "uncommittedblobs"])) == []
    assert list(container.find_blobs_by_tags("ends = 'soon'")) == []
    container.upload_blob("b", b"new")
    assert raw.call("GET", f"/{container.container_name}/b").text == "new"


def test_an_end_that_is_taken_back(container, raw):
    blob = container.upload_blob("b", b"x")
    assert expire(raw, container, "RelativeToCreation", "3600000").status == 200
    assert expire(raw, container, "Absolute", "Fri, 31 Dec 2100 23:59:59 GMT").status == 200
    path = f"/{container.container_name}/b"
    assert raw.call("HEAD", path).headers["x-ms-expiry-time"] == "Fri, 31 Dec 2100 23:59:59 GMT"
    assert expire(raw, container, "NeverExpire").status == 200
    assert "x-ms-expiry-time" not in raw.call("HEAD", path).headers
    assert blob.exists()


@pytest.mark.parametrize("option, when, status, code", [
    ("Absolute", "Sun, 06 Nov 1994 08:49:37 GMT", 400, "InvalidHeaderValue"),
    ("RelativeToCreation", "0", 400, "InvalidHeaderValue"),
    ("NeverExpire", "1", 400, "InvalidHeaderValue"),
    ("RelativeToNow", None, 400, "MissingRequiredHeader"),
    ("Sometime", "1", 400, "InvalidHeaderValue"),
])
def test_refusals_of_set_expiry(container, raw, option, when, status, code):
    container.upload_blob("b", b"x", overwrite=True)
    answer = expire(raw, container, option, when)
    assert (answer.status, answer.code) == (status, code), answer.text
    assert expire(raw, container, "NeverExpire", name="absent").code == "BlobNotFound"
