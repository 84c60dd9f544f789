"""The tables of the concurrency promise, row by row through HTTP: which operation returns the ETag, which takes
conditions, which changes the ETag, and what each makes of a lease id. Copies are tested beside their own operations."""

import datetime
import uuid

import pytest

from raw import http_date

HELD, OTHER = str(uuid.UUID(int=0xA)), str(uuid.UUID(int=0xB))
FUTURE = http_date(datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1))
PAST = http_date(datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1))
STALE = '"0x0000000000000001"'

YES, NO = True, False
WRITE, READ, IGNORED = "needs the id", "checks an id that is sent", "takes no id"

BLOCK = {"x-ms-blob-type": "BlockBlob"}
TAGS = b"<Tags><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tags>"
LIST = b"<BlockList><Latest>YQ==</Latest></BlockList>"
PAGES = {"x-ms-page-write": "update", "x-ms-range": "bytes=0-511"}

# name: kind, method, query, headers, body, returns ETag, takes conditions, changes the ETag, lease
BLOB = {
    "Put Blob": ("block", "PUT", {}, BLOCK, b"new", YES, YES, YES, WRITE),
    "Get Blob": ("block", "GET", {}, {}, b"", YES, YES, NO, READ),
    "Get Blob Properties": ("block", "HEAD", {}, {}, b"", YES, YES, NO, READ),
    "Set Blob Properties": ("block", "PUT", {"comp": "properties"}, {"x-ms-blob-content-type": "a/b"}, b"",
                            YES, YES, YES, WRITE),
    "Get Blob Metadata": ("block", "GET", {"comp": "metadata"}, {}, b"", YES, YES, NO, READ),
    "Set Blob Metadata": ("block", "PUT", {"comp": "metadata"}, {"x-ms-meta-a": "b"}, b"", YES, YES, YES, WRITE),
    "Snapshot Blob": ("block", "PUT", {"comp": "snapshot"}, {}, b"", YES, YES, NO, READ),
    "Delete Blob": ("block", "DELETE", {}, {}, b"", NO, YES, NO, WRITE),
    "Put Block": ("block", "PUT", {"comp": "block", "blockid": "YQ=="}, {}, b"x", NO, NO, NO, WRITE),
    "Put Block List": ("block", "PUT", {"comp": "blocklist"}, {}, LIST, YES, YES, YES, WRITE),
    "Get Block List": ("block", "GET", {"comp": "blocklist"}, {}, b"", YES, NO, NO, READ),
    "Put Page": ("page", "PUT", {"comp": "page"}, PAGES, b"\1" * 512, YES, YES, YES, WRITE),
    "Get Page Ranges": ("page", "GET", {"comp": "pagelist"}, {}, b"", YES, YES, NO, READ),
    "Append Block": ("append", "PUT", {"comp": "appendblock"}, {}, b"x", YES, YES, YES, WRITE),
    "Append Blob Seal": ("append", "PUT", {"comp": "seal"}, {}, b"", YES, YES, NO, WRITE),
    "Set Blob Tags": ("block", "PUT", {"comp": "tags"}, {}, TAGS, NO, NO, NO, WRITE),
    "Get Blob Tags": ("block", "GET", {"comp": "tags"}, {}, b"", NO, NO, NO, READ),
    "Set Blob Tier": ("block", "PUT", {"comp": "tier"}, {"x-ms-access-tier": "Cool"}, b"", NO, NO, NO, WRITE),
    "Set Blob Expiry": ("block", "PUT", {"comp": "expiry"}, {"x-ms-expiry-option": "NeverExpire"}, b"",
                        YES, NO, YES, WRITE),
}

CONTAINER = {"restype": "container"}
# name: method, query, returns ETag, conditions it takes, changes the ETag, lease
CONTAINERS = {
    "Get Container Properties": ("GET", CONTAINER, YES, [], NO, READ),
    "Get Container Metadata": ("GET", {**CONTAINER, "comp": "metadata"}, YES, [], NO, READ),
    "Set Container Metadata": ("PUT", {**CONTAINER, "comp": "metadata"}, YES, ["If-Modified-Since"], YES, READ),
    "Delete Container": ("DELETE", CONTAINER, NO, ["If-Modified-Since", "If-Unmodified-Since"], NO, WRITE),
    "List Blobs": ("GET", {**CONTAINER, "comp": "list"}, NO, [], NO, IGNORED),
}

UNMET = {"If-Match": STALE, "If-Modified-Since": FUTURE, "If-Unmodified-Since": PAST}


