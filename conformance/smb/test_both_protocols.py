"""The whole table of REST against SMB: real opens of SMB (smbprotocol) on one side, the official REST client on the other.

Each test has a share of its own; all of them share one server."""

import pytest
from azure.core.exceptions import HttpResponseError
from azure.storage.fileshare import NTFSAttributes
from smb_clients import smbprotocol
from smbprotocol.exceptions import SMBResponseException
from smbprotocol.file_info import FileBasicInformation, FileDispositionInformation, FileRenameInformation
from smbprotocol.open import (CreateDisposition, CreateOptions, DirectoryAccessMask, FileAttributes,
                              FilePipePrinterAccessMask, ImpersonationLevel, LockFlags, Open, SMB2LockElement,
                              SMB2SetInfoRequest)
from test_smb_python_clients import DELETES, READS, WRITES, opened

LOOKS = FilePipePrinterAccessMask.FILE_READ_ATTRIBUTES
SHARING_VIOLATION, ACCESS_DENIED, DELETE_PENDING, FILE_CLOSED = 0xC0000043, 0xC0000022, 0xC0000056, 0xC0000128
NAME_NOT_FOUND, NETWORK_NAME_DELETED, CANNOT_DELETE = 0xC0000034, 0xC00000C9, 0xC0000121
OK = "ok"


def rest(operation):
    """What REST answers: `ok`, or the status and the code."""
    try:
        answer = operation()
        # Some are done only when their pages or bytes are taken.
        if hasattr(answer, "by_page"):
            list(answer)
        return OK
    except HttpResponseError as refused:
        return f"{refused.status_code} {refused.error_code}"


def smb(operation):
    """What SMB answers: `ok`, or the status."""
    try:
        operation()
        return OK
    except SMBResponseException as refused:
        return refused.status


def set_info(handle, information):
    """SET_INFO of a handle."""
    request = SMB2SetInfoRequest()
    request["info_type"] = information.INFO_TYPE
    request["file_info_class"] = information.INFO_CLASS
    request["file_id"] = handle.file_id
    request["buffer"] = information.pack()
    tree = handle.tree_connect
    connection = tree.session.connection
    connection.receive(connection.send(request, tree.session.session_id, tree.tree_connect_id), timeout=60)


def mark(handle, delete):
    """Marks a file for deletion with its last handle, or clears the mark."""
    information = FileDispositionInformation()
    information["delete_pending"] = delete
    set_info(handle, information)


def rename(handle, name):
    information = FileRenameInformation()
    information["replace_if_exists"] = False
    information["file_name"] = name
    set_info(handle, information)


def set_attributes(handle, attributes):
    information = FileBasicInformation()
    information["file_attributes"] = attributes
    set_info(handle, information)


def directory(tree, path, access=DirectoryAccessMask.FILE_LIST_DIRECTORY, sharing=7, options=0):
    handle = Open(tree, path)
    handle.create(ImpersonationLevel.Impersonation, access, FileAttributes.FILE_ATTRIBUTE_DIRECTORY, sharing,
                  CreateDisposition.FILE_OPEN, options | CreateOptions.FILE_DIRECTORY_FILE)
    return handle


def lock(handle, offset, length, flags):
    element = SMB2LockElement()
    element["offset"], element["length"], element["flags"] = offset, length, flags
    handle.lock([element])


# The eleven operations: what they are called in the table below, and how the client does them.
OPERATIONS = {
    "List": lambda share, file: share.list_directories_and_files(),
    "Properties": lambda share, file: file.get_file_properties(),
    "Metadata": lambda share, file: file.get_file_properties().metadata,
    "Get": lambda share, file: file.download_file().readall(),
    "Ranges": lambda share, file: file.get_ranges(),
    "Create": lambda share, file: file.create_file(20),
    "SetProps": lambda share, file: file.set_http_headers(None),
    "SetMeta": lambda share, file: file.set_file_metadata({"a": "b"}),
    "PutRange": lambda share, file: file.upload_range(b"new", 0, 3),
    "Delete": lambda share, file: file.delete_file(),
    "Lease": lambda share, file: file.acquire_lease(),
}

# What an open that reads shares, and what is then 409 SharingViolation over REST (x). List Directories and Files, Get File
# Properties and Get File Metadata never are.
SHARE_MODES = """
            List Properties Metadata Get Ranges Create SetProps SetMeta PutRange Delete Lease
nothing     .    .          .        x   x      x      x        x       x        x      x
read        .    .          .        .   .      x      x        x       x        x      x
write       .    .          .        x   x      x      .        .       .        x      x
delete      .    .          .        x   x      x      x        x       x        x      x
read,write  .    .          .        .   .      x      .        .       .        x      x
read,delete .    .          .        .   .      x      x        x       x        x      x
write,delete .   .          .        x   x      .      .        .       .        x      x
all         .    .          .        .   .      .      .        .       .        x      .
"""
MODES = {"nothing": 0, "read": 1, "write": 2, "delete": 4, "all": 7}


