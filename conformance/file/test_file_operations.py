"""The File service through the official Python SDK: shares, directories, files, end to end."""

import asyncio
import datetime
import inspect
import uuid

import pytest
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.storage.fileshare import (AccessPolicy, AccountSasPermissions, ContentSettings, FileSasPermissions,
                                     NTFSAttributes, ResourceTypes, ShareSasPermissions, ShareServiceClient, generate_account_sas,
                                     generate_file_sas, generate_share_sas)
from azure.storage.fileshare.aio import ShareServiceClient as AsyncShareServiceClient

from lazuli import ACCOUNT, KEY

EXPIRY = datetime.datetime(2099, 1, 1, tzinfo=datetime.timezone.utc)


@pytest.fixture
def service(server):
    return ShareServiceClient.from_connection_string(server.connection_string)


@pytest.fixture
def share(service):
    client = service.get_share_client(f"share{uuid.uuid4().hex[:12]}")
    client.create_share()
    return client


def code(caught):
    return caught.value.status_code, caught.value.error_code


def test_a_share_from_beginning_to_end(service):
    name = f"share{uuid.uuid4().hex[:12]}"
    share = service.create_share(name, metadata={"a": "1"}, quota=5, access_tier="Hot")
    properties = share.get_share_properties()
    assert (properties.quota, properties.metadata, properties.access_tier) == (5, {"a": "1"}, "Hot")
    with pytest.raises(ResourceExistsError) as caught:
        share.create_share()
    assert code(caught) == (409, "ShareAlreadyExists")
    share.set_share_quota(7)
    share.set_share_metadata({"b": "2"})
    properties = share.get_share_properties()
    assert (properties.quota, properties.metadata) == (7, {"b": "2"})
    assert share.get_share_stats() == 0
    listed = {found.name: found for found in service.list_shares(name_starts_with=name, include_metadata=True)}
    assert listed[name].metadata == {"b": "2"}
    snapshot = share.create_snapshot()
    found = [found.snapshot for found in service.list_shares(name_starts_with=name, include_snapshots=True)]
    assert sorted(found, key=str) == sorted([snapshot["snapshot"], None], key=str)
    with pytest.raises(HttpResponseError) as caught:
        share.delete_share()
    assert code(caught) == (409, "ShareHasSnapshots")
    share.delete_share(delete_snapshots=True)
    with pytest.raises(ResourceNotFoundError) as caught:
        share.get_share_properties()
    assert code(caught) == (404, "ShareNotFound")


def test_a_leased_share_is_deleted_with_the_lease_only(share):
    lease = share.acquire_lease(lease_duration=15)
    with pytest.raises(HttpResponseError) as caught:
        share.delete_share()
    assert code(caught) == (412, "LeaseIdMissing")
    lease.renew()
    share.delete_share(lease=lease)


def test_stored_policies_of_a_share(share, server):
    policy = AccessPolicy(permission=ShareSasPermissions(read=True, write=True), expiry=EXPIRY)
    share.set_share_access_policy({"rw": policy})
    found = share.get_share_access_policy()["signed_identifiers"]
    assert [(one.id, one.access_policy.permission) for one in found] == [("rw", "rw")]
    share.get_file_client("f").upload_file(b"hello")
    token = generate_share_sas(ACCOUNT, share.share_name, KEY, policy_id="rw")
    signed = ShareServiceClient(server.url("File"), credential=token).get_share_client(share.share_name)
    assert signed.get_file_client("f").download_file().readall() == b"hello"
    share.set_share_access_policy({})
    with pytest.raises(HttpResponseError) as caught:
        signed.get_file_client("f").download_file()
    assert caught.value.status_code == 403


