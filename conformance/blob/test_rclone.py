"""`rclone` syncs a directory into a container and back, and a container into another one."""

import os
import pathlib
import subprocess
import sys

import pytest

from lazuli import ACCOUNT, KEY

RCLONE = pathlib.Path(sys.executable).with_name("rclone")
MIB = 1024 * 1024


@pytest.fixture()
def rclone(server, tmp_path):
    settings = {"TYPE": "azureblob", "ACCOUNT": ACCOUNT, "KEY": KEY, "ENDPOINT": server.blob_url,
                "CHUNK_SIZE": "4Mi", "UPLOAD_CONCURRENCY": "4", "COPY_CUTOFF": "8Mi"}
    environment = {**os.environ, "RCLONE_CONFIG": str(tmp_path / "rclone.conf"),
                   **{f"RCLONE_CONFIG_LAZULI_{name}": value for name, value in settings.items()}}

    def run(*arguments):
        done = subprocess.run([RCLONE, "--retries", "1", "--low-level-retries", "1", *arguments],
                              env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def tree(directory):
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_a_directory_is_synced_both_ways(rclone, service, tmp_path):
    here, back = tmp_path / "here", tmp_path / "back"
    files = {"a.txt": b"a", "empty": b"", "dir/b & c.txt": b"b", "dir/deep/ü %20+.bin": os.urandom(1000),
             "large.bin": os.urandom(20 * MIB + 3)}
    files |= {f"many/{number:03}": str(number).encode() for number in range(100)}
    for name, data in files.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_bytes(data)

    rclone("sync", here, "lazuli:synced/below")
    container = service.get_container_client("synced")
    assert {blob.name for blob in container.list_blobs()} == {f"below/{name}" for name in files}
    rclone("check", "--download", here, "lazuli:synced/below")
    rclone("sync", "lazuli:synced/below", back)
    assert tree(back) == files

    # What changed on one side goes to the other, and nothing else.
    (here / "a.txt").write_bytes(b"changed")
    (here / "many/007").unlink()
    etag = container.get_blob_client("below/large.bin").get_blob_properties().etag
    rclone("sync", here, "lazuli:synced/below")
    assert container.download_blob("below/a.txt").readall() == b"changed"
    assert not container.get_blob_client("below/many/007").exists()
    assert container.get_blob_client("below/large.bin").get_blob_properties().etag == etag
    container.upload_blob("below/new", b"from there")
    rclone("sync", "lazuli:synced/below", back)
    assert tree(back) == tree(here) | {"new": b"from there"}


def test_a_container_is_synced_on_the_server(rclone, service):
    source = service.create_container("from-here")
    data = os.urandom(12 * MIB)
    source.upload_blob("dir/large", data, metadata={"k": "v"})
    source.upload_blob("small", b"small")
    rclone("sync", "lazuli:from-here", "lazuli:to-there")
    copies = service.get_container_client("to-there")
    assert sorted(copies.list_blob_names()) == ["dir/large", "small"]
    assert copies.download_blob("dir/large").readall() == data
    assert sorted(rclone("lsf", "-R", "lazuli:to-there").split()) == ["dir/", "dir/large", "small"]
    rclone("purge", "lazuli:to-there")
    assert not copies.exists()
