"""Page blobs: pages, ranges, differences from a snapshot, length, sequence numbers."""

import os

import pytest
from azure.core import MatchConditions
from azure.storage.blob import BlobClient, ContentSettings, SequenceNumberAction

from expect import refused
from raw import xml_of

KIB = 1024


@pytest.fixture()
def blob(container):
    client = container.get_blob_client("pages")
    client.create_page_blob(64 * KIB)
    return client


def ranges(blob, **arguments):
    pages, cleared = blob.get_page_ranges(**arguments)
    return [(r["start"], r["end"] + 1) for r in pages], [(r["start"], r["end"] + 1) for r in cleared]


def test_pages_come_back(blob):
    expected = bytearray(64 * KIB)
    for offset, length in [(0, 512), (4096, 8192), (8192, 1024), (64 * KIB - 512, 512)]:
        data = os.urandom(length)
        blob.upload_page(data, offset, length)
        expected[offset:offset + length] = data
    assert blob.download_blob().readall() == bytes(expected)
    assert blob.download_blob(offset=4000, length=5000).readall() == bytes(expected[4000:9000])
    blob.clear_page(4096, 1024)
    expected[4096:5120] = bytes(1024)
    assert blob.download_blob().readall() == bytes(expected)
    assert ranges(blob)[0] == [(0, 512), (5120, 12_288), (64 * KIB - 512, 64 * KIB)]


def test_properties_of_a_new_page_blob(container):
    blob = container.get_blob_client("new")
    blob.create_page_blob(1024, content_settings=ContentSettings(content_type="disk"), metadata={"k": "v"},
                          sequence_number=7, premium_page_blob_tier="P10")
    found = blob.get_blob_properties()
    assert (found.blob_type, found.size, found.page_blob_sequence_number) == ("PageBlob", 1024, 7)
    assert (found.metadata, found.content_settings.content_type, found.blob_tier) == ({"k": "v"}, "disk", "P10")
    assert blob.download_blob().readall() == bytes(1024)
    with refused(409, "CannotChangeToLowerTier"):
        blob.set_premium_page_blob_tier("P4")
    blob.set_premium_page_blob_tier("P20")
    assert blob.get_blob_properties().blob_tier == "P20"
    with refused(400, "AccessTierNotSupportedForBlobType"):
        blob.set_standard_blob_tier("Cool")


@pytest.mark.parametrize("range_, write, body, status, code", [
    (None, "update", b"\1" * 512, 400, "MissingRequiredHeader"),
    ("bytes=0-511", "overwrite", b"\1" * 512, 400, "InvalidHeaderValue"),
    ("bytes=1-512", "update", b"\1" * 512, 400, "InvalidHeaderValue"),
    ("bytes=0-", "update", b"\1" * 512, 400, "InvalidHeaderValue"),
    ("bytes=0-1023", "update", b"\1" * 512, 400, "InvalidHeaderValue"),
    ("bytes=65536-66047", "update", b"\1" * 512, 416, "InvalidPageRange"),
    ("bytes=65024-66047", "update", b"\1" * 1024, 416, "InvalidPageRange"),
    ("bytes=0-511", "clear", b"\1" * 512, 400, "InvalidHeaderValue"),
    ("bytes=0-4194815", "update", b"\1" * (4 * 1024 * KIB + 512), 413, "RequestBodyTooLarge"),
])
def test_refusals_of_put_page(blob, raw, range_, write, body, status, code):
    headers = {"x-ms-page-write": write, **({"x-ms-range": range_} if range_ else {})}
    answer = raw.call("PUT", f"/{blob.container_name}/pages", {"comp": "page"}, headers, body)
    assert (answer.status, answer.code) == (status, code), answer.text
    assert ranges(blob)[0] == []


def test_4_mib_at_once_and_checksums(container):
    blob = container.get_blob_client("large")
    blob.create_page_blob(4 * 1024 * KIB)
    data = os.urandom(4 * 1024 * KIB)
    answer = blob.upload_page(data, 0, len(data), validate_content=True)
    assert answer["content_md5"] and answer["blob_sequence_number"] == 0
    assert blob.download_blob(validate_content=True).readall() == data


def test_sequence_numbers(blob):
    assert blob.set_sequence_number(SequenceNumberAction.Update, 5)["blob_sequence_number"] == 5
    assert blob.set_sequence_number(SequenceNumberAction.Max, 3)["blob_sequence_number"] == 5
    assert blob.set_sequence_number(SequenceNumberAction.Max, 9)["blob_sequence_number"] == 9
    assert blob.set_sequence_number(SequenceNumberAction.Increment)["blob_sequence_number"] == 10
    page = b"\1" * 512
    for condition, holds in [({"if_sequence_number_lte": 10}, True), ({"if_sequence_number_lte": 9}, False),
                             ({"if_sequence_number_lt": 11}, True), ({"if_sequence_number_lt": 10}, False),
                             ({"if_sequence_number_eq": 10}, True), ({"if_sequence_number_eq": 11}, False)]:
        for write in (lambda **c: blob.upload_page(page, 0, 512, **c), lambda **c: blob.clear_page(0, 512, **c)):
            if holds:
                write(**condition)
            else:
                with refused(412, "SequenceNumberConditionNotMet"):
                    write(**condition)
    blob.set_sequence_number(SequenceNumberAction.Update, 2**63 - 1)
    with refused(409, "SequenceNumberIncrementTooLarge"):
        blob.set_sequence_number(SequenceNumberAction.Increment)