def test_directories(share):
    directory = share.create_directory("one", metadata={"a": "1"})
    inner = directory.create_subdirectory("two")
    inner.upload_file("file.txt", b"text")
    assert directory.get_directory_properties().metadata == {"a": "1"}
    directory.set_directory_metadata({"b": "2"})
    directory.set_http_headers(file_attributes=NTFSAttributes(hidden=True))
    properties = directory.get_directory_properties()
    assert (properties.metadata, properties.file_attributes) == ({"b": "2"}, "Hidden | Directory")
    listed = list(directory.list_directories_and_files(include=["timestamps", "Etag", "Attributes", "PermissionKey"]))
    assert [(entry.name, entry.is_directory) for entry in listed] == [("two", True)]
    assert listed[0].etag and listed[0].creation_time and listed[0].permission_key
    with pytest.raises(HttpResponseError) as caught:
        directory.delete_directory()
    assert code(caught) == (409, "DirectoryNotEmpty")
    moved = inner.rename_directory("three", metadata={"c": "3"})
    assert moved.get_file_client("file.txt").download_file().readall() == b"text"
    assert moved.get_directory_properties().metadata == {"c": "3"}
    moved.delete_file("file.txt")
    moved.delete_directory()
    with pytest.raises(ResourceNotFoundError) as caught:
        share.get_directory_client("none/below").get_directory_properties()
    assert code(caught) == (404, "ParentNotFound")


def test_a_listing_has_all_pages_and_a_prefix(share):
    root = share.get_directory_client()
    for number in range(7):
        root.upload_file(f"File{number}", b"")
    root.create_subdirectory("other")
    pages = [[entry["name"] for entry in page] for page in
             root.list_directories_and_files(results_per_page=3).by_page()]
    assert [len(page) for page in pages] == [3, 3, 2]
    found = [entry["name"] for entry in root.list_directories_and_files(name_starts_with="file")]
    assert found == [f"File{number}" for number in range(7)]


def test_a_file_from_beginning_to_end(share):
    content = bytes(range(256)) * 40_000  # 10 MB: three ranges
    file = share.get_file_client("big.bin")
    file.upload_file(content, max_concurrency=3, validate_content=True, metadata={"a": "1"})
    properties = file.get_file_properties()
    assert (properties.size, properties.metadata, properties.file_attributes) == (len(content), {"a": "1"}, "Archive")
    assert file.download_file(max_concurrency=3, validate_content=True).readall() == content
    assert file.download_file(offset=1000, length=50).readall() == content[1000:1050]
    assert share.get_share_stats() == len(content)
    file.upload_range(b"x" * 512, offset=512, length=512)
    file.clear_range(offset=1024, length=512)
    assert file.download_file(offset=512, length=1024).readall() == b"x" * 512 + bytes(512)
    file.resize_file(2048)
    ranges = [(found.start, found.end) for found in file.list_ranges()]
    assert ranges == [(0, 1023), (1536, 2047)]
    file.set_file_metadata({"b": "2"})
    file.set_http_headers(content_settings=ContentSettings(), file_attributes="ReadOnly")
    with pytest.raises(HttpResponseError) as caught:
        file.upload_range(b"x", offset=0, length=1)
    assert code(caught) == (409, "ReadOnlyAttribute")
    file.set_http_headers(content_settings=ContentSettings(), file_attributes="None")
    renamed = file.rename_file("small.bin")
    assert renamed.get_file_properties().size == 2048
    assert not file.exists() and renamed.exists()
    renamed.delete_file()
    with pytest.raises(ResourceNotFoundError) as caught:
        renamed.download_file()
    assert code(caught) == (404, "ResourceNotFound")


def test_a_leased_file(share):
    file = share.get_file_client("f")
    file.upload_file(b"abc")
    lease = file.acquire_lease()
    with pytest.raises(HttpResponseError) as caught:
        file.delete_file()
    assert code(caught) == (412, "LeaseIdMissing")
    file.upload_range(b"x", offset=0, length=1, lease=lease)
    lease.change(str(uuid.uuid4()))
    lease.break_lease()
    file.delete_file()


