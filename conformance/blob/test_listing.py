"""Listings: hierarchy, pages, everything that a line can say, and names that XML cannot carry."""

import base64
import concurrent.futures
import hashlib
import http.client
import threading
import urllib.parse

import pytest
from azure.storage.blob import BlobPrefix, ContentSettings

from lazuli import ACCOUNT
from raw import http_date, sign, xml_of


def listed(raw, container, **query):
    return xml_of(raw.call("GET", f"/{container.container_name}", {"restype": "container", "comp": "list", **query}))


def test_hierarchy(container):
    for name in ("a/1", "a/2", "a/b/3", "c", "d/4"):
        container.upload_blob(name, b"x")
    top = [(item.name, isinstance(item, BlobPrefix)) for item in container.walk_blobs()]
    assert sorted(top) == [("a/", True), ("c", False), ("d/", True)]
    below = [(item.name, isinstance(item, BlobPrefix)) for item in container.walk_blobs(name_starts_with="a/")]
    assert sorted(below) == [("a/1", False), ("a/2", False), ("a/b/", True)]
    walked = []

    def walk(prefix=None):
        for item in container.walk_blobs(name_starts_with=prefix):
            walk(item.name) if isinstance(item, BlobPrefix) else walked.append(item.name)

    walk()
    assert sorted(walked) == ["a/1", "a/2", "a/b/3", "c", "d/4"]


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_pages_of_prefixes_and_blobs(container, raw, size):
    names = [f"{folder}/{number}" for folder in "abc" for number in range(3)] + ["z", "y"]
    for name in names:
        container.upload_blob(name, b"x")
    found, marker = [], None
    while True:
        page = listed(raw, container, delimiter="/", maxresults=str(size), **({"marker": marker} if marker else {}))
        items = page.findall("Blobs/*")
        assert len(items) <= size
        found += [item.find("Name").text for item in items]
        marker = page.find("NextMarker").text
        if not marker:
            break
    assert found == ["a/", "b/", "c/", "y", "z"]


def test_everything_a_line_says(container, raw):
    settings = ContentSettings(content_type="a/b", content_encoding="gzip", content_language="de",
                               content_disposition="inline", cache_control="no-cache")
    container.upload_blob("block", b"x", content_settings=settings, metadata={"Key": "a<b"}, tags={"t": "v"})
    container.get_blob_client("page").create_page_blob(512, sequence_number=3)
    append = container.get_blob_client("append")
    append.create_append_blob()
    append.seal_append_blob()
    container.get_blob_client("staged").stage_block("YQ==", b"x")
    page = listed(raw, container, include="metadata,tags,copy,uncommittedblobs,deleted,versions")
    lines = {line.find("Name").text: line for line in page.findall("Blobs/Blob")}
    assert list(lines) == ["append", "block", "page", "staged"]
    block = {element.tag: element.text for element in lines["block"].find("Properties")}
    assert block.pop("Creation-Time") and block.pop("Last-Modified") and block.pop("Etag").startswith("0x")
    assert block == {
        "Content-Length": "1", "Content-Type": "a/b", "Content-Encoding": "gzip", "Content-Language": "de",
        "Content-MD5": base64.b64encode(hashlib.md5(b"x").digest()).decode(),
        "Cache-Control": "no-cache", "Content-Disposition": "inline", "BlobType": "BlockBlob", "AccessTier": "Hot",
        "AccessTierInferred": "true", "LeaseStatus": "unlocked", "LeaseState": "available",
        "ServerEncrypted": "false", "TagCount": "1",
    }
    assert lines["block"].find("Metadata/Key").text == "a<b"
    assert lines["block"].find("Tags/TagSet/Tag/Key").text == "t"
    assert lines["block"].find("OrMetadata") is not None
    assert lines["page"].find("Properties/x-ms-blob-sequence-number").text == "3"
    assert lines["page"].find("Properties/BlobType").text == "PageBlob"
    assert lines["append"].find("Properties/Sealed").text == "true"
    assert lines["staged"].find("Properties/Content-Length").text == "0"
    assert [line.find("Name").text for line in listed(raw, container).findall("Blobs/Blob")] == [
        "append", "block", "page"]


def test_start_from(container, raw):
    for name in ("a", "b", "b/1", "c"):
        container.upload_blob(name, b"x")
    found = listed(raw, container, startFrom="b")
    assert [name.text for name in found.findall("Blobs/Blob/Name")] == ["b", "b/1", "c"]
    found = listed(raw, container, startFrom="b", prefix="a")
    assert found.findall("Blobs/Blob") == []


