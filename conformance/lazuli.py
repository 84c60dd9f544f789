"""Starts the built server on free ports with a data directory of its own, and stops it again."""

import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = pathlib.Path(os.environ.get("LAZULI_BINARY", ROOT / "target" / "ci" / "lazuli"))


def run(*arguments):
    """Runs a command of the program to its end."""
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=60)


class Server:
    """A running server. The data directory outlives restarts and is removed at the end."""

    def __init__(self, *flags, **popen):
        """`popen` goes to subprocess.Popen: another `stderr`, or limits of the process."""
        self.flags = flags
        self.popen = popen
        self.directory = tempfile.TemporaryDirectory(prefix="lazuli-")
        self.data = pathlib.Path(self.directory.name) / "data"
        self.process, self.errors = None, None
        self.ports = {}
        self.admin_port = None
        self.smb_port = None

    def start(self):
        started = time.monotonic()
        self.process = subprocess.Popen(
            [BINARY, "serve", "--data-dir", self.data,
             *([] if "--log-level" in self.flags else ["--log-level", "error"]),
             "--blob-port", "0", "--queue-port", "0", "--table-port", "0", "--file-port", "0",
             "--smb-port", "0", "--admin-port", "0", *self.flags],
            stdout=subprocess.PIPE, text=True, **{"stderr": self.errors, **self.popen},
        )
        for line in self.process.stdout:
            for service, port in re.findall(r"(\w+)Endpoint=https?://127\.0\.0\.1:(\d+)/", line):
                self.ports[service] = int(port)
            if admin := re.match(r"\s+admin\s+http://127\.0\.0\.1:(\d+)", line):
                self.admin_port = int(admin[1])
            if smb := re.match(r"\s+smb\s+smb://127\.0\.0\.1:(\d+)", line):
                self.smb_port = int(smb[1])
            if line.startswith("Ready"):
                break
        else:
            raise RuntimeError(f"the server ended with {self.process.wait()} before it printed its endpoints")
        # It prints its endpoints once it listens; from here on every answer counts.
        with socket.create_connection(("127.0.0.1", self.port), timeout=10):
            pass
        self.start_seconds = time.monotonic() - started
        return self

    @property
    def port(self):
        """The port of the Blob service."""
        return self.ports["Blob"]

    def url(self, service):
        return f"http://127.0.0.1:{self.ports[service]}/{ACCOUNT}"

    @property
    def blob_url(self):
        return self.url("Blob")

    @property
    def connection_string(self):
        endpoints = "".join(f"{service}Endpoint={self.url(service)};" for service in self.ports)
        return f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};{endpoints}"

    def resident_mib(self):
        return self.memory("VmRSS")

    def peak_mib(self):
        """The most memory that the process ever had, whenever that was."""
        return self.memory("VmHWM")

    def memory(self, name):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) / 1024
        raise RuntimeError(f"no {name}")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        """Asks it to stop, as a service manager does. Returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=30)
        self.process.stdout.close()
        return code

    def check(self):
        """`lazuli check` of the data directory; the server must be down."""
        return subprocess.run([BINARY, "check", "--data-dir", self.data], capture_output=True, text=True)

    def must_be_clean(self, when=""):
        """`lazuli check` finds nothing; the server must be down."""
        found = self.check()
        assert found.returncode == 0, f"{when} {found.stdout}{found.stderr}"

    @contextlib.contextmanager
    def checked(self):
        """Running; at the end it is stopped and its data looked through. A failure leaves no process behind."""
        self.start()
        try:
            yield self
        except BaseException:
            self.kill()
            raise
        else:
            assert self.stop() == 0
            self.must_be_clean()
        finally:
            self.remove()

    def remove(self):
        self.directory.cleanup()
