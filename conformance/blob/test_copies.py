"""Copies through the official SDK: within the server, from elsewhere, and what stands against them."""

import contextlib
import datetime
import hashlib
import http.server
import os
import socket
import threading
import time

import pytest
from azure.core import MatchConditions
from azure.storage.blob import BlobClient, BlobServiceClient, BlobType, StandardBlobTier, generate_blob_sas

from expect import refused
from lazuli import ACCOUNT, KEY, Server

MIB = 1024 * 1024
PIECE = 8 * MIB  # what a copy from elsewhere has fetched is kept in pieces of this size


def readable(blob, snapshot=None):
    """A URL that reads the blob without any other credential."""
    expiry = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    sas = generate_blob_sas(ACCOUNT, blob.container_name, blob.blob_name, snapshot=snapshot, account_key=KEY,
                            permission="rt", expiry=expiry)
    return f"{blob.url}{'&' if '?' in blob.url else '?'}{sas}"


def content(blob):
    return blob.download_blob().readall()


def copied(blob, source, **options):
    """Copy Blob. Within the account it is done when it is answered."""
    answer = blob.start_copy_from_url(source, **options)
    assert answer["copy_status"] == "success"
    return blob.get_blob_properties()


@pytest.fixture()
def source(container):
    blob = container.get_blob_client("source")
    blob.upload_blob(b"block", metadata={"of": "source"}, tags={"of": "source"})
    return blob


@pytest.fixture()
def copy(container):
    return container.get_blob_client("copy")


# -- within the server

def test_a_block_blob_is_copied(container, copy):
    source = container.get_blob_client("large")
    data = os.urandom(9 * MIB)
    source.upload_blob(data, metadata={"of": "source"}, max_concurrency=4)
    found = copied(copy, source.url)
    assert found.copy.status == "success" and found.copy.progress == f"{9 * MIB}/{9 * MIB}"
    assert found.copy.source == source.url and found.copy.completion_time
    assert (found.metadata, found.size, found.blob_type) == ({"of": "source"}, 9 * MIB, BlobType.BlockBlob)
    assert content(copy) == data
    source.delete_blob()
    assert content(copy) == data


def test_a_page_blob_is_copied(container, copy):
    source = container.get_blob_client("page")
    source.create_page_blob(4096, sequence_number=7)
    source.upload_page(b"p" * 512, 1024, 512)
    found = copied(copy, source.url)
    assert (found.blob_type, found.size, found.page_blob_sequence_number) == (BlobType.PageBlob, 4096, 7)
    source.clear_page(1024, 512)
    assert [(part.start, part.end) for part in copy.list_page_ranges()] == [(1024, 1535)]
    assert content(copy) == b"\0" * 1024 + b"p" * 512 + b"\0" * 2560


def test_an_append_blob_is_copied_and_grows_on(container, copy):
    source = container.get_blob_client("append")
    source.create_append_blob()
    source.append_block(b"one,")
    found = copied(copy, source.url)
    assert (found.blob_type, found.append_blob_committed_block_count) == (BlobType.AppendBlob, 1)
    copy.append_block(b"two")
    source.append_block(b"three")
    assert (content(copy), content(source)) == (b"one,two", b"one,three")


def test_a_snapshot_is_promoted_onto_its_blob(source):
    snapshot = source.create_snapshot()["snapshot"]
    source.upload_blob(b"newer", overwrite=True)
    copied(source, f"{source.url}?snapshot={snapshot}")
    assert content(source) == b"block"
    source.delete_blob(delete_snapshots="include")


def test_a_blob_is_copied_onto_itself(source):
    found = copied(source, source.url, metadata={"of": "itself"})
    assert (content(source), found.metadata) == (b"block", {"of": "itself"})


def test_a_signature_in_the_source_is_never_shown(source, copy):
    found = copied(copy, readable(source))
    assert found.copy.source == source.url


def test_a_source_without_a_credential_of_its_own_is_read_with_that_of_the_copy(server, source, copy):
    only_here = BlobClient(server.blob_url, copy.container_name, "copy", retry_total=0, credential=generate_blob_sas(
        ACCOUNT, copy.container_name, "copy", account_key=KEY, permission="cw",
        expiry=datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)))
    with refused(403, "CannotVerifyCopySource"):
        only_here.start_copy_from_url(source.url)
    assert only_here.start_copy_from_url(readable(source))["copy_status"] == "success"
    with refused(403, "CannotVerifyCopySource"):
        copy.start_copy_from_url(readable(source)[:-6] + "AAAA%3D")


def test_a_source_that_is_not_there(source, copy, container):
    with refused(404, "CannotVerifyCopySource"):
        copy.start_copy_from_url(container.get_blob_client("none").url)
    with refused(404, "CannotVerifyCopySource"):
        copy.start_copy_from_url(f"{source.url}?snapshot=2020-01-01T00:00:00.0000000Z")
    assert not copy.exists()


