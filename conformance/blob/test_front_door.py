"""The front door with the official SDK and by hand: names that keep their case, structured messages, addresses, HTTPS."""

import http.client
import io
import os
import re
import ssl
import stat
import subprocess
import uuid

import httpx
import pytest
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import BlobServiceClient
from azure.storage.blob._shared import streams
from lazuli import ACCOUNT, BINARY, KEY, Server


@pytest.fixture(scope="module")
def client_options():
    return {"max_single_put_size": 4 * 1024**3}  # a body is one request, however long it is


def test_names_of_metadata_keep_their_case(service, container):
    metadata = {"MyName": "a", "lower": "b", "UPPER_1": "c"}
    blob = container.upload_blob("b", b"x", metadata=metadata)
    assert blob.get_blob_properties().metadata == metadata
    listed = next(iter(container.list_blobs(include=["metadata"])))
    assert listed.metadata == metadata
    cased = service.create_container(f"c-{uuid.uuid4()}", metadata=metadata)
    assert cased.get_container_properties().metadata == metadata
    cased.delete_container()


def put_as_message(blob, content, **options):
    """Put Blob with a structured message. The public method sends bytes that fit into one request with their checksum in
    a header instead, so this asks the generated client."""
    return blob._client.block_blob.upload(body=io.BytesIO(content), content_length=len(content), validate_content="crc64",
                                          **options)


@pytest.mark.parametrize("size", [0, 1, 1000, 4 * 1024**2, 9 * 1024**2 + 7])
def test_content_travels_as_structured_messages(container, size):
    content = os.urandom(size)
    blob = container.get_blob_client("message")
    seen = []
    put_as_message(blob, content, raw_response_hook=lambda r: seen.append(r.http_response.headers))
    assert seen[0]["x-ms-structured-body"] == "XSM/1.0; properties=crc64"
    assert blob.download_blob().readall() == content
    assert blob.download_blob(validate_content="crc64").readall() == content
    if size > 10:
        assert blob.download_blob(offset=3, length=5, validate_content="crc64").readall() == content[3:8]
    blob.upload_blob(content, overwrite=True, validate_content="crc64")
    assert blob.download_blob(validate_content="crc64").readall() == content


def test_a_structured_message_with_a_wrong_checksum_leaves_nothing(server, container):
    blob = container.get_blob_client("wrong")

    with pytest.raises(HttpResponseError) as refused:
        message = streams.StructuredMessageEncodeStream(io.BytesIO(b"x" * 1000), 1000,
                                                        streams.StructuredMessageProperties.CRC64)
        body = bytearray(message.read())
        body[30] ^= 1
        blob._client.block_blob.upload(
            body=bytes(body), content_length=len(body), structured_body_type="XSM/1.0; properties=crc64",
            structured_content_length=1000)
    assert refused.value.response.headers["x-ms-error-code"] == "Crc64Mismatch"
    assert not blob.exists()


def test_a_blob_without_a_container_is_in_the_root_container(service):
    root = service.create_container("$root")
    root.upload_blob("index.html", b"hello")
    # The SDK leaves the container out of the path of such a blob.
    assert service.get_blob_client("$root", "index.html").download_blob().readall() == b"hello"
    root.delete_container()


def test_the_account_can_stand_in_the_host(server):
    for host, path in [(f"127.0.0.1:{server.port}", f"/{ACCOUNT}/?comp=list"), (f"{ACCOUNT}.blob.localhost", "/?comp=list"),
                       (f"{ACCOUNT}.blob.core.windows.net:443", "/?comp=list")]:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request("GET", path, headers={"Host": host})
        answer = connection.getresponse()
        # Understood, and not signed.
        assert (answer.status, answer.headers["x-ms-error-code"]) == (401, "NoAuthenticationInformation"), host
        connection.close()


def test_https_with_a_certificate_of_our_own(tmp_path):
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = [BINARY, "cert", "--cert", cert, "--key", key]
    assert subprocess.run(command, capture_output=True).returncode == 0
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    again = subprocess.run(command, capture_output=True, text=True)
    assert again.returncode == 1 and "--force" in again.stderr
    before = cert.read_bytes()
    assert subprocess.run([*command, "--force"], capture_output=True).returncode == 0
    assert cert.read_bytes() != before
    server = Server("--tls-cert", str(cert), "--tls-key", str(key)).start()
    url = f"https://127.0.0.1:{server.port}/{ACCOUNT}"
    service = BlobServiceClient(url, credential={"account_name": ACCOUNT, "account_key": KEY},
                                connection_verify=str(cert), retry_total=0)
    container = service.create_container("secure")
    container.upload_blob("b", b"hello")
    assert container.download_blob("b").readall() == b"hello"
    # HTTP/2, where both sides can.
    with httpx.Client(http2=True, verify=ssl.create_default_context(cafile=cert)) as client:
        answer = client.get(f"https://localhost:{server.port}/{ACCOUNT}/?comp=list")
        assert (answer.http_version, answer.status_code) == ("HTTP/2", 401)
        assert re.fullmatch(r"[0-9a-f-]{36}", answer.headers["x-ms-request-id"])
    assert server.stop() == 0
    server.remove()
