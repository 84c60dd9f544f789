"""Change notifications: a watcher of SMB, by smbprotocol, is told what the official REST client and other SMB clients do."""

import contextlib
import threading

import pytest
from azure.storage.fileshare import NTFSAttributes
from smb_clients import smbclient, smbprotocol
from smbprotocol.change_notify import (ChangeNotifyFlags, CompletionFilter, FileAction, FileNotifyInformation,
                                       SMB2ChangeNotifyRequest, SMB2ChangeNotifyResponse)
from smbprotocol.exceptions import SMBResponseException
from smbprotocol.open import (CreateDisposition, CreateOptions, DirectoryAccessMask, FileAttributes, ImpersonationLevel,
                              Open)
from test_smb_python_clients import DELETES, READS, WRITES, opened

NAMES = CompletionFilter.FILE_NOTIFY_CHANGE_FILE_NAME | CompletionFilter.FILE_NOTIFY_CHANGE_DIR_NAME
EVERYTHING = 0x17F
ADDED, REMOVED, MODIFIED = FileAction.FILE_ACTION_ADDED, FileAction.FILE_ACTION_REMOVED, FileAction.FILE_ACTION_MODIFIED
OLD, NEW = FileAction.FILE_ACTION_RENAMED_OLD_NAME, FileAction.FILE_ACTION_RENAMED_NEW_NAME
CLEANUP, ENUM_DIR, CANCELLED, DELETE_PENDING = 0x10B, 0x10C, 0xC0000120, 0xC0000056
ACCESS_DENIED, INVALID_PARAMETER, INSUFFICIENT_RESOURCES = 0xC0000022, 0xC000000D, 0xC000009A


class Watcher:
    """A directory that is watched. `ask` returns when the server has the request."""

    def __init__(self, tree, path="", kinds=EVERYTHING, below=False, length=65_536, access=None):
        self.tree, self.kinds, self.length = tree, kinds, length
        self.flags = ChangeNotifyFlags.SMB2_WATCH_TREE if below else 0
        self.handle = Open(tree, path)
        access = access or (DirectoryAccessMask.FILE_LIST_DIRECTORY | DirectoryAccessMask.FILE_READ_ATTRIBUTES)
        self.handle.create(ImpersonationLevel.Impersonation, access, FileAttributes.FILE_ATTRIBUTE_DIRECTORY, 7,
                           CreateDisposition.FILE_OPEN, CreateOptions.FILE_DIRECTORY_FILE)

    def send(self, length=None):
        request = SMB2ChangeNotifyRequest()
        request["flags"] = self.flags
        request["output_buffer_length"] = self.length if length is None else length
        request["file_id"] = self.handle.file_id
        request["completion_filter"] = self.kinds
        return self.tree.session.connection.send(request, self.tree.session.session_id, self.tree.tree_connect_id)

    def ask(self, length=None):
        sent = self.send(length)
        assert sent.response_event.wait(20), "neither an answer nor that it takes a while"
        return sent

    def told(self, request):
        """The changes, or the status of an answer without any."""
        try:
            answer = self.tree.session.connection.receive(request, timeout=20)
        except SMBResponseException as refused:
            return refused.status
        response = SMB2ChangeNotifyResponse()
        response.unpack(answer["data"].get_value())
        buffer, found = response["buffer"].get_value(), []
        while buffer:
            change = FileNotifyInformation()
            change.unpack(buffer)
            found.append((change["action"].get_value(), change["file_name"].get_value()))
            following = change["next_entry_offset"].get_value()
            buffer = buffer[following:] if following else b""
        return found

    def after(self, change):
        """What is told of what a function does."""
        request = self.ask()
        change()
        return self.told(request)


