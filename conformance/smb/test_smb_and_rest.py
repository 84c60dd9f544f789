"""The same files over SMB and over REST: what one writes the other reads at once, and each respects what the other holds."""

import os
import re
import time

import pytest
from azure.core.exceptions import HttpResponseError
from smb_clients import impacket, smbclient, smbclient_raw, smbprotocol
from smbprotocol.exceptions import FileClosed, ObjectNameNotFound, SharingViolation, SMBResponseException
from smbprotocol.open import CreateOptions
from test_smb_python_clients import DELETES, READS, WRITES, exists, opened, read

CONTENT = os.urandom(1_500_000)


def code(caught):
    return caught.value.status_code, caught.value.error_code


def test_what_smb_writes_rest_reads_before_a_flush(server, share):
    with smbprotocol(server, share.share_name) as tree:
        handle = opened(tree, "a.bin", READS | WRITES, 7)
        assert exists(share, "a.bin")
        for offset in range(0, len(CONTENT), 65_536):
            handle.write(CONTENT[offset:offset + 65_536], offset)
            end = min(offset + 65_536, len(CONTENT))
            assert share.get_file_client("a.bin").get_file_properties().size == end
            piece = share.get_file_client("a.bin").download_file(offset=offset, length=end - offset).readall()
            assert piece == CONTENT[offset:end]
        assert read(share, "a.bin") == CONTENT
        listed = {entry.name: entry.size for entry in share.list_directories_and_files()}
        assert listed == {"a.bin": len(CONTENT)}
        # In the middle, twice: the last one counts.
        handle.write(b"first", 1000)
        handle.write(b"later", 1000)
        assert read(share, "a.bin")[1000:1005] == b"later"
        handle.close()
    assert read(share, "a.bin")[1005:] == CONTENT[1005:]


def test_what_rest_writes_smb_reads_at_once(server, share, tmp_path):
    client = share.get_file_client("a.bin")
    client.upload_file(CONTENT)
    with smbprotocol(server, share.share_name) as tree:
        handle = opened(tree, "a.bin", READS, 7)
        assert handle.read(0, 1000) == CONTENT[:1000]
        client.upload_range(b"changed", 0, 7)
        assert handle.read(0, 10) == b"changed" + CONTENT[7:10]
        client.resize_file(5)
        assert handle.read(0, 100) == b"chang"
        handle.close()
    share.create_directory("below").upload_file("b.txt", b"b")
    smbclient(server, share.share_name, f"lcd {tmp_path}; cd below; get b.txt")
    assert (tmp_path / "b.txt").read_bytes() == b"b"
    share.get_directory_client("below").get_file_client("b.txt").delete_file()
    with smbprotocol(server, share.share_name) as tree, pytest.raises(ObjectNameNotFound):
        opened(tree, "below\\b.txt", READS, 7, disposition=1)


def test_writes_of_both_go_on_top_of_each_other(server, share):
    client = share.get_file_client("a.bin")
    client.create_file(100)
    with smbprotocol(server, share.share_name) as tree:
        handle = opened(tree, "a.bin", READS | WRITES, 7)
        handle.write(b"s" * 50, 0)
        client.upload_range(b"r" * 50, 25, 50)
        handle.write(b"S" * 10, 40)
        expected = b"s" * 25 + b"r" * 15 + b"S" * 10 + b"r" * 25 + bytes(25)
        assert client.download_file().readall() == expected
        assert handle.read(0, 100) == expected
        handle.close()
    assert client.download_file().readall() == expected


def test_a_file_that_smb_does_not_share_is_a_sharing_violation_over_rest(server, share):
    client = share.get_file_client("a.txt")
    client.upload_file(b"x")
    with smbprotocol(server, share.share_name) as tree:
        handle = opened(tree, "a.txt", READS | WRITES, 0)
        for refused in (lambda: client.download_file(), lambda: client.upload_range(b"y", 0, 1), client.delete_file,
                        lambda: client.set_file_metadata({"a": "b"})):
            with pytest.raises(HttpResponseError) as caught:
                refused()
            assert code(caught) == (409, "SharingViolation")
        assert client.get_file_properties().size == 1
        handle.close()
    assert client.download_file().readall() == b"x"


