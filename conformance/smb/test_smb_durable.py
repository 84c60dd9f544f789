"""Handles that outlive their connection, and copies that never leave the server."""

import os
import socket
import time
import uuid

import pytest
from azure.core.exceptions import HttpResponseError
from azure.storage.fileshare import ShareServiceClient
from lazuli import ACCOUNT, KEY, Server
from smb_clients import impacket, smbclient
from smbprotocol.connection import Connection
from smbprotocol.create_contexts import (CreateContextName, LeaseState, SMB2CreateContextRequest,
                                         SMB2CreateDurableHandleReconnectV2, SMB2CreateDurableHandleRequestV2,
                                         SMB2CreateRequestLease)
from smbprotocol.exceptions import ObjectNameNotFound
from smbprotocol.open import (CreateDisposition, CreateOptions, FileAttributes, ImpersonationLevel, LockFlags, Open,
                              RequestedOplockLevel, SMB2LockElement)
from smbprotocol.session import Session
from smbprotocol.tree import TreeConnect
from test_smb_python_clients import READS, WRITES, read

BATCH = RequestedOplockLevel.SMB2_OPLOCK_LEVEL_BATCH
LEASE = RequestedOplockLevel.SMB2_OPLOCK_LEVEL_LEASE


class Client:
    """A client that can lose its connection and come back."""

    def __init__(self, server, share):
        self.server, self.share = server, share
        self.guid, self.create_guid, self.lease_key = uuid.uuid4(), uuid.uuid4(), os.urandom(16)
        self.connect()

    def connect(self):
        self.connection = Connection(self.guid, "127.0.0.1", self.server.smb_port, require_signing=True)
        self.connection.connect(timeout=30)
        session = Session(self.connection, ACCOUNT, KEY, require_encryption=False)
        session.connect()
        self.tree = TreeConnect(session, rf"\\127.0.0.1\{self.share}")
        self.tree.connect(require_secure_negotiate=False)

    def lose_connection(self):
        self.connection.transport._sock.shutdown(socket.SHUT_RDWR)

    def contexts(self, name, data, level):
        context = SMB2CreateContextRequest()
        context["buffer_name"], context["buffer_data"] = name, data
        if level != LEASE:
            return [context]
        lease = SMB2CreateRequestLease()
        lease["lease_key"] = self.lease_key
        lease["lease_state"] = LeaseState.SMB2_LEASE_READ_CACHING | LeaseState.SMB2_LEASE_HANDLE_CACHING
        second = SMB2CreateContextRequest()
        second["buffer_name"], second["buffer_data"] = CreateContextName.SMB2_CREATE_REQUEST_LEASE, lease
        return [context, second]

    def create(self, path, sharing, contexts, level):
        handle = Open(self.tree, path)
        answered = handle.create(
            ImpersonationLevel.Impersonation, READS | WRITES, FileAttributes.FILE_ATTRIBUTE_NORMAL, sharing,
            CreateDisposition.FILE_OPEN_IF, CreateOptions.FILE_NON_DIRECTORY_FILE, contexts, level)
        return handle, answered

    def open(self, path, sharing=0, level=BATCH, timeout_ms=0):
        request = SMB2CreateDurableHandleRequestV2()
        request["timeout"], request["create_guid"] = timeout_ms, self.create_guid
        contexts = self.contexts(CreateContextName.SMB2_CREATE_DURABLE_HANDLE_REQUEST_V2, request, level)
        handle, answered = self.create(path, sharing, contexts, level)
        assert any("Durable" in type(context).__name__ for context in answered), answered
        return handle

    def reopen(self, path, file_id, level=BATCH):
        """Takes a handle back."""
        request = SMB2CreateDurableHandleReconnectV2()
        request["file_id"], request["create_guid"] = file_id, self.create_guid
        contexts = self.contexts(CreateContextName.SMB2_CREATE_DURABLE_HANDLE_RECONNECT_V2, request, level)
        return self.create(path, 0, contexts, level)[0]

    def reopen_soon(self, path, file_id, level=BATCH):
        """The same, when the server has seen that the connection was lost."""
        until = time.monotonic() + 10
        while True:
            try:
                return self.reopen(path, file_id, level)
            except ObjectNameNotFound:
                if time.monotonic() > until:
                    raise


def lock(handle, flags):
    element = SMB2LockElement()
    element["offset"], element["length"] = 0, 4
    element["flags"].set_flag(flags)
    handle.lock([element])


def test_a_durable_handle_comes_back_with_its_lock_and_what_was_written(server, share):
    client, file = Client(server, share.share_name), share.get_file_client("a.txt")
    handle = client.open("a.txt", sharing=7, level=LEASE)
    handle.write(b"not flushed", 0)
    lock(handle, LockFlags.SMB2_LOCKFLAG_EXCLUSIVE_LOCK)
    (listed,) = file.list_handles()
    client.lose_connection()
    client.connect()
    back = client.reopen_soon("a.txt", handle.file_id, level=LEASE)
    assert back.read(0, 100) == b"not flushed"
    (again,) = file.list_handles()
    assert (again.id, again.last_reconnect_time is not None) == (listed.id, True)
    assert again.session_id != listed.session_id
    with pytest.raises(HttpResponseError) as caught:
        file.upload_range(b"x", 0, 1)
    assert caught.value.error_code == "FileLockConflict", "the lock is still there"
    lock(back, LockFlags.SMB2_LOCKFLAG_UNLOCK)
    back.close()
    file.upload_range(b"N", 0, 1)
    assert read(share, "a.txt") == b"Not flushed"


def test_who_wants_what_an_orphan_holds_gets_it_at_once(server, share):
    client = Client(server, share.share_name)
    handle = client.open("a.txt")
    handle.write(b"written", 0)
    client.lose_connection()
    begun = time.monotonic()
    with impacket(server) as other:
        tree = other.connectTree(share.share_name)
        # Who is there has 35 seconds to answer. Who is gone has none.
        other.closeFile(tree, other.openFile(tree, "a.txt"))
    assert time.monotonic() - begun < 20
    client.connect()
    with pytest.raises(ObjectNameNotFound):
        client.reopen("a.txt", handle.file_id)
    assert read(share, "a.txt") == b"written"


def test_who_does_not_come_back_in_time_finds_it_closed(server, share):
    client, file = Client(server, share.share_name), share.get_file_client("a.txt")
    handle = client.open("a.txt", timeout_ms=1)
    handle.write(b"written", 0)
    client.lose_connection()
    until = time.monotonic() + 10
    while list(file.list_handles()):
        assert time.monotonic() < until
    assert read(share, "a.txt") == b"written"


def test_a_server_that_was_killed_has_no_handles_and_what_was_flushed():
    with Server().checked() as server:
        share = ShareServiceClient.from_connection_string(server.connection_string).create_share("durable")
        client = Client(server, "durable")
        handle = client.open("a.txt", timeout_ms=300_000)
        handle.write(b"flushed", 0)
        handle.flush()
        server.kill()
        server.start()
        share = ShareServiceClient.from_connection_string(server.connection_string).get_share_client("durable")
        assert list(share.get_file_client("a.txt").list_handles()) == []
        client.connect()
        with pytest.raises(ObjectNameNotFound):
            client.reopen("a.txt", handle.file_id)
        assert read(share, "a.txt") == b"flushed"
        client.lose_connection()


def test_a_copy_on_the_server(server, share):
    content = os.urandom(5_000_001)
    share.get_file_client("a.bin").upload_file(content)
    smbclient(server, share.share_name, "scopy a.bin b.bin")
    assert read(share, "b.bin") == content
