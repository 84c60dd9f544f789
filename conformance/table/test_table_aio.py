"""The asynchronous SDK: the same service, many requests at once."""

import asyncio
import uuid

import pytest
from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError
from azure.data.tables import TableTransactionError, UpdateMode
from azure.data.tables.aio import TableServiceClient
from table_raw import code_of


def test_the_whole_way(server):
    async def way():
        async with TableServiceClient.from_connection_string(server.connection_string, retry_total=0) as service:
            name = f"Aio{uuid.uuid4().hex}"
            table = await service.create_table(name)
            with pytest.raises(ResourceExistsError):
                await service.create_table(name)
            await asyncio.gather(*(table.create_entity({"PartitionKey": "p", "RowKey": f"{number:03}", "n": number})
                                   for number in range(200)))
            found = [entity["n"] async for entity in table.query_entities("n ge 100", results_per_page=30)]
            assert found == list(range(100, 200))
            await table.update_entity({"PartitionKey": "p", "RowKey": "007", "m": 1}, mode=UpdateMode.MERGE)
            assert dict(await table.get_entity("p", "007")) == {"PartitionKey": "p", "RowKey": "007", "n": 7, "m": 1}
            await table.delete_entity("p", "007")
            with pytest.raises(ResourceNotFoundError):
                await table.get_entity("p", "007")
            changes = [("upsert", {"PartitionKey": "q", "RowKey": f"{number}"}) for number in range(100)]
            assert len(await table.submit_transaction(changes)) == 100
            with pytest.raises(TableTransactionError) as refused:
                await table.submit_transaction([("create", {"PartitionKey": "q", "RowKey": "5"})])
            assert code_of(refused.value) == "EntityAlreadyExists" and refused.value.index == 0
            assert name in [listed.name async for listed in service.list_tables()]
            await table.delete_table()
    asyncio.run(way())
