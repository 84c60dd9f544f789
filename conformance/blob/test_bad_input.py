"""What no SDK sends: raw requests that must be refused clearly and must leave the server unharmed."""

import base64
import datetime
import hashlib
import socket

import pytest

from lazuli import ACCOUNT
from raw import Client, sign


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
    ({**BLOCK, "x-ms-access-tier": "Tepid"}, b"x", "InvalidHeaderValue", "Tepid"),
    ({**BLOCK, "x-ms-access-tier": "P10"}, b"x", "AccessTierNotSupportedForBlobType", "P10"),
    ({**BLOCK, "x-ms-tags": "a=b&a=c"}, b"x", "DuplicateTagNames", ""),
    ({**BLOCK, "x-ms-tags": "=c"}, b"x", "EmptyTagName", ""),
    ({**BLOCK, "x-ms-tags": "a=%26"}, b"x", "InvalidInput", "&amp;"),
    ({**BLOCK, "x-ms-tags": "&".join(f"k{n}=v" for n in range(11))}, b"x", "TagsTooLarge", "11"),
    ({**BLOCK, "x-ms-blob-content-md5": md5(b"other")}, b"x", "Md5Mismatch", ""),
    ({**BLOCK, "x-ms-if-tags": "a = b"}, b"x", "InvalidHeaderValue", "x-ms-if-tags"),
    ({**BLOCK, "x-ms-encryption-key": "secret"}, b"x", "UnsupportedHeader", "x-ms-encryption-key"),
    ({**BLOCK, "x-ms-encryption-scope": "mine"}, b"x", "UnsupportedHeader", "x-ms-encryption-scope"),
    ({**BLOCK, "x-ms-legal-hold": "true"}, b"x", "UnsupportedHeader", "x-ms-legal-hold"),
    ({"x-ms-blob-type": "PageBlob"}, b"", "MissingRequiredHeader", "x-ms-blob-content-length"),
    ({"x-ms-blob-type": "PageBlob", "x-ms-blob-content-length": "513"}, b"", "InvalidHeaderValue", "513"),
    ({"x-ms-blob-type": "PageBlob", "x-ms-blob-content-length": "512"}, b"x", "InvalidHeaderValue", "content-length"),
    ({"x-ms-blob-type": "AppendBlob"}, b"x", "InvalidHeaderValue", "content-length"),
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
    ({"include": "snapshots", "delimiter": "/"}, "InvalidQueryParameterValue"),
    ({"marker": "?"}, "InvalidQueryParameterValue"),
    ({"endBefore": "x"}, "UnsupportedQueryParameter"),
])
def test_bad_parameters_are_refused_by_name(client, query, code):
    answer = client.call("GET", "/bad", {"restype": "container", "comp": "list", **query})
    assert answer.status == 400 and answer.headers["x-ms-error-code"] == code, answer.text
    assert list(query)[0] in answer.text


@pytest.mark.parametrize("method, path, query", [
    ("PUT", "/bad/b", {"comp": "no-such-thing"}),
    ("PUT", "/bad/b", {"comp": "undelete"}),
    ("PUT", "/bad/b", {"comp": "legalhold"}),
    ("PUT", "/bad/b", {"comp": "immutabilityPolicies"}),
    ("DELETE", "/bad/b", {"comp": "immutabilityPolicies"}),
    ("PUT", "/bad/b", {"comp": "incrementalcopy"}),
    ("POST", "/bad/b", {"comp": "query"}),
    ("PUT", "/bad", {"restype": "container", "comp": "undelete"}),
    ("PUT", "/bad", {"restype": "container", "comp": "rename"}),
])
def test_what_does_not_exist_is_never_a_silent_success(client, method, path, query):
    answer = client.call(method, path, query)
    assert answer.status == 400 and answer.code == "InvalidQueryParameterValue", answer.text
    assert query["comp"] in answer.text


def test_nothing_has_versions(client):
    assert client.call("PUT", "/bad/versions", headers=BLOCK, body=b"kept").status == 201
    version = {"versionid": "2020-01-01T00:00:00.0000000Z"}
    for method in ("GET", "HEAD", "DELETE"):
        assert client.call(method, "/bad/versions", version).code == "BlobNotFound"
    assert client.call("PUT", "/bad/versions", version, BLOCK, b"x").code == "InvalidOperation"
    assert client.call("DELETE", "/bad/versions", {"deletetype": "permanent"}).code == "UnsupportedQueryParameter"
    assert client.call("GET", "/bad/versions").text == "kept"


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


def test_a_body_without_a_length_is_not_taken_for_an_empty_one(client):
    answer = client.call("PUT", "/bad/no-length", headers=BLOCK, body=b"abc", send_length=False)
    assert (answer.status, answer.code) == (411, "MissingContentLengthHeader")
    assert client.call("HEAD", "/bad/no-length").status == 404


def test_a_body_longer_than_declared_is_not_stored_longer(client):
    answer = client.call("PUT", "/bad/longer", headers={**BLOCK, "Content-Length": "3"}, body=b"abcdef")
    assert answer.status == 201
    assert client.call("GET", "/bad/longer").text == "abc"


@pytest.mark.parametrize("garbage", [b"\0" * 8192, b"\xff" * 8192, b"A" * 8192, b"\r\n" * 4096,
                                     b"NOT HTTP AT ALL\r\n\r\n" * 400])
def test_garbage_closes_the_connection_and_nothing_else(client, garbage):
    # The server closes, not the client, and does not wait until the time for a head is over.
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as connection:
        connection.sendall(garbage)
        assert connection.recv(65536).startswith(b"HTTP/1.1 400 ")
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass
    assert client.call("GET", "/bad", {"restype": "container"}).status == 200


def test_names_that_are_none_are_refused(client):
    assert client.call("PUT", "/UPPER", {"restype": "container"}).headers["x-ms-error-code"] == "InvalidResourceName"
    assert client.call("PUT", "/ab", {"restype": "container"}).status == 400
