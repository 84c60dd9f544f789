"""Every kind of credential of the Blob service through the official SDK, and what each of them does not open."""

import datetime
import http.client
import ipaddress
import json
import threading
import time
import urllib.parse
import uuid

import jwt
import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import (
    AccessPolicy, BlobClient, BlobServiceClient, ContainerClient, generate_account_sas, generate_blob_sas,
    generate_container_sas,
)
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from lazuli import ACCOUNT, KEY, Server, run

UTC = datetime.timezone.utc
ISSUER = "https://issuer.test/tenant-1/"
READER, CONTRIBUTOR = "Storage Blob Data Reader", "Storage Blob Data Contributor"


def later(**delta):
    return datetime.datetime.now(UTC) + datetime.timedelta(**(delta or {"hours": 1}))


class Issuer:
    """Makes tokens as an identity provider does."""

    def __init__(self):
        self.keys = {"rsa": rsa.generate_private_key(public_exponent=65537, key_size=2048),
                     "ec": ec.generate_private_key(ec.SECP256R1())}

    def jwks(self):
        algorithms = {"rsa": jwt.algorithms.RSAAlgorithm, "ec": jwt.algorithms.ECAlgorithm}
        keys = [json.loads(algorithms[kid].to_jwk(key.public_key())) | {"kid": kid, "use": "sig"}
                for kid, key in self.keys.items()]
        return json.dumps({"keys": keys})

    def token(self, *roles, kid="rsa", **claims):
        claims = {"iss": ISSUER, "aud": "https://storage.azure.com", "oid": "object-1", "tid": "tenant-1",
                  "exp": later(), "roles": list(roles)} | claims
        return jwt.encode(claims, self.keys[kid], algorithm={"rsa": "RS256", "ec": "ES256"}[kid], headers={"kid": kid})

    def credential(self, *roles, **claims):
        token = self.token(*roles, **claims)

        class Credential:
            def get_token(self, *_, **__):
                return AccessToken(token, int(time.time()) + 3600)

        return Credential()


@pytest.fixture(scope="module")
def issuer():
    return Issuer()


@pytest.fixture(scope="module")
def server(issuer, tmp_path_factory):
    keys = tmp_path_factory.mktemp("issuer") / "jwks.json"
    keys.write_text(issuer.jwks())
    with Server("--bearer-issuer", ISSUER, "--bearer-keys", keys).checked() as running:
        yield running


@pytest.fixture()
def container(container):
    container.upload_blob("dir/a b", b"content", metadata={"k": "v"})
    return container


def refused(call, status, code):
    with pytest.raises(HttpResponseError) as found:
        call()
    assert (found.value.status_code, found.value.error_code) == (status, code), found.value.message
    return found.value


def opened(server, container, sas, blob="dir/a b"):
    return BlobClient(server.blob_url, container.container_name, blob, credential=sas, retry_total=0)


def blob_sas(container, permission="r", blob="dir/a b", **more):
    return generate_blob_sas(ACCOUNT, container.container_name, blob, account_key=KEY, permission=permission,
                             **{"expiry": later()} | more)


# -- keys

def test_the_connection_string_and_the_key_open_everything(server, service, container):
    assert container.get_blob_client("dir/a b").download_blob().readall() == b"content"
    with_key = BlobServiceClient(server.blob_url, credential={"account_name": ACCOUNT, "account_key": KEY})
    assert container.container_name in [found.name for found in with_key.list_containers()]


def test_use_development_storage_is_what_the_default_ports_serve():
    client = BlobServiceClient.from_connection_string("UseDevelopmentStorage=true")
    assert client.url == f"http://127.0.0.1:10000/{ACCOUNT}/"
    assert (client.account_name, client.credential.account_key) == (ACCOUNT, KEY)


def test_a_wrong_key_opens_nothing(server):
    wrong = BlobServiceClient(server.blob_url, credential={"account_name": ACCOUNT, "account_key": "AQI="}, retry_total=0)
    error = refused(lambda: list(wrong.list_containers()), 403, "AuthenticationFailed")
    assert "string to sign" in error.response.text(), "the development account is told what to sign"


# -- shared access signatures

