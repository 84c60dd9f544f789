"""Set Blob Properties and metadata, and what a blob says about itself."""

import base64

import pytest
from azure.core import MatchConditions
from azure.storage.blob import ContentSettings

from expect import refused


def test_http_properties_are_replaced_together(container, raw):
    blob = container.upload_blob("b", b"x", content_settings=ContentSettings(content_type="a/b", content_language="de"))
    etag = blob.get_blob_properties().etag
    written = blob.set_http_headers(ContentSettings(cache_control="no-store"))
    found = blob.get_blob_properties()
    assert written["etag"] == found.etag != etag
    assert found.content_settings.cache_control == "no-store"
    assert found.content_settings.content_language is None and found.content_settings.content_md5 is None
    assert found.content_settings.content_type is None, "what is not named is taken away"
    # A request that names none of them takes all of them away.
    assert raw.call("PUT", f"/{container.container_name}/b", {"comp": "properties"}).status == 200
    assert blob.get_blob_properties().content_settings.cache_control is None


def test_metadata_keeps_its_case_and_is_replaced(container, raw):
    blob = container.upload_blob("b", b"x", metadata={"Old": "1"})
    etag = blob.get_blob_properties().etag
    written = blob.set_blob_metadata({"MyName": "value"})
    assert written["etag"] != etag
    for method in ("GET", "HEAD"):
        answer = raw.call(method, f"/{container.container_name}/b", {"comp": "metadata"})
        assert answer.status == 200 and answer.content == b""
        sent = {name: text for name, text in answer.getheaders() if name.lower().startswith("x-ms-meta-")}
        assert sent == {"x-ms-meta-MyName": "value"}
        assert answer.headers["ETag"] == written["etag"] and answer.headers["Last-Modified"]
    blob.set_blob_metadata()
    assert blob.get_blob_properties().metadata == {}


@pytest.mark.parametrize("metadata, code", [
    ({"1bad": "v"}, "InvalidMetadata"),
    ({"big": "v" * 9000}, "MetadataTooLarge"),
])
def test_bad_metadata(container, raw, metadata, code):
    container.upload_blob("b", b"x", overwrite=True)
    headers = {f"x-ms-meta-{name}": value for name, value in metadata.items()}
    answer = raw.call("PUT", f"/{container.container_name}/b", {"comp": "metadata"}, headers)
    assert (answer.status, answer.code) == (400, code)


def test_conditions(container):
    blob = container.upload_blob("b", b"x")
    etag = blob.get_blob_properties().etag
    for write in (lambda **c: blob.set_blob_metadata({"a": "b"}, **c),
                  lambda **c: blob.set_http_headers(ContentSettings(content_type="x/y"), **c)):
        with refused(412, "ConditionNotMet"):
            write(etag='"0x1"', match_condition=MatchConditions.IfNotModified)
        etag = write(etag=etag, match_condition=MatchConditions.IfNotModified)["etag"]
    with refused(404, "BlobNotFound"):
        container.get_blob_client("absent").set_blob_metadata({"a": "b"})


@pytest.mark.parametrize("headers, code", [
    ({"x-ms-sequence-number-action": "increment", "x-ms-blob-sequence-number": "1"}, "InvalidHeaderValue"),
    ({"x-ms-sequence-number-action": "update"}, "MissingRequiredHeader"),
    ({"x-ms-sequence-number-action": "halve"}, "InvalidHeaderValue"),
    ({"x-ms-blob-content-length": "1000"}, "InvalidHeaderValue"),
    ({"x-ms-blob-content-md5": "x"}, "InvalidMd5"),
])
def test_refusals_of_set_properties(container, raw, headers, code):
    container.get_blob_client("page").create_page_blob(512)
    answer = raw.call("PUT", f"/{container.container_name}/page", {"comp": "properties"}, headers)
    assert (answer.status, answer.code) == (400, code), answer.text


def test_empty_blobs_and_ranges(container, raw):
    path = f"/{container.container_name}/empty"
    container.upload_blob("empty", b"")
    assert raw.call("GET", path).status == 200
    answer = raw.call("GET", path, headers={"x-ms-range": "bytes=0-"})
    assert (answer.status, answer.code, answer.headers["Content-Range"]) == (416, "InvalidRange", "bytes */0")
    container.upload_blob("ten", b"0123456789")
    path = f"/{container.container_name}/ten"
    table = [
        ({"Range": "bytes=2-4"}, 206, b"234", "bytes 2-4/10"),
        ({"x-ms-range": "bytes=8-100"}, 206, b"89", "bytes 8-9/10"),
        ({"x-ms-range": "bytes=0-", "Range": "bytes=2-4"}, 206, b"0123456789", "bytes 0-9/10"),
        ({}, 200, b"0123456789", None),
    ]
    for headers, status, body, content_range in table:
        answer = raw.call("GET", path, headers=headers)
        assert (answer.status, answer.content, answer.headers.get("Content-Range")) == (status, body, content_range)
        name = "Content-MD5" if status == 200 else "x-ms-blob-content-md5"
        assert answer.headers[name] == "eB5eJF1ptWaXm4bijSPyxw=="
    checked = raw.call("GET", path, headers={"x-ms-range": "bytes=0-2", "x-ms-range-get-content-crc64": "true"})
    assert checked.headers["x-ms-content-crc64"]
    behind = raw.call("GET", path, headers={"x-ms-range": "bytes=10-"})
    assert (behind.status, behind.headers["Content-Range"]) == (416, "bytes */10")


def test_structured_bodies_of_every_upload(container, raw):
    """One segment with its CRC-64, which the server computed for the same bytes before."""
    data = b"\1" * 512
    plain = raw.call("PUT", f"/{container.container_name}/plain", headers={"x-ms-blob-type": "BlockBlob"}, body=data)
    crc = base64.b64decode(plain.headers["x-ms-content-crc64"])
    length = 13 + 10 + len(data) + 8 + 8
    message = (b"\1" + length.to_bytes(8, "little") + (1).to_bytes(2, "little") + (1).to_bytes(2, "little")
               + (1).to_bytes(2, "little") + len(data).to_bytes(8, "little") + data + crc + crc)
    assert len(message) == length
    structured = {"x-ms-structured-body": "XSM/1.0; properties=crc64", "x-ms-structured-content-length": "512",
                  "x-ms-version": "2025-01-05"}
    container.get_blob_client("page").create_page_blob(512)
    container.get_blob_client("append").create_append_blob()
    table = [
        ("block", {}, {"x-ms-blob-type": "BlockBlob"}),
        ("page", {"comp": "page"}, {"x-ms-page-write": "update", "x-ms-range": "bytes=0-511"}),
        ("append", {"comp": "appendblock"}, {}),
        ("staged", {"comp": "block", "blockid": "YQ=="}, {}),
    ]
    for name, query, headers in table:
        answer = raw.call("PUT", f"/{container.container_name}/{name}", query, {**structured, **headers}, message)
        assert answer.status == 201, answer.text
        assert answer.headers["x-ms-structured-body"] == "XSM/1.0; properties=crc64"
        broken = message[:-1] + bytes([message[-1] ^ 1])
        answer = raw.call("PUT", f"/{container.container_name}/{name}", query, {**structured, **headers}, broken)
        assert answer.code == "Crc64Mismatch", answer.text
    for name in ("block", "page", "append"):
        assert raw.call("GET", f"/{container.container_name}/{name}").content == data