@pytest.mark.parametrize("requires_sync", [False, True])
def test_conditions_of_the_source_and_of_the_destination(source, copy, requires_sync):
    etag = source.get_blob_properties().etag
    old, new = [source.get_blob_properties().last_modified + datetime.timedelta(days=days) for days in (-1, 1)]
    unmet = [
        {"source_etag": '"0x1"', "source_match_condition": MatchConditions.IfNotModified},
        {"source_etag": etag, "source_match_condition": MatchConditions.IfModified},
        {"source_if_unmodified_since": old},
        {"source_if_modified_since": new},
    ]
    url = readable(source)
    for options in unmet:
        with refused(412, "SourceConditionNotMet"):
            copy.start_copy_from_url(url, requires_sync=requires_sync, **options)
    options = {"source_etag": etag, "source_match_condition": MatchConditions.IfNotModified, "source_if_unmodified_since": new}
    copy.start_copy_from_url(url, requires_sync=requires_sync, **options)
    first = copy.get_blob_properties().etag
    with refused(412):
        copy.start_copy_from_url(url, requires_sync=requires_sync, etag='"0x1"', match_condition=MatchConditions.IfNotModified)
    with refused(409, "BlobAlreadyExists"):
        copy.start_copy_from_url(url, requires_sync=requires_sync, match_condition=MatchConditions.IfMissing)
    assert copy.get_blob_properties().etag == first
    copy.start_copy_from_url(url, requires_sync=requires_sync, etag=first, match_condition=MatchConditions.IfNotModified)
    assert copy.get_blob_properties().etag != first


@pytest.mark.parametrize("requires_sync", [False, True])
def test_a_leased_destination_needs_its_lease(source, copy, requires_sync):
    url = readable(source)
    copy.upload_blob(b"old")
    lease = copy.acquire_lease()
    source_lease = source.acquire_lease()
    with refused(412, "LeaseIdMissing"):
        copy.start_copy_from_url(url, requires_sync=requires_sync)
    with refused(412, "LeaseIdMismatchWithBlobOperation"):
        copy.start_copy_from_url(url, requires_sync=requires_sync, destination_lease=source_lease.id)
    assert content(copy) == b"old"
    copy.start_copy_from_url(url, requires_sync=requires_sync, destination_lease=lease)
    found = copy.get_blob_properties()
    assert (content(copy), found.lease.state) == (b"block", "leased")
    held = lease.id
    lease.release()
    with refused(412, "LeaseLost"):
        copy.start_copy_from_url(url, requires_sync=requires_sync, destination_lease=held)
    with refused(412, "LeaseNotPresentWithBlobOperation"):
        copy.start_copy_from_url(url, requires_sync=requires_sync, destination_lease=source_lease.id)
    source_lease.release()


def test_metadata_tags_and_tier_of_a_copy(source, copy):
    found = copied(copy, source.url)
    assert (found.metadata, copy.get_blob_tags()) == ({"of": "source"}, {})
    found = copied(copy, source.url, metadata={"of": "copy"}, tags={"of": "copy"}, standard_blob_tier=StandardBlobTier.COOL)
    assert (found.metadata, copy.get_blob_tags(), found.blob_tier) == ({"of": "copy"}, {"of": "copy"}, "Cool")
    copy.start_copy_from_url(readable(source), requires_sync=True, tags="COPY")
    assert copy.get_blob_tags() == {"of": "source"}
    copy.start_copy_from_url(readable(source), requires_sync=True, tags={"of": "replaced"})
    assert copy.get_blob_tags() == {"of": "replaced"}


def test_an_archived_source_is_copied_out_of_the_archive(source, copy):
    source.set_standard_blob_tier("Archive")
    with refused(409):
        copy.start_copy_from_url(source.url)
    copy.start_copy_from_url(source.url, standard_blob_tier=StandardBlobTier.HOT)
    assert source.get_blob_properties().blob_tier == "Archive"


def test_nothing_to_abort(source, copy):
    copy_id = copied(copy, source.url).copy.id
    with refused(409, "NoPendingCopyOperation"):
        copy.abort_copy(copy_id)


def test_copy_blob_from_url_is_done_when_it_is_answered(source, copy, container):
    answer = copy.start_copy_from_url(readable(source), requires_sync=True)
    assert answer["copy_status"] == "success"
    assert content(copy) == b"block"
    page = container.get_blob_client("page")
    page.create_page_blob(512)
    with refused(409, "InvalidSourceBlobType"):
        copy.start_copy_from_url(readable(page), requires_sync=True)


# -- From URL

def md5(data):
    return bytearray(hashlib.md5(data).digest())


def test_put_blob_from_url(source, copy):
    copy.upload_blob_from_url(readable(source), metadata={"of": "copy"}, tags={"k": "v"})
    found = copy.get_blob_properties()
    assert (content(copy), found.metadata, found.copy.id) == (b"block", {"of": "copy"}, None)
    assert found.blob_type == BlobType.BlockBlob
    with refused(409, "BlobAlreadyExists"):
        copy.upload_blob_from_url(readable(source), overwrite=False)
    copy.upload_blob_from_url(readable(source), overwrite=True, source_content_md5=md5(b"block"))
    with refused(400, "Md5Mismatch"):
        copy.upload_blob_from_url(readable(source), overwrite=True, source_content_md5=md5(b"else"))