def test_an_account_sas_opens_its_services_types_and_permissions(server, container):
    def service_with(permission, types, services="b", **more):
        sas = generate_account_sas(ACCOUNT, KEY, resource_types=types, permission=permission,
                                   **{"expiry": later(), "services": services} | more)
        return BlobServiceClient(server.blob_url, credential=sas, retry_total=0)

    name = container.container_name
    all_of_it = service_with("rwdlac", "sco")
    assert name in [found.name for found in all_of_it.list_containers()]
    assert all_of_it.get_blob_client(name, "dir/a b").download_blob().readall() == b"content"
    read = lambda client: lambda: client.get_blob_client(name, "dir/a b").download_blob()
    refused(read(service_with("l", "sco")), 403, "AuthorizationPermissionMismatch")
    refused(read(service_with("r", "sc")), 403, "AuthorizationResourceTypeMismatch")
    refused(read(service_with("r", "o", services="q")), 403, "AuthorizationServiceMismatch")
    refused(read(service_with("r", "o", protocol="https")), 403, "AuthorizationProtocolMismatch")
    refused(read(service_with("r", "o", ip="10.1.2.3")), 403, "AuthorizationSourceIPMismatch")
    refused(lambda: list(service_with("l", "o").list_containers()), 403, "AuthorizationResourceTypeMismatch")


def test_a_blob_sas_opens_one_blob(server, container):
    client = opened(server, container, blob_sas(container))
    assert client.download_blob().readall() == b"content"
    refused(lambda: client.upload_blob(b"new", overwrite=True), 403, "AuthorizationPermissionMismatch")
    refused(lambda: client.delete_blob(), 403, "AuthorizationPermissionMismatch")
    other = opened(server, container, blob_sas(container), blob="dir/other")
    refused(lambda: other.download_blob(), 403, "AuthenticationFailed")


def test_a_blob_sas_may_write_and_delete(server, container):
    client = opened(server, container, blob_sas(container, "rwd"))
    client.upload_blob(b"new", overwrite=True)
    assert client.download_blob().readall() == b"new"
    client.delete_blob()


def test_a_container_sas_opens_what_is_in_it(server, container):
    sas = generate_container_sas(ACCOUNT, container.container_name, account_key=KEY, permission="rl", expiry=later())
    client = ContainerClient(server.blob_url, container.container_name, credential=sas, retry_total=0)
    assert [blob.name for blob in client.list_blobs()] == ["dir/a b"]
    assert client.download_blob("dir/a b").readall() == b"content"
    refused(lambda: client.upload_blob("x", b""), 403, "AuthorizationPermissionMismatch")
    refused(client.delete_container, 403, "AuthorizationFailure")
    refused(client.get_container_access_policy, 403, "AuthorizationFailure")


def test_a_directory_sas_opens_what_is_below(server, container):
    sas = generate_blob_sas(ACCOUNT, container.container_name, "dir", account_key=KEY, permission="r", expiry=later(),
                            is_directory=True)
    assert opened(server, container, sas).download_blob().readall() == b"content"
    container.upload_blob("directory", b"")
    refused(lambda: opened(server, container, sas, "directory").download_blob(), 403, "AuthenticationFailed")


def test_a_snapshot_sas_does_not_open_the_base_blob(server, container):
    sas = blob_sas(container, snapshot="2026-11-14T00:00:00.1234567Z")
    refused(lambda: opened(server, container, sas).download_blob(), 403, "AuthenticationFailed")


def test_times_are_kept(server, container):
    past = opened(server, container, blob_sas(container, expiry=later(minutes=-1)))
    error = refused(lambda: past.download_blob(), 403, "AuthenticationFailed")
    assert "time frame" in error.response.text()
    future = opened(server, container, blob_sas(container, start=later(minutes=5)))
    refused(lambda: future.download_blob(), 403, "AuthenticationFailed")
    by_day = opened(server, container, blob_sas(container, expiry=later(days=2).strftime("%Y-%m-%d")))
    assert by_day.download_blob().readall() == b"content"


def test_the_address_is_that_of_the_connection(server, container):
    assert opened(server, container, blob_sas(container, ip="127.0.0.1-127.0.0.5")).exists()
    other = opened(server, container, blob_sas(container, ip="127.0.0.2"))
    error = refused(lambda: other.download_blob(), 403, "AuthorizationSourceIPMismatch")
    assert "127.0.0.1" in error.message


