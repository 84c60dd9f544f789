"""The first blob through the official SDK: containers and whole block blobs."""

import base64
import hashlib
import os
import threading
import uuid

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import (
    ClientAuthenticationError, HttpResponseError, ResourceExistsError, ResourceModifiedError, ResourceNotFoundError,
)
from azure.storage.blob import BlobServiceClient, ContentSettings


@pytest.fixture(scope="module")
def client_options():
    return {"max_single_put_size": 4 * 1024**3}  # a body is one request, however long it is


def test_a_container_is_created_listed_and_deleted(service):
    name = f"made-{uuid.uuid4()}"
    client = service.create_container(name, metadata={"colour": "blue"})
    with pytest.raises(ResourceExistsError) as refused:
        service.create_container(name)
    assert refused.value.error_code == "ContainerAlreadyExists" and refused.value.status_code == 409
    found = [c for c in service.list_containers(name_starts_with="made-", include_metadata=True) if c.name == name]
    assert len(found) == 1 and found[0].metadata == {"colour": "blue"} and found[0].lease.state == "available"
    properties = client.get_container_properties()
    assert properties.etag and properties.metadata == {"colour": "blue"}
    client.delete_container()
    with pytest.raises(ResourceNotFoundError) as gone:
        client.get_container_properties()
    assert gone.value.error_code == "ContainerNotFound"
    client.create_container()  # the name is free at once
    client.delete_container()


@pytest.mark.parametrize("size", [0, 1, 4096, 65_536, 65_537, 5_000_003])
def test_a_blob_comes_back_as_it_was_put(container, size):
    data = os.urandom(size)
    blob = container.get_blob_client(f"dir/a b+{size}ä%.bin")
    settings = ContentSettings(content_type="text/x-test", content_language="de", cache_control="no-cache",
                               content_disposition="inline", content_encoding="identity")
    written = blob.upload_blob(data, metadata={"k": "v"}, content_settings=settings, overwrite=True)
    downloaded = blob.download_blob()
    assert downloaded.readall() == data
    properties = blob.get_blob_properties()
    assert properties.etag == written["etag"] and properties.size == size
    assert properties.metadata == {"k": "v"} and properties.blob_type == "BlockBlob"
    assert properties.content_settings.content_type == "text/x-test"
    assert properties.content_settings.content_language == "de"
    assert properties.content_settings.cache_control == "no-cache"
    assert properties.content_settings.content_disposition == "inline"
    assert properties.content_settings.content_encoding == "identity"
    assert bytes(properties.content_settings.content_md5) == hashlib.md5(data).digest()
    assert properties.creation_time <= properties.last_modified
    blob.delete_blob()
    assert not blob.exists()


def test_ranges(container):
    data = bytes(range(256)) * 1000
    blob = container.get_blob_client("ranges")
    blob.upload_blob(data)
    for offset, length in [(0, 1), (65_535, 2), (100, 200_000), (255_999, 1), (255_000, 5_000)]:
        assert blob.download_blob(offset=offset, length=length).readall() == data[offset:offset + length]
    assert blob.download_blob(offset=1000).readall() == data[1000:]
    with pytest.raises(HttpResponseError) as outside:
        blob.download_blob(offset=256_000, length=1).readall()
    assert outside.value.status_code == 416 and outside.value.error_code == "InvalidRange"


def test_range_checksums(container):
    data = os.urandom(100_000)
    blob = container.get_blob_client("checked")
    blob.upload_blob(data, validate_content=True)
    assert blob.download_blob(offset=10, length=50_000, validate_content=True).readall() == data[10:50_010]


def test_etags_change_on_every_write_and_guard_it(container):
    blob = container.get_blob_client("guarded")
    seen = set()
    for number in range(20):
        seen.add(blob.upload_blob(str(number), overwrite=True)["etag"])
    assert len(seen) == 20
    first = blob.upload_blob("first", overwrite=True)["etag"]
    blob.upload_blob("second", overwrite=True, etag=first, match_condition=MatchConditions.IfNotModified)
    with pytest.raises(ResourceModifiedError) as stale:
        blob.upload_blob("third", overwrite=True, etag=first, match_condition=MatchConditions.IfNotModified)
    assert stale.value.status_code == 412 and stale.value.error_code == "ConditionNotMet"
    assert blob.download_blob().readall() == b"second"
    with pytest.raises(ResourceExistsError) as exists:
        blob.upload_blob("fourth", overwrite=False)
    assert exists.value.error_code == "BlobAlreadyExists"
    current = blob.get_blob_properties().etag
    with pytest.raises(HttpResponseError) as unmodified:
        blob.download_blob(etag=current, match_condition=MatchConditions.IfModified)
    assert unmodified.value.status_code == 304


