"""Tokens and user delegation signatures of the File service, signed by the official client."""

import base64
import datetime
import http.client
import json
import time
import types
import xml.etree.ElementTree as xml

import pytest
from azure.core.exceptions import HttpResponseError
from azure.storage.fileshare import FileSasPermissions, ShareServiceClient, ShareSasPermissions, generate_file_sas, generate_share_sas

from lazuli import ACCOUNT, Server

ISSUER = "https://issuer.test/tenant-1/"
READER, CONTRIBUTOR = "Storage File Data Privileged Reader", "Storage File Data Privileged Contributor"
VERSION = "2026-02-06"


def later(**delta):
    return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(**(delta or {"hours": 1}))


@pytest.fixture(scope="module")
def server():
    with Server("--bearer-issuer", ISSUER, "--bearer-unsigned").checked() as running:
        yield running


@pytest.fixture(scope="module")
def share(server):
    share = ShareServiceClient.from_connection_string(server.connection_string).create_share("delegated")
    share.create_directory("dir").upload_file("a b", b"content")
    return share


def token(*roles):
    part = lambda fields: base64.urlsafe_b64encode(json.dumps(fields).encode()).rstrip(b"=").decode()
    claims = {"iss": ISSUER, "aud": "https://storage.azure.com", "oid": "object-1", "tid": "tenant-1",
              "exp": int(time.time()) + 3600, "roles": list(roles)}
    return f"{part({'alg': 'none'})}.{part(claims)}."


def by_token(server, roles, path, method="GET", body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.ports["File"], timeout=20)
    headers = {"authorization": f"Bearer {token(*roles)}", "x-ms-version": VERSION} | {
        name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, f"/{ACCOUNT}{path}", headers=headers, body=body)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return types.SimpleNamespace(status=answer.status, code=answer.getheader("x-ms-error-code"), content=content)


def delegation_key(server, *roles):
    start, expiry = (at.strftime("%Y-%m-%dT%H:%M:%SZ") for at in (later(minutes=-5), later(hours=2)))
    document = f"<KeyInfo><Start>{start}</Start><Expiry>{expiry}</Expiry></KeyInfo>".encode()
    answer = by_token(server, roles, "/?restype=service&comp=userdelegationkey", "POST", document)
    assert answer.status == 200, answer.content
    found = xml.fromstring(answer.content)
    names = {"signed_oid": "SignedOid", "signed_tid": "SignedTid", "signed_start": "SignedStart",
             "signed_expiry": "SignedExpiry", "signed_service": "SignedService", "signed_version": "SignedVersion",
             "value": "Value"}
    key = types.SimpleNamespace(**{name: found.findtext(element) for name, element in names.items()})
    key.signed_delegated_user_tid = None
    assert (key.signed_oid, key.signed_service) == ("object-1", "f")
    return key


def test_a_token_with_the_intent_of_a_backup_reads_and_writes_by_its_role(server, share):
    path = "/delegated/dir/a%20b"
    assert by_token(server, [READER], path).code == "MissingRequiredHeader"
    intent = {"x_ms_file_request_intent": "backup"}
    assert by_token(server, [READER], path, **intent).content == b"content"
    write = {"x-ms-write": "update", "x-ms-range": "bytes=0-0"} | intent
    assert by_token(server, [READER], f"{path}?comp=range", "PUT", b"c", **write).status == 403
    assert by_token(server, [CONTRIBUTOR], f"{path}?comp=range", "PUT", b"c", **write).status == 201
    assert by_token(server, ["Storage Blob Data Owner"], path, **intent).status == 403


def test_a_user_delegation_sas_of_a_file_and_of_a_share(server, share):
    def opened(sas):
        service = ShareServiceClient(server.url("File"), credential=sas, retry_total=0)
        return service.get_share_client("delegated").get_file_client("dir/a b")

    def of_file(key, **permission):
        return opened(generate_file_sas(ACCOUNT, "delegated", ["dir", "a b"], permission=FileSasPermissions(**permission),
                                        expiry=later(), user_delegation_key=key))

    def refused(code, call):
        with pytest.raises(HttpResponseError) as caught:
            call()
        assert (caught.value.status_code, caught.value.error_code) == (403, code)

    contributor, reader = delegation_key(server, CONTRIBUTOR), delegation_key(server, READER)
    assert of_file(contributor, read=True).download_file().readall() == b"content"
    of_file(contributor, write=True).upload_range(b"C", offset=0, length=1)
    refused("AuthorizationPermissionMismatch", of_file(contributor, read=True).delete_file)
    assert of_file(reader, read=True, write=True).download_file().readall() == b"Content"
    refused("AuthorizationPermissionMismatch",
            lambda: of_file(reader, read=True, write=True).upload_range(b"c", offset=0, length=1))
    sas = generate_share_sas(ACCOUNT, "delegated", permission=ShareSasPermissions(read=True), expiry=later(),
                             user_delegation_key=contributor)
    assert opened(sas).download_file().readall() == b"Content"
    contributor.signed_oid = "object-2"
    refused("AuthenticationFailed", of_file(contributor, read=True).download_file)
