"""Append blobs: appended, conditional, sealed."""

import concurrent.futures
import os

import pytest
from azure.core import MatchConditions

from expect import refused

MIB = 1024 * 1024


@pytest.fixture()
def blob(container):
    client = container.get_blob_client("log")
    client.create_append_blob(metadata={"k": "v"})
    return client


def test_blocks_are_appended(blob):
    first = blob.append_block(b"one")
    second = blob.append_block(b"two", validate_content=True)
    assert (int(first["blob_append_offset"]), first["blob_committed_block_count"]) == (0, 1)
    assert (int(second["blob_append_offset"]), second["blob_committed_block_count"]) == (3, 2)
    assert first["etag"] != second["etag"]
    assert blob.download_blob().readall() == b"onetwo"
    found = blob.get_blob_properties()
    assert (found.blob_type, found.size, found.append_blob_committed_block_count) == ("AppendBlob", 6, 2)
    assert found.metadata == {"k": "v"}


def test_an_upload_of_several_blocks(container):
    data = os.urandom(9 * MIB)
    blob = container.get_blob_client("uploaded")
    blob.upload_blob(data, blob_type="AppendBlob")
    blob.upload_blob(b"more", blob_type="AppendBlob")  # appends
    assert blob.download_blob().readall() == data + b"more"


def test_many_clients_append_whole_blocks(blob):
    with concurrent.futures.ThreadPoolExecutor(8) as clients:
        list(clients.map(lambda number: blob.append_block(f"{number:04}" * 100), range(64)))
    found = blob.download_blob().readall().decode()
    blocks = [found[at:at + 400] for at in range(0, len(found), 400)]
    assert sorted(blocks) == [f"{number:04}" * 100 for number in range(64)]
    assert blob.get_blob_properties().append_blob_committed_block_count == 64


def test_position_and_maximum_size(blob):
    blob.append_block(b"12345", appendpos_condition=0)
    with refused(412, "AppendPositionConditionNotMet"):
        blob.append_block(b"6", appendpos_condition=0)
    with refused(412, "MaxBlobSizeConditionNotMet"):
        blob.append_block(b"6", maxsize_condition=5)
    blob.append_block(b"6", appendpos_condition=5, maxsize_condition=6)
    assert blob.download_blob().readall() == b"123456"


def test_conditions(blob):
    etag = blob.append_block(b"1")["etag"]
    blob.append_block(b"2", etag=etag, match_condition=MatchConditions.IfNotModified)
    with refused(412, "ConditionNotMet"):
        blob.append_block(b"3", etag=etag, match_condition=MatchConditions.IfNotModified)


def test_sealed_is_sealed(blob):
    blob.append_block(b"end")
    etag = blob.get_blob_properties().etag
    with refused(412, "AppendPositionConditionNotMet"):
        blob.seal_append_blob(appendpos_condition=99)
    sealed = blob.seal_append_blob(appendpos_condition=3)
    assert sealed["blob_sealed"] is True and sealed["etag"] != etag
    with refused(409, "BlobIsSealed"):
        blob.append_block(b"more")
    blob.seal_append_blob()  # again
    assert blob.get_blob_properties().is_append_blob_sealed is True
    blob.set_blob_metadata({"still": "changeable"})
    assert blob.download_blob().readall() == b"end"
    blob.create_append_blob()  # an overwrite is a new blob
    assert not blob.get_blob_properties().is_append_blob_sealed
    blob.append_block(b"again")


@pytest.mark.parametrize("size, version, status", [
    (4 * MIB, "2021-12-02", 201),
    (4 * MIB + 1, "2021-12-02", 413),
    (4 * MIB + 1, "2022-11-02", 201),
])
def test_the_largest_block_depends_on_the_version(blob, raw, size, version, status):
    path = f"/{blob.container_name}/log"
    answer = raw.call("PUT", path, {"comp": "appendblock"}, {"x-ms-version": version}, b"\1" * size)
    assert answer.status == status, answer.text


def test_refusals(blob, raw):
    path = f"/{blob.container_name}/log"
    assert raw.call("PUT", path, {"comp": "appendblock"}, body=b"").code == "InvalidHeaderValue"
    absent = raw.call("PUT", f"/{blob.container_name}/absent", {"comp": "appendblock"}, body=b"x")
    assert (absent.status, absent.code) == (404, "BlobNotFound")
    old = raw.call("PUT", f"/{blob.container_name}/old", headers={"x-ms-blob-type": "AppendBlob",
                                                                  "x-ms-version": "2014-02-14"})
    assert (old.status, old.code) == (400, "InvalidHeaderValue")
    with refused(409, "InvalidBlobType"):
        blob.upload_page(b"\1" * 512, 0, 512)


def test_a_block_blob_takes_no_appends(container):
    block = container.upload_blob("block", b"x")
    with refused(409, "InvalidBlobType"):
        block.append_block(b"y")
    with refused(409, "InvalidBlobType"):
        block.seal_append_blob()