def test_a_leased_file_is_not_written_over_smb(server, share):
    client = share.get_file_client("a.txt")
    client.upload_file(b"x")
    lease = client.acquire_lease()
    with smbprotocol(server, share.share_name) as tree:
        with pytest.raises(SharingViolation):
            opened(tree, "a.txt", WRITES, 7)
        opened(tree, "a.txt", READS, 7).close()
        lease.release()
        opened(tree, "a.txt", WRITES, 7).close()


def test_what_smb_is_about_to_delete_is_pending_over_rest(server, share):
    client = share.get_file_client("a.txt")
    client.upload_file(b"x")
    with smbprotocol(server, share.share_name) as tree:
        first = opened(tree, "a.txt", READS | DELETES, 7, options=CreateOptions.FILE_DELETE_ON_CLOSE)
        second = opened(tree, "a.txt", READS, 7)
        first.close()
        with pytest.raises(HttpResponseError) as caught:
            client.get_file_properties()
        assert caught.value.status_code == 409
        with pytest.raises(HttpResponseError) as caught:
            client.download_file()
        assert code(caught) == (409, "SMBDeletePending")
        assert list(share.list_directories_and_files()) == []
        second.close()
        assert not client.exists()


def test_handles_are_listed_and_closed_over_rest(server, share):
    client = share.get_file_client("a.txt")
    client.upload_file(b"x")
    with smbprotocol(server, share.share_name) as tree:
        handle = opened(tree, "a.txt", READS | WRITES, 7)
        (found,) = client.list_handles()
        assert found.path == "a.txt"
        assert found.client_ip.startswith("127.0.0.1")
        assert int(found.session_id) == tree.session.session_id
        assert set(found.access_rights) >= {"Read", "Write"}
        assert found.open_time is not None and found.file_id
        handle.write(b"written before", 0)
        closed = client.close_handle(found)
        assert (closed["closed_handles_count"], closed["failed_handles_count"]) == (1, 0)
        assert list(client.list_handles()) == []
        with pytest.raises((FileClosed, SMBResponseException)) as caught:
            handle.write(b"afterwards", 0)
        assert caught.value.status == FileClosed._STATUS_CODE
        assert client.download_file().readall() == b"written before"
        # All at once, as an administrator does it.
        for name in ("b.txt", "c.txt"):
            opened(tree, name, READS, 7)
        root = share.get_directory_client("")
        assert len(list(root.list_handles(recursive=True))) == 2
        assert root.close_all_handles(recursive=True)["closed_handles_count"] == 2
    client.delete_file()


def test_what_was_open_is_closed_with_its_connection(server, share):
    client = share.get_file_client("a.txt")
    with smbprotocol(server, share.share_name) as tree:
        opened(tree, "a.txt", READS | WRITES, 0).write(b"kept", 0)
        with pytest.raises(HttpResponseError):
            client.download_file()
    until = time.monotonic() + 10
    while list(client.list_handles()):
        assert time.monotonic() < until
    assert client.download_file().readall() == b"kept"


def test_snapshots_are_previous_versions(server, share, tmp_path):
    client = share.get_file_client("a.txt")
    client.upload_file(b"before")
    share.create_snapshot()
    client.upload_file(b"after")
    with impacket(server) as other:
        (name,) = other.listSnapshots(other.connectTree(share.share_name), "a.txt")
    assert re.fullmatch(r"@GMT-\d{4}\.\d\d\.\d\d-\d\d\.\d\d\.\d\d", name)
    assert name in smbclient(server, share.share_name, "allinfo a.txt")
    smbclient(server, share.share_name, rf"lcd {tmp_path}; get {name}\a.txt then; get a.txt now")
    assert (tmp_path / "then").read_bytes() == b"before"
    assert (tmp_path / "now").read_bytes() == b"after"
    refused = smbclient_raw(server, share.share_name, rf"lcd {tmp_path}; put now {name}\a.txt")
    assert "NT_STATUS_" in refused.stdout + refused.stderr
    assert client.download_file().readall() == b"after"
