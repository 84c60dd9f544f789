"""Fixtures of the Table service."""

import pathlib
import sys
import uuid

import pytest
from azure.data.tables import TableServiceClient

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from table_raw import Raw


@pytest.fixture(scope="module")
def service(server):
    return TableServiceClient.from_connection_string(server.connection_string, retry_total=0)


@pytest.fixture()
def table(service):
    client = service.create_table(f"T{uuid.uuid4().hex}")
    yield client
    client.delete_table()


@pytest.fixture(scope="module")
def raw(server):
    return Raw(server)