def rows(table):
    """The rows of a table: a name, and what stands below each name of the first line."""
    head, *lines = [line.split() for line in table.strip().splitlines()]
    for name, *cells in lines:
        yield name, dict(zip(head, cells, strict=True))


def test_share_modes_against_operations_of_rest(server, share):
    found, expected = {}, {}
    with smbprotocol(server, share.share_name) as tree:
        for mode, cells in rows(SHARE_MODES):
            sharing = sum(MODES[part] for part in mode.split(","))
            for name, cell in cells.items():
                path = f"{mode.replace(',', '-')}-{name}"
                file = share.get_file_client(path)
                file.upload_file(b"content")
                handle = opened(tree, path, READS, sharing, CreateDisposition.FILE_OPEN)
                found[mode, name] = rest(lambda: OPERATIONS[name](share, file))
                expected[mode, name] = OK if cell == "." else "409 SharingViolation"
                if found[mode, name] != OK:
                    assert handle.read(0, 7) == b"content", "what is refused changes nothing"
                handle.close()
                if expected[mode, name] != OK:
                    assert rest(lambda: OPERATIONS[name](share, file)) == OK, "and is done when nothing is open"
    assert found == expected


# What an open may do, sharing everything: whether a lease can be taken meanwhile, and whether it is opened while there is one.
ACCESSES = {
    "nothing": (LOOKS, True),
    "read": (READS, True),
    "write": (WRITES, False),
    "delete": (DELETES, False),
    "read,write": (READS | WRITES, False),
    "read,delete": (READS | DELETES, False),
    "write,delete": (WRITES | DELETES, False),
    "all": (READS | WRITES | DELETES, False),
}


def test_leases_of_rest_against_opens(server, share):
    with smbprotocol(server, share.share_name) as tree:
        for name, (access, stands_beside) in ACCESSES.items():
            file = share.get_file_client(name.replace(",", "-"))
            file.upload_file(b"content")
            handle = opened(tree, file.file_name, access, 7, CreateDisposition.FILE_OPEN)
            assert rest(file.acquire_lease) == (OK if stands_beside else "409 SharingViolation"), name
            handle.close()
            if not stands_beside:
                file.acquire_lease()
            opening = smb(lambda: opened(tree, file.file_name, access, 7, CreateDisposition.FILE_OPEN).close())
            assert opening == (OK if stands_beside else SHARING_VIOLATION), name
            # The lease does not count as one that writes: who lets others only read can open it.
            assert smb(lambda: opened(tree, file.file_name, READS, 1, CreateDisposition.FILE_OPEN).close()) == OK, name
        file = share.get_file_client("released")
        file.upload_file(b"content")
        lease = file.acquire_lease()
        assert smb(lambda: opened(tree, "released", WRITES, 7, CreateDisposition.FILE_OPEN)) == SHARING_VIOLATION
        lease.release()
        opened(tree, "released", WRITES, 7, CreateDisposition.FILE_OPEN).close()
        lease = file.acquire_lease()
        lease.break_lease()
        opened(tree, "released", WRITES, 7, CreateDisposition.FILE_OPEN).close()


# A lock of the bytes 10 to 19, and what REST is answered: reads meet those that they overlap, writes any of them.
LOCKS = """
          Get-before Get-inside Get-across Get-behind Get-all Put-before Put-inside Clear Properties Ranges
exclusive .          x          x          .          x       x          x          x     .          .
shared    .          .          .          .          .       x          x          x     .          .
"""


