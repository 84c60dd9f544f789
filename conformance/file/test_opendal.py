"""`opendal` with its azfile service: a client that knows shares only by REST."""

import os
import uuid

import opendal
import pytest
from azure.storage.fileshare import ShareServiceClient

from lazuli import ACCOUNT, KEY

MIB = 1024 * 1024


@pytest.fixture
def share(server):
    service = ShareServiceClient.from_connection_string(server.connection_string)
    return service.create_share(f"opendal-{uuid.uuid4()}")


@pytest.fixture
def operator(server, share):
    return opendal.Operator("azfile", endpoint=server.url("File"), share_name=share.share_name, account_name=ACCOUNT,
                            account_key=KEY, root="/below")


def test_opendal_writes_reads_lists_and_deletes(operator, share):
    large = os.urandom(4 * MIB - 3)  # one Put Range: the client does not split what is larger
    # No empty one: for it the client sends Put Range without a range, which is refused as documented.
    files = {"a.txt": b"a", "dir/b & c.txt": b"b", "dir/deep/ü %20+.bin": os.urandom(1000),
             "large.bin": large}
    for name, data in files.items():
        operator.write(name, data)
    for name, data in files.items():
        assert operator.read(name) == data, name
        found = operator.stat(name)
        assert (found.content_length, str(found.mode)) == (len(data), "EntryMode.File"), name
    assert share.get_file_client("below/dir/b & c.txt").download_file().readall() == b"b"
    with operator.open("large.bin", "rb") as file:
        file.seek(3 * MIB)
        assert file.read(100) == large[3 * MIB:3 * MIB + 100]
    listed = {entry.path for entry in operator.list("dir/")}
    assert {"dir/b & c.txt", "dir/deep/"} <= listed
    assert {entry.path for entry in operator.scan("/") if not entry.path.endswith("/")} == set(files)
    operator.create_dir("made/inside/")
    assert str(operator.stat("made/inside/").mode) == "EntryMode.Dir"

    operator.rename("a.txt", "dir/renamed")
    assert operator.read("dir/renamed") == b"a" and not operator.exists("a.txt")
    operator.write("dir/renamed", b"another")
    assert operator.read("dir/renamed") == b"another"
    operator.delete("dir/renamed")
    operator.delete("never was")
    assert not operator.exists("dir/renamed")
    with pytest.raises(opendal.exceptions.NotFound):
        operator.read("dir/renamed")


def test_opendal_is_refused_with_a_wrong_key(server, share):
    wrong = opendal.Operator("azfile", endpoint=server.url("File"), share_name=share.share_name, account_name=ACCOUNT,
                             account_key="d3Jvbmc=", root="/")
    with pytest.raises(opendal.exceptions.PermissionDenied):
        wrong.read("a.txt")
