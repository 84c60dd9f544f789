"""The File service through the asynchronous SDK: the same operations through another stack."""

import asyncio
import datetime
import os
import uuid

import pytest
from azure.core.exceptions import HttpResponseError
from azure.storage.fileshare import (AccessPolicy, FileSasPermissions, NTFSAttributes, ShareSasPermissions,
                                     generate_file_sas, generate_share_sas)
from azure.storage.fileshare.aio import ShareServiceClient

from lazuli import ACCOUNT, KEY
from raw import Client

MIB = 1024 * 1024
EXPIRY = datetime.datetime(2099, 1, 1, tzinfo=datetime.timezone.utc)
SDDL = ("O:S-1-5-21-2127521184-1604012920-1887927527-21560751G:S-1-5-21-2127521184-1604012920-1887927527-513"
        "D:AI(A;;FA;;;SY)(A;;FA;;;BA)(A;;0x1200a9;;;S-1-5-21-397955417-626881126-188441444-3053964)S:NO_ACCESS_CONTROL")


def run(server, scenario):
    """Runs a scenario with the service and a new share."""
    async def whole():
        async with ShareServiceClient.from_connection_string(server.connection_string, retry_total=0) as service:
            share = await service.create_share(f"aio-{uuid.uuid4()}")
            try:
                await scenario(service, share)
            finally:
                await share.delete_share(delete_snapshots=True)

    asyncio.run(whole())


async def names(entries):
    return [entry["name"] async for entry in entries]


async def content(file, **how):
    return await (await file.download_file(**how)).readall()


async def refused(status, code, call):
    with pytest.raises(HttpResponseError) as caught:
        await call
    assert (caught.value.status_code, caught.value.error_code) == (status, code)


def test_aio_shares(server):
    async def scenario(service, share):
        await share.set_share_metadata({"a": "1"})
        await share.set_share_properties(quota=7, access_tier="Cool")
        found = await share.get_share_properties()
        assert (found.metadata, found.quota, found.access_tier) == ({"a": "1"}, 7, "Cool")
        assert await share.get_share_stats() == 0
        assert await names(service.list_shares(name_starts_with=share.share_name)) == [share.share_name]
        await refused(409, "ShareAlreadyExists", share.create_share())
        snapshot = await share.create_snapshot()
        found = [one.snapshot async for one in service.list_shares(share.share_name, include_snapshots=True)]
        assert sorted(found, key=str) == sorted([snapshot["snapshot"], None], key=str)
        await refused(409, "ShareHasSnapshots", share.delete_share())
        lease = await share.acquire_lease(lease_duration=15)
        await refused(412, "LeaseIdMissing", share.delete_share(delete_snapshots=True))
        await lease.renew()
        await lease.change(str(uuid.uuid4()))
        await lease.release()
        properties = await service.get_service_properties()
        await service.set_service_properties(hour_metrics=properties["hour_metrics"])

    run(server, scenario)


def test_aio_a_deleted_share_is_restored(server):
    def keep(enabled):
        policy = f"<Enabled>{enabled}</Enabled>" + ("<Days>1</Days>" if enabled == "true" else "")
        document = ("<StorageServiceProperties><ShareDeleteRetentionPolicy>" + policy
                    + "</ShareDeleteRetentionPolicy></StorageServiceProperties>")
        query = {"restype": "service", "comp": "properties"}
        answer = Client(server.ports["File"]).call("PUT", "/", query, body=document)
        assert answer.status == 202, answer.text

    async def scenario(service, _):
        share = await service.create_share(f"kept-{uuid.uuid4()}")
        await share.get_file_client("f").upload_file(b"kept")
        await share.delete_share()
        found = [one async for one in service.list_shares(share.share_name, include_deleted=True)]
        assert [(one.name, one.deleted, one.remaining_retention_days) for one in found] == [(share.share_name, True, 1)]
        await refused(404, "ShareNotFound", share.get_share_properties())
        restored = await service.undelete_share(share.share_name, found[0].version)
        assert await content(restored.get_file_client("f")) == b"kept"

    keep("true")
    run(server, scenario)
    keep("false")


