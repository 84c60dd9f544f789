"""Copies from another web server: pending, aborted, failed, and gone on with after a crash."""

import hashlib
import os
import socket

import pytest
from azure.storage.blob import BlobServiceClient

from elsewhere import elsewhere, until
from expect import refused
from lazuli import Server
from raw import Client

PIECE = 8 * 1024 * 1024  # what a copy has fetched is kept in pieces of this size


def content(blob):
    return blob.download_blob().readall()


def ended(blob):
    return until(lambda: (found := blob.get_blob_properties()).copy.status != "pending" and found)


@pytest.fixture(scope="module")
def open_server():
    with Server("--copy-sources", "any").checked() as running:
        yield running


def client(server, name):
    service = BlobServiceClient.from_connection_string(server.connection_string, retry_total=0)
    container = service.get_container_client("copies")
    if not container.exists():
        container.create_container()
    return container.get_blob_client(name)


def test_a_copy_from_elsewhere_goes_from_pending_to_success(open_server):
    blob = client(open_server, "success")
    data = os.urandom(2 * PIECE + 17)
    with elsewhere(data, PIECE + 5) as site:
        answer = blob.start_copy_from_url(site.url, metadata={"k": "v"})
        assert answer["copy_status"] == "pending"
        until(lambda: blob.get_blob_properties().copy.progress == f"{PIECE}/{len(data)}")
        found = blob.get_blob_properties()
        assert (found.copy.status, found.copy.id, found.size) == ("pending", answer["copy_id"], 0)
        with refused(409, "PendingCopyOperation"):
            blob.upload_blob(b"x", overwrite=True)
        with refused(409, "CopyIdMismatch"):
            blob.abort_copy("00000000-0000-0000-0000-000000000001")
        site.go_on.set()
        found = ended(blob)
    assert (found.copy.status, found.copy.progress) == ("success", f"{len(data)}/{len(data)}")
    assert found.copy.source == site.url and found.copy.completion_time
    assert (found.content_settings.content_type, found.metadata) == ("text/elsewhere", {"k": "v"})
    assert content(blob) == data
    with refused(409, "NoPendingCopyOperation"):
        blob.abort_copy(answer["copy_id"])


def test_a_copy_is_aborted(open_server):
    blob = client(open_server, "aborted")
    with elsewhere(os.urandom(2 * PIECE), PIECE) as site:
        answer = blob.start_copy_from_url(site.url, metadata={"k": "v"})
        until(lambda: blob.get_blob_properties().copy.progress.startswith(f"{PIECE}/"))
        blob.abort_copy(answer["copy_id"])
        found = blob.get_blob_properties()
        assert (found.copy.status, found.size, found.metadata) == ("aborted", 0, {"k": "v"})
        site.go_on.set()
    blob.upload_blob(b"free again", overwrite=True)
    assert content(blob) == b"free again"


def test_a_source_that_changes_fails_the_copy(open_server):
    blob = client(open_server, "changed")
    with elsewhere(os.urandom(2 * PIECE), PIECE) as site:
        blob.start_copy_from_url(site.url)
        until(lambda: blob.get_blob_properties().copy.progress.startswith(f"{PIECE}/"))
        site.etag = '"two"'
        server = open_server
        server.kill()  # the connection is gone: the rest has to be asked for again
        server.start()
        blob = client(server, "changed")
        found = ended(blob)
    assert (found.copy.status, found.size) == ("failed", 0)
    assert "412" in found.copy.status_description


def test_a_copy_goes_on_after_a_crash(open_server):
    server = open_server
    blob = client(server, "crash")
    data = os.urandom(3 * PIECE)
    with elsewhere(data, PIECE + 5) as site:
        copy_id = blob.start_copy_from_url(site.url)["copy_id"]
        until(lambda: blob.get_blob_properties().copy.progress == f"{PIECE}/{len(data)}")
        server.kill()
        server.must_be_clean()
        site.go_on.set()
        server.start()
        blob = client(server, "crash")
        found = ended(blob)
        assert (found.copy.status, found.copy.id) == ("success", copy_id)
        assert content(blob) == data
        resumed = [span for method, span, _ in site.asked if method == "GET" and span]
        assert resumed and resumed[-1].startswith(f"bytes={PIECE}-"), "what was there was not fetched again"


def test_a_source_that_cannot_be_reached(open_server):
    blob = client(open_server, "unreachable")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens
        with refused(404, "CannotVerifyCopySource"):
            blob.start_copy_from_url(f"http://127.0.0.1:{taken.getsockname()[1]}/file")
    with elsewhere(b"x") as site, refused(404, "CannotVerifyCopySource"):
        blob.start_copy_from_url(f"{site.url}-none")
    assert not blob.exists()


def test_from_url_operations_take_sources_elsewhere(open_server):
    data = os.urandom(4096)
    with elsewhere(data) as site:
        blob = client(open_server, "put")
        blob.upload_blob_from_url(site.url)
        assert content(blob) == data
        blob.start_copy_from_url(site.url, requires_sync=True)
        assert content(blob) == data
        blob.stage_block_from_url("AAAA", site.url, 100, 200, source_content_md5=bytearray(hashlib.md5(data[100:300]).digest()))
        blob.commit_block_list(["AAAA"])
        assert content(blob) == data[100:300]
        append = client(open_server, "append")
        append.create_append_blob()
        append.append_block_from_url(site.url, 5, 10)
        assert content(append) == data[5:15]
        page = client(open_server, "page")
        page.create_page_blob(1024)
        page.upload_pages_from_url(site.url, 512, 512, 1024)
        assert content(page) == bytes(512) + data[1024:1536]


def test_what_cannot_be_had_of_a_source_elsewhere_is_refused(open_server):
    """A condition on tags, and the tags themselves: where there are none, neither is silently left out."""
    client(open_server, "tags")
    raw = Client(open_server.port)
    with elsewhere(b"some bytes") as site:
        copying = {"x-ms-copy-source": site.url, "x-ms-requires-sync": "true"}
        answer = raw.call("PUT", "/copies/tags", {}, {**copying, "x-ms-source-if-tags": "a = 'b'"})
        assert (answer.status, answer.code) == (400, "CannotVerifyCopySource")
        answer = raw.call("PUT", "/copies/tags", {}, {**copying, "x-ms-copy-source-tag-option": "COPY"})
        assert (answer.status, answer.code) == (400, "InvalidHeaderValue")
        assert raw.call("HEAD", "/copies/tags").status == 404
        assert raw.call("PUT", "/copies/tags", {}, copying).status == 202


def test_by_default_no_source_is_taken_from_this_machine(container):
    copy = container.get_blob_client("copy")
    with elsewhere(b"internal") as site:
        for call in [copy.start_copy_from_url, copy.upload_blob_from_url]:
            with refused(403, "CannotVerifyCopySource"):
                call(site.url)
            with refused(403, "CannotVerifyCopySource"):
                call(site.url.replace("127.0.0.1", "localhost"))
        assert site.asked == []
    assert not copy.exists()
