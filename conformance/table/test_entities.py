"""Entities through the official SDK: every type, every operation, every refusal."""

import datetime
import math
import threading
import uuid

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceModifiedError, ResourceNotFoundError
from azure.data.tables import EdmType, EntityProperty, UpdateMode
from table_raw import code_of

KEYS = {"PartitionKey": "p", "RowKey": "r"}


def test_every_type_comes_back(table):
    guid = uuid.uuid4()
    moment = datetime.datetime(2026, 11, 15, 1, 2, 3, 456789, tzinfo=datetime.timezone.utc)
    sent = {
        **KEYS,
        "text": "ä\n\"\\\u0001😀",
        "empty": "",
        "int32": -(2**31),
        "int64": EntityProperty(2**63 - 1, EdmType.INT64),
        "least64": EntityProperty(-(2**63), EdmType.INT64),
        "double": 0.1,
        "whole": 5.0,
        "large": 1.7976931348623157e308,
        "tiny": 5e-324,
        "nan": float("nan"),
        "infinity": float("inf"),
        "negative": float("-inf"),
        "yes": True,
        "no": False,
        "moment": moment,
        "guid": guid,
        "bytes": bytes(range(256)),
        "Größe": 1,
        "nothing": None,
    }
    table.create_entity(sent)
    found = table.get_entity("p", "r")
    assert found["int64"] == EntityProperty(2**63 - 1, EdmType.INT64)
    assert found["least64"] == EntityProperty(-(2**63), EdmType.INT64)
    assert math.isnan(found["nan"]) and found["infinity"] == math.inf and found["negative"] == -math.inf
    assert isinstance(found["whole"], float)
    assert "nothing" not in found
    for name in ("text", "empty", "int32", "double", "whole", "large", "tiny", "yes", "no", "moment", "guid", "bytes",
                 "Größe"):
        assert found[name] == sent[name], name
    assert found.metadata["etag"] and found.metadata["timestamp"]


@pytest.mark.parametrize("key", ["", " ", "a'b", "''", "ä😀", "a b+c%20&=,;()", "x" * 512, "%2F", "$"])
def test_keys_of_every_kind(table, key):
    table.create_entity({"PartitionKey": key, "RowKey": key, "n": 1})
    assert table.get_entity(key, key)["n"] == 1
    table.upsert_entity({"PartitionKey": key, "RowKey": key, "n": 2}, mode=UpdateMode.REPLACE)
    quoted = key.replace("'", "''")
    found = list(table.query_entities(f"PartitionKey eq '{quoted}' and RowKey eq '{quoted}'"))
    assert [entity["n"] for entity in found] == [2]
    table.delete_entity(key, key)
    with pytest.raises(ResourceNotFoundError):
        table.get_entity(key, key)


def test_an_insert_of_what_exists_is_refused(table):
    table.create_entity(KEYS)
    with pytest.raises(ResourceExistsError) as refused:
        table.create_entity(KEYS)
    assert code_of(refused.value) == "EntityAlreadyExists" and refused.value.status_code == 409


def test_update_merge_and_delete_need_what_is_there(table):
    for mode in (UpdateMode.MERGE, UpdateMode.REPLACE):
        with pytest.raises(ResourceNotFoundError) as absent:
            table.update_entity({**KEYS, "a": 1}, mode=mode)
        assert code_of(absent.value) == "ResourceNotFound"
    table.delete_entity("p", "r")  # the SDK takes 404 as done
    with pytest.raises(ResourceNotFoundError) as missing:
        table.get_entity("p", "r")
    assert code_of(missing.value) == "ResourceNotFound"


def test_merge_keeps_and_replace_forgets(table):
    table.upsert_entity({**KEYS, "a": 1, "b": 2})
    table.update_entity({**KEYS, "b": 3, "c": 4, "a": None}, mode=UpdateMode.MERGE)
    assert dict(table.get_entity("p", "r")) == {**KEYS, "a": 1, "b": 3, "c": 4}
    table.upsert_entity({**KEYS, "d": 5}, mode=UpdateMode.MERGE)
    assert dict(table.get_entity("p", "r")) == {**KEYS, "a": 1, "b": 3, "c": 4, "d": 5}
    table.update_entity({**KEYS, "e": 6}, mode=UpdateMode.REPLACE)
    assert dict(table.get_entity("p", "r")) == {**KEYS, "e": 6}
    table.upsert_entity({**KEYS, "f": 7}, mode=UpdateMode.REPLACE)
    assert dict(table.get_entity("p", "r")) == {**KEYS, "f": 7}