class Place:
    """A container with a blob in it, and the requests of the tables against them."""

    def __init__(self, raw):
        self.raw = raw
        self.container = f"/t-{uuid.uuid4()}"
        self.path = f"{self.container}/b"
        assert raw.call("PUT", self.container, CONTAINER).status == 201

    def make(self, kind):
        headers = {"block": BLOCK, "page": {"x-ms-blob-type": "PageBlob", "x-ms-blob-content-length": "512"},
                   "append": {"x-ms-blob-type": "AppendBlob"}}[kind]
        made = self.raw.call("PUT", self.path, headers=headers, body=b"old" if kind == "block" else b"")
        assert made.status == 201
        if kind == "block":
            staged = self.raw.call("PUT", self.path, {"comp": "block", "blockid": "YQ=="}, body=b"staged")
            assert staged.status == 201

    def lease(self, path, query):
        acquire = {"x-ms-lease-action": "acquire", "x-ms-lease-duration": "-1", "x-ms-proposed-lease-id": HELD}
        assert self.raw.call("PUT", path, {**query, "comp": "lease"}, acquire).status == 201

    def etag(self, path, query=None):
        return self.raw.call("HEAD", path, query).headers.get("ETag")

    def blob(self, name, **headers):
        _, method, query, own, body, *_ = BLOB[name]
        return self.raw.call(method, self.path, query, {**own, **{k.replace("_", "-"): v for k, v in headers.items()}},
                             body)


@pytest.fixture()
def place(server, raw):
    return Place(raw)


def fine(answer):
    return 200 <= answer.status < 300


@pytest.mark.parametrize("name", BLOB)
def test_a_blob_operation_returns_and_changes_the_etag_as_it_should(place, name):
    kind, *_, returns, _, changes, _ = BLOB[name]
    place.make(kind)
    before = place.etag(place.path)
    answer = place.blob(name)
    assert fine(answer), answer.text
    after = place.etag(place.path)
    if returns:
        assert answer.headers["ETag"] == after
    else:
        assert "ETag" not in answer.headers
    if name == "Delete Blob":
        assert after is None
    else:
        assert (before != after) == changes


@pytest.mark.parametrize("name", BLOB)
def test_a_blob_operation_takes_conditions_or_not(place, name):
    kind, method, *_, takes, _, _ = BLOB[name]
    place.make(kind)
    before = place.etag(place.path)
    # Each condition that does not hold: 412, or 304 where a reader asked whether its copy is still good.
    unmet = {**UNMET, "If-None-Match": before}
    for header, value in unmet.items():
        answer = place.blob(name, **{header: value})
        if takes:
            reads = method in ("GET", "HEAD") and header in ("If-None-Match", "If-Modified-Since")
            assert answer.status == (304 if reads else 412), (header, answer.text)
            assert answer.code == "ConditionNotMet"
            assert place.etag(place.path) == before, f"a refused {name} changed the blob"
        else:
            assert fine(answer), (header, answer.text)
    # Those that hold.
    for headers in ({"If-Match": "current"}, {"If-None-Match": STALE}, {"If-Modified-Since": PAST},
                    {"If-Unmodified-Since": FUTURE}, {"If-Match": "*"}):
        current = place.etag(place.path)
        answer = place.blob(name, **{header: current if value == "current" else value
                                     for header, value in headers.items()})
        assert fine(answer), (headers, answer.text)
        if name == "Delete Blob":
            place.make(kind)
    # Conditions that do not go together are refused on writes.
    if takes and method not in ("GET", "HEAD"):
        answer = place.blob(name, **{"If-Match": "*", "If-None-Match": STALE})
        assert (answer.status, answer.code) == (400, "MultipleConditionHeadersNotSupported")


@pytest.mark.parametrize("name", BLOB)
def test_a_blob_operation_and_a_lease(place, name):
    kind, *_, lease = BLOB[name]
    place.make(kind)
    # An id where there is no lease.
    answer = place.blob(name, **{"x-ms-lease-id": OTHER})
    assert (answer.status, answer.code) == (412, "LeaseNotPresentWithBlobOperation")
    place.lease(place.path, {})
    before = place.etag(place.path)
    answer = place.blob(name)
    if lease == WRITE:
        assert (answer.status, answer.code) == (412, "LeaseIdMissing")
    else:
        assert fine(answer), answer.text
    answer = place.blob(name, **{"x-ms-lease-id": OTHER})
    assert (answer.status, answer.code) == (412, "LeaseIdMismatchWithBlobOperation")
    assert place.etag(place.path) == before
    answer = place.blob(name, **{"x-ms-lease-id": HELD})
    assert fine(answer), answer.text
    if name != "Delete Blob":
        state = place.raw.call("HEAD", place.path).headers["x-ms-lease-state"]
        assert state == "leased", "the lease survives the write"


