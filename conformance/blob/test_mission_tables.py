"""The tables of the concurrency promise, row by row through HTTP: which operation returns the ETag, which takes
conditions, which changes the ETag, and what each makes of a lease id. A row is one operation of the API; those without
one are named at the end, with the reason."""

import datetime
import typing
import uuid

import pytest
from azure.storage.blob import generate_blob_sas

from elsewhere import elsewhere
from lazuli import ACCOUNT, KEY, Server
from raw import Client, elements, http_date

HELD, OTHER = str(uuid.UUID(int=0xA)), str(uuid.UUID(int=0xB))
FUTURE = http_date(datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1))
PAST = http_date(datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1))
STALE = '"0x0000000000000001"'

YES, NO = True, False
WRITE, READ, IGNORED = "needs the id", "checks an id that is sent", "takes no id"

BLOCK = {"x-ms-blob-type": "BlockBlob"}
PAGE = {"x-ms-blob-type": "PageBlob", "x-ms-blob-content-length": "512"}
APPEND = {"x-ms-blob-type": "AppendBlob"}
TAGS = b"<Tags><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tags>"
LIST = b"<BlockList><Latest>YQ==</Latest></BlockList>"
PAGES = {"x-ms-page-write": "update", "x-ms-range": "bytes=0-511"}
SOURCE_PAGES = {**PAGES, "x-ms-source-range": "bytes=0-511"}
SYNC = {"x-ms-requires-sync": "true"}
MET, TARGET, CANNOT = "ConditionNotMet", "TargetConditionNotMet", "CannotVerifyCopySource"


class Row(typing.NamedTuple):
    """One operation on a blob."""

    number: str
    kind: str
    method: str
    query: dict
    headers: dict
    body: bytes
    returns: bool  # the ETag
    takes: bool  # conditions
    changes: bool  # the ETag
    lease: str
    copies: bool = NO  # from another blob


