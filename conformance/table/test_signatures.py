"""Shared access signatures: account, table, key ranges, stored policies."""

import datetime

import pytest
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.core.exceptions import HttpResponseError
from azure.data.tables import (
    AccountSasPermissions, ResourceTypes, TableAccessPolicy, TableClient, TableSasPermissions, TableServiceClient,
    UpdateMode, generate_account_sas, generate_table_sas,
)
from lazuli import ACCOUNT, KEY
from table_raw import code_of

CREDENTIAL = AzureNamedKeyCredential(ACCOUNT, KEY)
SOON = datetime.timedelta(hours=1)


def now():
    return datetime.datetime.now(datetime.timezone.utc)


@pytest.fixture()
def letters(table):
    for partition in "abcd":
        for row in "123":
            table.create_entity({"PartitionKey": partition, "RowKey": row})
    return table


def signed(server, table, **options):
    options.setdefault("expiry", now() + SOON)
    sas = generate_table_sas(CREDENTIAL, table.table_name, **options)
    return TableClient(server.url("Table"), table.table_name, credential=AzureSasCredential(sas), retry_total=0)


def refused(call):
    with pytest.raises(HttpResponseError) as error:
        call()
    assert error.value.status_code == 403, error.value
    return code_of(error.value)


def test_each_permission_allows_its_operations_and_no_other(server, letters):
    new, old = {"PartitionKey": "new", "RowKey": "1"}, {"PartitionKey": "a", "RowKey": "1", "n": 1}
    operations = {
        "r": lambda client: (list(client.list_entities()), client.get_entity("a", "1")),
        "a": lambda client: client.create_entity(new),
        "u": lambda client: client.update_entity(old, mode=UpdateMode.MERGE),
        "d": lambda client: client.delete_entity(new),
        "au": lambda client: client.upsert_entity(old),
    }
    for permission in ("r", "a", "u", "d"):
        client = signed(server, letters, permission=TableSasPermissions(_str=permission))
        for needs, operation in operations.items():
            if set(needs) <= {permission}:
                operation(client)
            else:
                assert refused(lambda: operation(client)) == "AuthorizationPermissionMismatch", (permission, needs)
    both = signed(server, letters, permission=TableSasPermissions(_str="au"))
    operations["au"](both)
    everything = signed(server, letters, permission=TableSasPermissions(_str="raud"))
    everything.submit_transaction([("create", new), ("upsert", {"PartitionKey": "new", "RowKey": "2"}),
                                   ("delete", {"PartitionKey": "new", "RowKey": "3"})][:2])
    adds = signed(server, letters, permission=TableSasPermissions(_str="a"))
    with pytest.raises(HttpResponseError):
        adds.submit_transaction([("create", {"PartitionKey": "new", "RowKey": "4"}), ("delete", new)])
    assert len(list(letters.query_entities("PartitionKey eq 'new'"))) == 2


def keys(found):
    return [entity["PartitionKey"] + entity["RowKey"] for entity in found]


def test_key_ranges_clamp_queries_and_refuse_changes(server, letters):
    everything = TableSasPermissions(_str="raud")
    table = [
        ({"start_pk": "b", "end_pk": "c"}, ["b1", "b2", "b3", "c1", "c2", "c3"]),
        ({"start_pk": "b", "start_rk": "2", "end_pk": "c", "end_rk": "2"}, ["b2", "b3", "c1", "c2"]),
        ({"start_pk": "b", "start_rk": "2", "end_pk": "b", "end_rk": "2"}, ["b2"]),
        ({"start_pk": "d"}, ["d1", "d2", "d3"]),
        ({"end_pk": "a"}, ["a1", "a2", "a3"]),
    ]
    for limits, expected in table:
        client = signed(server, letters, permission=everything, **limits)
        assert keys(client.list_entities()) == expected, limits
        assert keys(client.list_entities(results_per_page=1)) == expected, limits
        assert keys(client.query_entities("RowKey eq '2'")) == [key for key in expected if key[1] == "2"]
        assert keys(client.query_entities("PartitionKey eq 'zz'")) == []
        for partition in "abcd":
            for row in "123":
                change = {"PartitionKey": partition, "RowKey": row, "n": 1}
                if partition + row in expected:
                    client.get_entity(partition, row)
                    client.upsert_entity(change)
                else:
                    refused(lambda: client.get_entity(partition, row))
                    refused(lambda: client.upsert_entity(change))
                    refused(lambda: client.delete_entity(change))
    client = signed(server, letters, permission=everything, start_pk="b", end_pk="b", end_rk="2", start_rk="1")
    with pytest.raises(HttpResponseError):
        client.submit_transaction([("upsert", {"PartitionKey": "b", "RowKey": "1", "m": 1}),
                                   ("upsert", {"PartitionKey": "b", "RowKey": "3", "m": 1})])
    assert not any("m" in entity for entity in letters.list_entities())