def test_byte_range_locks_against_reads_and_writes_of_rest(server, share):
    file = share.get_file_client("f")
    file.upload_file(bytes(range(100)))

    def get(offset, length):
        return lambda: file.download_file(offset=offset, length=length).readall()

    operations = {
        "Get-before": get(0, 10),
        "Get-inside": get(12, 3),
        "Get-across": get(0, 50),
        "Get-behind": get(20, 80),
        "Get-all": lambda: file.download_file().readall(),
        "Put-before": lambda: file.upload_range(b"new", 0, 3),
        "Put-inside": lambda: file.upload_range(b"new", 12, 3),
        "Clear": lambda: file.clear_range(50, 10),
        "Properties": file.get_file_properties,
        "Ranges": file.get_ranges,
    }
    kinds = {"exclusive": LockFlags.SMB2_LOCKFLAG_EXCLUSIVE_LOCK, "shared": LockFlags.SMB2_LOCKFLAG_SHARED_LOCK}
    with smbprotocol(server, share.share_name) as tree:
        handle = opened(tree, "f", READS | WRITES, 7, CreateDisposition.FILE_OPEN)
        for kind, cells in rows(LOCKS):
            lock(handle, 10, 10, kinds[kind] | LockFlags.SMB2_LOCKFLAG_FAIL_IMMEDIATELY)
            found = {name: rest(operation) for name, operation in operations.items()}
            assert found == {name: OK if cell == "." else "409 FileLockConflict" for name, cell in cells.items()}, kind
            # Who has locked it writes there.
            handle.write(bytes(range(10, 20)), 10)
            lock(handle, 10, 10, LockFlags.SMB2_LOCKFLAG_UNLOCK)
            assert {rest(operation) for operation in operations.values()} == {OK}
        lock(handle, 0, 1, kinds["exclusive"] | LockFlags.SMB2_LOCKFLAG_FAIL_IMMEDIATELY)
        assert rest(operations["Get-all"]) == "409 FileLockConflict"
        handle.close()
        assert rest(operations["Get-all"]) == OK, "locks end with their handle"


def test_delete_pending_is_hidden_cleared_and_gone_at_last(server, share):
    file = share.get_file_client("f")
    file.upload_file(b"content")
    pending = "409 SMBDeletePending"
    with smbprotocol(server, share.share_name) as tree:
        first = opened(tree, "f", READS | DELETES, 7, CreateDisposition.FILE_OPEN)
        second = opened(tree, "f", READS, 7, CreateDisposition.FILE_OPEN)
        for _ in range(2):
            mark(first, True)
            assert list(share.list_directories_and_files()) == []
            for name, operation in OPERATIONS.items():
                if name != "List":
                    # The client reads the code of an answer without a body from its head.
                    assert rest(lambda: operation(share, file)) == pending, name
            assert smb(lambda: opened(tree, "f", READS, 7, CreateDisposition.FILE_OPEN)) == DELETE_PENDING
            assert second.read(0, 7) == b"content", "who has it open reads it"
            mark(first, False)
            assert [entry.name for entry in share.list_directories_and_files()] == ["f"]
            assert file.download_file().readall() == b"content"
        mark(first, True)
        first.close()
        assert rest(file.get_file_properties) == pending, "as long as anybody has it open"
        second.close()
        assert rest(file.get_file_properties) == "404 ResourceNotFound"
        file.upload_file(b"another")
        assert file.download_file().readall() == b"another"
        # A directory, too.
        share.create_directory("d")
        handle = directory(tree, "d", DELETES | DirectoryAccessMask.FILE_LIST_DIRECTORY)
        mark(handle, True)
        assert [entry.name for entry in share.list_directories_and_files()] == ["f"]
        assert rest(lambda: share.create_directory("d")) == pending
        handle.close()
        share.create_directory("d")


def test_handles_are_listed_and_closed_whatever_they_hold(server, share):
    share.create_directory("d")
    file = share.get_file_client("d/f")
    file.upload_file(b"content")
    with smbprotocol(server, share.share_name) as tree:
        above = directory(tree, "d")
        handle = opened(tree, r"d\f", READS | WRITES, 0, CreateDisposition.FILE_OPEN)
        lock(handle, 0, 4, LockFlags.SMB2_LOCKFLAG_EXCLUSIVE_LOCK | LockFlags.SMB2_LOCKFLAG_FAIL_IMMEDIATELY)
        listed = share.get_directory_client("d").list_handles(recursive=True)
        assert sorted(found.path for found in listed) == ["d", "d/f"]
        assert [found.path for found in share.get_directory_client("d").list_handles(recursive=False)] == ["d"]
        assert rest(lambda: file.upload_range(b"new", 0, 3)) == "409 SharingViolation"
        assert file.close_all_handles() == {"closed_handles_count": 1, "failed_handles_count": 0}
        assert rest(lambda: file.upload_range(b"new", 0, 3)) == OK
        for used in (lambda: handle.read(0, 1), lambda: handle.write(b"x", 0), lambda: mark(handle, True),
                     lambda: lock(handle, 0, 4, LockFlags.SMB2_LOCKFLAG_UNLOCK)):
            assert smb(used) == FILE_CLOSED
        assert file.download_file().readall() == b"newtent"
        assert rest(share.get_directory_client("d").delete_directory) == "409 DirectoryNotEmpty"
        file.delete_file()
        assert rest(share.get_directory_client("d").delete_directory) == "409 SharingViolation", "it is open itself"
        above.close()
        share.get_directory_client("d").delete_directory()
        # What is to be deleted on close goes with the handle that is closed by force.
        file = share.get_file_client("g")
        file.upload_file(b"content")
        doomed = opened(tree, "g", READS | DELETES, 7, options=CreateOptions.FILE_DELETE_ON_CLOSE)
        assert share.get_directory_client("").close_all_handles(recursive=True)["closed_handles_count"] == 1
        assert not file.exists()
        assert smb(lambda: doomed.read(0, 1)) == FILE_CLOSED