# A query or header with the value of a name in braces gets what the place has for it.
BLOB = {
    "Get Blob": Row("B27", "block", "GET", {}, {}, b"", YES, YES, NO, READ),
    "Get Blob Properties": Row("B28", "block", "HEAD", {}, {}, b"", YES, YES, NO, READ),
    "Delete Blob": Row("B29", "block", "DELETE", {}, {}, b"", NO, YES, NO, WRITE),
    "Put Blob, of pages": Row("B30", "page", "PUT", {}, PAGE, b"", YES, YES, YES, WRITE),
    "Put Blob, to append to": Row("B31", "append", "PUT", {}, APPEND, b"", YES, YES, YES, WRITE),
    "Put Blob": Row("B32", "block", "PUT", {}, BLOCK, b"new", YES, YES, YES, WRITE),
    "Put Blob From URL": Row("B33", "block", "PUT", {}, BLOCK, b"", YES, YES, YES, WRITE, YES),
    "Set Blob Expiry": Row("B35", "block", "PUT", {"comp": "expiry"}, {"x-ms-expiry-option": "NeverExpire"}, b"",
                           YES, NO, YES, WRITE),
    "Set Blob Properties": Row("B36", "block", "PUT", {"comp": "properties"}, {"x-ms-blob-content-type": "a/b"}, b"",
                               YES, YES, YES, WRITE),
    "Set Blob Metadata": Row("B40", "block", "PUT", {"comp": "metadata"}, {"x-ms-meta-a": "b"}, b"",
                             YES, YES, YES, WRITE),
    "Snapshot Blob": Row("B46", "block", "PUT", {"comp": "snapshot"}, {}, b"", YES, YES, NO, READ),
    "Copy Blob": Row("B47", "block", "PUT", {}, {}, b"", YES, YES, YES, WRITE, YES),
    "Copy Blob From URL": Row("B48", "block", "PUT", {}, SYNC, b"", YES, YES, YES, WRITE, YES),
    "Set Blob Tier": Row("B50", "block", "PUT", {"comp": "tier"}, {"x-ms-access-tier": "Cool"}, b"", NO, NO, NO, WRITE),
    "Put Block": Row("B52", "block", "PUT", {"comp": "block", "blockid": "YQ=="}, {}, b"x", NO, NO, NO, WRITE),
    "Put Block From URL": Row("B53", "block", "PUT", {"comp": "block", "blockid": "YQ=="}, {}, b"",
                              NO, NO, NO, WRITE, YES),
    "Put Block List": Row("B54", "block", "PUT", {"comp": "blocklist"}, {}, LIST, YES, YES, YES, WRITE),
    "Get Block List": Row("B55", "block", "GET", {"comp": "blocklist"}, {}, b"", YES, NO, NO, READ),
    "Put Page": Row("B56", "page", "PUT", {"comp": "page"}, PAGES, b"\1" * 512, YES, YES, YES, WRITE),
    "Put Page, clear": Row("B57", "page", "PUT", {"comp": "page"}, {**PAGES, "x-ms-page-write": "clear"}, b"",
                           YES, YES, YES, WRITE),
    "Put Page From URL": Row("B58", "page", "PUT", {"comp": "page"}, SOURCE_PAGES, b"", YES, YES, YES, WRITE, YES),
    "Get Page Ranges": Row("B59", "page", "GET", {"comp": "pagelist"}, {}, b"", YES, YES, NO, READ),
    "Get Page Ranges, differences": Row("B60", "page", "GET", {"comp": "pagelist", "prevsnapshot": "{snapshot}"}, {},
                                        b"", YES, YES, NO, READ),
    "Set Blob Properties, resize": Row("B61", "page", "PUT", {"comp": "properties"},
                                       {"x-ms-blob-content-length": "1024"}, b"", YES, YES, YES, WRITE),
    "Set Blob Properties, sequence number": Row("B62", "page", "PUT", {"comp": "properties"},
                                                {"x-ms-sequence-number-action": "increment"}, b"",
                                                YES, YES, YES, WRITE),
    "Append Block": Row("B64", "append", "PUT", {"comp": "appendblock"}, {}, b"x", YES, YES, YES, WRITE),
    "Append Block From URL": Row("B65", "append", "PUT", {"comp": "appendblock"}, {}, b"", YES, YES, YES, WRITE, YES),
    "Append Blob Seal": Row("B66", "append", "PUT", {"comp": "seal"}, {}, b"", YES, YES, YES, WRITE),
    "Get Blob Tags": Row("B68", "block", "GET", {"comp": "tags"}, {}, b"", NO, NO, NO, READ),
    "Set Blob Tags": Row("B69", "block", "PUT", {"comp": "tags"}, {}, TAGS, NO, NO, NO, WRITE),
    "Get Blob Metadata": Row("Bx3", "block", "GET", {"comp": "metadata"}, {}, b"", YES, YES, NO, READ),
}
COPYING = [name for name, row in BLOB.items() if row.copies]

CONTAINER = {"restype": "container"}
DATES = ["If-Modified-Since", "If-Unmodified-Since"]
# name: number, method, query, returns ETag, conditions it takes, changes the ETag, lease
CONTAINERS = {
    "Get Container Properties": ("B10", "GET", CONTAINER, YES, [], NO, READ),
    "Delete Container": ("B11", "DELETE", CONTAINER, NO, DATES, NO, WRITE),
    "Set Container Metadata": ("B12", "PUT", {**CONTAINER, "comp": "metadata"}, YES, DATES[:1], YES, READ),
    "Get Container ACL": ("B13", "GET", {**CONTAINER, "comp": "acl"}, YES, [], NO, READ),
    "Set Container ACL": ("B14", "PUT", {**CONTAINER, "comp": "acl"}, YES, DATES, YES, READ),
    "List Blobs": ("B24", "GET", {**CONTAINER, "comp": "list"}, NO, [], NO, IGNORED),
    "List Blobs, by delimiter": ("B25", "GET", {**CONTAINER, "comp": "list", "delimiter": "/"}, NO, [], NO, IGNORED),
    "Get Container Metadata": ("Bx2", "GET", {**CONTAINER, "comp": "metadata"}, YES, [], NO, READ),
}

ACQUIRE = {"x-ms-lease-action": "acquire", "x-ms-lease-duration": "-1", "x-ms-proposed-lease-id": HELD}
# action: number on containers, number on blobs, headers, status, whether a lease must be there before
LEASES = {
    "acquire": ("B19", "B41", ACQUIRE, 201, NO),
    "release": ("B20", "B42", {"x-ms-lease-action": "release", "x-ms-lease-id": HELD}, 200, YES),
    "renew": ("B21", "B43", {"x-ms-lease-action": "renew", "x-ms-lease-id": HELD}, 200, YES),
    "break": ("B22", "B45", {"x-ms-lease-action": "break", "x-ms-lease-break-period": "0"}, 202, YES),
    "change": ("B23", "B44", {"x-ms-lease-action": "change", "x-ms-lease-id": HELD, "x-ms-proposed-lease-id": OTHER},
               200, YES),
}