def test_one_of_two_writers_with_the_same_etag_wins(container):
    blob = container.get_blob_client("contested")
    for _ in range(50):
        etag = blob.upload_blob("base", overwrite=True)["etag"]
        outcomes = []

        def write(who):
            try:
                blob.upload_blob(who, overwrite=True, etag=etag, match_condition=MatchConditions.IfNotModified)
                outcomes.append(who)
            except ResourceModifiedError:
                outcomes.append(None)

        writers = [threading.Thread(target=write, args=(who,)) for who in ("one", "two", "three", "four")]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        winners = [who for who in outcomes if who]
        assert len(winners) == 1
        assert blob.download_blob().readall().decode() == winners[0]


def test_listing_pages_prefixes_and_delimiters(container):
    names = [f"{folder}/{number:03}" for folder in ("a", "b", "c") for number in range(20)] + ["z", "ä", "a&<b>"]
    for name in names:
        container.upload_blob(name, name)
    listed = [blob.name for blob in container.list_blobs(results_per_page=7)]
    assert listed == sorted(names, key=lambda name: name.encode())
    assert [b.name for b in container.list_blobs(name_starts_with="b/01")] == [f"b/{n:03}" for n in range(10, 20)]
    walked = [item.name for item in container.walk_blobs(results_per_page=2)]  # prefixes first within a page
    assert sorted(walked, key=lambda name: name.encode()) == ["a&<b>", "a/", "b/", "c/", "z", "ä"]
    sizes = {blob.name: blob.size for blob in container.list_blobs()}
    assert sizes["ä"] == 2


def test_missing_things_are_named(service, container):
    with pytest.raises(ResourceNotFoundError) as blob:
        container.download_blob("absent")
    assert blob.value.error_code == "BlobNotFound"
    with pytest.raises(ResourceNotFoundError) as outer:
        service.get_blob_client("absent-container", "b").upload_blob("x")
    assert outer.value.error_code == "ContainerNotFound"
    with pytest.raises(HttpResponseError) as name:
        service.create_container("Bad_Name")
    assert name.value.status_code == 400 and name.value.error_code == "InvalidResourceName"


def test_a_wrong_key_is_refused(server):
    wrong = base64.b64encode(b"x" * 64).decode()
    text = server.connection_string.replace(server.connection_string.split("AccountKey=")[1].split(";")[0], wrong)
    client = BlobServiceClient.from_connection_string(text, retry_total=0)
    with pytest.raises(ClientAuthenticationError) as refused:
        list(client.list_containers())
    assert refused.value.status_code == 403 and refused.value.error_code == "AuthenticationFailed"
    assert "AuthenticationErrorDetail" in refused.value.response.text()


def test_a_large_put_keeps_memory_small(server, container):
    """2 GiB in one Put Blob by hand (LAZULI_LARGE_GIB=2), a quarter of that in CI."""
    size = int(float(os.environ.get("LAZULI_LARGE_GIB", "0.5")) * 1024**3)

    class Zeros:
        """A body that is never in memory as a whole."""

        def __init__(self):
            self.left = size

        def read(self, count=-1):
            count = self.left if count < 0 else min(count, self.left)
            self.left -= count
            return b"\0" * count

        def tell(self):
            return size - self.left

        def seekable(self):
            return False

        def __len__(self):
            return size

    before = server.resident_mib()
    blob = container.get_blob_client("large")
    blob.upload_blob(Zeros(), length=size)
    assert blob.get_blob_properties().size == size
    assert server.resident_mib() < 100, f"{before} MiB before"
    count = 0
    for piece in blob.download_blob(max_concurrency=1).chunks():
        count += len(piece)
    assert count == size
    assert server.resident_mib() < 100
