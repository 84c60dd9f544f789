"""Snapshots: taken, read, listed, deleted; the blob goes on."""

import pytest
from azure.core import MatchConditions
from azure.storage.blob import BlobClient

from expect import refused


def at(blob, snapshot):
    return BlobClient.from_blob_url(f"{blob.url}?snapshot={snapshot}", credential=blob.credential)


@pytest.fixture()
def blob(container):
    return container.upload_blob("b", b"first", metadata={"k": "v"})


def test_a_snapshot_keeps_what_was_there(blob):
    etag = blob.get_blob_properties().etag
    taken = blob.create_snapshot()
    assert taken["etag"] == etag and blob.get_blob_properties().etag == etag
    blob.upload_blob(b"second", overwrite=True)
    old = at(blob, taken["snapshot"])
    assert old.download_blob().readall() == b"first"
    assert old.download_blob(offset=1, length=3).readall() == b"irs"
    found = old.get_blob_properties()
    assert found.metadata == {"k": "v"} and found.etag == etag and found.lease.state is None
    assert blob.download_blob().readall() == b"second"


def test_snapshots_of_every_kind(container):
    page = container.get_blob_client("page")
    page.create_page_blob(1024)
    page.upload_page(b"\1" * 512, 0, 512)
    append = container.get_blob_client("append")
    append.create_append_blob()
    append.append_block(b"one")
    blocks = container.get_blob_client("blocks")
    blocks.stage_block("YQ==", b"block")
    blocks.commit_block_list(["YQ=="])
    taken = {client.blob_name: client.create_snapshot()["snapshot"] for client in (page, append, blocks)}
    page.upload_page(b"\2" * 1024, 0, 1024)
    append.append_block(b"two")
    blocks.upload_blob(b"whole", overwrite=True)
    assert at(page, taken["page"]).download_blob().readall() == b"\1" * 512 + bytes(512)
    assert at(append, taken["append"]).download_blob().readall() == b"one"
    assert at(blocks, taken["blocks"]).download_blob().readall() == b"block"
    assert [b.size for b in at(blocks, taken["blocks"]).get_block_list()[0]] == [5]
    assert page.download_blob().readall() == b"\2" * 1024
    assert append.download_blob().readall() == b"onetwo"


def test_metadata_of_its_own(blob):
    etag = blob.get_blob_properties().etag
    taken = blob.create_snapshot(metadata={"of": "snapshot"})
    assert taken["etag"] != etag
    assert at(blob, taken["snapshot"]).get_blob_properties().metadata == {"of": "snapshot"}
    assert blob.get_blob_properties().metadata == {"k": "v"}


def test_times_are_unique_and_ascending(blob):
    taken = [blob.create_snapshot()["snapshot"] for _ in range(20)]
    assert taken == sorted(set(taken))


def test_delete_include_only_and_one(container, blob):
    first, second = (blob.create_snapshot()["snapshot"] for _ in range(2))
    with refused(409, "SnapshotsPresent"):
        blob.delete_blob()
    at(blob, first).delete_blob()
    with refused(404, "BlobNotFound"):
        at(blob, first).download_blob()
    with refused(404, "BlobNotFound"):
        at(blob, first).delete_blob()
    blob.delete_blob(delete_snapshots="only")
    with refused(404, "BlobNotFound"):
        at(blob, second).get_blob_properties()
    assert blob.download_blob().readall() == b"first"
    third = blob.create_snapshot()["snapshot"]
    blob.delete_blob(delete_snapshots="include")
    assert not blob.exists()
    with refused(404, "BlobNotFound"):
        at(blob, third).download_blob()
    again = container.upload_blob("b", b"another")
    again.delete_blob()  # it has none of the snapshots before it


def test_refusals(container, blob, raw):
    taken = blob.create_snapshot()["snapshot"]
    path = f"/{container.container_name}/b"
    both = raw.call("DELETE", path, {"snapshot": taken}, {"x-ms-delete-snapshots": "include"})
    assert (both.status, both.code) == (400, "InvalidHeaderValue")
    for query, headers in [({"comp": "metadata"}, {}), ({}, {"x-ms-blob-type": "BlockBlob"}),
                           ({"comp": "properties"}, {}), ({"comp": "snapshot"}, {})]:
        answer = raw.call("PUT", path, {**query, "snapshot": taken}, headers)
        assert (answer.status, answer.code) == (400, "InvalidOperation"), query
    assert raw.call("GET", path, {"snapshot": "yesterday"}).code == "InvalidQueryParameterValue"
    assert raw.call("GET", path, {"snapshot": "2020-01-01T00:00:00.0000000Z"}).code == "BlobNotFound"


def test_conditions_and_leases(blob):
    etag = blob.get_blob_properties().etag
    with refused(412, "ConditionNotMet"):
        blob.create_snapshot(etag='"0x1"', match_condition=MatchConditions.IfNotModified)
    taken = blob.create_snapshot(etag=etag, match_condition=MatchConditions.IfNotModified)["snapshot"]
    with refused(304):
        at(blob, taken).download_blob(etag=etag, match_condition=MatchConditions.IfModified)
    lease = blob.acquire_lease()
    blob.create_snapshot()
    blob.create_snapshot(lease=lease)
    with refused(412, "LeaseIdMismatchWithBlobOperation"):
        blob.create_snapshot(lease="00000000-0000-0000-0000-00000000000b")
    at(blob, taken).delete_blob()  # the lease is the blob's
    lease.release()


def test_snapshots_are_listed_before_their_blob(container, blob):
    taken = [blob.create_snapshot()["snapshot"] for _ in range(3)]
    container.upload_blob("c", b"c")
    expected = [("b", time) for time in taken] + [("b", None), ("c", None)]
    listed = [(item.name, item.snapshot) for item in container.list_blobs(include=["snapshots"])]
    assert listed == expected
    for size in (1, 2, 3):
        paged = container.list_blobs(include=["snapshots"], results_per_page=size)
        assert [(item.name, item.snapshot) for item in paged] == expected
    assert [item.name for item in container.list_blobs()] == ["b", "c"]