UNMET = {"If-Match": STALE, "If-Modified-Since": FUTURE, "If-Unmodified-Since": PAST}

# Tested below by a test of their own.
ALONE = {"B9": "Create Container", "B49": "Abort Copy Blob"}
# About these the promise says nothing: no ETag, no conditions, no lease.
SILENT = {
    **dict.fromkeys(["B1", "B2", "B3", "B5", "B6", "B26", "B51"], "of the account"),
    **dict.fromkeys(["B4", "B8", "B18"], "a listing across containers or by tags"),
    **dict.fromkeys(["B7", "B17"], "a batch: its parts are operations with rows"),
    **dict.fromkeys(["B15", "B16", "B34", "B37", "B38", "B39", "B63", "B67"], "of a feature that does not exist"),
}


def test_every_operation_has_a_row():
    rows = [row.number for row in BLOB.values()] + [row[0] for row in CONTAINERS.values()]
    rows += [number for row in LEASES.values() for number in row[:2]]
    found = [*rows, *ALONE, *SILENT]
    assert sorted(found) == sorted([f"B{number}" for number in range(1, 70)] + ["Bx2", "Bx3"])


class Place:
    """A container with a blob in it and one to copy from, and the requests of the tables against them."""

    def __init__(self, raw):
        self.raw = raw
        self.container = f"/t-{uuid.uuid4()}"
        self.path = f"{self.container}/b"
        self.names = {}
        assert raw.call("PUT", self.container, CONTAINER).status == 201

    def make(self, kind):
        headers = {"block": BLOCK, "page": PAGE, "append": APPEND}[kind]
        made = self.raw.call("PUT", self.path, headers=headers, body=b"old" if kind == "block" else b"")
        assert made.status == 201
        if kind == "block":
            staged = self.raw.call("PUT", self.path, {"comp": "block", "blockid": "YQ=="}, body=b"staged")
            assert staged.status == 201
        if kind == "page":
            taken = self.raw.call("PUT", self.path, {"comp": "snapshot"})
            self.names["{snapshot}"] = taken.headers["x-ms-snapshot"]

    def source(self):
        """Another blob, as a URL that reads it: only Copy Blob would read it with the credential of the copy."""
        path = f"{self.container}/source"
        if "{source}" not in self.names:
            assert self.raw.call("PUT", path, headers=BLOCK, body=b"\2" * 512).status == 201
            expiry = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
            sas = generate_blob_sas(ACCOUNT, self.container.strip("/"), "source", account_key=KEY, permission="r", expiry=expiry)
            self.names["{source}"] = f"http://127.0.0.1:{self.raw.port}/{ACCOUNT}{path}?{sas}"
        return path

    def lease(self, path, query):
        assert self.raw.call("PUT", path, {**query, "comp": "lease"}, ACQUIRE).status == 201

    def etag(self, path, query=None):
        return self.raw.call("HEAD", path, query).headers.get("ETag")

    def blob(self, name, **headers):
        row = BLOB[name]
        own = dict(row.headers)
        if row.copies:
            self.source()
            own["x-ms-copy-source"] = "{source}"
        query, own = ({key: self.names.get(value, value) for key, value in said.items()} for said in (row.query, own))
        return self.raw.call(row.method, self.path, query, {**own, **headers}, row.body)


@pytest.fixture()
def place(server, raw):
    return Place(raw)


def fine(answer):
    return 200 <= answer.status < 300


@pytest.mark.parametrize("name", BLOB)
def test_a_blob_operation_returns_and_changes_the_etag_as_it_should(place, name):
    row = BLOB[name]
    place.make(row.kind)
    before = place.etag(place.path)
    answer = place.blob(name)
    assert fine(answer), answer.text
    after = place.etag(place.path)
    if row.returns:
        assert answer.headers["ETag"] == after
        assert answer.headers["Last-Modified"]
    else:
        assert "ETag" not in answer.headers
    if name == "Delete Blob":
        assert after is None
    else:
        assert (before != after) == row.changes


