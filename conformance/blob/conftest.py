"""Fixtures of the Blob service."""

import uuid

import pytest
from azure.storage.blob import BlobServiceClient

from raw import Client


@pytest.fixture(scope="module")
def client_options():
    """Of the SDK's client; a module may have others."""
    return {}


@pytest.fixture(scope="module")
def service(server, client_options):
    return BlobServiceClient.from_connection_string(server.connection_string, retry_total=0, **client_options)


@pytest.fixture()
def container(service):
    client = service.create_container(f"c-{uuid.uuid4()}")
    yield client
    client.delete_container()


@pytest.fixture()
def raw(server):
    return Client(server.port)
