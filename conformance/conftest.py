"""Fixtures of all services."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from lazuli import Server


@pytest.fixture(scope="module")
def server():
    with Server().checked() as running:
        yield running