@pytest.mark.parametrize("name", BLOB)
def test_a_blob_operation_takes_conditions_or_not(place, name):
    row = BLOB[name]
    place.make(row.kind)
    before = place.etag(place.path)
    # Each condition that does not hold: 412, or 304 where a reader asked whether its copy is still good.
    unmet = {**UNMET, "If-None-Match": before}
    for header, value in unmet.items():
        answer = place.blob(name, **{header: value})
        if row.takes:
            reads = row.method in ("GET", "HEAD") and header in ("If-None-Match", "If-Modified-Since")
            assert answer.status == (304 if reads else 412), (header, answer.text)
            target = name == "Put Blob From URL" and header in ("If-Match", "If-None-Match")
            assert answer.code == (TARGET if target else MET), header
            assert place.etag(place.path) == before, f"a refused {name} changed the blob"
        elif row.method in ("GET", "HEAD"):
            assert fine(answer), (header, answer.text)
        else:
            assert (answer.status, answer.code) == (400, "ConditionHeadersNotSupported"), header
    if not row.takes and row.method not in ("GET", "HEAD"):
        return
    # Those that hold.
    for headers in ({"If-Match": "current"}, {"If-None-Match": STALE}, {"If-Modified-Since": PAST},
                    {"If-Unmodified-Since": FUTURE}, {"If-Match": "*"}):
        current = place.etag(place.path)
        answer = place.blob(name, **{header: current if value == "current" else value
                                     for header, value in headers.items()})
        assert fine(answer), (headers, answer.text)
        if name == "Delete Blob":
            place.make(row.kind)
    # Conditions that do not go together are refused on writes.
    if row.takes and row.method not in ("GET", "HEAD"):
        answer = place.blob(name, **{"If-Match": "*", "If-None-Match": STALE})
        assert (answer.status, answer.code) == (400, "MultipleConditionHeadersNotSupported")


@pytest.mark.parametrize("name", BLOB)
def test_a_blob_operation_and_a_lease(place, name):
    row = BLOB[name]
    place.make(row.kind)
    # An id where there is no lease.
    answer = place.blob(name, **{"x-ms-lease-id": OTHER})
    assert (answer.status, answer.code) == (412, "LeaseNotPresentWithBlobOperation")
    place.lease(place.path, {})
    before = place.etag(place.path)
    answer = place.blob(name)
    if row.lease == WRITE:
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


# -- sources of copies

@pytest.mark.parametrize("name", COPYING)
def test_a_copy_takes_conditions_on_its_source(place, name):
    place.make(BLOB[name].kind)
    source = place.source()
    before, etag = place.etag(place.path), place.etag(source)
    unmet = {"x-ms-source-if-match": STALE, "x-ms-source-if-none-match": etag,
             "x-ms-source-if-modified-since": FUTURE, "x-ms-source-if-unmodified-since": PAST}
    # What the operation says of each: recorded answers of the service.
    whole = [(412, "SourceConditionNotMet"), (304, CANNOT), (304, CANNOT), (412, CANNOT)]
    answers = {"Copy Blob": [(412, "SourceConditionNotMet")] * 4, "Copy Blob From URL": whole, "Put Blob From URL": whole}
    answers = answers.get(name, [(412, CANNOT), *whole[1:]])
    for (header, value), expected in zip(unmet.items(), answers):
        answer = place.blob(name, **{header: value})
        assert (answer.status, answer.code) == expected, header
        assert place.etag(place.path) == before, f"a refused {name} changed the blob"
    held = {"x-ms-source-if-match": etag, "x-ms-source-if-none-match": STALE,
            "x-ms-source-if-modified-since": PAST, "x-ms-source-if-unmodified-since": FUTURE}
    for header, value in held.items():
        assert fine(place.blob(name, **{header: value})), header


@pytest.mark.parametrize("name", COPYING)
def test_the_lease_of_a_source_stands_against_no_copy(place, name):
    place.make(BLOB[name].kind)
    place.lease(place.source(), {})
    assert fine(place.blob(name))


@pytest.mark.parametrize("name", ["Copy Blob", "Copy Blob From URL"])
def test_a_copy_needs_an_infinite_lease(place, name):
    place.make("block")
    place.raw.call("PUT", place.path, {"comp": "lease"}, {**ACQUIRE, "x-ms-lease-duration": "15"})
    answer = place.blob(name, **{"x-ms-lease-id": HELD})
    assert (answer.status, answer.code) == (412, "InfiniteLeaseDurationRequired")


