"""What no SDK sends: raw requests that must be refused clearly and must leave the server unharmed."""

import base64
import datetime
import hashlib
import hmac
import http.client
import socket
import urllib.parse

import pytest

from lazuli import ACCOUNT, KEY


def sign(method, path, query, headers, key=KEY):
    """Shared Key, written again from the documentation."""
    def value(name):
        return headers.get(name, "")

    length = value("Content-Length")
    lines = [method, value("Content-Encoding"), value("Content-Language"), "" if length == "0" else length,
             value("Content-MD5"), value("Content-Type"), "", "", value("If-Match"), value("If-None-Match"), "",
             value("Range")]
    ours = sorted((name.lower(), text) for name, text in headers.items() if name.lower().startswith("x-ms-"))
    resource = f"/{ACCOUNT}{path}" + "".join(f"\n{name}:{text}" for name, text in sorted(query.items()))
    text = "\n".join(lines) + "\n" + "".join(f"{name}:{text}\n" for name, text in ours) + resource
    digest = hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()
    return text, f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"


class Client:
    def __init__(self, port):
        self.port = port

    def call(self, method, path, query=None, headers=None, body=b"", key=KEY, send_length=True):
        query = query or {}
        path = f"/{ACCOUNT}{path}"
        headers = {"x-ms-version": "2021-12-02",
                   "x-ms-date": datetime.datetime.now(datetime.UTC).strftime("%a, %d %b %Y %H:%M:%S GMT"),
                   **(headers or {})}
        if send_length and "Content-Length" not in headers:
            headers["Content-Length"] = str(len(body))
        headers["Authorization"] = sign(method, path, query, headers, key)[1]
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        url = path + ("?" + urllib.parse.urlencode(query) if query else "")
        connection.putrequest(method, url, skip_accept_encoding=True)
        for name, text in headers.items():
            connection.putheader(name, text)
        connection.endheaders()
        try:
            connection.send(body)
            answer = connection.getresponse()
            answer.text = answer.read().decode(errors="replace")
            return answer
        finally:
            connection.close()


@pytest.fixture(scope="module")
def client(server):
    client = Client(server.port)
    assert client.call("PUT", "/bad", {"restype": "container"}).status == 201
    return client


BLOCK = {"x-ms-blob-type": "BlockBlob"}


def md5(data):
    return base64.b64encode(hashlib.md5(data).digest()).decode()


def test_a_wrong_signature_shows_the_development_account_what_to_sign(client):
    answer = client.call("GET", "/bad/b", key=base64.b64encode(b"y" * 64).decode())
    assert answer.status == 403 and answer.headers["x-ms-error-code"] == "AuthenticationFailed"
    assert "AuthenticationErrorDetail" in answer.text and "x-ms-version:2021-12-02" in answer.text


@pytest.mark.parametrize("headers, body, code, named", [
    ({}, b"x", "MissingRequiredHeader", "x-ms-blob-type"),
    ({"x-ms-blob-type": "Odd"}, b"x", "InvalidHeaderValue", "Odd"),
    ({**BLOCK, "Content-MD5": md5(b"other")}, b"x", "Md5Mismatch", ""),
    ({**BLOCK, "Content-MD5": "###"}, b"x", "InvalidMd5", ""),
    ({**BLOCK, "x-ms-content-crc64": "AAAAAAAAAAA="}, b"x", "Crc64Mismatch", ""),
    ({**BLOCK, "x-ms-version": "yesterday"}, b"x", "InvalidHeaderValue", "yesterday"),
    ({**BLOCK, "x-ms-lease-id": "nonsense"}, b"x", "InvalidHeaderValue", "nonsense"),
    ({**BLOCK, "x-ms-access-tier": "Cool"}, b"x", "UnsupportedHeader", "x-ms-access-tier"),
    ({**BLOCK, "x-ms-tags": "a=b"}, b"x", "UnsupportedHeader", "x-ms-tags"),
    ({**BLOCK, "x-ms-encryption-key": "secret"}, b"x", "UnsupportedHeader", "x-ms-encryption-key"),
    ({**BLOCK, "x-ms-meta-1bad": "v"}, b"x", "InvalidMetadata", ""),
    ({**BLOCK, "x-ms-meta-big": "v" * 9000}, b"x", "MetadataTooLarge", ""),
])
def test_bad_headers_are_refused_by_name(client, headers, body, code, named):
    answer = client.call("PUT", "/bad/never", headers=headers, body=body)
    assert answer.status == 400 and answer.headers["x-ms-error-code"] == code, answer.text
    assert named in answer.text
    assert client.call("HEAD", "/bad/never").status == 404