def test_lease_blob_takes_conditions_and_keeps_the_etag(place):
    place.make("block")
    etag = place.etag(place.path)
    acquire = {"x-ms-lease-action": "acquire", "x-ms-lease-duration": "-1", "x-ms-proposed-lease-id": HELD}
    for header, value in {**UNMET, "If-None-Match": etag}.items():
        answer = place.raw.call("PUT", place.path, {"comp": "lease"}, {**acquire, header: value})
        assert (answer.status, answer.code) == (412, "ConditionNotMet"), header
    actions = [
        (acquire, 201),
        ({"x-ms-lease-action": "renew", "x-ms-lease-id": HELD}, 200),
        ({"x-ms-lease-action": "change", "x-ms-lease-id": HELD, "x-ms-proposed-lease-id": OTHER}, 200),
        ({"x-ms-lease-action": "break", "x-ms-lease-break-period": "0"}, 202),
        ({"x-ms-lease-action": "release", "x-ms-lease-id": OTHER}, 200),
    ]
    for headers, status in actions:
        answer = place.raw.call("PUT", place.path, {"comp": "lease"}, {**headers, "If-Match": etag})
        assert (answer.status, answer.headers["ETag"]) == (status, etag)


def test_create_container_returns_the_etag_and_takes_no_conditions(place):
    for number, (header, value) in enumerate(UNMET.items()):
        answer = place.raw.call("PUT", f"{place.container}-{number}", CONTAINER, {header: value})
        assert answer.status == 201 and answer.headers["ETag"]


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_container_operation_returns_and_changes_the_etag_as_it_should(place, name):
    method, query, returns, _, changes, _ = CONTAINERS[name]
    before = place.etag(place.container, CONTAINER)
    answer = place.raw.call(method, place.container, query)
    assert fine(answer), answer.text
    after = place.etag(place.container, CONTAINER)
    assert ("ETag" in answer.headers) == returns
    if returns:
        assert answer.headers["ETag"] == after
    if name == "Delete Container":
        assert after is None
    else:
        assert (before != after) == changes


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_container_operation_takes_conditions_or_not(place, name):
    method, query, _, takes, _, _ = CONTAINERS[name]
    for header, value in {**UNMET, "If-None-Match": place.etag(place.container, CONTAINER)}.items():
        answer = place.raw.call(method, place.container, query, {header: value})
        if header in takes:
            assert (answer.status, answer.code) == (412, "ConditionNotMet"), header
        elif takes:
            assert (answer.status, answer.code) == (400, "ConditionHeadersNotSupported"), header
        else:
            assert fine(answer), (header, answer.text)
    held = {"If-Modified-Since": PAST} if "If-Modified-Since" in takes else {}
    assert fine(place.raw.call(method, place.container, query, held))


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_container_operation_and_a_lease(place, name):
    method, query, *_, lease = CONTAINERS[name]
    place.lease(place.container, CONTAINER)
    without = place.raw.call(method, place.container, query)
    wrong = place.raw.call(method, place.container, query, {"x-ms-lease-id": OTHER})
    if lease == WRITE:
        assert (without.status, without.code) == (412, "LeaseIdMissing")
    else:
        assert fine(without), without.text
    if lease == IGNORED:
        assert fine(wrong), wrong.text
    else:
        assert (wrong.status, wrong.code) == (412, "LeaseIdMismatchWithContainerOperation")
    assert fine(place.raw.call(method, place.container, query, {"x-ms-lease-id": HELD}))


def test_lease_container_returns_the_etag_and_takes_dates(place):
    etag = place.etag(place.container, CONTAINER)
    query = {**CONTAINER, "comp": "lease"}
    acquire = {"x-ms-lease-action": "acquire", "x-ms-lease-duration": "15"}
    for header, status, code in [("If-Modified-Since", 412, "ConditionNotMet"),
                                 ("If-Unmodified-Since", 412, "ConditionNotMet"),
                                 ("If-Match", 400, "ConditionHeadersNotSupported")]:
        answer = place.raw.call("PUT", place.container, query, {**acquire, header: UNMET[header]})
        assert (answer.status, answer.code) == (status, code)
    answer = place.raw.call("PUT", place.container, query, {**acquire, "If-Unmodified-Since": FUTURE})
    assert (answer.status, answer.headers["ETag"]) == (201, etag)
    assert place.etag(place.container, CONTAINER) == etag


def test_blob_writes_go_on_under_a_container_lease(place):
    place.make("block")
    place.lease(place.container, CONTAINER)
    for name, row in BLOB.items():
        if row[0] == "block" and name != "Delete Blob":
            assert fine(place.blob(name)), name
    assert fine(place.blob("Delete Blob", **{"x-ms-delete-snapshots": "include"}))
