"""Copies into files, out of files and between files and blobs, through the official Python SDKs."""

import datetime
import os
import uuid

import pytest
from azure.storage.blob import BlobBlock, BlobSasPermissions, BlobServiceClient, generate_blob_sas
from azure.storage.fileshare import ContentSettings, FileSasPermissions, NTFSAttributes, ShareServiceClient, generate_file_sas

from elsewhere import elsewhere, until
from expect import refused
from lazuli import ACCOUNT, KEY, Server

EXPIRY = datetime.datetime(2099, 1, 1, tzinfo=datetime.timezone.utc)
PIECE = 8 * 1024 * 1024  # what a copy has fetched is kept in pieces of this size


@pytest.fixture(scope="module")
def server():
    with Server("--copy-sources", "any").checked() as running:
        yield running


@pytest.fixture
def share(server):
    return a_share(server)


def a_share(server, name=None):
    service = ShareServiceClient.from_connection_string(server.connection_string, retry_total=0)
    client = service.get_share_client(name or f"share{uuid.uuid4().hex[:12]}")
    if name is None:
        client.create_share()
    return client


@pytest.fixture
def container(server):
    service = BlobServiceClient.from_connection_string(server.connection_string, retry_total=0)
    return service.create_container(f"box{uuid.uuid4().hex[:12]}")


def file_url(file):
    token = generate_file_sas(ACCOUNT, file.share_name, file.file_path, KEY, permission=FileSasPermissions(read=True),
                              expiry=EXPIRY)
    return f"{file.url}?{token}"


def blob_url(blob):
    token = generate_blob_sas(ACCOUNT, blob.container_name, blob.blob_name, account_key=KEY,
                              permission=BlobSasPermissions(read=True), expiry=EXPIRY)
    return f"{blob.url}?{token}"


def content(file):
    return file.download_file().readall()


def ended(file):
    return until(lambda: (found := file.get_file_properties()).copy.status != "pending" and found)


def test_a_file_is_copied_with_what_is_asked_for(share):
    source, copy = share.get_file_client("source"), share.get_file_client("copy")
    data = os.urandom(3 * 1024 * 1024 + 5)
    source.upload_file(data, metadata={"of": "source"}, file_attributes=NTFSAttributes(hidden=True),
                       file_creation_time=datetime.datetime(2001, 2, 3, 4, 5, 6, tzinfo=datetime.timezone.utc))
    answer = copy.start_copy_from_url(source.url)
    assert answer["copy_status"] == "success" and answer["copy_id"] and answer["etag"]
    found = copy.get_file_properties()
    assert (found.copy.status, found.copy.id, found.copy.progress) == \
        ("success", answer["copy_id"], f"{len(data)}/{len(data)}")
    assert (found.metadata, found.file_attributes, content(copy)) == ({"of": "source"}, "Archive", data)
    copy.start_copy_from_url(source.url, file_permission="source", file_attributes="source",
                             file_creation_time="source", file_last_write_time="source", set_archive_attribute=True,
                             metadata={"of": "copy"})
    found, before = copy.get_file_properties(), source.get_file_properties()
    assert (found.creation_time, found.last_write_time) == (before.creation_time, before.last_write_time)
    assert (found.permission_key, found.metadata) == (before.permission_key, {"of": "copy"})
    assert found.file_attributes == "Hidden | Archive"
    copy.set_http_headers(ContentSettings(), file_attributes="ReadOnly")
    with refused(409, "ReadOnlyAttribute"):
        copy.start_copy_from_url(source.url)
    copy.start_copy_from_url(source.url, ignore_read_only=True)
    lease = copy.acquire_lease()
    with refused(412, "LeaseIdMissing"):
        copy.start_copy_from_url(source.url)
    copy.start_copy_from_url(source.url, lease=lease)
    with refused(409, "NoPendingCopyOperation"):
        copy.abort_copy(answer["copy_id"], lease=lease)
    with refused(404, "CannotVerifyCopySource"):
        copy.start_copy_from_url(share.get_file_client("none").url, lease=lease)


def test_a_sparse_file_and_a_snapshot_are_copied_as_they_are(share):
    source, copy = share.get_file_client("source"), share.get_file_client("copy")
    source.create_file(1 << 40)
    source.upload_range(b"middle", offset=1 << 39, length=6)
    snapshot = share.create_snapshot()["snapshot"]
    source.upload_range(b"later", offset=0, length=5)
    copy.start_copy_from_url(f"{source.url}?sharesnapshot={snapshot}")
    assert copy.get_file_properties().size == 1 << 40
    assert [(found["start"], found["end"]) for found in copy.list_ranges()] == [(1 << 39, (1 << 39) + 5)]


