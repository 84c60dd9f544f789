"""The asynchronous SDK: the same service through another stack."""

import asyncio
import os
import uuid

from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError, ResourceModifiedError
from azure.storage.blob.aio import BlobServiceClient

from large import Sink, Source

MIB = 1024 * 1024


def run(server, scenario):
    async def whole():
        service = BlobServiceClient.from_connection_string(
            server.connection_string, retry_total=0, max_block_size=MIB, max_single_put_size=MIB,
            max_single_get_size=MIB, max_chunk_get_size=MIB)
        async with service:
            container = await service.create_container(f"aio-{uuid.uuid4()}")
            try:
                await scenario(service, container)
            finally:
                await container.delete_container()

    asyncio.run(whole())


def test_parallel_blocks(server):
    async def scenario(_, container):
        data = os.urandom(9 * MIB + 17)
        blob = await container.upload_blob("blocks", data, max_concurrency=4)
        committed, uncommitted = await blob.get_block_list("all")
        assert (len(committed), uncommitted) == (10, [])
        download = await blob.download_blob(max_concurrency=4)
        assert await download.readall() == data

    run(server, scenario)


def test_a_large_blob_in_parallel_blocks(server):
    size = int(float(os.environ.get("LAZULI_PARALLEL_GIB", "1")) * 1024 * MIB)

    async def scenario(_, container):
        blob = container.get_blob_client("large")
        await blob.upload_blob(Source(size), length=size, max_concurrency=8)
        assert len((await blob.get_block_list("committed"))[0]) == -(-size // MIB)
        sink = Sink()
        assert await (await blob.download_blob(max_concurrency=8)).readinto(sink) == size
        sink.check(size)

    run(server, scenario)


def test_pages_appends_and_snapshots(server):
    async def scenario(_, container):
        page = container.get_blob_client("page")
        await page.create_page_blob(1024)
        await page.upload_page(b"\1" * 512, 512, 512)
        taken = await page.create_snapshot()
        await page.clear_page(512, 512)
        pages, cleared = await page.get_page_ranges(previous_snapshot_diff=taken["snapshot"])
        assert pages == [] and cleared == [{"start": 512, "end": 1023}]
        append = container.get_blob_client("append")
        await append.create_append_blob()
        await asyncio.gather(*[append.append_block(b"x" * 10) for _ in range(20)])
        found = await append.get_blob_properties()
        assert (found.size, found.append_blob_committed_block_count) == (200, 20)
        listed = [(item.name, item.snapshot is not None) async for item in container.list_blobs(include=["snapshots"])]
        assert listed == [("append", False), ("page", True), ("page", False)]
        await page.delete_blob(delete_snapshots="include")

    run(server, scenario)


def test_etags_and_leases(server):
    async def scenario(_, container):
        blob = await container.upload_blob("b", b"first")
        etag = (await blob.get_blob_properties()).etag

        async def write(who):
            try:
                await blob.upload_blob(who, overwrite=True, etag=etag, match_condition=MatchConditions.IfNotModified)
                return who
            except ResourceModifiedError:
                return None

        winners = [who for who in await asyncio.gather(*[write(f"w{n}") for n in range(8)]) if who]
        assert len(winners) == 1
        lease = await blob.acquire_lease(15)
        outcomes = await asyncio.gather(*[blob.acquire_lease(15) for _ in range(4)], return_exceptions=True)
        assert {(e.status_code, e.error_code) for e in outcomes} == {(409, "LeaseAlreadyPresent")}
        try:
            await blob.delete_blob()
            raise AssertionError("deleted without the lease")
        except HttpResponseError as error:
            assert (error.status_code, error.error_code) == (412, "LeaseIdMissing")
        await blob.delete_blob(lease=lease)

    run(server, scenario)


def test_tags_batch_and_hierarchy(server):
    async def scenario(service, container):
        await asyncio.gather(*[container.upload_blob(f"{folder}/{n}", b"x", tags={"aio": folder})
                               for folder in "ab" for n in range(5)])
        walked = [item.name async for item in container.walk_blobs()]
        assert walked == ["a/", "b/"]
        where = f"@container = '{container.container_name}' AND aio = 'b'"
        found = [item.name async for item in service.find_blobs_by_tags(where)]
        assert found == [f"b/{n}" for n in range(5)]
        answers = await container.delete_blobs(*found)
        assert [answer.status_code async for answer in answers] == [202] * 5
        assert [item.name async for item in container.list_blobs(results_per_page=2)] == [f"a/{n}" for n in range(5)]

    run(server, scenario)