@pytest.fixture()
def digits(container):
    blob = container.get_blob_client("digits")
    blob.data = os.urandom(3000)
    blob.upload_blob(blob.data)
    return blob


def test_put_block_from_url(digits, copy):
    url = readable(digits)
    copy.stage_block_from_url("AAAA", url, 100, 200, source_content_md5=md5(digits.data[100:300]))
    copy.stage_block_from_url("AAAB", url)
    with refused(400, "Md5Mismatch"):
        copy.stage_block_from_url("AAAC", url, 100, 200, source_content_md5=md5(b"else"))
    copy.commit_block_list(["AAAA", "AAAB"])
    assert content(copy) == digits.data[100:300] + digits.data


def test_append_block_from_url(digits, copy):
    url = readable(digits)
    etag = digits.get_blob_properties().etag
    copy.create_append_blob()
    copy.append_block_from_url(url, 10, 20, source_content_md5=md5(digits.data[10:30]))
    copy.append_block_from_url(url, appendpos_condition=20)
    with refused(412, "AppendPositionConditionNotMet"):
        copy.append_block_from_url(url, appendpos_condition=20)
    with refused(412, "SourceConditionNotMet"):
        copy.append_block_from_url(url, source_etag=etag, source_match_condition=MatchConditions.IfModified)
    with refused(400, "Md5Mismatch"):
        copy.append_block_from_url(url, 10, 20, source_content_md5=md5(b"else"))
    assert content(copy) == digits.data[10:30] + digits.data


def test_put_page_from_url(digits, copy):
    url = readable(digits)
    copy.create_page_blob(4096)
    copy.upload_pages_from_url(url, 1024, 512, 100, source_content_md5=md5(digits.data[100:612]))
    with refused(400, "Md5Mismatch"):
        copy.upload_pages_from_url(url, 0, 512, 100, source_content_md5=md5(b"else"))
    with refused(412, "SequenceNumberConditionNotMet"):
        copy.upload_pages_from_url(url, 0, 512, 100, if_sequence_number_lt=0)
    assert [(part.start, part.end) for part in copy.list_page_ranges()] == [(1024, 1535)]
    assert content(copy)[1024:1536] == digits.data[100:612]


# -- from elsewhere

class Elsewhere(http.server.ThreadingHTTPServer):
    """A web server with one file. Gives `free` bytes at once, and the rest when `go_on` is set."""

    daemon_threads = True

    def __init__(self, data, free=None):
        super().__init__(("127.0.0.1", 0), Answer)
        self.data, self.etag = data, '"one"'
        self.free = len(data) if free is None else free
        self.go_on, self.asked = threading.Event(), []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/file"

    def handle_error(self, request, client_address):
        pass  # a server that was killed does not say goodbye


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer(send_body=False)

    def do_GET(self):
        self.answer(send_body=True)

    def answer(self, send_body):
        site, span = self.server, self.headers.get("Range")
        site.asked.append((self.command, span, self.headers.get("If-Match")))
        if self.path != "/file" or self.headers.get("If-Match", site.etag) != site.etag:
            self.send_response(404 if self.path != "/file" else 412)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        start, end = 0, len(site.data)
        if span:
            first, last = span.removeprefix("bytes=").split("-")
            start, end = int(first), min(int(last) + 1 if last else end, end)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(site.data)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(end - start))
        self.send_header("ETag", site.etag)
        self.send_header("Content-Type", "text/elsewhere")
        self.end_headers()
        if not send_body:
            return
        with contextlib.suppress(OSError):
            at_once = max(start, min(end, site.free))
            self.wfile.write(site.data[start:at_once])
            if at_once < end:
                self.wfile.flush()
                if not site.go_on.wait(60):
                    self.close_connection = True
                    return
                self.wfile.write(site.data[at_once:end])


@contextlib.contextmanager
def elsewhere(*arguments):
    site = Elsewhere(*arguments)
    try:
        yield site
    finally:
        site.go_on.set()
        site.shutdown()
        site.server_close()


def until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)
    return found


def ended(blob):
    return until(lambda: (found := blob.get_blob_properties()).copy.status != "pending" and found)


@pytest.fixture(scope="module")
def open_server():
    running = Server("--copy-sources", "any").start()
    yield running
    assert running.stop() == 0
    checked = running.check()
    assert checked.returncode == 0, checked.stdout + checked.stderr
    running.remove()


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
        checked = server.check()
        assert checked.returncode == 0, checked.stdout + checked.stderr
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
        blob.stage_block_from_url("AAAA", site.url, 100, 200, source_content_md5=md5(data[100:300]))
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


def test_by_default_no_source_is_taken_from_this_machine(copy):
    with elsewhere(b"internal") as site:
        for call in [copy.start_copy_from_url, copy.upload_blob_from_url]:
            with refused(403, "CannotVerifyCopySource"):
                call(site.url)
            with refused(403, "CannotVerifyCopySource"):
                call(site.url.replace("127.0.0.1", "localhost"))
        assert site.asked == []
    assert not copy.exists()