def test_a_shorter_blob_forgets_what_was_behind(blob):
    blob.upload_page(b"\1" * 1024, 0, 1024)
    etag = blob.get_blob_properties().etag
    resized = blob.resize_blob(512)
    assert resized["etag"] != etag
    assert blob.get_blob_properties().size == 512 and ranges(blob)[0] == [(0, 512)]
    blob.resize_blob(2048)
    assert blob.download_blob().readall() == b"\1" * 512 + bytes(1536)
    with refused(400, "InvalidHeaderValue"):
        blob.resize_blob(100)


def test_ranges_of_a_part(blob):
    blob.upload_page(b"\1" * 1024, 1024, 1024)
    blob.upload_page(b"\1" * 512, 4096, 512)
    assert ranges(blob, offset=0, length=2048)[0] == [(1024, 2048)]
    assert ranges(blob, offset=1536, length=4096)[0] == [(1536, 2048), (4096, 4608)]
    with refused(416, "InvalidRange"):
        blob.get_page_ranges(offset=64 * KIB, length=512)


def test_ranges_in_pages_of_answers(blob):
    for number in range(0, 20, 2):
        blob.upload_page(b"\1" * 512, number * 512, 512)
    expected = [(number * 512, (number + 1) * 512) for number in range(0, 20, 2)]
    pages = blob.list_page_ranges(results_per_page=3)
    assert [(r.start, r.end + 1) for r in pages] == expected
    by_page = [[(r.start, r.end + 1) for r in page] for page in blob.list_page_ranges(results_per_page=3).by_page()]
    assert [len(page) for page in by_page] == [3, 3, 3, 1]


def test_old_versions_get_all_ranges_at_once(blob, raw):
    for number in range(0, 20, 2):
        blob.upload_page(b"\1" * 512, number * 512, 512)
    answer = raw.call("GET", f"/{blob.container_name}/pages", {"comp": "pagelist", "maxresults": "2"},
                      {"x-ms-version": "2020-10-02"})
    listed = xml_of(answer)
    assert len(listed.findall("PageRange")) == 10 and listed.find("NextMarker") is None
    assert answer.headers["x-ms-blob-content-length"] == str(64 * KIB) and answer.headers["ETag"]


def test_what_differs_from_a_snapshot(blob):
    blob.upload_page(b"\1" * 2048, 0, 2048)
    first = blob.create_snapshot()["snapshot"]
    blob.upload_page(b"\2" * 512, 512, 512)
    blob.clear_page(1024, 512)
    blob.upload_page(b"\2" * 512, 8192, 512)
    assert ranges(blob, previous_snapshot_diff=first) == ([(512, 1024), (8192, 8704)], [(1024, 1536)])
    second = blob.create_snapshot()["snapshot"]
    blob.clear_page(0, 512)
    assert ranges(blob, previous_snapshot_diff=second) == ([], [(0, 512)])
    older = BlobClient.from_blob_url(blob.url + f"?snapshot={second}", credential=blob.credential)
    assert ranges(older, previous_snapshot_diff=first) == ([(512, 1024), (8192, 8704)], [(1024, 1536)])
    oldest = BlobClient.from_blob_url(blob.url + f"?snapshot={first}", credential=blob.credential)
    with refused(400, "PreviousSnapshotCannotBeNewer"):
        oldest.get_page_ranges(previous_snapshot_diff=second)
    with refused(409, "PreviousSnapshotNotFound"):
        blob.get_page_ranges(previous_snapshot_diff="2020-01-01T00:00:00.0000000Z")
    assert oldest.download_blob().readall()[:2048] == b"\1" * 2048
    blob.create_page_blob(64 * KIB)
    with refused(409, "BlobOverwritten"):
        blob.get_page_ranges(previous_snapshot_diff=second)


def test_the_snapshot_to_compare_with_by_its_address(blob, raw):
    taken = blob.create_snapshot()["snapshot"]
    blob.upload_page(b"\1" * 512, 0, 512)
    path = f"/{blob.container_name}/pages"
    url = blob.url + f"?snapshot={taken}"
    answer = raw.call("GET", path, {"comp": "pagelist"}, {"x-ms-previous-snapshot-url": url})
    assert [r.find("Start").text for r in xml_of(answer).findall("PageRange")] == ["0"]
    other = url.replace("/pages", "/other")
    answer = raw.call("GET", path, {"comp": "pagelist"}, {"x-ms-previous-snapshot-url": other})
    assert (answer.status, answer.code) == (400, "InvalidHeaderValue")


def test_conditions(blob):
    etag = blob.upload_page(b"\1" * 512, 0, 512)["etag"]
    blob.upload_page(b"\2" * 512, 0, 512, etag=etag, match_condition=MatchConditions.IfNotModified)
    with refused(412, "ConditionNotMet"):
        blob.upload_page(b"\3" * 512, 0, 512, etag=etag, match_condition=MatchConditions.IfNotModified)
    current = blob.get_blob_properties().etag
    with refused(304):
        blob.get_page_ranges(etag=current, match_condition=MatchConditions.IfModified)
    assert blob.download_blob().readall()[:512] == b"\2" * 512


def test_other_kinds_have_no_pages(container):
    block = container.upload_blob("block", b"x" * 512)
    with refused(409, "InvalidBlobType"):
        block.upload_page(b"\1" * 512, 0, 512)
    with refused(409, "InvalidBlobType"):
        block.get_page_ranges()
    with refused(409, "InvalidBlobType"):
        block.resize_blob(512)
    with refused(409, "InvalidBlobType"):
        block.create_page_blob(512)
    with refused(404, "BlobNotFound"):
        container.get_blob_client("absent").upload_page(b"\1" * 512, 0, 512)
