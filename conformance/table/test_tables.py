"""Tables through the official SDK: create, list, delete, access policies."""

import datetime
import uuid

import pytest
from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError
from azure.data.tables import TableAccessPolicy
from table_raw import code_of


def test_a_table_is_created_listed_and_deleted(service):
    name = f"Made{uuid.uuid4().hex}"
    client = service.create_table(name)
    with pytest.raises(ResourceExistsError) as refused:
        service.create_table(name.lower())
    assert code_of(refused.value) == "TableAlreadyExists" and refused.value.status_code == 409
    assert [table.name for table in service.query_tables(f"TableName eq '{name}'")] == [name]
    assert service.create_table_if_not_exists(name).table_name == name
    client.delete_table()
    assert name not in [table.name for table in service.list_tables()]
    with pytest.raises(ResourceNotFoundError) as gone:
        client.create_entity({"PartitionKey": "p", "RowKey": "r"})
    assert code_of(gone.value) == "TableNotFound"
    client.create_table()  # the name is free at once
    assert list(client.list_entities()) == []
    client.delete_table()
    client.delete_table()  # the SDK takes 404 as done


@pytest.mark.parametrize("name", ["ab", "1table", "with-dash", "x" * 64, "tables"])
def test_a_bad_name_is_refused(raw, name):
    answer = raw.call("POST", "/Tables", {"TableName": name})
    assert answer.status == 400 and answer.code in ("InvalidResourceName", "OutOfRangeInput"), name


def test_tables_come_in_pages(service):
    prefix = f"Page{uuid.uuid4().hex[:8]}"
    names = [f"{prefix}{number:02}" for number in range(7)]
    for name in names:
        service.create_table(name)
    query = f"TableName ge '{prefix}' and TableName lt '{prefix}9'"
    pages = [[table.name for table in page] for page in service.query_tables(query, results_per_page=3).by_page()]
    assert [len(page) for page in pages] == [3, 3, 1]
    assert sum(pages, []) == names
    for name in names:
        service.delete_table(name)


def test_policies_come_back_as_they_were_set(table):
    assert table.get_table_access_policy() == {}
    start = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
    policies = {
        "first": TableAccessPolicy(permission="raud", start=start, expiry=start + datetime.timedelta(days=1)),
        "second": TableAccessPolicy(permission="r"),
        "empty": None,
    }
    table.set_table_access_policy(policies)
    found = table.get_table_access_policy()
    assert list(found) == ["first", "second", "empty"]
    assert found["first"].permission == "raud" and "2026-01-03" in str(found["first"].expiry)
    assert found["second"].permission == "r" and not found["second"].start
    with pytest.raises(ValueError, match="more than 5"):  # the SDK's word for InvalidXmlDocument
        table.set_table_access_policy({f"p{number}": None for number in range(6)})
    table.set_table_access_policy({})
    assert table.get_table_access_policy() == {}


def test_the_policies_of_a_deleted_table_are_gone(service):
    name = f"Policy{uuid.uuid4().hex}"
    client = service.create_table(name)
    client.set_table_access_policy({"one": TableAccessPolicy(permission="r")})
    client.delete_table()
    client.create_table()
    assert client.get_table_access_policy() == {}
    client.delete_table()
    with pytest.raises(ResourceNotFoundError) as gone:
        client.get_table_access_policy()
    assert code_of(gone.value) == "TableNotFound"
