"""Clients of SMB in Python, each by other people: smbprotocol, impacket and pysmb read, write, append, collide and delete."""

import io
import os

import pytest
from azure.core.exceptions import HttpResponseError
from impacket.smb3structs import (FILE_ATTRIBUTE_NORMAL, FILE_DELETE_ON_CLOSE, FILE_NON_DIRECTORY_FILE, FILE_OPEN,
                                  FILE_OVERWRITE_IF, FILE_READ_DATA, FILE_SHARE_READ, FILE_WRITE_DATA)
from impacket.smbconnection import SessionError
from lazuli import ACCOUNT, KEY
from smb.smb_structs import OperationFailure
from smb.SMBConnection import SMBConnection as Pysmb
from smb_clients import impacket, smbprotocol
from smbprotocol.exceptions import DeletePending, SharingViolation
from smbprotocol.open import (CreateDisposition, CreateOptions, FileAttributes, FilePipePrinterAccessMask,
                              ImpersonationLevel, Open, ShareAccess)

CONTENT = os.urandom(3_000_001)
SHARING_VIOLATION = 0xC0000043
READS = FilePipePrinterAccessMask.GENERIC_READ
WRITES = FilePipePrinterAccessMask.GENERIC_WRITE
DELETES = FilePipePrinterAccessMask.DELETE


def exists(share, path):
    return share.get_file_client(path).exists()


def read(share, path):
    return share.get_file_client(path).download_file().readall()


def opened(tree, path, access, sharing=0, disposition=CreateDisposition.FILE_OPEN_IF, options=0):
    handle = Open(tree, path)
    handle.create(ImpersonationLevel.Impersonation, access, FileAttributes.FILE_ATTRIBUTE_NORMAL, sharing, disposition,
                  options | CreateOptions.FILE_NON_DIRECTORY_FILE)
    return handle


def write_all(handle, content):
    for offset in range(0, len(content), 1 << 20):
        handle.write(content[offset:offset + (1 << 20)], offset)


@pytest.mark.parametrize("encrypted", [False, True], ids=["signed", "encrypted"])
def test_smbprotocol_reads_writes_and_appends(server, share, encrypted):
    with smbprotocol(server, share.share_name, encrypted) as tree:
        handle = opened(tree, "a.bin", READS | WRITES)
        write_all(handle, CONTENT)
        handle.flush()
        assert handle.read(2_000_000, 1000) == CONTENT[2_000_000:2_001_000]
        handle.close()
        handle = opened(tree, "a.bin", FilePipePrinterAccessMask.FILE_APPEND_DATA | READS)
        handle.write(b"appended", len(CONTENT))
        handle.close()
    assert read(share, "a.bin") == CONTENT + b"appended"


@pytest.mark.parametrize("encrypted", [False, True], ids=["signed", "encrypted"])
def test_smbprotocol_share_modes(server, share, encrypted):
    with smbprotocol(server, share.share_name, encrypted) as tree, smbprotocol(server, share.share_name) as other:
        first = opened(tree, "a.txt", READS | WRITES, ShareAccess.FILE_SHARE_READ)
        for access, sharing in [(WRITES, 7), (READS, ShareAccess.FILE_SHARE_READ), (READS | DELETES, 7)]:
            with pytest.raises(SharingViolation):
                opened(other, "a.txt", access, sharing)
        opened(other, "a.txt", READS, 7).close()
        first.close()
        opened(other, "a.txt", WRITES, 0).close()


def test_smbprotocol_delete_on_close(server, share):
    with smbprotocol(server, share.share_name) as tree, smbprotocol(server, share.share_name) as other:
        first = opened(tree, "a.txt", READS | DELETES, 7, options=CreateOptions.FILE_DELETE_ON_CLOSE)
        second = opened(other, "a.txt", READS, 7)
        first.close()
        # Gone for everybody new, there for who has it open.
        with pytest.raises(DeletePending):
            opened(other, "a.txt", READS, 7)
        second.close()
        assert not exists(share, "a.txt")