def operations(share):
    """Everything that REST changes, in an order in which each can be done, and what is told of it."""
    directory = share.get_directory_client("d")
    file, copy = directory.get_file_client("f"), directory.get_file_client("copy")
    attributes = NTFSAttributes(hidden=True)
    return {
        "Create Directory": (lambda: directory.create_subdirectory("e"), [(ADDED, "e")]),
        "Create File": (lambda: file.create_file(100), [(ADDED, "f")]),
        "Create File over another": (lambda: file.create_file(50), [(MODIFIED, "f")]),
        "Put Range": (lambda: file.upload_range(b"abc", 0, 3), [(MODIFIED, "f")]),
        "Clear Range": (lambda: file.clear_range(0, 512), [(MODIFIED, "f")]),
        "Set File Properties, the length": (lambda: file.resize_file(600), [(MODIFIED, "f")]),
        "Set File Properties, attributes": (
            lambda: file.set_http_headers(None, file_attributes=attributes), [(MODIFIED, "f")]),
        "Set Directory Properties": (
            lambda: directory.get_subdirectory_client("e").set_http_headers(file_attributes=attributes), [(MODIFIED, "e")]),
        "Copy File": (lambda: copy.start_copy_from_url(file.url), [(ADDED, "copy")]),
        "Rename File": (lambda: copy.rename_file("d/moved"), [(OLD, "copy"), (NEW, "moved")]),
        "Rename File over another": (
            lambda: directory.get_file_client("moved").rename_file("d/f", overwrite=True),
            [(REMOVED, "f"), (OLD, "moved"), (NEW, "f")]),
        "Rename Directory": (
            lambda: directory.get_subdirectory_client("e").rename_directory("d/g"), [(OLD, "e"), (NEW, "g")]),
        "Rename File away": (lambda: file.rename_file("elsewhere"), [(REMOVED, "f")]),
        "Rename File back": (lambda: share.get_file_client("elsewhere").rename_file("d/f"), [(ADDED, "f")]),
        "Delete File": (file.delete_file, [(REMOVED, "f")]),
        "Delete Directory": (directory.get_subdirectory_client("g").delete_directory, [(REMOVED, "g")]),
    }


@pytest.mark.parametrize("encrypted", [False, True], ids=["signed", "encrypted"])
def test_what_rest_does_is_told_to_watchers_of_smb(server, share, encrypted):
    share.create_directory("d")
    with smbprotocol(server, share.share_name, encrypted) as tree:
        watcher = Watcher(tree, "d")
        for name, (operation, expected) in operations(share).items():
            assert watcher.after(operation) == expected, name
        file = share.get_file_client("d/f")
        file.create_file(1)
        assert watcher.told(watcher.ask()) == [(ADDED, "f")], "between two requests"
        request = watcher.ask()
        # What SMB does not know of.
        file.set_file_metadata({"a": "b"})
        file.acquire_lease().release()
        share.create_directory("beside")
        file.delete_file()
        assert watcher.told(request) == [(REMOVED, "f")]


def test_a_tree_is_watched_at_any_depth_with_paths_from_there(server, share):
    deep = "d"
    share.create_directory(deep)
    with smbprotocol(server, share.share_name) as tree:
        watchers = [Watcher(tree, "", NAMES, below=True), Watcher(tree, "d", NAMES, below=True), Watcher(tree, "", NAMES)]
        requests = [watcher.ask() for watcher in watchers]
        for name in ("e", "g"):
            deep = f"{deep}/{name}"
            share.create_directory(deep)
        share.get_file_client(f"{deep}/h").create_file(1)
        share.get_file_client("top").create_file(1)
        first = [watcher.told(request) for watcher, request in zip(watchers, requests)]
        assert first == [[(ADDED, r"d\e")], [(ADDED, "e")], [(ADDED, "top")]]
        rest = [watcher.told(watcher.ask()) for watcher in watchers[:2]]
        assert rest == [[(ADDED, r"d\e\g"), (ADDED, r"d\e\g\h"), (ADDED, "top")], [(ADDED, r"e\g"), (ADDED, r"e\g\h")]]


