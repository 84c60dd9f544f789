"""What the tests of SMB share: a share, made over REST, and the clients of both protocols on it."""

import shutil
import uuid

import pytest
from azure.storage.fileshare import ShareServiceClient


def pytest_configure(config):
    if shutil.which("smbclient") is None:
        raise pytest.UsageError("smbclient is not installed; cargo xtask test brings it, or: apt-get install smbclient")


@pytest.fixture
def rest(server):
    """The File service over REST."""
    return ShareServiceClient.from_connection_string(server.connection_string)


@pytest.fixture
def share(rest):
    """A new share, over REST."""
    client = rest.get_share_client(f"share{uuid.uuid4().hex[:12]}")
    client.create_share()
    return client