@pytest.mark.parametrize("query, code", [
    ({"maxresults": "0"}, "OutOfRangeQueryParameterValue"),
    ({"maxresults": "-1"}, "OutOfRangeQueryParameterValue"),
    ({"maxresults": "many"}, "InvalidQueryParameterValue"),
    ({"include": "everything"}, "InvalidQueryParameterValue"),
])
def test_bad_parameters_are_refused_by_name(client, query, code):
    answer = client.call("GET", "/bad", {"restype": "container", "comp": "list", **query})
    assert answer.status == 400 and answer.headers["x-ms-error-code"] == code, answer.text
    assert list(query)[0] in answer.text


def test_what_does_not_exist_yet_is_never_a_silent_success(client):
    answer = client.call("PUT", "/bad/b", {"comp": "no-such-thing"})
    assert answer.status >= 400 and answer.headers["x-ms-error-code"]


def test_deleting_only_snapshots_does_not_delete_the_blob(client):
    assert client.call("PUT", "/bad/kept", headers=BLOCK, body=b"kept").status == 201
    answer = client.call("DELETE", "/bad/kept", headers={"x-ms-delete-snapshots": "only"})
    assert answer.status == 400 and answer.headers["x-ms-error-code"] == "UnsupportedHeader"
    assert client.call("GET", "/bad/kept").text == "kept"
    assert client.call("DELETE", "/bad/kept", headers={"x-ms-delete-snapshots": "include"}).status == 202


def test_a_body_that_is_cut_off_leaves_nothing(client):
    path = f"/{ACCOUNT}/bad/half"
    headers = {"x-ms-version": "2021-12-02", **BLOCK, "Content-Length": "100000",
               "x-ms-date": datetime.datetime.now(datetime.UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")}
    headers["Authorization"] = sign("PUT", path, {}, headers)[1]
    head = f"PUT {path} HTTP/1.1\r\nHost: x\r\n" + "".join(f"{n}: {v}\r\n" for n, v in headers.items()) + "\r\n"
    with socket.create_connection(("127.0.0.1", client.port)) as connection:
        connection.sendall(head.encode() + b"x" * 50_000)
    assert client.call("HEAD", "/bad/half").status == 404
    assert client.call("PUT", "/bad/half", headers=BLOCK, body=b"whole").status == 201


def test_a_body_longer_than_declared_is_not_stored_longer(client):
    answer = client.call("PUT", "/bad/longer", headers={**BLOCK, "Content-Length": "3"}, body=b"abcdef")
    assert answer.status == 201
    assert client.call("GET", "/bad/longer").text == "abc"


@pytest.mark.parametrize("garbage", [b"\0" * 8192, b"GET", b"\xff" * 8192, b"NOT HTTP AT ALL\r\n\r\n" * 400])
def test_garbage_closes_the_connection_and_nothing_else(client, garbage):
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as connection:
        connection.sendall(garbage)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass
    assert client.call("GET", "/bad", {"restype": "container"}).status == 200


def test_names_that_are_none_are_refused(client):
    assert client.call("PUT", "/UPPER", {"restype": "container"}).headers["x-ms-error-code"] == "InvalidResourceName"
    assert client.call("PUT", "/ab", {"restype": "container"}).status == 400
