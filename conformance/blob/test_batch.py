"""Blob Batch: deletes and tiers, at the account and in a container; every part for itself."""

import pytest
from azure.core import MatchConditions
from azure.storage.blob import PartialBatchErrorException

from lazuli import ACCOUNT
from raw import http_date, sign


def test_delete_many(container):
    for number in range(256):
        container.upload_blob(f"b{number:03}", b"")
    container.delete_blobs(*[f"b{number:03}" for number in range(256)])
    assert list(container.list_blobs()) == []


def test_each_part_has_its_own_answer(container):
    container.upload_blob("there", b"x")
    leased = container.upload_blob("leased", b"x")
    lease = leased.acquire_lease()
    answers = list(container.delete_blobs("there", "absent", "leased", raise_on_any_failure=False))
    assert [answer.status_code for answer in answers] == [202, 404, 412]
    assert [item.name for item in container.list_blobs()] == ["leased"]
    with pytest.raises(PartialBatchErrorException):
        container.delete_blobs("leased")
    lease.release()


def test_tiers_of_many(container):
    for name in ("a", "b", "ä b"):
        container.upload_blob(name, b"x")
    answers = container.set_standard_blob_tier_blobs("Cool", "a", "b", "ä b")
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert {item.blob_tier for item in container.list_blobs()} == {"Cool"}


def test_snapshots_and_conditions_of_parts(container):
    blob = container.upload_blob("b", b"x")
    taken = blob.create_snapshot()["snapshot"]
    answers = list(container.delete_blobs({"name": "b", "snapshot": taken}, raise_on_any_failure=False))
    assert [answer.status_code for answer in answers] == [202]
    stale = {"name": "b", "etag": '"0x1"', "match_condition": MatchConditions.IfNotModified}
    answers = list(container.delete_blobs(stale, raise_on_any_failure=False))
    assert [answer.status_code for answer in answers] == [412] and blob.exists()


def part(method, path, query="", headers=None, content_id="0", signed=True):
    path = f"/{ACCOUNT}{path}"
    headers = {"x-ms-date": http_date(), "Content-Length": "0", **(headers or {})}
    if signed:
        pairs = dict(pair.split("=", 1) for pair in query.split("&") if pair)
        headers["Authorization"] = sign(method, path, pairs, {**headers, "Content-Length": ""})[1]
    lines = "".join(f"{name}: {text}\r\n" for name, text in headers.items())
    target = path + ("?" + query if query else "")
    return (f"--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n"
            f"Content-ID: {content_id}\r\n\r\n{method} {target} HTTP/1.1\r\n{lines}\r\n")


def submit(raw, path, *parts, query=None):
    body = ("".join(parts) + "--b--\r\n").encode()
    return raw.call("POST", path, {"comp": "batch", **(query or {})},
                    {"Content-Type": "multipart/mixed; boundary=b"}, body)


def test_a_batch_by_hand(container, raw):
    name = container.container_name
    container.upload_blob("b", b"x")
    answer = submit(raw, "/", part("DELETE", f"/{name}/b", content_id="seven"),
                    part("DELETE", f"/{name}/b", content_id="eight", signed=False))
    assert answer.status == 202
    assert answer.headers["Content-Type"].startswith("multipart/mixed; boundary=batchresponse_")
    first, second = answer.text.split("Content-ID: ")[1:]
    assert first.startswith("seven") and "HTTP/1.1 202" in first and "x-ms-delete-type-permanent: true" in first
    assert second.startswith("eight") and "HTTP/1.1 401" in second and "NoAuthenticationInformation" in second


def test_what_is_no_batch_does_nothing(container, raw):
    name = container.container_name
    container.upload_blob("kept", b"x")
    delete = part("DELETE", f"/{name}/kept")
    scope = {"restype": "container"}
    table = [
        submit(raw, "/"),
        submit(raw, "/", delete, part("PUT", f"/{name}/kept", "comp=metadata")),
        submit(raw, "/", delete, part("GET", f"/{name}/kept")),
        submit(raw, "/", delete, part("DELETE", f"/{name}", "restype=container")),
        submit(raw, "/", *[delete] * 257),
        submit(raw, f"/{name}", delete, part("DELETE", "/other/b"), query=scope),
        raw.call("POST", "/", {"comp": "batch"}, {"Content-Type": "multipart/mixed; boundary=b"}, b"--b\r\nnonsense"),
    ]
    # One answer in the place of all, to no single part.
    for answer in table:
        assert (answer.status, answer.text.count("HTTP/1.1 400 "), answer.text.count("HTTP/1.1 ")) == (202, 1, 1)
        assert "x-ms-error-code: InvalidInput" in answer.text and "Content-ID" not in answer.text
    plain = raw.call("POST", "/", {"comp": "batch"}, {"Content-Type": "text/plain"}, b"x")
    assert (plain.status, plain.code) == (400, "InvalidHeaderValue")
    large = raw.call("POST", "/", {"comp": "batch"}, {"Content-Type": "multipart/mixed; boundary=b"},
                     b"x" * (4 * 1024 * 1024 + 1))
    assert large.status == 413
    assert raw.call("POST", "/", {"comp": "batch"}, body=b"x").code == "MissingRequiredHeader"
    assert container.get_blob_client("kept").exists()


def test_a_batch_in_a_container(container, raw):
    container.upload_blob("b", b"x")
    answer = submit(raw, f"/{container.container_name}", part("DELETE", f"/{container.container_name}/b"),
                    query={"restype": "container"})
    assert answer.status == 202 and "HTTP/1.1 202" in answer.text


def test_a_batch_is_authenticated_itself(raw):
    answer = raw.call("POST", "/", {"comp": "batch"}, {"Content-Type": "multipart/mixed; boundary=b"}, b"x",
                      key="AAAA")
    assert (answer.status, answer.code) == (403, "AuthenticationFailed")
