"""The Blob service through the last Python client of the first generation, `azure-storage-blob` 2.1.0."""

import datetime
import itertools
import os

import pytest
from azure.common import AzureConflictHttpError, AzureException, AzureHttpError, AzureMissingResourceHttpError
from azure.storage.blob import (
    AppendBlobService, BlobPermissions, BlockBlobService, ContainerPermissions, ContentSettings, Include,
    PageBlobService, PublicAccess,
)
from azure.storage.common import AccessPolicy

from lazuli import ACCOUNT, KEY

MIB = 1024 * 1024
NUMBERS = itertools.count()


def connected(kind, server, **options):
    client = kind(connection_string=server.connection_string, **options)
    client.retry = lambda context: None
    return client


@pytest.fixture(scope="module")
def blocks(server):
    return connected(BlockBlobService, server)


@pytest.fixture()
def container(blocks):
    name = f"container-{next(NUMBERS)}"
    assert blocks.create_container(name, metadata={"team": "blue"})
    yield name
    assert blocks.delete_container(name)


def later():
    return datetime.datetime.utcnow() + datetime.timedelta(hours=1)


def refused(status, code, call, *arguments, **options):
    with pytest.raises(AzureHttpError) as caught:
        call(*arguments, **options)
    assert (caught.value.status_code, caught.value.error_code) == (status, code)


def test_a_container(blocks, container):
    assert blocks.get_container_metadata(container) == {"team": "blue"}
    assert container in [found.name for found in blocks.list_containers()]
    assert not blocks.create_container(container)
    with pytest.raises(AzureConflictHttpError):
        blocks.create_container(container, fail_on_exist=True)
    assert blocks.exists(container) and not blocks.exists("none")


def test_texts_bytes_and_parts(blocks, container):
    blocks.create_blob_from_text(container, "dir/a b", "wörld", content_settings=ContentSettings("text/plain"),
                                 metadata={"k": "v"})
    found = blocks.get_blob_to_text(container, "dir/a b")
    assert (found.content, found.metadata, found.properties.content_settings.content_type) == (
        "wörld", {"k": "v"}, "text/plain")
    assert blocks.get_blob_to_bytes(container, "dir/a b", start_range=1, end_range=2).content == "ö".encode()
    data = os.urandom(9 * MIB)
    blocks.MAX_SINGLE_PUT_SIZE, blocks.MAX_BLOCK_SIZE = MIB, MIB
    blocks.create_blob_from_bytes(container, "large", data, max_connections=4, validate_content=True)
    assert len(blocks.get_block_list(container, "large").committed_blocks) == 9
    assert blocks.get_blob_to_bytes(container, "large", max_connections=4, validate_content=True).content == data
    with pytest.raises(AzureMissingResourceHttpError):
        blocks.get_blob_to_bytes(container, "none")


def test_listing(blocks, container):
    names = ["a/1", "a/2", "b & <c>", "d"]
    for name in names:
        blocks.create_blob_from_text(container, name, name)
    assert [found.name for found in blocks.list_blobs(container, num_results=3)] == names[:3]
    assert [found.name for found in blocks.list_blobs(container)] == names
    assert [found.name for found in blocks.list_blobs(container, delimiter="/")] == ["a/", "b & <c>", "d"]


def test_an_etag_and_a_lease_guard_a_blob(blocks, container):
    etag = blocks.create_blob_from_text(container, "b", "0").etag
    blocks.create_blob_from_text(container, "b", "1", if_match=etag)
    refused(412, "ConditionNotMet", blocks.create_blob_from_text, container, "b", "2", if_match=etag)
    lease = blocks.acquire_blob_lease(container, "b", 15)
    refused(409, "LeaseAlreadyPresent", blocks.acquire_blob_lease, container, "b", 15)
    refused(412, "LeaseIdMissing", blocks.create_blob_from_text, container, "b", "2")
    blocks.create_blob_from_text(container, "b", "3", lease_id=lease)
    blocks.renew_blob_lease(container, "b", lease)
    blocks.release_blob_lease(container, "b", lease)
    blocks.acquire_blob_lease(container, "b", -1)
    assert blocks.break_blob_lease(container, "b", 0) == 0
    blocks.delete_blob(container, "b")