def test_a_stale_etag_is_refused_and_the_star_is_not(table):
    first = table.create_entity({**KEYS, "n": 1})["etag"]
    second = table.update_entity({**KEYS, "n": 2}, mode=UpdateMode.REPLACE, etag=first,
                                 match_condition=MatchConditions.IfNotModified)["etag"]
    assert second > first
    for mode in (UpdateMode.MERGE, UpdateMode.REPLACE):
        with pytest.raises(ResourceModifiedError) as stale:
            table.update_entity({**KEYS, "n": 3}, mode=mode, etag=first, match_condition=MatchConditions.IfNotModified)
        assert code_of(stale.value) == "UpdateConditionNotSatisfied" and stale.value.status_code == 412
    with pytest.raises(ResourceModifiedError):
        table.delete_entity("p", "r", etag=first, match_condition=MatchConditions.IfNotModified)
    assert table.get_entity("p", "r")["n"] == 2
    table.update_entity({**KEYS, "n": 4}, mode=UpdateMode.MERGE)  # sends *
    current = table.get_entity("p", "r").metadata["etag"]
    table.delete_entity("p", "r", etag=current, match_condition=MatchConditions.IfNotModified)


def test_of_many_writers_with_one_etag_one_wins(table):
    etag = table.create_entity({**KEYS, "n": 0})["etag"]
    for _ in range(20):
        outcomes = []

        def write(number):
            try:
                done = table.update_entity({**KEYS, "n": number}, mode=UpdateMode.REPLACE, etag=etag,
                                           match_condition=MatchConditions.IfNotModified)
                outcomes.append(done["etag"])
            except ResourceModifiedError:
                outcomes.append(None)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        winners = [outcome for outcome in outcomes if outcome]
        assert len(outcomes) == 4 and len(winners) == 1
        etag = winners[0]


LIMITS = [
    ({"a": "x" * 32_769}, "PropertyValueTooLarge"),
    ({"a": b"x" * 65_537}, "PropertyValueTooLarge"),
    ({f"a{number}": 1 for number in range(253)}, "TooManyProperties"),
    ({f"a{number}": "x" * 32_000 for number in range(20)}, "EntityTooLarge"),
    ({"x" * 256: 1}, "PropertyNameTooLong"),
    ({"a-b": 1}, "PropertyNameInvalid"),
    ({"1a": 1}, "PropertyNameInvalid"),
]


@pytest.mark.parametrize("properties, code", LIMITS, ids=[f"{code}{number}" for number, (_, code) in enumerate(LIMITS)])
def test_limits(table, properties, code):
    with pytest.raises(HttpResponseError) as refused:
        table.create_entity({**KEYS, **properties})
    assert (refused.value.status_code, code_of(refused.value)) == (400, code)


def test_the_largest_that_is_allowed(table):
    table.create_entity({**KEYS, **{f"a{number}": number for number in range(252)}})
    table.create_entity({"PartitionKey": "p", "RowKey": "text", "a": "ä" * 32_768, "b": b"x" * 65_536})
    assert len(table.get_entity("p", "r")) == 254
    assert table.get_entity("p", "text")["a"] == "ä" * 32_768
    large = {f"a{number}": b"x" * 65_536 for number in range(15)}
    table.create_entity({"PartitionKey": "p", "RowKey": "large", **large})
    assert dict(table.get_entity("p", "large")) == {"PartitionKey": "p", "RowKey": "large", **large}


@pytest.mark.parametrize("key", ["a/b", "a\\b", "a#b", "a?b", "a\tb", "\u0000", "\u007f", "\u0085"])
def test_characters_that_no_key_has(raw, table, key):
    answer = raw.call("POST", f"/{table.table_name}", {"PartitionKey": key, "RowKey": "r"})
    assert (answer.status, answer.code) == (400, "OutOfRangeInput")
    answer = raw.call("POST", f"/{table.table_name}", {"PartitionKey": "p", "RowKey": key})
    assert (answer.status, answer.code) == (400, "OutOfRangeInput")


def test_a_key_that_is_too_long(raw, table):
    answer = raw.call("POST", f"/{table.table_name}", {"PartitionKey": "x" * 513, "RowKey": "r"})
    assert (answer.status, answer.code) == (400, "KeyValueTooLarge")
