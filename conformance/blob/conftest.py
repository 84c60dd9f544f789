"""Fixtures of the Blob service."""

import uuid

import pytest
from azure.storage.blob import BlobServiceClient

from raw import Client


@pytest.fixture(scope="module")
def service(server):
    return BlobServiceClient.from_connection_string(server.connection_string, retry_total=0)


@pytest.fixture()
def container(service):
    client = service.create_container(f"c-{uuid.uuid4()}")
    yield client
    client.delete_container()


@pytest.fixture()
def raw(server):
    return Client(server.port)