def test_a_blob_becomes_a_file(share, container):
    data = os.urandom(1024 * 1024 + 1)
    blob, file = container.get_blob_client("blob"), share.get_file_client("file")
    blob.upload_blob(data, metadata={"of": "blob"})
    for source in (blob.url, blob_url(blob)):
        answer = file.start_copy_from_url(source)
        assert answer["copy_status"] == "success"
        found = file.get_file_properties()
        assert (content(file), found.metadata, found.copy.source) == (data, {"of": "blob"}, blob.url)
    ranges = share.get_file_client("ranges")
    ranges.create_file(1000)
    ranges.upload_range_from_url(blob_url(blob), offset=100, length=500, source_offset=7)
    assert content(ranges) == bytes(100) + data[7:507] + bytes(400)
    with refused(401, "CannotVerifyCopySource"):
        ranges.upload_range_from_url(blob.url, offset=100, length=500, source_offset=7)


def test_a_file_becomes_a_blob_in_every_way(share, container):
    data = os.urandom(1024 * 1024)
    file = share.get_file_client("file")
    file.upload_file(data, metadata={"of": "file"})
    blob = container.get_blob_client("copy")
    for source in (file.url, file_url(file)):
        assert blob.start_copy_from_url(source)["copy_status"] == "success"
        assert blob.download_blob().readall() == data
        assert blob.get_blob_properties().metadata == {"of": "file"}
    container.get_blob_client("synchronous").start_copy_from_url(file_url(file), requires_sync=True)
    container.get_blob_client("put").upload_blob_from_url(file_url(file))
    blocks = container.get_blob_client("blocks")
    blocks.stage_block_from_url("one", file_url(file), source_offset=0, source_length=len(data))
    blocks.commit_block_list([BlobBlock("one")])
    appended = container.get_blob_client("append")
    appended.create_append_blob()
    appended.append_block_from_url(file_url(file), source_offset=0, source_length=len(data))
    pages = container.get_blob_client("pages")
    pages.create_page_blob(len(data))
    pages.upload_pages_from_url(file_url(file), offset=0, length=len(data), source_offset=0)
    for name in ("synchronous", "put", "blocks", "append", "pages"):
        assert container.get_blob_client(name).download_blob().readall() == data, name
    with refused(401, "CannotVerifyCopySource"):
        container.get_blob_client("put").upload_blob_from_url(file.url, overwrite=True)


def test_a_copy_from_elsewhere_is_pending_aborted_or_done(share):
    file, data = share.get_file_client("file"), os.urandom(2 * PIECE + 17)
    with elsewhere(data, PIECE + 5) as site:
        answer = file.start_copy_from_url(site.url)
        assert answer["copy_status"] == "pending"
        until(lambda: file.get_file_properties().copy.progress == f"{PIECE}/{len(data)}")
        assert file.get_file_properties().size == 0
        with refused(409, "PendingCopyOperation"):
            file.upload_range(b"x", offset=0, length=1)
        with refused(409, "CopyIdMismatch"):
            file.abort_copy("00000000-0000-0000-0000-000000000001")
        file.abort_copy(answer["copy_id"])
        found = file.get_file_properties()
        assert (found.copy.status, found.size) == ("aborted", 0)
        file.start_copy_from_url(site.url)
        site.go_on.set()
        assert ended(file).copy.status == "success"
    assert content(file) == data


def test_a_copy_from_elsewhere_goes_on_after_a_crash():
    with Server("--copy-sources", "any").checked() as server:
        share, data = a_share(server), os.urandom(2 * PIECE)
        with elsewhere(data, PIECE + 5) as site:
            share.get_file_client("file").start_copy_from_url(site.url)
            until(lambda: share.get_file_client("file").get_file_properties().copy.progress.startswith(f"{PIECE}/"))
            server.kill()
            server.start()
            site.go_on.set()
            file = a_share(server, share.share_name).get_file_client("file")
            assert ended(file).copy.status == "success"
            assert site.asked[-1][1] == f"bytes={PIECE}-", "what was here was not fetched again"
        assert content(file) == data
