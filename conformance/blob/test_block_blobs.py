"""Block blobs in blocks: staged, listed, committed; in parallel; and never more memory than a few pieces."""

import base64
import concurrent.futures
import hashlib
import os
import uuid

import pytest
from azure.core import MatchConditions
from azure.storage.blob import BlobBlock, BlobServiceClient, ContentSettings

from expect import refused
from large import Sink, Source
from lazuli import Server
from raw import xml_of

MIB = 1024 * 1024


def block_id(number):
    return base64.b64encode(f"{number:08}".encode()).decode()


def names(blocks):
    return [block.id for block in blocks]


def test_blocks_become_a_blob_at_once(container):
    blob = container.get_blob_client("blocks")
    pieces = [os.urandom(size) for size in (1, 70_000, 4096)]
    for number, piece in enumerate(pieces):
        blob.stage_block(block_id(number), piece)
    assert not blob.exists(), "uncommitted blocks are no blob"
    committed, uncommitted = blob.get_block_list("all")
    assert names(committed) == [] and [block.size for block in uncommitted] == [1, 70_000, 4096]
    settings = ContentSettings(content_type="text/blocks", content_md5=bytearray(hashlib.md5(b"any").digest()))
    blob.commit_block_list([BlobBlock(block_id(n)) for n in (2, 0, 1)], metadata={"k": "v"}, content_settings=settings)
    assert blob.download_blob().readall() == pieces[2] + pieces[0] + pieces[1]
    found = blob.get_blob_properties()
    assert found.size == 74_097 and found.metadata == {"k": "v"}
    assert found.content_settings.content_type == "text/blocks"
    assert bytes(found.content_settings.content_md5) == hashlib.md5(b"any").digest(), "stored as it was sent"
    committed, uncommitted = blob.get_block_list("all")
    assert [block.size for block in committed] == [4096, 1, 70_000] and uncommitted == []


def test_committed_uncommitted_and_latest(container, raw):
    """By hand: the SDK sends every block as Latest, whatever its state says."""
    path = f"/{container.container_name}/searched"

    def stage(number, data):
        assert raw.call("PUT", path, {"comp": "block", "blockid": block_id(number)}, body=data).status == 201

    def commit(*blocks):
        body = "".join(f"<{kind}>{block_id(number)}</{kind}>" for kind, number in blocks)
        answer = raw.call("PUT", path, {"comp": "blocklist"}, body=f"<BlockList>{body}</BlockList>".encode())
        return answer.code or raw.call("GET", path).text

    for number in range(3):
        stage(number, f"old{number}".encode())
    assert commit(("Uncommitted", 0), ("Latest", 1), ("Uncommitted", 2)) == "old0old1old2"
    for number in range(2):
        stage(number, f"new{number}".encode())
    assert commit(("Uncommitted", 2)) == "InvalidBlockList"
    assert commit(("Latest", 9)) == "InvalidBlockList"
    assert raw.call("GET", path).text == "old0old1old2", "a refused list changed something"
    assert commit(("Latest", 2), ("Committed", 0), ("Uncommitted", 1), ("Latest", 0)) == "old2old0new1new0"
    listed = xml_of(raw.call("GET", path, {"comp": "blocklist", "blocklisttype": "uncommitted"}))
    assert listed.findall("UncommittedBlocks/Block") == [], "what the list left out is gone"
    assert commit(("Uncommitted", 1)) == "InvalidBlockList"
    assert commit(("Committed", 1), ("Committed", 1)) == "new1new1"
    assert commit() == ""


def test_a_block_twice_is_the_last_one(container):
    blob = container.get_blob_client("twice")
    blob.stage_block(block_id(0), b"first")
    blob.stage_block(block_id(0), b"second")
    blob.commit_block_list([BlobBlock(block_id(0))])
    assert blob.download_blob().readall() == b"second"


