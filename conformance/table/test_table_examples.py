"""The examples about tables run."""

import pathlib
import subprocess
import sys

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def test_a_table_guarded_by_a_lease(server):
    script = EXAMPLES / "table_guarded_by_a_lease.py"
    subprocess.run([sys.executable, script, server.connection_string], check=True, timeout=120)
