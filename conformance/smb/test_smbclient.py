"""Samba's smbclient, in every dialect and protection: what people do with a share."""

import concurrent.futures
import os
import re

import pytest
from smb_clients import DIALECTS, PROTECTIONS, smbclient, smbclient_raw

EVERY_WAY = [(dialect, protection) for dialect in DIALECTS for protection in PROTECTIONS
             # 2.1 has no encryption; that it is refused is a test of its own.
             if (dialect, protection) != ("SMB2_10", "encrypted")]
# More than one WRITE, and no multiple of anything.
CONTENT = os.urandom(9 * 1024 * 1024 + 4321)


def read(share, path):
    return share.get_file_client(path).download_file().readall()


def names(share, directory=""):
    return sorted(entry.name for entry in share.list_directories_and_files(directory))


def listed(said):
    """The names of a listing, without the dots."""
    rows = re.findall(r"^  (\S.*?)\s+[DAHSRN]*\s+\d+  \w{3} \w{3} ", said, re.MULTILINE)
    return sorted(name for name in rows if name not in (".", ".."))


@pytest.mark.parametrize("dialect, protection", EVERY_WAY)
def test_put_get_rename_delete(server, share, tmp_path, dialect, protection):
    way = {"dialect": dialect, "protection": protection}
    (tmp_path / "up.bin").write_bytes(CONTENT)
    (tmp_path / "empty").write_bytes(b"")
    smbclient(server, share.share_name,
              f"lcd {tmp_path}; put up.bin a.bin; put empty; rename a.bin b.bin; get b.bin down.bin; get empty none", **way)
    assert (tmp_path / "down.bin").read_bytes() == CONTENT
    assert (tmp_path / "none").read_bytes() == b""
    assert read(share, "b.bin") == CONTENT
    assert names(share) == ["b.bin", "empty"]
    info = smbclient(server, share.share_name, "allinfo b.bin", **way)
    assert re.search(r"attributes: A \(20\)", info), info
    assert re.search(rf"stream: \[::\$DATA\], {len(CONTENT)} bytes", info), info
    assert all(f"{time}_time:" in info for time in ("create", "access", "write", "change")), info
    smbclient(server, share.share_name, "del b.bin; del empty", **way)
    assert names(share) == []
    gone = smbclient_raw(server, share.share_name, "get b.bin", **way)
    assert "NT_STATUS_OBJECT_NAME_NOT_FOUND" in gone.stdout + gone.stderr


@pytest.mark.parametrize("dialect, protection", EVERY_WAY)
def test_trees_go_up_come_down_and_are_deleted(server, share, tmp_path, dialect, protection):
    way = {"dialect": dialect, "protection": protection}
    up, down = tmp_path / "up", tmp_path / "down"
    tree = {f"tree/{place}{number}.txt": os.urandom(number * 777)
            for place in ("", "below/", "below/deep/") for number in range(5)}
    for path, content in tree.items():
        (up / path).parent.mkdir(parents=True, exist_ok=True)
        (up / path).write_bytes(content)
    down.mkdir()
    smbclient(server, share.share_name, f"prompt; recurse; lcd {up}; mput *", **way)
    assert names(share, "tree") == [*(f"{number}.txt" for number in range(5)), "below"]
    assert {path: read(share, path) for path in tree} == tree
    smbclient(server, share.share_name, f"prompt; recurse; lcd {down}; mget *", **way)
    assert {path: (down / path).read_bytes() for path in tree} == tree
    assert listed(smbclient(server, share.share_name, "ls tree\\below\\*", **way)) == names(share, "tree/below")
    smbclient(server, share.share_name, "deltree tree", **way)
    assert names(share) == []


@pytest.mark.parametrize("dialect, protection", EVERY_WAY)
def test_the_shares_are_listed(server, share, dialect, protection):
    said = smbclient(server, None, None, dialect=dialect, protection=protection)
    assert f"Disk|{share.share_name}|" in said, said
    assert "IPC|IPC$|" in said, said


def test_a_directory_of_5000_entries_is_listed(server, share):
    directory = share.create_directory("many")
    wanted = [f"entry-{number:05}.txt" for number in range(5000)]
    with concurrent.futures.ThreadPoolExecutor(8) as workers:
        list(workers.map(lambda name: directory.get_file_client(name).create_file(0), wanted))
    assert listed(smbclient(server, share.share_name, "ls many\\*")) == wanted
    # In part, by a pattern.
    assert listed(smbclient(server, share.share_name, "ls many\\entry-0123?.txt")) == wanted[1230:1240]


def test_21_has_no_encryption(server, share):
    done = smbclient_raw(server, share.share_name, "ls", "SMB2_10", "encrypted")
    assert done.returncode != 0, done.stdout


def test_names_beyond_ascii(server, share, tmp_path):
    (tmp_path / "x").write_bytes(b"x")
    smbclient(server, share.share_name, f'lcd {tmp_path}; put x "Größe 東京 🦀.txt"')
    assert names(share) == ["Größe 東京 🦀.txt"]
    # The case of a name is kept, and does not matter.
    smbclient(server, share.share_name, f'lcd {tmp_path}; get "GRÖSSE 東京 🦀.TXT" y'.replace("SS", "ß"))
    assert (tmp_path / "y").read_bytes() == b"x"
