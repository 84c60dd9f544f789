"""Tags: set, read, counted, found; and conditions on them."""

import datetime

import pytest
from azure.storage.blob import BlobClient, ContainerClient, PublicAccess, generate_blob_sas, generate_container_sas

from expect import refused
from lazuli import ACCOUNT, KEY
from raw import xml_of

TAGS = {"project": "lazuli", "stage": "test 1", "empty": ""}


def test_tags_come_back(container):
    blob = container.upload_blob("tagged", b"x", tags=TAGS)
    assert blob.get_blob_tags() == TAGS
    etag = blob.get_blob_properties().etag
    assert blob.get_blob_properties().tag_count == 3
    blob.set_blob_tags({"only": "one"})
    assert blob.get_blob_tags() == {"only": "one"}
    found = blob.get_blob_properties()
    assert found.tag_count == 1 and found.etag == etag, "tags change no ETag"
    blob.set_blob_tags()
    assert blob.get_blob_tags() == {} and blob.get_blob_properties().tag_count is None


def test_tags_of_every_way_to_create(container):
    page = container.get_blob_client("page")
    page.create_page_blob(512, tags=TAGS)
    append = container.get_blob_client("append")
    append.create_append_blob(tags=TAGS)
    blocks = container.get_blob_client("blocks")
    blocks.stage_block("YQ==", b"x")
    blocks.commit_block_list(["YQ=="], tags=TAGS)
    for blob in (page, append, blocks):
        assert blob.get_blob_tags() == TAGS
    blocks.upload_blob(b"no tags", overwrite=True)
    assert blocks.get_blob_tags() == {}


@pytest.mark.parametrize("tags, code", [
    ({f"k{number}": "v" for number in range(11)}, "TagsTooLarge"),
    ({"k" * 129: "v"}, "TagsTooLarge"),
    ({"k": "v" * 257}, "TagsTooLarge"),
    ({"": "v"}, "EmptyTagName"),
    ({"a&b": "v"}, "InvalidInput"),
    ({"a": "ä"}, "InvalidInput"),
])
def test_limits(container, tags, code):
    blob = container.upload_blob("limited", b"x", overwrite=True, tags={"kept": "yes"})
    with refused(400, code):
        blob.set_blob_tags(tags)
    assert blob.get_blob_tags() == {"kept": "yes"}


@pytest.mark.parametrize("body, code", [
    (b"", "InvalidXmlDocument"),
    (b"<Tags/>", "InvalidXmlDocument"),
    (b"<Tags><TagSet><Tag><Key>a</Key></Tag></TagSet></Tags>", "InvalidXmlDocument"),
    (b"<Tags><TagSet>" + b"<Tag><Key>a</Key><Value>b</Value></Tag>" * 2 + b"</TagSet></Tags>", "DuplicateTagNames"),
    (b" " * 70_000, "RequestBodyTooLarge"),
])
def test_documents_that_are_none(container, raw, body, code):
    container.upload_blob("doc", b"x", overwrite=True)
    answer = raw.call("PUT", f"/{container.container_name}/doc", {"comp": "tags"}, body=body)
    assert answer.code == code, answer.text


def test_if_tags(container):
    blob = container.upload_blob("conditional", b"first", tags={"state": "open", "number": "5"})
    blob.upload_blob(b"second", overwrite=True, if_tags_match_condition="state = 'open'", tags={"state": "closed"})
    with refused(412, "ConditionNotMet"):
        blob.upload_blob(b"third", overwrite=True, if_tags_match_condition="state = 'open'")
    with refused(412, "ConditionNotMet"):
        blob.download_blob(if_tags_match_condition="state <> 'closed'")
    with refused(412, "ConditionNotMet"):
        blob.get_blob_tags(if_tags_match_condition="other = 'x'")
    with refused(412, "ConditionNotMet"):
        blob.set_blob_tags({}, if_tags_match_condition="state = 'open'")
    assert blob.download_blob(if_tags_match_condition="state > 'a' AND (state < 'd' OR x = 'y')").readall() == b"second"
    with refused(400, "InvalidHeaderValue"):
        blob.download_blob(if_tags_match_condition="state =")


def test_a_condition_on_tags_needs_the_permission_to_read_them(service):
    """Who may only read the content must not learn the tags by asking until it guesses them."""
    container = service.create_container("public-tags", public_access=PublicAccess.BLOB)
    blob = container.upload_blob("b", b"content", tags={"secret": "yes"})
    expiry = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)

    def signed(permission):
        sas = generate_blob_sas(ACCOUNT, "public-tags", "b", account_key=KEY, permission=permission, expiry=expiry)
        return BlobClient.from_blob_url(f"{blob.url}?{sas}", retry_total=0)

    met, unmet = "secret = 'yes'", "secret = 'no'"
    for guess in (met, unmet):
        with refused(403, "AuthorizationPermissionMismatch"):
            signed("r").download_blob(if_tags_match_condition=guess)
        with refused(401):
            BlobClient.from_blob_url(blob.url, retry_total=0).download_blob(if_tags_match_condition=guess)
    assert signed("rt").download_blob(if_tags_match_condition=met).readall() == b"content"
    with refused(412, "ConditionNotMet"):
        signed("rt").download_blob(if_tags_match_condition=unmet)
    assert BlobClient.from_blob_url(blob.url, retry_total=0).download_blob().readall() == b"content"

    def lister(permission):
        sas = generate_container_sas(ACCOUNT, "public-tags", account_key=KEY, permission=permission, expiry=expiry)
        return ContainerClient.from_container_url(f"{container.url}?{sas}", retry_total=0)

    assert [found.name for found in lister("l").list_blobs()] == ["b"]
    with refused(403, "AuthorizationPermissionMismatch"):
        list(lister("l").list_blobs(include=["tags"]))
    assert [found.tags for found in lister("lt").list_blobs(include=["tags"])] == [{"secret": "yes"}]
    container.delete_container()