def test_names_that_xml_cannot_carry(container, raw):
    names = ["plain", "a&<b>\"'", "ä/ü", "\U0001F600", "a\uFFFE/b", "\uFFFF"]
    for name in names:
        container.upload_blob(name, b"x")
    assert sorted(item.name for item in container.list_blobs()) == sorted(names)
    page = listed(raw, container)
    encoded = [name.text for name in page.findall("Blobs/Blob/Name") if name.get("Encoded") == "true"]
    assert sorted(encoded) == ["%EF%BF%BF", "a%EF%BF%BE%2Fb"]
    for name in names:
        assert container.get_blob_client(name).download_blob().readall() == b"x"


def test_a_page_neither_loses_nor_repeats_while_others_write(container):
    steady = [f"s{number:04}" for number in range(300)]
    for name in steady:
        container.upload_blob(name, b"")
    done = threading.Event()

    def disturb(who):
        number = 0
        while not done.is_set():
            number += 1
            name = f"s{number % 300:04}-{who}-between"
            container.upload_blob(name, b"", overwrite=True)
            container.delete_blob(name)
            container.upload_blob(f"s{number % 300:04}", b"new", overwrite=True)

    writers = [threading.Thread(target=disturb, args=(who,)) for who in range(3)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(10):
            seen = [item.name for item in container.list_blobs(results_per_page=17)]
            assert len(seen) == len(set(seen)) and seen == sorted(seen)
            assert [name for name in seen if not name.endswith("-between")] == steady
    finally:
        done.set()
        for writer in writers:
            writer.join()


@pytest.mark.parametrize("version", ["2021-12-02", "2012-02-12"])
def test_listings_name_the_endpoint_that_was_asked(server, container, version):
    """Where the account stands in the host, it does not stand in the path."""
    container.upload_blob("b", b"x", tags={"k": "v"})
    name, host = container.container_name, f"{ACCOUNT}.blob.localhost:{server.port}"

    def asked(path, query):
        headers = {"x-ms-version": version, "x-ms-date": http_date()}
        headers["Authorization"] = sign("GET", path, query, headers)[1]
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request("GET", f"{path}?{urllib.parse.urlencode(query)}", headers={**headers, "Host": host})
        answer = connection.getresponse()
        answer.content = answer.read()
        assert answer.status == 200, answer.content
        connection.close()
        return xml_of(answer)

    containers = asked("/", {"comp": "list", "prefix": name})
    blobs = asked(f"/{name}", {"restype": "container", "comp": "list"})
    if version == "2012-02-12":
        assert containers.get("AccountName") == f"http://{host}/"
        assert containers.find("Containers/Container/Url").text == f"http://{host}/{name}"
        assert blobs.get("ContainerName") == f"http://{host}/{name}"
        assert blobs.find("Blobs/Blob/Url").text == f"http://{host}/{name}/b"
    else:
        found = asked("/", {"comp": "blobs", "where": "k='v'"})
        assert {page.get("ServiceEndpoint") for page in (containers, blobs, found)} == {f"http://{host}/"}
        assert blobs.get("ContainerName") == name


def test_a_page_ends_by_its_bytes(container, raw):
    """5,000 blobs of 8 KiB of metadata would be an answer of 40 MB."""
    metadata = {"m": "v" * 8000}
    blob = container.upload_blob("a", b"x", metadata=metadata)
    with concurrent.futures.ThreadPoolExecutor(16) as clients:
        snapshots = set(clients.map(lambda _: blob.create_snapshot()["snapshot"], range(600)))
    assert len(snapshots) == 600
    first = listed(raw, container, include="snapshots,metadata")
    assert first.find("NextMarker").text and len(first.findall("Blobs/Blob")) < 601
    found = list(container.list_blobs(include=["snapshots", "metadata"]))
    assert {item.snapshot for item in found} == snapshots | {None} and len(found) == 601
    assert all(item.metadata == metadata for item in found)
    assert len(listed(raw, container, include="snapshots").findall("Blobs/Blob")) == 601
    blob.delete_blob(delete_snapshots="include")


def test_containers_in_pages(service, raw):
    names = [f"paged-{number}" for number in range(5)]
    for name in names:
        service.create_container(name, metadata={"n": name})
    found = [(c.name, c.metadata) for c in
             service.list_containers(name_starts_with="paged-", include_metadata=True, results_per_page=2)]
    assert found == [(name, {"n": name}) for name in names]
    page = xml_of(raw.call("GET", "/", {"comp": "list", "prefix": "paged-", "maxresults": "2"}))
    assert page.get("ServiceEndpoint").endswith("/devstoreaccount1/")
    assert (page.find("Prefix").text, page.find("MaxResults").text) == ("paged-", "2") and page.find("NextMarker").text
    for name in names:
        service.delete_container(name)