def test_the_answer_has_the_headers_of_the_signature(server, container):
    sas = blob_sas(container, content_type="text/x-other", content_disposition="attachment; filename=x",
                   cache_control="no-store", content_language="fr", content_encoding="identity")
    settings = opened(server, container, sas).get_blob_properties().content_settings
    assert (settings.content_type, settings.content_disposition) == ("text/x-other", "attachment; filename=x")
    assert (settings.cache_control, settings.content_language) == ("no-store", "fr")


def raw(server, path, headers=()):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("GET", path, headers=dict(headers))
    answer = connection.getresponse()
    answer.body = answer.read()
    connection.close()
    return answer


def test_no_changed_signature_is_accepted(server, container):
    sas = blob_sas(container, start=later(hours=-1), ip="127.0.0.1", protocol="https,http", content_type="text/plain")
    path = f"/{ACCOUNT}/{container.container_name}/dir/a%20b"
    assert raw(server, f"{path}?{sas}").status == 200
    fields = urllib.parse.parse_qsl(sas)
    for place, (name, value) in enumerate(fields):
        for changed in (value[:-1], value + "0", value.swapcase() if value.swapcase() != value else value + "x"):
            query = urllib.parse.urlencode(fields[:place] + [(name, changed)] + fields[place + 1:])
            assert raw(server, f"{path}?{query}").status in (400, 403), (name, changed)
        without = urllib.parse.urlencode(fields[:place] + fields[place + 1:])
        assert raw(server, f"{path}?{without}").status in (401, 403, 404), name
        twice = urllib.parse.urlencode(fields + [(name, value)])
        assert raw(server, f"{path}?{twice}").status == 403, name


# -- stored access policies

def test_a_change_of_a_policy_acts_on_the_next_request(server, container):
    def policy(**more):
        container.set_container_access_policy({"readers": AccessPolicy(**{"permission": "r", "expiry": later()} | more)})

    before = container.get_container_properties().etag
    policy()
    assert container.get_container_properties().etag != before
    found = container.get_container_access_policy()["signed_identifiers"]
    assert [(one.id, one.access_policy.permission) for one in found] == [("readers", "r")]
    sas = generate_container_sas(ACCOUNT, container.container_name, account_key=KEY, policy_id="readers")
    client = opened(server, container, sas)
    for _ in range(3):
        assert client.download_blob().readall() == b"content"
        policy(permission="w")
        refused(lambda: client.download_blob(), 403, "AuthorizationPermissionMismatch")
        policy(expiry=later(minutes=-1))
        refused(lambda: client.download_blob(), 403, "AuthenticationFailed")
        policy()
    container.set_container_access_policy({})
    refused(lambda: client.download_blob(), 403, "AuthenticationFailed")
    policy()
    both = generate_container_sas(ACCOUNT, container.container_name, account_key=KEY, policy_id="readers", permission="r")
    refused(lambda: opened(server, container, both).download_blob(), 400, "InvalidQueryParameterValue")


def test_a_policy_that_is_revoked_during_an_upload_counts(server, container):
    container.set_container_access_policy({"writers": AccessPolicy(permission="cw", expiry=later())})
    sas = generate_container_sas(ACCOUNT, container.container_name, account_key=KEY, policy_id="writers")
    begun, revoked = threading.Event(), threading.Event()

    def body():
        yield b"x" * 200_000
        begun.set()
        assert revoked.wait(20)
        yield b"x" * 200_000

    def upload(answers):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        path = f"/{ACCOUNT}/{container.container_name}/long?{sas}"
        headers = {"x-ms-blob-type": "BlockBlob", "x-ms-version": "2021-12-02", "content-length": "400000"}
        connection.request("PUT", path, body=body(), headers=headers)
        answers.append(connection.getresponse().status)
        connection.close()

    answers = []
    running = threading.Thread(target=upload, args=[answers])
    running.start()
    assert begun.wait(20)
    container.set_container_access_policy({})
    revoked.set()
    running.join()
    assert answers == [403]
    assert not container.get_blob_client("long").exists()


def test_policies_have_limits(container):
    many = {f"id-{number}": AccessPolicy(permission="r", expiry=later()) for number in range(6)}
    with pytest.raises(ValueError):
        container.set_container_access_policy(many)
    refused(lambda: container.set_container_access_policy({"x" * 65: AccessPolicy(permission="r")}), 400,
            "InvalidXmlNodeValue")
    old = later(hours=-1)
    refused(lambda: container.set_container_access_policy({}, if_unmodified_since=old), 412, "ConditionNotMet")