def test_conditions_of_their_own(container, raw):
    blob = container.upload_blob("own", b"x", tags={"a": "b"})
    path, etag = f"/{container.container_name}/own", blob.get_blob_properties().etag
    answer = raw.call("GET", path, {"comp": "tags"}, {"x-ms-blob-if-match": etag})
    assert answer.status == 200 and "ETag" not in answer.headers
    assert [tag.find("Key").text for tag in xml_of(answer).findall("TagSet/Tag")] == ["a"]
    body = b"<Tags><TagSet/></Tags>"
    wrong = raw.call("PUT", path, {"comp": "tags"}, {"x-ms-blob-if-match": '"0x1"'}, body)
    assert (wrong.status, wrong.code) == (412, "ConditionNotMet")
    assert raw.call("PUT", path, {"comp": "tags"}, {"x-ms-blob-if-match": etag}, body).status == 204
    # The standard conditions mean nothing here.
    assert raw.call("GET", path, {"comp": "tags"}, {"If-Match": '"0x1"'}).status == 200


def test_a_lease_guards_tags(container):
    blob = container.upload_blob("leased", b"x")
    lease = blob.acquire_lease()
    with refused(412, "LeaseIdMissing"):
        blob.set_blob_tags({"a": "b"})
    blob.set_blob_tags({"a": "b"}, lease=lease)
    assert blob.get_blob_tags() == {"a": "b"}
    lease.release()


def test_snapshots_keep_their_tags(container, raw):
    blob = container.upload_blob("snapped", b"x", tags={"a": "old"})
    taken = blob.create_snapshot()["snapshot"]
    blob.set_blob_tags({"a": "new"})
    answer = raw.call("GET", f"/{container.container_name}/snapped", {"comp": "tags", "snapshot": taken})
    assert [tag.find("Value").text for tag in xml_of(answer).findall("TagSet/Tag")] == ["old"]


def test_find_in_the_account_and_in_a_container(service, container):
    other = service.create_container(container.container_name + "-other")
    for number in range(12):
        container.upload_blob(f"n{number:02}", b"x", tags={"find": "me", "number": f"{number:02}"})
    other.upload_blob("elsewhere", b"x", tags={"find": "me", "number": "03"})
    container.upload_blob("hidden", b"x", tags={"find": "not"})

    def found(where, **options):
        return sorted((item.container_name, item.name) for item in service.find_blobs_by_tags(where, **options))

    here = container.container_name
    assert found("find = 'me' AND number >= '03' AND number < '05'") == [
        (here, "n03"), (here, "n04"), (other.container_name, "elsewhere")]
    assert found(f"@container = '{here}' AND find = 'me' AND number = '03'") == [(here, "n03")]
    assert len(found("find = 'me'", results_per_page=5)) == 13
    item = next(iter(service.find_blobs_by_tags("number = '07'")))
    assert item.tags == {"number": "07"}
    assert [b.name for b in container.find_blobs_by_tags("find = 'me' AND number > '09'")] == ["n10", "n11"]
    container.delete_blob("n10")
    container.get_blob_client("n11").set_blob_tags({"find": "not"})
    assert [b.name for b in container.find_blobs_by_tags("find = 'me' AND number > '09'")] == []
    other.delete_container()
    assert (other.container_name, "elsewhere") not in found("find = 'me'")


@pytest.mark.parametrize("query, code", [
    ({}, "MissingRequiredQueryParameter"),
    ({"where": ""}, "InvalidQueryParameterValue"),
    ({"where": "a = b"}, "InvalidQueryParameterValue"),
    ({"where": "a = 'b' OR c = 'd'"}, "InvalidQueryParameterValue"),
    ({"where": "a = 'b'", "marker": "?"}, "InvalidQueryParameterValue"),
    ({"where": "a = 'b'", "maxresults": "0"}, "OutOfRangeQueryParameterValue"),
    ({"where": "a = 'b'", "include": "everything"}, "InvalidQueryParameterValue"),
])
def test_refusals_of_find(raw, query, code):
    answer = raw.call("GET", "/", {"comp": "blobs", **query})
    assert (answer.status, answer.code) == (400, code), answer.text