# `If-None-Match: *` on a write that creates: 409 for everybody, but for the holder of the lease, who overwrites it.
@pytest.mark.parametrize("name, status", [("Put Blob", 201), ("Put Block List", 201), ("Put Blob From URL", 201),
                                          ("Copy Blob", 409), ("Copy Blob From URL", 409)])
def test_a_write_that_creates_and_the_holder_of_the_lease(place, name, status):
    place.make("block")
    answer = place.blob(name, **{"If-None-Match": "*"})
    assert (answer.status, answer.code) == (409, "BlobAlreadyExists")
    place.lease(place.path, {})
    answer = place.blob(name, **{"If-None-Match": "*", "x-ms-lease-id": HELD})
    assert (answer.status, answer.code) == (status, "BlobAlreadyExists" if status == 409 else None)


# -- leases

@pytest.mark.parametrize("action", LEASES)
def test_lease_blob_returns_and_keeps_the_etag_and_takes_conditions(place, action):
    *_, headers, status, leased = LEASES[action]
    place.make("block")
    if leased:
        place.lease(place.path, {})
    etag = place.etag(place.path)
    for header, value in {**UNMET, "If-None-Match": etag}.items():
        answer = place.raw.call("PUT", place.path, {"comp": "lease"}, {**headers, header: value})
        assert (answer.status, answer.code) == (412, "ConditionNotMet"), header
    answer = place.raw.call("PUT", place.path, {"comp": "lease"}, {**headers, "If-Match": etag})
    assert (answer.status, answer.headers["ETag"]) == (status, etag)
    assert answer.headers["Last-Modified"]
    assert place.etag(place.path) == etag


@pytest.mark.parametrize("action", LEASES)
def test_lease_container_returns_and_keeps_the_etag_and_takes_dates(place, action):
    *_, headers, status, leased = LEASES[action]
    if leased:
        place.lease(place.container, CONTAINER)
    query, etag = {**CONTAINER, "comp": "lease"}, place.etag(place.container, CONTAINER)
    for header, value in {**UNMET, "If-None-Match": etag}.items():
        expected = (412, "ConditionNotMet") if header in DATES else (400, "ConditionHeadersNotSupported")
        answer = place.raw.call("PUT", place.container, query, {**headers, header: value})
        assert (answer.status, answer.code) == expected, header
    answer = place.raw.call("PUT", place.container, query, {**headers, "If-Unmodified-Since": FUTURE})
    assert (answer.status, answer.headers["ETag"]) == (status, etag)
    assert answer.headers["Last-Modified"]
    assert place.etag(place.container, CONTAINER) == etag


# -- containers

def test_create_container_returns_the_etag_and_takes_no_conditions(place):
    for number, (header, value) in enumerate(UNMET.items()):
        path = f"{place.container}-{number}"
        answer = place.raw.call("PUT", path, CONTAINER, {header: value})
        assert (answer.status, answer.code) == (400, "ConditionHeadersNotSupported")
        answer = place.raw.call("PUT", path, CONTAINER)
        assert answer.status == 201
        assert answer.headers["ETag"] == place.etag(path, CONTAINER)


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_container_operation_returns_and_changes_the_etag_as_it_should(place, name):
    _, method, query, returns, _, changes, _ = CONTAINERS[name]
    before = place.etag(place.container, CONTAINER)
    answer = place.raw.call(method, place.container, query)
    assert fine(answer), answer.text
    after = place.etag(place.container, CONTAINER)
    assert ("ETag" in answer.headers) == returns
    if returns:
        assert answer.headers["ETag"] == after
        assert answer.headers["Last-Modified"]
    if name == "Delete Container":
        assert after is None
    else:
        assert (before != after) == changes


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_container_operation_takes_conditions_or_not(place, name):
    _, method, query, _, takes, _, _ = CONTAINERS[name]
    before = place.etag(place.container, CONTAINER)
    for header, value in {**UNMET, "If-None-Match": before}.items():
        answer = place.raw.call(method, place.container, query, {header: value})
        if header in takes:
            assert (answer.status, answer.code) == (412, "ConditionNotMet"), header
        elif takes:
            assert (answer.status, answer.code) == (400, "ConditionHeadersNotSupported"), header
        else:
            assert fine(answer), (header, answer.text)
        assert place.etag(place.container, CONTAINER) == before
    held = {"If-Modified-Since": PAST} if "If-Modified-Since" in takes else {}
    assert fine(place.raw.call(method, place.container, query, held))


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_container_operation_and_a_lease(place, name):
    _, method, query, *_, lease = CONTAINERS[name]
    # An id where there is no lease.
    answer = place.raw.call(method, place.container, query, {"x-ms-lease-id": OTHER})
    if lease == IGNORED:
        assert fine(answer), answer.text
    else:
        assert (answer.status, answer.code) == (412, "LeaseNotPresentWithContainerOperation")
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


