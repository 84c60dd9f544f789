"""What older versions of the service answered otherwise."""

import pytest

from raw import xml_of

BLOCK = {"x-ms-blob-type": "BlockBlob"}


@pytest.mark.parametrize("version, quoted", [("2009-09-19", False), ("2011-08-18", True), ("2021-12-02", True)])
def test_etags_have_quotes_from_2011_on(container, raw, version, quoted):
    path, asked = f"/{container.container_name}/b", {"x-ms-version": version}
    written = raw.call("PUT", path, headers={**BLOCK, **asked}, body=b"x").headers["ETag"]
    read = raw.call("HEAD", path, headers=asked).headers["ETag"]
    of_container = raw.call("HEAD", f"/{container.container_name}", {"restype": "container"}, asked).headers["ETag"]
    for etag in (written, read, of_container):
        assert (etag[0] == '"' and etag[-1] == '"') == quoted
    # Both forms are understood.
    assert raw.call("GET", path, headers={"If-Match": written.strip('"')}).status == 200
    assert raw.call("GET", path, headers={"If-Match": '"' + written.strip('"') + '"'}).status == 200


def test_listings_named_every_address_before_2013(container, raw):
    container.upload_blob("a b/ä", b"x")
    query, path = {"restype": "container", "comp": "list"}, f"/{container.container_name}"
    old = xml_of(raw.call("GET", path, query, {"x-ms-version": "2012-02-12"}))
    url = old.find("Blobs/Blob/Url").text
    assert url.endswith(f"/{container.container_name}/a%20b/%C3%A4")
    assert old.get("ContainerName").endswith(f"/{container.container_name}") and old.get("ServiceEndpoint") is None
    new = xml_of(raw.call("GET", path, query, {"x-ms-version": "2013-08-15"}))
    assert new.find("Blobs/Blob/Url") is None
    assert new.get("ContainerName") == container.container_name and new.get("ServiceEndpoint")
    containers = {"comp": "list", "prefix": container.container_name}
    old = xml_of(raw.call("GET", "/", containers, {"x-ms-version": "2012-02-12"}))
    assert old.find("Containers/Container/Url").text.endswith(f"/{container.container_name}")
    assert old.get("AccountName").startswith("http://")


def test_old_leases_last_a_minute(container, raw):
    container.upload_blob("b", b"x")
    path, acquire = f"/{container.container_name}/b", {"x-ms-lease-action": "acquire"}
    assert raw.call("PUT", path, {"comp": "lease"}, acquire).code == "MissingRequiredHeader"
    answer = raw.call("PUT", path, {"comp": "lease"}, {**acquire, "x-ms-version": "2011-08-18"})
    assert answer.status == 201
    assert raw.call("HEAD", path).headers["x-ms-lease-duration"] == "fixed"
    raw.call("PUT", path, {"comp": "lease"}, {"x-ms-lease-action": "break", "x-ms-lease-break-period": "0"})


@pytest.mark.parametrize("version, comp, limit", [
    ("2015-12-11", "block", 4 * 1024 * 1024),
    ("2016-05-31", "block", 100 * 1024 * 1024),
    ("2019-12-12", "block", 4000 * 1024 * 1024),
    ("2015-12-11", None, 64 * 1024 * 1024),
    ("2016-05-31", None, 256 * 1024 * 1024),
    ("2019-12-12", None, 5000 * 1024 * 1024),
])
def test_limits_grew_with_the_versions(container, raw, version, comp, limit):
    """Refused by its length alone: nothing of the body is sent."""
    query = {"comp": comp, "blockid": "YQ=="} if comp else {}
    headers = {**BLOCK, "x-ms-version": version, "Content-Length": str(limit + 1)}
    answer = raw.call("PUT", f"/{container.container_name}/b", query, headers)
    assert (answer.status, answer.code) == (413, "RequestBodyTooLarge"), answer.text
    assert str(limit) in answer.text


def test_found_blobs_before_2020_04_08(container, raw):
    container.upload_blob("b", b"x", tags={"only": "value"})
    query = {"comp": "blobs", "where": "only = 'value'"}
    old = xml_of(raw.call("GET", "/", query, {"x-ms-version": "2019-12-12"}))
    assert old.find("Blobs/Blob/TagValue").text == "value" and old.find("Blobs/Blob/Tags") is None
    new = xml_of(raw.call("GET", "/", query))
    assert new.find("Blobs/Blob/Tags/TagSet/Tag/Value").text == "value" and new.find("Where").text == "only = 'value'"


def test_before_batches_there_were_none(raw):
    answer = raw.call("POST", "/", {"comp": "batch"}, {"x-ms-version": "2018-11-09", "Content-Type": "x"}, b"x")
    assert (answer.status, answer.code) == (400, "InvalidQueryParameterValue")
