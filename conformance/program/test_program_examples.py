"""`examples/README.md` is complete: every example stands in it, runs as it says, and prints what it says."""

import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
README = (EXAMPLES / "README.md").read_text()
SECTIONS = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL))
NAMES = sorted(path.name for path in EXAMPLES.iterdir() if path.suffix == ".py")


def test_every_example_stands_in_the_readme_and_nothing_else_does():
    assert sorted(SECTIONS) == NAMES
    assert sorted(re.findall(r"^\| \[`(\S+)`\]", README, re.MULTILINE)) == NAMES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("by", ["argument", "variable"])
def test_an_example_prints_what_the_readme_says(server, name, by):
    command, = re.findall(r"^    (python .*)$", SECTIONS[name], re.MULTILINE)
    printed, = re.findall(r"^```text\n(.*?)^```$", SECTIONS[name], re.MULTILINE | re.DOTALL)
    arguments = [sys.executable, *shlex.split(command)[1:]]
    environment = {**os.environ, "AZURE_STORAGE_CONNECTION_STRING": "not to be used"}
    if by == "argument":
        arguments.append(server.connection_string)
    else:
        environment["AZURE_STORAGE_CONNECTION_STRING"] = server.connection_string
    done = subprocess.run(arguments, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, printed), done.stderr


def test_what_the_readme_installs_is_what_the_examples_import():
    installed, = re.findall(r"^    pip install (.*)$", README, re.MULTILINE)
    text = "".join((EXAMPLES / name).read_text() for name in NAMES)
    packages = {"azure.storage.blob": "azure-storage-blob", "azure.data.tables": "azure-data-tables"}
    imported = {packages[module] for module in re.findall(r"^from (azure\.(?:storage|data)\.\w+)", text, re.MULTILINE)}
    assert set(installed.split()) == imported
