"""What the tests of SMB share: a share, made over REST, and the clients of both protocols on it."""

import shutil
import uuid

import pytest
from azure.storage.fileshare import ShareServiceClient


@pytest.fixture(scope="session", autouse=True)
def samba():
    """Without Samba's clients nothing here is shown, and that is no reason to say nothing."""
    for program, package in (("smbclient", "smbclient"), ("smbtorture", "samba-testsuite")):
        if shutil.which(program) is None:
            pytest.fail(f"{program} is not installed; cargo xtask test brings it, or: apt-get install {package}", pytrace=False)


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