def test_snapshots_and_copies(blocks, container):
    blocks.create_blob_from_text(container, "b", "old")
    snapshot = blocks.snapshot_blob(container, "b").snapshot
    blocks.create_blob_from_text(container, "b", "new")
    assert blocks.get_blob_to_text(container, "b", snapshot=snapshot).content == "old"
    listed = [found.snapshot for found in blocks.list_blobs(container, include=Include.SNAPSHOTS)]
    assert listed == [snapshot, None]
    copy = blocks.copy_blob(container, "copy", blocks.make_blob_url(container, "b", snapshot=snapshot))
    assert copy.status == "success"
    assert blocks.get_blob_to_text(container, "copy").content == "old"
    refused(409, "SnapshotsPresent", blocks.delete_blob, container, "b")


def test_signatures_policies_and_public_access(server, blocks, container):
    blocks.create_blob_from_text(container, "b", "content")

    def opened(sas):
        client = BlockBlobService(ACCOUNT, sas_token=sas, custom_domain=f"127.0.0.1:{server.port}/{ACCOUNT}",
                                  protocol="http")
        client.retry = lambda context: None
        return client

    one = opened(blocks.generate_blob_shared_access_signature(
        container, "b", permission=BlobPermissions.READ, expiry=later()))
    assert one.get_blob_to_text(container, "b").content == "content"
    refused(403, "AuthorizationPermissionMismatch", one.create_blob_from_text, container, "b", "x")
    whole = opened(blocks.generate_container_shared_access_signature(
        container, ContainerPermissions.READ + ContainerPermissions.LIST, later()))
    assert [found.name for found in whole.list_blobs(container)] == ["b"]
    blocks.set_container_acl(container, {"readers": AccessPolicy(ContainerPermissions.READ, later())})
    stored = opened(blocks.generate_container_shared_access_signature(container, id="readers"))
    assert stored.get_blob_to_text(container, "b").content == "content"
    blocks.set_container_acl(container, public_access=PublicAccess.Container)
    refused(403, "AuthenticationFailed", stored.get_blob_to_text, container, "b")
    assert [found.name for found in opened("").list_blobs(container)] == ["b"]


def test_page_blobs(server, container):
    pages = connected(PageBlobService, server)
    pages.create_blob(container, "disk", 4096, sequence_number=7)
    pages.update_page(container, "disk", b"p" * 512, 512, 1023)
    assert [(found.start, found.end) for found in pages.get_page_ranges(container, "disk")] == [(512, 1023)]
    pages.clear_page(container, "disk", 512, 1023)
    pages.resize_blob(container, "disk", 8192)
    assert pages.get_blob_to_bytes(container, "disk").content == bytes(8192)


def test_append_blobs(server, container):
    appends = connected(AppendBlobService, server)
    appends.create_blob(container, "log")
    assert appends.append_block(container, "log", b"one,").append_offset == 0
    appends.append_blob_from_text(container, "log", "two")
    refused(412, "AppendPositionConditionNotMet", appends.append_block, container, "log", b"x", appendpos_condition=0)
    assert appends.get_blob_to_text(container, "log").content == "one,two"


def test_a_wrong_key(server):
    wrong = BlockBlobService(connection_string=server.connection_string.replace(KEY, "AAAA"))
    wrong.retry = lambda context: None
    refused(403, "AuthenticationFailed", wrong.create_container, "never", fail_on_exist=True)


def test_properties_of_the_service(blocks):
    blocks.set_blob_service_properties(target_version="2018-03-28")
    assert blocks.get_blob_service_properties().target_version == "2018-03-28"
    with pytest.raises(AzureException):
        blocks.set_blob_service_properties(target_version="never")
