"""What the program says where only a client can bring it about."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import pytest
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import BlobServiceClient

from lazuli import BINARY, Server, run


def log_of_refused_copy(source, *flags):
    """Asks for a copy that is refused. Returns the answer and the log."""
    server = Server("--log-level", "warn", *flags)
    server.errors = tempfile.TemporaryFile("w+")
    server.start()
    container = BlobServiceClient.from_connection_string(server.connection_string).create_container("boxes")
    with pytest.raises(HttpResponseError) as refused:
        container.get_blob_client("copy").start_copy_from_url(source)
    assert server.stop() == 0
    server.errors.seek(0)
    log = server.errors.read()
    server.errors.close()
    server.remove()
    return refused.value, log


def test_a_refused_copy_source_names_the_setting_in_the_log_and_tells_the_client_nothing():
    # A name that means this machine: what it resolves to is nobody's business.
    error, log = log_of_refused_copy("http://localhost:9/secret?sig=hidden")
    answer = str(error) + error.response.text() + str(dict(error.response.headers))
    assert error.status_code == 403
    assert "127.0.0.1" not in answer and "::1" not in answer and "public" not in answer, answer
    lines = [line for line in log.splitlines() if "a copy source was refused" in line]
    assert len(lines) == 1, log
    assert "--copy-sources any" in lines[0] and "localhost" in lines[0], log
    assert "127.0.0.1" in lines[0] or "::1" in lines[0], log
    assert "hidden" not in log and "secret" not in log


def test_without_copy_sources_the_log_names_the_setting_too():
    error, log = log_of_refused_copy("http://192.0.2.1/x", "--copy-sources", "none")
    assert error.status_code == 403
    assert "--copy-sources none" in log


AIO = """
import asyncio, sys
from azure.storage.blob.aio import BlobServiceClient

async def main():
    async with BlobServiceClient.from_connection_string(sys.argv[1]) as client:
        print([container.name async for container in client.list_containers()])

asyncio.run(main())
"""
SYNC = """
import sys
from azure.storage.blob import BlobServiceClient
print([container.name for container in BlobServiceClient.from_connection_string(sys.argv[1]).list_containers()])
"""
NODE = """
require("https").get(process.argv[1], (answer) => { answer.resume(); console.log(answer.statusCode); })
  .on("error", (error) => { console.log(error.code); });
"""


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    directory = tmp_path_factory.mktemp("tls")
    cert, key = directory / "cert.pem", directory / "key.pem"
    assert run("cert", "--cert", str(cert), "--key", str(key)).returncode == 0
    server = Server("--tls-cert", str(cert), "--tls-key", str(key)).start()
    yield server, cert
    assert server.stop() == 0
    server.remove()


@pytest.mark.parametrize("variable, script", [("REQUESTS_CA_BUNDLE", SYNC), ("SSL_CERT_FILE", AIO)])
def test_the_variable_that_cert_names_makes_python_trust_it(secure, variable, script):
    server, cert = secure
    trusting = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR")
    environment = {name: value for name, value in os.environ.items() if name not in trusting}
    arguments = [sys.executable, "-c", script, server.connection_string.replace("=http", "=https")]
    trusted = subprocess.run(arguments, env={**environment, variable: str(cert)}, capture_output=True, text=True)
    assert (trusted.returncode, trusted.stdout) == (0, "[]\n"), trusted.stderr


def test_the_variable_that_cert_names_makes_node_trust_it(secure):
    server, cert = secure
    installed = pathlib.Path(__file__).resolve().parents[1] / "js" / "node_modules" / ".bin" / "node"
    node = installed if installed.exists() else "node"
    url = server.blob_url.replace("http:", "https:") + "?comp=list"
    environment = {name: value for name, value in os.environ.items() if name != "NODE_EXTRA_CA_CERTS"}

    def answer(**more):
        done = subprocess.run([node, "-e", NODE, url], env={**environment, **more}, capture_output=True, text=True)
        return done.stdout.strip()

    assert "CERT" in answer()
    assert answer(NODE_EXTRA_CA_CERTS=str(cert)) == "401"


def test_the_variables_of_these_tests_are_no_settings_and_are_let_through():
    environment = {**os.environ, "LAZULI_TEST_SOMETHING": "1", "LAZULI_BINARY": str(BINARY)}
    done = subprocess.run([BINARY, "sas", "queue", "jobs", "--permissions", "r", "--expiry", "1h"],
                          env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_stopped_is_the_last_line_after_either_signal():
    for number in (signal.SIGTERM, signal.SIGINT):
        server = Server().start()
        server.process.send_signal(number)
        assert server.process.stdout.read() == "Stopped.\n"
        assert server.process.wait(timeout=30) == 0
        server.process.stdout.close()
        server.remove()