def test_impacket_reads_writes_and_appends(server, share):
    with impacket(server) as client:
        client.putFile(share.share_name, "a.bin", io.BytesIO(CONTENT).read)
        down = io.BytesIO()
        client.getFile(share.share_name, "a.bin", down.write)
        assert down.getvalue() == CONTENT
        tree = client.connectTree(share.share_name)
        handle = client.openFile(tree, "a.bin", desiredAccess=FILE_WRITE_DATA | FILE_READ_DATA)
        client.writeFile(tree, handle, b"appended", len(CONTENT))
        assert client.readFile(tree, handle, len(CONTENT), 8) == b"appended"
        client.closeFile(tree, handle)
        assert [entry.get_longname() for entry in client.listPath(share.share_name, "*")] == [".", "..", "a.bin"]
        client.createDirectory(share.share_name, "below")
        client.rename(share.share_name, "a.bin", "below\\b.bin")
        assert read(share, "below/b.bin") == CONTENT + b"appended"
        client.deleteFile(share.share_name, "below\\b.bin")
        client.deleteDirectory(share.share_name, "below")
    assert list(share.list_directories_and_files()) == []


def test_impacket_share_modes_and_delete_on_close(server, share):
    with impacket(server) as client, impacket(server) as other:
        tree, others = client.connectTree(share.share_name), other.connectTree(share.share_name)
        handle = client.createFile(tree, "a.txt", FILE_READ_DATA | FILE_WRITE_DATA | 1 << 16, 0,
                                   FILE_NON_DIRECTORY_FILE | FILE_DELETE_ON_CLOSE, FILE_OVERWRITE_IF, FILE_ATTRIBUTE_NORMAL)
        with pytest.raises(SessionError) as caught:
            other.openFile(others, "a.txt", FILE_READ_DATA, FILE_SHARE_READ, creationDisposition=FILE_OPEN)
        assert caught.value.getErrorCode() == SHARING_VIOLATION
        # It is going to be deleted: for REST that is so from the open on.
        with pytest.raises(HttpResponseError) as caught:
            share.get_file_client("a.txt").get_file_properties()
        assert caught.value.status_code == 409
        client.closeFile(tree, handle)
    assert not exists(share, "a.txt")


def test_impacket_lists_shares(server, share):
    with impacket(server) as client:
        names = [entry["shi1_netname"].rstrip("\0") for entry in client.listShares()]
    assert share.share_name in names and "IPC$" in names


@pytest.fixture
def pysmb(server):
    client = Pysmb(ACCOUNT, KEY, "client", "127.0.0.1", use_ntlm_v2=True, is_direct_tcp=True)
    assert client.connect("127.0.0.1", server.smb_port, timeout=30)
    yield client
    client.close()


def test_pysmb_reads_writes_and_appends(share, pysmb):
    name = share.share_name
    assert pysmb.storeFile(name, "/a.bin", io.BytesIO(CONTENT)) == len(CONTENT)
    down = io.BytesIO()
    pysmb.retrieveFile(name, "/a.bin", down)
    assert down.getvalue() == CONTENT
    pysmb.storeFileFromOffset(name, "/a.bin", io.BytesIO(b"appended"), offset=len(CONTENT))
    assert read(share, "a.bin") == CONTENT + b"appended"
    assert pysmb.getAttributes(name, "/a.bin").file_size == len(CONTENT) + 8
    pysmb.createDirectory(name, "/below")
    pysmb.rename(name, "/a.bin", "/below/b.bin")
    assert sorted(entry.filename for entry in pysmb.listPath(name, "/below")) == [".", "..", "b.bin"]
    assert name in [entry.name for entry in pysmb.listShares()]
    pysmb.deleteFiles(name, "/below/b.bin")
    pysmb.deleteDirectory(name, "/below")
    assert list(share.list_directories_and_files()) == []


def test_pysmb_share_modes(server, share, pysmb):
    with smbprotocol(server, share.share_name) as tree:
        handle = opened(tree, "a.txt", READS | WRITES)
        with pytest.raises(OperationFailure):
            pysmb.retrieveFile(share.share_name, "/a.txt", io.BytesIO())
        handle.close()
    assert pysmb.retrieveFile(share.share_name, "/a.txt", io.BytesIO())[1] == 0
