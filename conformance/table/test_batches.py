"""Entity group transactions through the official SDK."""

import threading

import pytest
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.data.tables import TableTransactionError, UpdateMode
from azure.core import MatchConditions
from table_raw import code_of


def entity(row, partition="p", **properties):
    return {"PartitionKey": partition, "RowKey": row, **properties}


def test_every_operation_in_one_batch(table):
    for row in ("update", "merge", "delete"):
        table.create_entity(entity(row, a=1, b=2))
    done = table.submit_transaction([
        ("create", entity("create", a=1)),
        ("update", entity("update", c=3), {"mode": UpdateMode.REPLACE}),
        ("update", entity("merge", c=3), {"mode": UpdateMode.MERGE}),
        ("upsert", entity("upsert", a=1), {"mode": UpdateMode.REPLACE}),
        ("upsert", entity("upsert2", a=1), {"mode": UpdateMode.MERGE}),
        ("delete", entity("delete")),
    ])
    assert len(done) == 6 and all(answer["etag"] for answer in done[:5])
    found = {found["RowKey"]: {k: v for k, v in found.items() if len(k) == 1} for found in table.list_entities()}
    assert found == {"create": {"a": 1}, "update": {"c": 3}, "merge": {"a": 1, "b": 2, "c": 3}, "upsert": {"a": 1},
                     "upsert2": {"a": 1}}
    assert {answer["etag"] for answer in done[:5]} == {e.metadata["etag"] for e in table.list_entities()}


def test_the_first_failure_undoes_everything_and_says_which_it_was(table):
    table.create_entity(entity("there"))
    stale = table.get_entity("p", "there").metadata["etag"]
    table.upsert_entity(entity("there", n=1))
    one = {"etag": stale, "match_condition": MatchConditions.IfNotModified}
    cases = [
        ([("create", entity("new")), ("create", entity("there"))], 1, 409, "EntityAlreadyExists"),
        ([("create", entity("new")), ("update", entity("absent"))], 1, 404, "ResourceNotFound"),
        ([("update", entity("there", n=2), one), ("create", entity("new"))], 0, 412, "UpdateConditionNotSatisfied"),
        ([("create", entity("new")), ("upsert", entity("new"))], 1, 400, "InvalidDuplicateRow"),
        ([("create", entity("new")), ("create", entity("x" * 513))], 1, 400, "KeyValueTooLarge"),
        ([("create", entity("new")), ("create", entity("two", **{"a-b": 1}))], 1, 400, "PropertyNameInvalid"),
    ]
    for changes, index, status, code in cases:
        with pytest.raises(TableTransactionError) as refused:
            table.submit_transaction(changes)
        assert (refused.value.index, refused.value.status_code, code_of(refused.value)) == (index, status, code)
        assert [found["RowKey"] for found in table.list_entities()] == ["there"]


def test_a_batch_of_a_hundred_and_one_more(table):
    table.submit_transaction([("create", entity(f"{number}")) for number in range(100)])
    assert len(list(table.list_entities())) == 100
    with pytest.raises(HttpResponseError) as refused:
        table.submit_transaction([("upsert", entity(f"{number}", n=1)) for number in range(101)])
    assert code_of(refused.value) == "InvalidInput" and "100" in str(refused.value)
    assert not any("n" in found for found in table.list_entities())


def test_a_batch_into_a_table_that_is_not_there(service):
    with pytest.raises((TableTransactionError, ResourceNotFoundError)) as gone:
        service.get_table_client("NotThere").submit_transaction([("create", entity("r"))])
    assert code_of(gone.value) == "TableNotFound"


def test_readers_never_see_half_a_batch(table):
    for number in range(10):
        table.create_entity(entity(f"{number}", amount=100))
    stop = threading.Event()
    wrong = []

    def read():
        while not stop.is_set():
            total = sum(found["amount"] for found in table.query_entities("PartitionKey eq 'p'"))
            if total != 1000:
                wrong.append(total)

    reader = threading.Thread(target=read)
    reader.start()
    amounts = [100] * 10
    for step in range(60):
        source, target = step % 10, (step * 3 + 1) % 10
        if source == target:
            continue
        amounts[source] -= 1
        amounts[target] += 1
        table.submit_transaction([("update", entity(f"{number}", amount=amounts[number])) for number in (source, target)])
    stop.set()
    reader.join()
    assert not wrong
