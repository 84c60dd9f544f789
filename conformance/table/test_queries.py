"""Queries through the official SDK: filters, selections, pages."""

import datetime
import uuid

import pytest
from azure.core.exceptions import HttpResponseError
from azure.data.tables import EdmType, EntityProperty
from table_raw import code_of

GUID = uuid.UUID("c9da6455-213d-42c9-9a79-3e9149a57833")
MOMENT = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


@pytest.fixture(scope="module")
def people(service):
    client = service.create_table(f"People{uuid.uuid4().hex}")
    for partition in "abc":
        for row in range(10):
            client.create_entity({
                "PartitionKey": partition, "RowKey": f"{row}", "n": row, "big": EntityProperty(row, EdmType.INT64),
                "half": row / 2, "name": f"it's {row}", "even": row % 2 == 0, "guid": GUID if row == 3 else uuid.UUID(int=row),
                "data": bytes([row, 255]), "moment": MOMENT + datetime.timedelta(days=row),
                **({"rare": "x"} if row == 7 else {}),
            })
    yield client
    client.delete_table()


def rows(found):
    return [entity["PartitionKey"] + entity["RowKey"] for entity in found]


ALL = [f"{partition}{row}" for partition in "abc" for row in range(10)]
FILTERS = [
    ("PartitionKey eq 'b'", [f"b{row}" for row in range(10)]),
    ("PartitionKey eq 'b' and RowKey eq '3'", ["b3"]),
    ("PartitionKey eq 'b' and RowKey ge '3' and RowKey lt '5'", ["b3", "b4"]),
    ("(PartitionKey eq 'c' and RowKey eq '1') or (PartitionKey eq 'a' and RowKey eq '2')", ["a2", "c1"]),
    ("PartitionKey gt 'a' and PartitionKey le 'b' and n eq 9", ["b9"]),
    ("RowKey eq '3'", ["a3", "b3", "c3"]),
    ("n gt 8", ["a9", "b9", "c9"]),
    ("n gt -1 and n lt 1 and PartitionKey eq 'a'", ["a0"]),
    ("big eq 5L and PartitionKey eq 'a'", ["a5"]),
    ("half eq 1.5 and PartitionKey eq 'a'", ["a3"]),
    ("half lt 1e0 and PartitionKey eq 'a'", ["a0", "a1"]),
    ("name eq 'it''s 4' and PartitionKey ne 'b'", ["a4", "c4"]),
    ("even eq true and PartitionKey eq 'a' and n ge 6", ["a6", "a8"]),
    ("even and PartitionKey eq 'a' and n ge 6", ["a6", "a8"]),
    ("not even and PartitionKey eq 'a' and n ge 6", ["a7", "a9"]),
    (f"guid eq guid'{GUID}'", ["a3", "b3", "c3"]),
    ("data eq X'03ff' and PartitionKey eq 'a'", ["a3"]),
    ("data eq binary'03ff' and PartitionKey eq 'a'", ["a3"]),
    ("moment ge datetime'2026-01-09T00:00:00Z' and PartitionKey eq 'a'", ["a8", "a9"]),
    ("rare eq 'x'", ["a7", "b7", "c7"]),
    ("rare ne 'x'", []),
    ("absent eq 1", []),
    ("absent ne 1", []),
    ("name eq 5", []),
    ("PartitionKey eq 'a' and (n eq 1 or n eq 2 or not (n lt 9))", ["a1", "a2", "a9"]),
    ("Timestamp gt datetime'2020-01-01T00:00:00Z'", ALL),
    ("Timestamp lt datetime'2020-01-01T00:00:00Z'", []),
    ("PartitionKey eq 'A'", []),
    ("true", ALL),
]


@pytest.mark.parametrize("query, expected", FILTERS, ids=[query for query, _ in FILTERS])
def test_filters(people, query, expected):
    assert rows(people.query_entities(query)) == expected


def test_parameters(people):
    parameters = {"p": "a", "n": 3, "big": EntityProperty(3, EdmType.INT64) and 3, "half": 1.5, "guid": GUID,
                  "data": b"\x03\xff", "moment": MOMENT, "name": "it's 3"}
    query = ("PartitionKey eq @p and n eq @n and half eq @half and guid eq @guid and data eq @data and moment gt @moment "
             "and name eq @name")
    assert rows(people.query_entities(query, parameters=parameters)) == ["a3"]


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_pages_lose_and_repeat_nothing(people, size):
    pages = [rows(page) for page in people.list_entities(results_per_page=size).by_page()]
    assert all(len(page) <= size for page in pages)
    assert sum(pages, []) == ALL
    token = None
    pager = people.query_entities("n ge 5", results_per_page=4).by_page()
    first = rows(next(pager))
    token = pager.continuation_token
    rest = [row for page in people.query_entities("n ge 5", results_per_page=4).by_page(token) for row in rows(page)]
    assert first + rest == [row for row in ALL if int(row[1]) >= 5]


def test_selection(people):
    found = next(iter(people.query_entities("PartitionKey eq 'a' and RowKey eq '7'", select=["n", "rare", "absent"])))
    assert dict(found) == {"n": 7, "rare": "x", "absent": None} and found.metadata["etag"]
    one = people.get_entity("a", "7", select=["RowKey", "n"])
    assert dict(one) == {"RowKey": "7", "n": 7}
    assert len(people.get_entity("a", "7", select=["*"])) > 5


MALFORMED = [("PartitionKey eq", 15), ("PartitionKey equals 'a'", 13), ("(n eq 1", 7), ("n eq 'x", 5), ("n eq 5x", 5)]


@pytest.mark.parametrize("query, position", MALFORMED)
def test_a_malformed_filter_is_refused_with_its_position(people, query, position):
    with pytest.raises(HttpResponseError) as refused:
        list(people.query_entities(query))
    assert (refused.value.status_code, code_of(refused.value)) == (400, "InvalidInput")
    assert f"position {position} " in str(refused.value)


@pytest.mark.parametrize("query", ["startswith(name,'a')", "n eq big", "n add 1 eq 2"])
def test_what_the_service_does_not_have(people, query):
    with pytest.raises(HttpResponseError) as refused:
        list(people.query_entities(query))
    assert (refused.value.status_code, code_of(refused.value)) == (501, "NotImplemented")


def test_a_thousand_are_a_page(table):
    for start in range(0, 1050, 100):
        changes = [("create", {"PartitionKey": "p", "RowKey": f"{number:04}", "n": number})
                   for number in range(start, min(start + 100, 1050))]
        table.submit_transaction(changes)
    pages = [[entity["n"] for entity in page] for page in table.list_entities().by_page()]
    assert [len(page) for page in pages] == [1000, 50]
    assert sum(pages, []) == list(range(1050))