def test_shares_and_snapshots_go_with_handles_open(server, share):
    file = share.get_file_client("f")
    file.upload_file(b"then")
    share.create_snapshot()
    file.upload_file(b"now!")
    with smbprotocol(server, share.share_name) as tree:
        handle = opened(tree, "f", READS | WRITES, 0, CreateDisposition.FILE_OPEN)
        assert rest(share.delete_share) == "409 ShareHasSnapshots"
        assert handle.read(0, 4) == b"now!"
        assert rest(lambda: share.delete_share(delete_snapshots=True)) == OK
        assert smb(lambda: handle.read(0, 4)) == NETWORK_NAME_DELETED
        assert smb(lambda: opened(tree, "g", READS, 7)) == NETWORK_NAME_DELETED
        # Another share of that name is another one.
        share.create_share()
        share.get_file_client("f").upload_file(b"other")
        assert smb(lambda: handle.write(b"lost", 0)) in (OK, NETWORK_NAME_DELETED)
        smb(handle.close)
        assert share.get_file_client("f").download_file().readall() == b"other"
    with smbprotocol(server, share.share_name) as tree:
        handle = opened(tree, "f", READS, 7, CreateDisposition.FILE_OPEN)
        assert handle.read(0, 5) == b"other"
        handle.close()


def test_a_directory_with_open_files_below_is_not_renamed(server, share):
    share.create_directory("d").create_subdirectory("e")
    file = share.get_file_client("d/e/f")
    file.upload_file(b"content")
    source = share.get_directory_client("d")
    with smbprotocol(server, share.share_name) as tree:
        handle = opened(tree, r"d\e\f", READS, 7, CreateDisposition.FILE_OPEN)
        assert rest(lambda: source.rename_directory("moved")) == "409 SharingViolation"
        above = directory(tree, "d", DELETES)
        assert smb(lambda: rename(above, "moved")) == ACCESS_DENIED
        assert handle.read(0, 7) == b"content"
        # The file itself may be renamed, as far as its handle shares that.
        renamed = file.rename_file("d/e/g")
        assert handle.read(0, 7) == b"content", "the handle goes with it"
        assert [found.path for found in renamed.list_handles()] == ["d/e/g"]
        handle.close()
        rename(above, "moved")
        above.close()
        assert rest(lambda: share.get_directory_client("moved").rename_directory("again")) == OK
        assert share.get_file_client("again/e/g").download_file().readall() == b"content"
        exclusive = opened(tree, r"again\e\g", READS, 3, CreateDisposition.FILE_OPEN)
        assert rest(lambda: share.get_file_client("again/e/g").rename_file("top")) == "409 SharingViolation"
        exclusive.close()


def test_the_read_only_attribute_of_either_protocol_counts_for_both(server, share):
    with smbprotocol(server, share.share_name) as tree:
        for by in ("REST", "SMB"):
            file = share.get_file_client(by)
            file.upload_file(b"content")
            if by == "REST":
                file.set_http_headers(None, file_attributes=NTFSAttributes(read_only=True))
            else:
                handle = opened(tree, by, FilePipePrinterAccessMask.FILE_WRITE_ATTRIBUTES, 7)
                set_attributes(handle, FileAttributes.FILE_ATTRIBUTE_READONLY)
                handle.close()
            for name in ("Create", "SetMeta", "PutRange", "Delete"):
                assert rest(lambda: OPERATIONS[name](share, file)) == "409 ReadOnlyAttribute", (by, name)
            for name in ("Properties", "Get", "Ranges"):
                assert rest(lambda: OPERATIONS[name](share, file)) == OK, (by, name)
            assert smb(lambda: opened(tree, by, WRITES, 7, CreateDisposition.FILE_OPEN)) == ACCESS_DENIED
            assert smb(lambda: opened(tree, by, READS | WRITES, 7, CreateDisposition.FILE_OVERWRITE)) == ACCESS_DENIED
            handle = opened(tree, by, READS | DELETES, 7, CreateDisposition.FILE_OPEN)
            assert smb(lambda: mark(handle, True)) == CANNOT_DELETE
            handle.close()
            # Whoever takes it away may go on.
            file.set_http_headers(None, file_attributes=NTFSAttributes(archive=True))
            opened(tree, by, WRITES, 7, CreateDisposition.FILE_OPEN).close()
            file.delete_file()