def test_aio_directories(server):
    async def scenario(_, share):
        directory = await share.create_directory("one", metadata={"a": "1"})
        inner = await directory.create_subdirectory("two")
        await inner.upload_file("file", b"text")
        await directory.set_directory_metadata({"b": "2"})
        await directory.set_http_headers(file_attributes=NTFSAttributes(hidden=True))
        found = await directory.get_directory_properties()
        assert (found.metadata, found.file_attributes) == ({"b": "2"}, "Hidden | Directory")
        assert await names(directory.list_directories_and_files(include=["timestamps", "Etag"])) == ["two"]
        await refused(409, "DirectoryNotEmpty", directory.delete_directory())
        moved = await inner.rename_directory("three")
        assert await content(moved.get_file_client("file")) == b"text"
        assert [one async for one in directory.list_handles(recursive=True)] == []
        closed = await directory.close_all_handles(recursive=True)
        assert (closed["closed_handles_count"], closed["failed_handles_count"]) == (0, 0)
        await moved.delete_file("file")
        await moved.delete_directory()
        await refused(404, "ParentNotFound", share.get_directory_client("none/below").get_directory_properties())

    run(server, scenario)


def test_aio_files(server):
    async def scenario(service, share):
        data = os.urandom(9 * MIB + 17)
        file = share.get_file_client("big")
        await file.upload_file(data, max_concurrency=4, validate_content=True, metadata={"a": "1"})
        assert await content(file, max_concurrency=4, validate_content=True) == data
        assert await content(file, offset=1000, length=50) == data[1000:1050]
        snapshot = await share.create_snapshot()
        await file.upload_range(b"x" * 512, offset=512, length=512)
        await file.clear_range(offset=1024, length=512)
        then = service.get_share_client(share.share_name, snapshot=snapshot).get_file_client("big")
        assert await content(then) == data
        changed, cleared = await file.get_ranges_diff(previous_sharesnapshot=snapshot)
        assert (changed, cleared) == ([{"start": 512, "end": 1023}], [{"start": 1024, "end": 1535}])
        await file.resize_file(2048)
        assert [(one.start, one.end) async for one in file.list_ranges()] == [(0, 1023), (1536, 2047)]
        await file.set_file_metadata({"b": "2"})
        await refused(416, "InvalidRange", file.download_file(offset=4096, length=1))
        target = share.get_file_client("target")
        await target.create_file(10)
        token = generate_file_sas(ACCOUNT, share.share_name, ["big"], KEY, FileSasPermissions(read=True), EXPIRY)
        await target.upload_range_from_url(f"{file.url}?{token}", offset=2, length=4, source_offset=1536)
        assert await content(target) == bytes(2) + data[1536:1540] + bytes(4)
        lease = await target.acquire_lease()
        await refused(412, "LeaseIdMissing", target.delete_file())
        await lease.break_lease()
        renamed = await target.rename_file("renamed", metadata={"c": "3"})
        assert (await renamed.get_file_properties()).metadata == {"c": "3"}
        assert (await target.exists(), await renamed.exists()) == (False, True)
        key = await share.create_permission_for_share(SDDL)
        assert await share.get_permission_for_share(key) == SDDL
        made = share.get_file_client("described")
        await made.create_file(1, file_permission=SDDL, file_attributes="ReadOnly")
        assert (await made.get_file_properties()).permission_key == key
        await refused(409, "ReadOnlyAttribute", made.upload_range(b"x", offset=0, length=1))

    run(server, scenario)


def test_aio_signatures_and_policies(server):
    async def scenario(_, share):
        await share.get_file_client("f").upload_file(b"hello")
        policy = AccessPolicy(permission=ShareSasPermissions(read=True), expiry=EXPIRY)
        await share.set_share_access_policy({"r": policy})
        found = (await share.get_share_access_policy())["signed_identifiers"]
        assert [(one.id, one.access_policy.permission) for one in found] == [("r", "r")]
        token = generate_share_sas(ACCOUNT, share.share_name, KEY, policy_id="r")
        async with ShareServiceClient(server.url("File"), credential=token, retry_total=0) as signed:
            file = signed.get_share_client(share.share_name).get_file_client("f")
            assert await content(file) == b"hello"
            await refused(403, "AuthorizationPermissionMismatch", file.delete_file())
            await share.set_share_access_policy({})
            await refused(403, "AuthenticationFailed", file.get_file_properties())

    run(server, scenario)