def test_a_snapshot_keeps_what_was_there(share, service):
    file = share.get_file_client("f")
    file.upload_file(b"0123456789")
    snapshot = share.create_snapshot()
    file.upload_range(b"ab", offset=4, length=2)
    then = service.get_share_client(share.share_name, snapshot=snapshot).get_file_client("f")
    assert then.download_file().readall() == b"0123456789"
    changed, cleared = file.get_ranges_diff(previous_sharesnapshot=snapshot)
    assert (changed, cleared) == ([{"start": 4, "end": 5}], [])
    with pytest.raises(HttpResponseError) as caught:
        then.upload_range(b"x", offset=0, length=1)
    assert caught.value.status_code == 400


def test_names_keep_their_case_and_their_dots(service, server, share):
    share.create_directory("Mixed").upload_file("Ünïcode name.TXT", b"1")
    found = share.get_file_client("MIXED/ünïcode NAME.txt")
    assert found.download_file().readall() == b"1"
    assert [entry.name for entry in share.list_directories_and_files("mixed")] == ["Ünïcode name.TXT"]
    dotted = ShareServiceClient.from_connection_string(server.connection_string, allow_trailing_dot=True)
    dotted.get_share_client(share.share_name).create_directory("dots..")
    share.create_directory("dots..")
    names = [entry.name for entry in share.list_directories_and_files(name_starts_with="dots")]
    assert names == ["dots", "dots.."]


def test_permissions_by_text_and_key(share):
    sddl = ("O:S-1-5-21-2127521184-1604012920-1887927527-21560751G:S-1-5-21-2127521184-1604012920-1887927527-513"
            "D:AI(A;;FA;;;SY)(A;;FA;;;BA)(A;;0x1200a9;;;S-1-5-21-397955417-626881126-188441444-3053964)S:NO_ACCESS_CONTROL")
    key = share.create_permission_for_share(sddl)
    assert share.get_permission_for_share(key) == sddl
    file = share.get_file_client("f")
    file.create_file(1, file_permission=sddl)
    assert file.get_file_properties().permission_key == key
    directory = share.create_directory("d", file_permission_key=key)
    assert directory.get_directory_properties().permission_key == key


def test_signatures_of_a_file_and_of_the_account(share, server):
    share.get_file_client("f").upload_file(b"hello")
    token = generate_file_sas(ACCOUNT, share.share_name, ["f"], KEY, FileSasPermissions(read=True), EXPIRY)
    file = ShareServiceClient(server.url("File"), credential=token).get_share_client(share.share_name)
    assert file.get_file_client("f").download_file().readall() == b"hello"
    for refused in (lambda: file.get_file_client("f").delete_file(), lambda: file.get_file_client("g").exists()):
        with pytest.raises(HttpResponseError) as caught:
            refused()
        assert caught.value.status_code == 403
    token = generate_account_sas(ACCOUNT, KEY, ResourceTypes(service=True, container=True, object=True),
                                 AccountSasPermissions(read=True, list=True), EXPIRY)
    service = ShareServiceClient(server.url("File"), credential=token)
    assert share.share_name in [found.name for found in service.list_shares()]
    assert service.get_share_client(share.share_name).get_file_client("f").download_file().readall() == b"hello"


def test_handles_and_service_properties(service, share):
    share.create_directory("d")
    assert list(share.get_directory_client("d").list_handles(recursive=True)) == []
    closed = share.get_directory_client("d").close_all_handles()
    assert (closed["closed_handles_count"], closed["failed_handles_count"]) == (0, 0)
    properties = service.get_service_properties()
    assert properties["cors"] == []


def test_the_asynchronous_client(server):
    async def run():
        async with AsyncShareServiceClient.from_connection_string(server.connection_string) as service:
            share = service.get_share_client(f"share{uuid.uuid4().hex[:12]}")
            await share.create_share()
            directory = await share.create_directory("d")
            file = await directory.upload_file("f", b"hello" * 1000)
            download = await file.download_file()
            assert await download.readall() == b"hello" * 1000
            assert [entry.name async for entry in directory.list_directories_and_files()] == ["f"]
            await share.delete_share()
    assert not inspect.isawaitable(asyncio.run(run()))