def test_put_blob_drops_uncommitted_blocks(container):
    blob = container.get_blob_client("dropped")
    blob.stage_block(block_id(0), b"staged")
    blob.upload_blob(b"whole")
    assert blob.get_block_list("all") == ([], [])
    assert blob.download_blob().readall() == b"whole"
    with refused(400, "InvalidBlockList"):
        blob.commit_block_list([BlobBlock(block_id(0))])


@pytest.mark.parametrize("query, headers, body, status, code", [
    ({}, {}, b"x", 400, "MissingRequiredQueryParameter"),
    ({"blockid": "not base64!"}, {}, b"x", 400, "InvalidQueryParameterValue"),
    ({"blockid": base64.b64encode(b"x" * 65).decode()}, {}, b"x", 400, "InvalidBlockId"),
    ({"blockid": block_id(0)}, {}, b"", 400, "InvalidHeaderValue"),
    ({"blockid": block_id(0)}, {"Content-MD5": base64.b64encode(b"0" * 16).decode()}, b"x", 400, "Md5Mismatch"),
    ({"blockid": block_id(0)}, {"x-ms-content-crc64": "AAAAAAAAAAA="}, b"x", 400, "Crc64Mismatch"),
    ({"blockid": block_id(0)}, {"x-ms-lease-id": str(uuid.UUID(int=7))}, b"x", 412,
     "LeaseNotPresentWithBlobOperation"),
    ({"blockid": block_id(0), "snapshot": "2020-01-01T00:00:00.0000000Z"}, {}, b"x", 400, "InvalidOperation"),
])
def test_refusals_of_put_block(container, raw, query, headers, body, status, code):
    answer = raw.call("PUT", f"/{container.container_name}/b", {"comp": "block", **query}, headers, body)
    assert (answer.status, answer.code) == (status, code), answer.text
    assert raw.call("GET", f"/{container.container_name}/b", {"comp": "blocklist"}).code == "BlobNotFound"


def test_ids_of_one_blob_have_one_length(container):
    blob = container.get_blob_client("lengths")
    blob.stage_block(block_id(0), b"x")
    with refused(400, "InvalidBlobOrBlock"):
        blob.stage_block(base64.b64encode(b"short").decode(), b"x")


def test_checksums_of_a_block_are_answered(container, raw):
    digest = base64.b64encode(hashlib.md5(b"block").digest()).decode()
    path, query = f"/{container.container_name}/sums", {"comp": "block", "blockid": block_id(0)}
    plain = raw.call("PUT", path, query, body=b"block")
    assert plain.status == 201 and plain.headers["x-ms-content-crc64"] and "Content-MD5" not in plain.headers
    assert "ETag" not in plain.headers and plain.headers["x-ms-request-server-encrypted"] == "false"
    checked = raw.call("PUT", path, query, {"Content-MD5": digest}, b"block")
    assert checked.headers["Content-MD5"] == digest
    assert checked.headers["x-ms-content-crc64"] == plain.headers["x-ms-content-crc64"]


@pytest.mark.parametrize("body, code", [
    (b"", "InvalidXmlDocument"),
    (b"<BlockList>", "InvalidXmlDocument"),
    (b"<Other/>", "InvalidXmlDocument"),
    (b"<BlockList><Latest>!</Latest></BlockList>", "InvalidBlockList"),
    (b"<BlockList>" + b"<Latest>YQ==</Latest>" * 50_001 + b"</BlockList>", "BlockListTooLong"),
])
def test_refusals_of_put_block_list(container, raw, body, code):
    answer = raw.call("PUT", f"/{container.container_name}/b", {"comp": "blocklist"}, body=body)
    assert (answer.status, answer.code) == (400, code), answer.text


