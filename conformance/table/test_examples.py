"""The examples about tables run."""

import pathlib
import subprocess
import sys

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"

# The recipe needs Lease Blob over REST. Set to True as soon as the Blob service has it.
BLOB_LEASES_ARE_SERVED = False


def test_a_table_guarded_by_a_lease(server):
    script = EXAMPLES / "table_guarded_by_a_lease.py"
    compile(script.read_text(), str(script), "exec")
    if BLOB_LEASES_ARE_SERVED:
        subprocess.run([sys.executable, script, server.connection_string], check=True, timeout=120)
