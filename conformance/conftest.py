"""Fixtures of all services."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from lazuli import Server


@pytest.fixture(scope="module")
def server():
    running = Server().start()
    yield running
    assert running.stop() == 0
    checked = running.check()
    assert checked.returncode == 0, checked.stdout + checked.stderr
    running.remove()