def test_a_stored_policy_can_be_taken_back_at_once(server, letters):
    letters.set_table_access_policy({"readers": TableAccessPolicy(permission="r", expiry=now() + SOON)})
    sas = generate_table_sas(CREDENTIAL, letters.table_name, policy_id="readers")
    client = TableClient(server.url("Table"), letters.table_name, credential=AzureSasCredential(sas), retry_total=0)
    assert len(list(client.list_entities())) == 12
    refused(lambda: client.create_entity({"PartitionKey": "x", "RowKey": "x"}))
    letters.set_table_access_policy({"readers": TableAccessPolicy(permission="a", expiry=now() + SOON)})
    refused(lambda: list(client.list_entities()))
    client.create_entity({"PartitionKey": "x", "RowKey": "x"})
    letters.set_table_access_policy({})
    refused(lambda: client.create_entity({"PartitionKey": "y", "RowKey": "y"}))


def test_an_account_signature_reaches_tables_and_entities(server, service):
    sas = generate_account_sas(CREDENTIAL, resource_types=ResourceTypes(service=True, container=True, object=True),
                               permission=AccountSasPermissions(read=True, write=True, delete=True, list=True, add=True,
                                                                create=True, update=True),
                               expiry=now() + SOON)
    client = TableServiceClient(server.url("Table"), credential=AzureSasCredential(sas), retry_total=0)
    table = client.create_table("ByAccountSas")
    table.create_entity({"PartitionKey": "p", "RowKey": "r"})
    assert len(list(table.list_entities())) == 1
    assert "ByAccountSas" in [found.name for found in client.list_tables()]
    client.delete_table("ByAccountSas")
    reads = generate_account_sas(CREDENTIAL, resource_types=ResourceTypes(object=True),
                                 permission=AccountSasPermissions(read=True), expiry=now() + SOON)
    reader = TableServiceClient(server.url("Table"), credential=AzureSasCredential(reads), retry_total=0)
    assert refused(lambda: list(reader.list_tables())) == "AuthorizationResourceTypeMismatch"


def test_the_name_in_a_signature_has_no_case(server, letters):
    sas = generate_table_sas(CREDENTIAL, letters.table_name.upper(), permission="r", expiry=now() + SOON)
    client = TableClient(server.url("Table"), letters.table_name.lower(), credential=AzureSasCredential(sas),
                         retry_total=0)
    assert len(list(client.list_entities())) == 12


def test_service_properties_and_cors(service, raw):
    from azure.data.tables import TableCorsRule
    service.set_service_properties(cors=[TableCorsRule(["http://example.com"], ["GET", "MERGE"], max_age_in_seconds=5)])
    found = service.get_service_properties()
    assert found["cors"][0].allowed_methods == ["GET", "MERGE"]
    allowed = raw.call("OPTIONS", "/Anything", headers={"Origin": "http://example.com",
                                                        "Access-Control-Request-Method": "MERGE"})
    assert allowed.status == 200 and allowed.headers["access-control-allow-origin"] == "http://example.com"
    service.set_service_properties(cors=[])
    stats = raw.call("GET", "/?restype=service&comp=stats", comp="stats")
    assert (stats.status, stats.headers["x-ms-error-code"]) == (400, "InvalidQueryParameterValue")
    stats = raw.call("GET", "-secondary/?restype=service&comp=stats", comp="stats")
    assert stats.status == 200 and b"<Status>live</Status>" in stats.body