@pytest.mark.parametrize("name", BLOB)
def test_blob_operations_go_on_under_a_container_lease(place, name):
    place.make(BLOB[name].kind)
    place.lease(place.container, CONTAINER)
    headers = {"x-ms-delete-snapshots": "include"} if name == "Delete Blob" else {}
    assert fine(place.blob(name, **headers))


# -- Abort Copy Blob: only a copy from elsewhere is pending for long enough to be aborted

@pytest.fixture(scope="module")
def open_server():
    running = Server("--copy-sources", "any").start()
    yield running
    assert running.stop() == 0
    running.remove()


class Pending:
    """A blob into which a copy is pending, of a source that waits."""

    def __init__(self, place, site, **headers):
        self.place = place
        begun = place.raw.call("PUT", place.path, {}, {"x-ms-copy-source": site.url, **headers})
        assert (begun.status, begun.headers["x-ms-copy-status"]) == (202, "pending"), begun.text
        self.query = {"comp": "copy", "copyid": begun.headers["x-ms-copy-id"]}

    def abort(self, **headers):
        return self.place.raw.call("PUT", self.place.path, self.query, {"x-ms-copy-action": "abort", **headers})


def test_abort_copy_returns_no_etag_and_takes_no_conditions(open_server):
    place = Place(Client(open_server.port))
    with elsewhere(b"some bytes", 0) as site:
        for header, value in {**UNMET, "If-None-Match": "*"}.items():
            pending = Pending(place, site)
            answer = pending.abort(**{header: value})
            assert (answer.status, answer.code) == (400, "ConditionHeadersNotSupported"), header
            answer = pending.abort()
            assert (answer.status, "ETag" in answer.headers) == (204, NO), answer.text


def test_abort_copy_needs_the_id_of_an_infinite_lease(open_server):
    place = Place(Client(open_server.port))
    place.make("block")
    with elsewhere(b"some bytes", 0) as site:
        pending = Pending(place, site)
        answer = pending.abort(**{"x-ms-lease-id": OTHER})
        assert (answer.status, answer.code) == (412, "LeaseNotPresentWithBlobOperation")
        assert pending.abort().status == 204
        place.lease(place.path, {})
        pending = Pending(place, site, **{"x-ms-lease-id": HELD})
        for headers, code in [({}, "LeaseIdMissing"), ({"x-ms-lease-id": OTHER}, "LeaseIdMismatchWithBlobOperation")]:
            answer = pending.abort(**headers)
            assert (answer.status, answer.code) == (412, code)
        assert place.raw.call("HEAD", place.path).headers["x-ms-copy-status"] == "pending"
        assert pending.abort(**{"x-ms-lease-id": HELD}).status == 204
        found = place.raw.call("HEAD", place.path).headers
        assert (found["x-ms-copy-status"], found["x-ms-lease-state"]) == ("aborted", "leased")


# Everything that changes the blob, snapshots it or works on its lease waits for the copy.
WAITING = [name for name, row in BLOB.items()
           if row.lease == WRITE and row.kind == "block" or name == "Snapshot Blob"]


def test_a_pending_copy_stands_against_changes_snapshots_and_lease_operations(open_server):
    place = Place(Client(open_server.port))
    with elsewhere(b"some bytes", 0) as site:
        pending = Pending(place, site)
        for name in WAITING:
            answer = place.blob(name)
            assert (answer.status, answer.code) == (409, "PendingCopyOperation"), name
        for action, (*_, headers, _, _) in LEASES.items():
            answer = place.raw.call("PUT", place.path, {"comp": "lease"}, headers)
            assert (answer.status, answer.code) == (409, "PendingCopyOperation"), (action, elements(answer.text))
        assert pending.abort().status == 204
