"""`az storage file upload-batch` and `download-batch`: several hundred files there and back."""

import os
import pathlib
import subprocess

import pytest

from lazuli import ROOT

AZ = pathlib.Path(os.environ.get("LAZULI_TEST_AZ", ROOT / "target" / "conformance" / "az" / "bin" / "az"))


def tree(directory):
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


@pytest.fixture
def az(server, tmp_path):
    environment = {**os.environ, "AZURE_STORAGE_CONNECTION_STRING": server.connection_string,
                   "AZURE_CONFIG_DIR": str(tmp_path / "az"), "AZURE_CORE_COLLECT_TELEMETRY": "no",
                   "AZURE_CORE_NO_COLOR": "yes"}

    def run(*arguments):
        done = subprocess.run([AZ, "storage", *map(str, arguments), "--output", "tsv"], env=environment,
                              capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_az_uploads_and_downloads_a_tree(az, tmp_path):
    here, back = tmp_path / "here", tmp_path / "back"
    files = {f"many/{number % 7}/{number:03}.txt": str(number).encode() * number for number in range(300)}
    files |= {"a.txt": b"a", "empty": b"", "dir/b & c.txt": b"b", "dir/deep/ü+.bin": os.urandom(5 * 1024 * 1024 + 3)}
    for name, data in files.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_bytes(data)
    back.mkdir()
    az("share", "create", "--name", "batch")
    az("file", "upload-batch", "--destination", "batch", "--source", here, "--max-connections", 4, "--no-progress")
    az("file", "download-batch", "--destination", back, "--source", "batch", "--no-progress")
    assert tree(back) == files