def test_a_list_of_50_000_blocks(container, raw):
    path = f"/{container.container_name}/many"
    assert raw.call("PUT", path, {"comp": "block", "blockid": "YQ=="}, body=b"ab").status == 201
    body = b"<BlockList>" + b"<Latest>YQ==</Latest>" * 50_000 + b"</BlockList>"
    assert raw.call("PUT", path, {"comp": "blocklist"}, body=body).status == 201
    blob = container.get_blob_client("many")
    assert blob.get_blob_properties().size == 100_000
    assert blob.download_blob(offset=49_999, length=3).readall() == b"bab"
    listed = xml_of(raw.call("GET", path, {"comp": "blocklist", "blocklisttype": "committed"}))
    assert len(listed.findall("CommittedBlocks/Block")) == 50_000


def test_conditions_and_creation(container):
    blob = container.get_blob_client("conditional")
    blob.stage_block(block_id(0), b"a")
    # For conditions, a blob of uncommitted blocks does not exist.
    with refused(412, "ConditionNotMet"):
        blob.commit_block_list([BlobBlock(block_id(0))], match_condition=MatchConditions.IfPresent)
    first = blob.commit_block_list([BlobBlock(block_id(0))], match_condition=MatchConditions.IfMissing)
    blob.stage_block(block_id(0), b"b")
    with refused(409, "BlobAlreadyExists"):
        blob.commit_block_list([BlobBlock(block_id(0))], match_condition=MatchConditions.IfMissing)
    blob.commit_block_list([BlobBlock(block_id(0))], etag=first["etag"],
                           match_condition=MatchConditions.IfNotModified)
    with refused(412, "ConditionNotMet"):
        blob.commit_block_list([], etag=first["etag"], match_condition=MatchConditions.IfNotModified)
    assert blob.download_blob().readall() == b"b"


def test_the_other_kinds_refuse_blocks(container):
    for name, kind in (("page", "PageBlob"), ("append", "AppendBlob")):
        blob = container.get_blob_client(name)
        blob.upload_blob(b"\0" * 512, blob_type=kind)
        with refused(409, "InvalidBlobType"):
            blob.stage_block(block_id(0), b"x")
        with refused(409, "InvalidBlobType"):
            blob.get_block_list()
        with refused(409, "InvalidBlobType"):
            blob.commit_block_list([])


def test_upload_and_download_in_parallel(server):
    size = int(float(os.environ.get("LAZULI_PARALLEL_GIB", "1")) * 1024 * MIB)
    service = BlobServiceClient.from_connection_string(
        server.connection_string, retry_total=0, max_block_size=4 * MIB, max_single_put_size=4 * MIB,
        max_single_get_size=4 * MIB, max_chunk_get_size=4 * MIB)
    container = service.create_container(f"parallel-{uuid.uuid4()}")
    blob = container.get_blob_client("large")
    blob.upload_blob(Source(size), length=size, max_concurrency=8)
    assert len(blob.get_block_list("committed")[0]) == -(-size // (4 * MIB))
    sink = Sink()
    assert blob.download_blob(max_concurrency=8).readinto(sink) == size
    sink.check(size)
    container.delete_container()


def test_memory_stays_small_under_large_blocks():
    """16 clients with blocks of 256 MiB by hand (LAZULI_BLOCK_MIB=256), of 64 MiB in CI: a server of its own, so that its
    peak is theirs."""
    size = int(os.environ.get("LAZULI_BLOCK_MIB", "64")) * MIB
    server = Server().start()
    service = BlobServiceClient.from_connection_string(server.connection_string, retry_total=0)
    blob = service.create_container("memory").get_blob_client("staged")

    class Zeros:
        def __init__(self):
            self.left = size

        def read(self, count=-1):
            count = min(size if count < 0 else count, self.left, 65_536)
            self.left -= count
            return b"\0" * count

        def __len__(self):
            return size

    with concurrent.futures.ThreadPoolExecutor(16) as clients:
        list(clients.map(lambda number: blob.stage_block(block_id(number), Zeros(), length=size), range(16)))
    blob.commit_block_list([BlobBlock(block_id(number)) for number in range(16)])
    assert blob.get_blob_properties().size == 16 * size
    peak = server.peak_mib()
    assert server.stop() == 0
    server.remove()
    assert peak < 150, f"{peak} MiB"
