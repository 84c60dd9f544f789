"""A download that has begun sees one state of the blob to its end, whatever happens to the blob meanwhile."""

import http.client

import pytest

from lazuli import ACCOUNT
from raw import VERSION, http_date, sign

MIB = 1024 * 1024
SIZE = 48 * MIB  # more than all the buffers between server and client hold


class Download:
    """A Get Blob of which only the first bytes have been taken."""

    def __init__(self, port, path):
        path = f"/{ACCOUNT}{path}"
        headers = {"x-ms-version": VERSION, "x-ms-date": http_date()}
        headers["Authorization"] = sign("GET", path, {}, headers)[1]
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.connection.request("GET", path, headers=headers)
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200
        self.first = self.answer.read(1000)

    def rest(self):
        content = self.first + self.answer.read()
        self.connection.close()
        return content


def whole(container):
    blob = container.get_blob_client("b")
    blob.upload_blob(b"old!" * (SIZE // 4), max_concurrency=1)
    return blob, b"old!" * (SIZE // 4)


def blocks(container):
    blob = container.get_blob_client("b")
    ids = [f"{number:03}" for number in range(12)]
    for number in ids:
        blob.stage_block(number, number.encode() * (SIZE // 36))
    blob.commit_block_list(ids)
    return blob, b"".join(number.encode() * (SIZE // 36) for number in ids)


def pages(container):
    """More written parts than are opened at once."""
    blob = container.get_blob_client("b")
    blob.create_page_blob(SIZE)
    expected = bytearray(SIZE)
    for offset in range(0, SIZE, 64 * 1024):
        blob.upload_page(b"\1" * 512, offset, 512)
        expected[offset:offset + 512] = b"\1" * 512
    return blob, bytes(expected)


def appended(container):
    blob = container.get_blob_client("b")
    blob.create_append_blob()
    for number in range(SIZE // (4 * MIB)):
        blob.append_block(bytes([number]) * (4 * MIB))
    return blob, b"".join(bytes([number]) * (4 * MIB) for number in range(SIZE // (4 * MIB)))


def overwrite(blob):
    blob.delete_blob()
    blob.upload_blob(b"new")


def write_pages(blob):
    for offset in range(SIZE - 64 * 1024, SIZE // 2, -64 * 1024):
        blob.upload_page(b"\2" * 512, offset, 512)
    blob.clear_page(SIZE // 4, SIZE // 4)


def append(blob):
    blob.append_block(b"more")


@pytest.mark.parametrize("make, change", [
    (whole, lambda blob: blob.upload_blob(b"new", overwrite=True)),
    (whole, lambda blob: blob.delete_blob()),
    (blocks, lambda blob: blob.commit_block_list([])),
    (blocks, overwrite),
    (pages, write_pages),
    (pages, lambda blob: blob.resize_blob(512)),
    (pages, overwrite),
    (appended, append),
    (appended, overwrite),
], ids=["overwritten", "deleted", "recommitted", "replaced blocks", "pages written", "resized", "replaced pages",
        "appended", "replaced appends"])
def test_a_download_sees_one_state(server, container, make, change):
    blob, expected = make(container)
    downloads = [Download(server.port, f"/{container.container_name}/b") for _ in range(2)]
    change(blob)
    for download in downloads:
        content = download.rest()
        assert len(content) == len(expected) and content == expected