def test_what_other_smb_clients_do_is_told(server, share, tmp_path):
    (tmp_path / "local").write_bytes(b"x" * 100_000)
    with smbprotocol(server, share.share_name) as tree, smbprotocol(server, share.share_name, encrypted=True) as other:
        watcher = Watcher(tree)
        request = watcher.ask()
        handle = opened(other, "a", READS | WRITES | DELETES, 7)
        assert watcher.told(request) == [(ADDED, "a")]
        assert watcher.after(lambda: handle.write(b"not flushed", 0)) == [(MODIFIED, "a")]
        handle.close()
        opened(other, "a", DELETES, 7, options=CreateOptions.FILE_DELETE_ON_CLOSE).close()
        assert watcher.told(watcher.ask()) == [(REMOVED, "a")]
        smbclient(server, share.share_name, f"lcd {tmp_path}; put local; rename local moved; mkdir d; rm moved; rmdir d")
        told = watcher.told(watcher.ask())
        assert [change for change in told if change[0] != MODIFIED] == [
            (ADDED, "local"), (OLD, "local"), (NEW, "moved"), (ADDED, "d"), (REMOVED, "moved"), (REMOVED, "d")]
        assert (MODIFIED, "local") in told


def test_each_is_told_what_it_asks_for(server, share):
    kinds = {
        CompletionFilter.FILE_NOTIFY_CHANGE_FILE_NAME: lambda file: file.create_file(10),
        CompletionFilter.FILE_NOTIFY_CHANGE_DIR_NAME: lambda _: share.create_directory("d"),
        CompletionFilter.FILE_NOTIFY_CHANGE_ATTRIBUTES: lambda file: file.set_http_headers(None, file_attributes="Hidden"),
        CompletionFilter.FILE_NOTIFY_CHANGE_SIZE: lambda file: file.resize_file(20),
        CompletionFilter.FILE_NOTIFY_CHANGE_LAST_WRITE: lambda file: file.upload_range(b"a", 0, 1),
        CompletionFilter.FILE_NOTIFY_CHANGE_CREATION: lambda file: file.set_http_headers(
            None, file_creation_time="2020-01-01T00:00:00Z"),
        CompletionFilter.FILE_NOTIFY_CHANGE_SECURITY: lambda file: file.set_http_headers(
            None, file_permission="O:BAG:BAD:(A;;FA;;;BA)"),
    }
    file = share.get_file_client("f")
    with smbprotocol(server, share.share_name) as tree:
        watchers = {kind: Watcher(tree, kinds=kind) for kind in kinds}
        # One that is not watched is kept for nobody: all of them watch from here on.
        requests = {kind: watcher.ask() for kind, watcher in watchers.items()}
        for change in kinds.values():
            change(file)
        for kind, watcher in watchers.items():
            name = "d" if kind == CompletionFilter.FILE_NOTIFY_CHANGE_DIR_NAME else "f"
            action = ADDED if kind in (1, 2) else MODIFIED
            assert watcher.told(requests[kind]) == [(action, name)], kind


def test_more_than_the_client_takes_is_to_be_looked_for(server, share):
    with smbprotocol(server, share.share_name) as tree:
        watcher = Watcher(tree, kinds=NAMES, length=200)
        first = watcher.ask()
        for number in range(30):
            share.get_file_client(f"file{number}").create_file(0)
        assert watcher.told(first) == [(ADDED, "file0")]
        assert watcher.told(watcher.ask()) == ENUM_DIR
        assert watcher.after(share.get_file_client("file0").delete_file) == [(REMOVED, "file0")], "it begins anew"
        assert watcher.after(lambda: None if watcher.handle is None else share.create_directory("d")) == [(ADDED, "d")]
        request = watcher.ask(length=10)
        share.create_directory("e")
        assert watcher.told(request) == ENUM_DIR, "what this request takes counts too"
        # The first request of a handle says how much is kept for all later ones.
        small = Watcher(tree, kinds=NAMES, length=8)
        for _ in range(2):
            request = small.ask()
            share.get_file_client("file1").create_file(0)
            share.get_file_client("file1").delete_file()
            assert small.told(request) == ENUM_DIR
            small.length = 65_536


def test_a_request_that_is_cancelled_loses_nothing(server, share):
    with smbprotocol(server, share.share_name) as tree:
        watcher = Watcher(tree, kinds=NAMES)
        request = watcher.ask()
        assert request.async_id is not None, "the server says that it takes a while"
        request.cancel()
        assert watcher.told(request) == CANCELLED
        share.create_directory("d")
        assert watcher.told(watcher.ask()) == [(ADDED, "d")]
        # A cancel by the number of the message, right behind it: whichever is done first.
        for _ in range(100):
            request = watcher.send()
            request.cancel()
            assert watcher.told(request) == CANCELLED
        assert watcher.after(share.get_directory_client("d").delete_directory) == [(REMOVED, "d")]


