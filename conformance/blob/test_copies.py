"""Copies within the server through the official SDK, and what stands against them."""

import base64
import concurrent.futures
import datetime
import hashlib
import os
import re

import pytest
from azure.core import MatchConditions
from azure.storage.blob import BlobClient, BlobType, StandardBlobTier, generate_blob_sas

from expect import refused
from lazuli import ACCOUNT, KEY
from raw import Connection

MIB = 1024 * 1024


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
        copy.start_copy_from_url(re.sub("sig=[^&]*", f"sig={'A' * 43}%3D", readable(source)))


def test_a_source_that_is_not_there(source, copy, container):
    with refused(404, "CannotVerifyCopySource"):
        copy.start_copy_from_url(container.get_blob_client("none").url)
    with refused(404, "CannotVerifyCopySource"):
        copy.start_copy_from_url(f"{source.url}?snapshot=2020-01-01T00:00:00.0000000Z")
    assert not copy.exists()


def test_a_source_in_no_container_is_not_taken_for_a_missing_destination(service, copy):
    with refused(404, "CannotVerifyCopySource"):
        copy.start_copy_from_url(service.get_blob_client("no-such-container", "b").url)


def test_tags_of_the_source_come_also_when_its_bytes_are_checked(source, copy, raw):
    md5 = base64.b64encode(hashlib.md5(b"block").digest()).decode()
    headers = {"x-ms-copy-source": readable(source), "x-ms-requires-sync": "true", "x-ms-source-content-md5": md5,
               "x-ms-copy-source-tag-option": "COPY"}
    path = f"/{copy.container_name}/{copy.blob_name}"
    answer = raw.call("PUT", path, {}, {**headers, "x-ms-tags": "a=b"})
    assert (answer.status, answer.code) == (400, "BothUserTagsAndSourceTagsCopyPresentException")
    assert raw.call("PUT", path, {}, headers).status == 202
    assert (content(copy), copy.get_blob_tags()) == (b"block", {"of": "source"})


def test_tags_of_the_source_need_the_permission_to_read_them(source, copy):
    expiry = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    sas = generate_blob_sas(ACCOUNT, source.container_name, source.blob_name, account_key=KEY, permission="r",
                            expiry=expiry)
    copy.start_copy_from_url(f"{source.url}?{sas}", requires_sync=True)
    with refused(403, "CannotVerifyCopySource"):
        copy.start_copy_from_url(f"{source.url}?{sas}", requires_sync=True, tags="COPY")


@pytest.mark.parametrize("requires_sync", [False, True])
def test_conditions_of_the_source_and_of_the_destination(source, copy, requires_sync):
    etag = source.get_blob_properties().etag
    old, new = [source.get_blob_properties().last_modified + datetime.timedelta(days=days) for days in (-1, 1)]
    unmet = [
        ({"source_etag": '"0x1"', "source_match_condition": MatchConditions.IfNotModified}, 412, "SourceConditionNotMet"),
        ({"source_etag": etag, "source_match_condition": MatchConditions.IfModified}, 304, "CannotVerifyCopySource"),
        ({"source_if_unmodified_since": old}, 412, "CannotVerifyCopySource"),
        ({"source_if_modified_since": new}, 304, "CannotVerifyCopySource"),
    ]
    url = readable(source)
    for options, status, code in unmet:
        with refused(*((status, code) if requires_sync else (412, "SourceConditionNotMet"))):
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
    finite = copy.acquire_lease(15)
    with refused(412, "InfiniteLeaseDurationRequired"):
        copy.start_copy_from_url(url, requires_sync=requires_sync, destination_lease=finite)


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


@pytest.mark.parametrize("kind", ["PageBlob", "AppendBlob", "Other"])
def test_put_blob_from_url_makes_block_blobs_only(source, copy, raw, kind):
    headers = {"x-ms-copy-source": source.url, "x-ms-blob-type": kind}
    answer = raw.call("PUT", f"/{copy.container_name}/{copy.blob_name}", {}, headers)
    assert (answer.status, answer.code) == (400, "InvalidHeaderValue")
    assert not copy.exists()


def test_put_blob_from_url_of_a_page_blob_in_very_many_parts(server, container, copy):
    """More parts than are shared in one transaction: its bytes are copied instead."""
    parts = 16_500
    pages = container.get_blob_client("pages")
    pages.create_page_blob(parts * 1024)
    path = f"/{container.container_name}/pages"

    def write(numbers):
        with Connection(server.port) as connection:
            for number in numbers:
                start = number * 1024
                headers = {"x-ms-page-write": "update", "x-ms-range": f"bytes={start}-{start + 511}"}
                body = number.to_bytes(2, "big") * 256
                assert connection.call("PUT", path, {"comp": "page"}, headers, body).status == 201

    with concurrent.futures.ThreadPoolExecutor(16) as writers:
        list(writers.map(write, [range(first, parts, 16) for first in range(16)]))
    expected = b"".join(number.to_bytes(2, "big") * 256 + bytes(512) for number in range(parts))
    copy.upload_blob_from_url(readable(pages), overwrite=True)
    found = copy.get_blob_properties()
    assert (found.blob_type, content(copy)) == (BlobType.BLOCKBLOB, expected)


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
    with refused(304, "CannotVerifyCopySource"):
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