# -- bearer tokens

def by_token(server, token, path, method="GET", headers=(), body=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    headers = {"authorization": f"Bearer {token}", "x-ms-version": "2021-12-02"} | dict(headers)
    connection.request(method, path, headers=headers, body=body)
    answer = connection.getresponse()
    answer.body = answer.read()
    connection.close()
    return answer


@pytest.mark.parametrize("kid", ["rsa", "ec"])
def test_a_token_opens_what_its_roles_allow(server, container, issuer, kid):
    path = f"/{ACCOUNT}/{container.container_name}/dir/a%20b"
    put = {"method": "PUT", "headers": {"x-ms-blob-type": "BlockBlob"}, "body": b"new"}
    reader, writer = issuer.token(READER, kid=kid), issuer.token(CONTRIBUTOR, kid=kid)
    assert by_token(server, reader, path).body == b"content"
    answer = by_token(server, reader, path, **put)
    assert (answer.status, answer.getheader("x-ms-error-code")) == (403, "AuthorizationPermissionMismatch")
    assert by_token(server, writer, path, **put).status == 201
    assert by_token(server, issuer.token("Storage Queue Data Contributor"), path).status == 403
    assert by_token(server, issuer.token(), path).status == 403


def test_wrong_tokens_are_refused_with_a_challenge(server, container, issuer):
    path = f"/{ACCOUNT}/{container.container_name}/dir/a%20b"
    good = issuer.token(READER)
    wrong = {
        "expired": issuer.token(READER, exp=later(hours=-1)),
        "not yet": issuer.token(READER, nbf=later()),
        "issuer": issuer.token(READER, iss="https://elsewhere.test/"),
        "audience": issuer.token(READER, aud="https://elsewhere.test"),
        "stranger": Issuer().token(READER),
        "unsigned": jwt.encode(jwt.decode(good, options={"verify_signature": False}), None, algorithm="none"),
        "tampered": good[:-20] + ("A" if good[-20] != "A" else "B") + good[-19:],
        "nonsense": "nonsense",
    }
    for name, token in wrong.items():
        answer = by_token(server, token, path)
        assert (answer.status, answer.getheader("x-ms-error-code")) == (401, "InvalidAuthenticationInfo"), name
        challenge = answer.getheader("www-authenticate")
        assert challenge.startswith("Bearer authorization_uri=https://issuer.test/tenant-1/"), name
        assert "resource_id=https://storage.azure.com" in challenge


def delegation_key(server, issuer, *roles):
    start, expiry = (at.strftime("%Y-%m-%dT%H:%M:%SZ") for at in (later(minutes=-5), later(hours=2)))
    body = f"<KeyInfo><Start>{start}</Start><Expiry>{expiry}</Expiry></KeyInfo>".encode()
    path = f"/{ACCOUNT}/?restype=service&comp=userdelegationkey"
    return by_token(server, issuer.token(*roles), path, "POST", body=body)


def user_delegation_key(server, issuer, *roles):
    from azure.storage.blob import UserDelegationKey
    import xml.etree.ElementTree as xml

    answer = delegation_key(server, issuer, *roles)
    assert answer.status == 200, answer.body
    found = xml.fromstring(answer.body)
    key = UserDelegationKey()
    for attribute, element in [("signed_oid", "SignedOid"), ("signed_tid", "SignedTid"), ("signed_start", "SignedStart"),
                               ("signed_expiry", "SignedExpiry"), ("signed_service", "SignedService"),
                               ("signed_version", "SignedVersion"), ("value", "Value")]:
        setattr(key, attribute, found.findtext(element))
    key.signed_delegated_user_tid = None
    assert (key.signed_oid, key.signed_tid, key.signed_service) == ("object-1", "tenant-1", "b")
    return key


def test_a_user_delegation_sas_opens_what_its_maker_may(server, container, issuer):
    def client(key, permission, **more):
        sas = generate_blob_sas(ACCOUNT, container.container_name, "dir/a b", user_delegation_key=key,
                                permission=permission, expiry=later(), **more)
        return opened(server, container, sas)

    contributor = user_delegation_key(server, issuer, CONTRIBUTOR)
    assert client(contributor, "r").download_blob().readall() == b"content"
    client(contributor, "w").upload_blob(b"new", overwrite=True)
    refused(lambda: client(contributor, "r").upload_blob(b"", overwrite=True), 403, "AuthorizationPermissionMismatch")
    reader = user_delegation_key(server, issuer, READER)
    assert client(reader, "rw").download_blob().readall() == b"new"
    refused(lambda: client(reader, "rw").upload_blob(b"", overwrite=True), 403, "AuthorizationPermissionMismatch")
    contributor.signed_oid = "object-2"
    refused(lambda: client(contributor, "r").download_blob(), 403, "AuthenticationFailed")


def test_a_user_delegation_sas_can_be_bound_to_a_user_and_to_headers(server, container, issuer):
    key = user_delegation_key(server, issuer, CONTRIBUTOR)
    make = lambda **more: generate_blob_sas(ACCOUNT, container.container_name, "dir/a b", user_delegation_key=key,
                                            permission="r", expiry=later(), **more)
    path = f"/{ACCOUNT}/{container.container_name}/dir/a%20b?"
    bound = make(user_delegation_oid="user-1")
    assert raw(server, path + bound).status == 403
    assert by_token(server, issuer.token(oid="user-1"), path + bound).status == 200
    assert by_token(server, issuer.token(oid="user-2"), path + bound).status == 403
    headers = make(request_headers={"x-ms-purpose": "test"})
    assert raw(server, path + headers, {"x-ms-purpose": "test"}).status == 200
    assert raw(server, path + headers, {"x-ms-purpose": "other"}).status == 403
    assert raw(server, path + headers).status == 403


def test_a_delegation_key_needs_a_token_with_the_right_to_it(server, service, issuer):
    assert delegation_key(server, issuer, "Storage Queue Data Contributor").status == 403
    assert delegation_key(server, issuer, "Storage Blob Delegator").status == 200
    refused(lambda: service.get_user_delegation_key(later(minutes=-5), later()), 403, "AuthenticationFailed")


@pytest.fixture(scope="module")
def secure(issuer, tmp_path_factory):
    """A server with TLS: the SDK sends tokens over nothing else."""
    directory = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "lazuli test")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), later(hours=-1), later())
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False).sign(key, hashes.SHA256())
    (directory / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (directory / "key.pem").write_bytes(key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    (directory / "jwks.json").write_text(issuer.jwks())
    running = Server("--bearer-issuer", ISSUER, "--bearer-keys", directory / "jwks.json",
                     "--tls-cert", directory / "cert.pem", "--tls-key", directory / "key.pem").start()
    running.certificate = str(directory / "cert.pem")
    yield running
    assert running.stop() == 0
    running.remove()


def test_the_sdk_works_with_tokens_and_delegation_over_https(secure, issuer):
    url = f"https://127.0.0.1:{secure.port}/{ACCOUNT}"
    service = BlobServiceClient(url, credential=issuer.credential(CONTRIBUTOR), connection_verify=secure.certificate,
                                retry_total=0)
    container = service.create_container("tokens")
    container.upload_blob("a", b"content")
    key = service.get_user_delegation_key(later(minutes=-5), later())
    sas = generate_container_sas(ACCOUNT, "tokens", user_delegation_key=key, permission="rl", expiry=later(),
                                 protocol="https")
    client = ContainerClient(url, "tokens", credential=sas, connection_verify=secure.certificate, retry_total=0)
    assert [blob.name for blob in client.list_blobs()] == ["a"]
    assert client.download_blob("a").readall() == b"content"
    refused(lambda: client.upload_blob("b", b""), 403, "AuthorizationPermissionMismatch")
    reader = BlobServiceClient(url, credential=issuer.credential(READER), connection_verify=secure.certificate,
                               retry_total=0)
    refused(lambda: reader.create_container("more"), 403, "AuthorizationPermissionMismatch")
    refused(lambda: container.set_container_access_policy({}), 403, "AuthorizationPermissionMismatch")
    service.delete_container("tokens")


# -- no credential

def test_anonymous_reads_are_what_the_container_allows(server, service, container):
    name = container.container_name
    blob = lambda: BlobClient(server.blob_url, name, "dir/a b", retry_total=0).download_blob().readall()
    listing = lambda: list(ContainerClient(server.blob_url, name, retry_total=0).list_blobs())
    refused(blob, 401, "NoAuthenticationInformation")
    container.set_container_access_policy({}, public_access="blob")
    assert blob() == b"content"
    refused(listing, 401, "NoAuthenticationInformation")
    container.set_container_access_policy({}, public_access="container")
    assert len(listing()) == 1 and container.get_container_access_policy()["public_access"] == "container"
    write = BlobClient(server.blob_url, name, "x", retry_total=0)
    refused(lambda: write.upload_blob(b""), 401, "NoAuthenticationInformation")
    refused(lambda: list(BlobServiceClient(server.blob_url, retry_total=0).list_containers()), 401,
            "NoAuthenticationInformation")
    container.set_container_access_policy({})
    answer = raw(server, f"/{ACCOUNT}/{name}/dir/a%20b", {"x-ms-version": "2021-12-02"})
    assert answer.status == 401 and answer.getheader("www-authenticate").startswith("Bearer ")
    browser = raw(server, f"/{ACCOUNT}/{name}/dir/a%20b")
    assert browser.status == 404, "without a version nothing is told"
    assert raw(server, f"/{ACCOUNT}/?restype=account&comp=properties").status == 401


def test_a_container_created_public_is_public(server, service):
    client = service.create_container(f"c-{uuid.uuid4()}", public_access="blob")
    client.upload_blob("a", b"content")
    assert BlobClient(server.blob_url, client.container_name, "a").download_blob().readall() == b"content"
    name = client.container_name
    client.delete_container()
    again = service.create_container(name)
    again.upload_blob("a", b"content")
    refused(lambda: BlobClient(server.blob_url, name, "a").download_blob(), 401, "NoAuthenticationInformation")
    again.delete_container()


def test_an_account_without_public_access_is_never_public():
    server = Server("--public-access=false").start()
    try:
        service = BlobServiceClient.from_connection_string(server.connection_string, retry_total=0)
        refused(lambda: service.create_container("public", public_access="blob"), 409, "PublicAccessNotPermitted")
        private = service.create_container("private")
        refused(lambda: private.set_container_access_policy({}, public_access="blob"), 409, "PublicAccessNotPermitted")
        refused(lambda: BlobClient(server.blob_url, "private", "a").download_blob(), 409, "PublicAccessNotPermitted")
    finally:
        assert server.stop() == 0
        server.remove()


# -- accounts that change while serving

def test_accounts_change_while_serving(server):
    def command(*arguments):
        return run("account", *arguments, "--data-dir", server.data)

    first, second = command("add", "mine").stdout.splitlines()[1:]
    assert "mine stored 2" in command("list").stdout and f"{ACCOUNT} configured 1" in command("list").stdout

    def client(key):
        url = server.blob_url.replace(ACCOUNT, "mine")
        return BlobServiceClient(url, credential={"account_name": "mine", "account_key": key}, retry_total=0)

    client(first).create_container("boxes")
    assert [found.name for found in client(second).list_containers()] == ["boxes"]
    fresh = command("rotate-key", "mine", "--number", "1").stdout.splitlines()[1]
    refused(lambda: list(client(first).list_containers()), 403, "AuthenticationFailed")
    assert [found.name for found in client(fresh).list_containers()] == ["boxes"]
    assert command("keys", "mine").stdout.splitlines() == [fresh, second]

    sas = run("sas", "container", "boxes", "--account", "mine", "--permissions", "l", "--expiry", "1h", "--data-dir",
              server.data, "--url", server.blob_url.replace(ACCOUNT, "mine")).stdout.strip()
    assert list(ContainerClient.from_container_url(sas).list_blobs()) == []
    command("rotate-key", "mine", "--number", "1")
    refused(lambda: list(ContainerClient.from_container_url(sas, retry_total=0).list_blobs()), 403,
            "AuthenticationFailed")
    command("remove", "mine")
    refused(lambda: list(client(second).list_containers()), 403, "AuthenticationFailed")
    assert command("remove", ACCOUNT).returncode == 1, "it is configured"
    command("add", "mine", "--key", second)
    assert [found.name for found in client(second).list_containers()] == ["boxes"], "the data was kept"
    command("remove", "mine")