def test_no_change_is_lost_between_requests(server, share):
    names = [f"file{number:03}" for number in range(300)]

    def create():
        for name in names:
            share.get_file_client(name).create_file(0)

    with smbprotocol(server, share.share_name) as tree:
        watcher = Watcher(tree, kinds=NAMES)
        request, found = watcher.ask(), []
        creating = threading.Thread(target=create)
        creating.start()
        while len(found) < len(names):
            found += watcher.told(request)
            if len(found) < len(names):
                request = watcher.send()
        creating.join()
        assert found == [(ADDED, name) for name in names]


def test_a_wait_ends_with_its_handle_its_tree_its_directory_and_its_share(server, share):
    directory = share.create_directory("d")
    with contextlib.ExitStack() as stack:
        trees = [stack.enter_context(smbprotocol(server, share.share_name)) for _ in range(3)]
        watcher = Watcher(trees[0], "d")
        request = watcher.ask()
        watcher.handle.close()
        assert watcher.told(request) == CLEANUP, "the handle"
        watcher = Watcher(trees[0], "d")
        request = watcher.ask()
        assert directory.close_all_handles()["closed_handles_count"] == 1
        assert watcher.told(request) == CLEANUP, "a handle that is closed by force"
        watcher = Watcher(trees[1], "d")
        request = watcher.ask()
        trees[1].disconnect()
        assert watcher.told(request) == CLEANUP, "the tree"
        watcher = Watcher(trees[2], "d")
        request = watcher.ask()
        trees[2].session.disconnect()
        assert watcher.told(request) == CLEANUP, "the session"
        watcher = Watcher(trees[0], "d")
        request = watcher.ask()
        doomed = Open(trees[0], "d")
        doomed.create(ImpersonationLevel.Impersonation, DELETES, FileAttributes.FILE_ATTRIBUTE_DIRECTORY, 7,
                      CreateDisposition.FILE_OPEN, CreateOptions.FILE_DIRECTORY_FILE | CreateOptions.FILE_DELETE_ON_CLOSE)
        doomed.close()
        assert watcher.told(request) == DELETE_PENDING, "the directory"
        assert watcher.told(watcher.ask()) == DELETE_PENDING, "and again"
        watcher.handle.close()
        watcher = Watcher(trees[0])
        request = watcher.ask()
        share.delete_share()
        assert watcher.told(request) == DELETE_PENDING, "the share"


def test_what_may_not_be_watched(server, share):
    share.get_file_client("f").create_file(1)
    with smbprotocol(server, share.share_name) as tree:
        blind = Watcher(tree, access=DirectoryAccessMask.FILE_READ_ATTRIBUTES)
        assert blind.told(blind.ask()) == ACCESS_DENIED
        watcher = Watcher(tree)
        watcher.handle = opened(tree, "f", READS, 7)
        assert watcher.told(watcher.ask()) == INVALID_PARAMETER
        watcher = Watcher(tree, length=1024 * 1024 + 1)
        assert watcher.told(watcher.ask()) == INVALID_PARAMETER


def test_requests_that_wait_are_bounded_and_do_not_stop_others(server, share):
    with smbprotocol(server, share.share_name) as tree:
        watcher = Watcher(tree, kinds=NAMES)
        waiting = [watcher.ask() for _ in range(512)]
        assert all(request.async_id is not None for request in waiting)
        assert watcher.told(watcher.ask()) == INSUFFICIENT_RESOURCES
        # Others go on, of this client too: what waits is not in work.
        opened(tree, "a", READS | WRITES, 7).close()
        assert watcher.told(waiting[0]) == [(ADDED, "a")]
        share.get_file_client("a").delete_file()
        assert watcher.told(waiting[1]) == [(REMOVED, "a")]
        watcher.handle.close()
        assert {watcher.told(request) for request in waiting[2:]} == {CLEANUP}
