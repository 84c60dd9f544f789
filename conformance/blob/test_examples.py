"""The examples run, and say what they promise."""

import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize("name, lines", [
    ("optimistic_writers.py", ["the second writer was refused: 412 ConditionNotMet", "the second writer wrote 111"]),
    ("leased_writer.py", ["a write without the lease was refused: 412 LeaseIdMissing",
                          "a second acquire was refused: 409 LeaseAlreadyPresent",
                          "a write with a lease that is over was refused: 412 LeaseLost"]),
])
def test_an_example_runs(server, name, lines):
    done = subprocess.run([sys.executable, EXAMPLES / name, server.connection_string], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for line in lines:
        assert line in done.stdout.splitlines()


def test_every_example_is_run():
    tests = "".join(path.read_text() for path in pathlib.Path(__file__).parent.parent.glob("*/test_*examples.py"))
    assert all(example.name in tests for example in EXAMPLES.glob("*.py"))
