"""Shared access signatures and stored access policies of queues, and what the service as a whole is asked, through the
official SDK: what a signature allows is allowed, everything else is refused."""

import datetime
import http.client
import os
import threading

import pytest
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.storage.queue import (AccessPolicy, AccountSasPermissions, CorsRule, Metrics, QueueAnalyticsLogging,
                                 QueueClient, QueueSasPermissions, QueueServiceClient, ResourceTypes, RetentionPolicy,
                                 generate_account_sas, generate_queue_sas)

from lazuli import ACCOUNT, KEY
from raw import Client, elements

SOON = datetime.timedelta(hours=1)


@pytest.fixture(scope="module")
def service(server):
    return QueueServiceClient.from_connection_string(server.connection_string, retry_total=0)


@pytest.fixture
def queue(service):
    return service.create_queue("q" + os.urandom(6).hex())


def now():
    return datetime.datetime.now(datetime.UTC)


def by_sas(server, queue, sas):
    return QueueClient(server.url("Queue"), queue.queue_name, credential=sas, retry_total=0)


def operations(queue, client):
    """What is tried, each on a message of its own."""
    def held():
        queue.clear_messages()
        queue.send_message("x")
        return queue.receive_message()

    def put_then(call):
        queue.clear_messages()
        queue.send_message("x")
        return call()

    return {
        "add": lambda: client.send_message("x"),
        "process": lambda: put_then(lambda: client.receive_message().content),
        "delete": lambda: client.delete_message(held()),
        "peek": lambda: put_then(lambda: client.peek_messages()[0].content),
        "update": lambda: client.update_message(held(), visibility_timeout=0),
        "metadata": lambda: client.get_queue_properties(),
        "set metadata": lambda: client.set_queue_metadata({"a": "b"}),
        "clear": lambda: client.clear_messages(),
        "acl": lambda: client.get_queue_access_policy(),
        "set acl": lambda: client.set_queue_access_policy({}),
    }


def allowed(queue, client):
    found = set()
    for name, call in operations(queue, client).items():
        try:
            call()
            found.add(name)
        except HttpResponseError as refused:
            assert refused.status_code == 403, (name, refused)
            assert refused.error_code.startswith("Authorization"), (name, refused.error_code)
    return found


@pytest.mark.parametrize("permissions,expected", [
    ("r", {"peek", "metadata"}),
    ("a", {"add"}),
    ("u", {"update"}),
    ("p", {"process", "delete"}),
    ("raup", {"peek", "metadata", "add", "update", "process", "delete"}),
])
def test_a_queue_sas_allows_what_it_says(server, queue, permissions, expected):
    sas = generate_queue_sas(ACCOUNT, queue.queue_name, KEY, permission=QueueSasPermissions.from_string(permissions),
                             expiry=now() + SOON)
    assert allowed(queue, by_sas(server, queue, sas)) == expected


@pytest.mark.parametrize("permissions,expected", [
    ("r", {"peek", "metadata"}),
    ("a", {"add"}),
    ("u", {"update"}),
    ("p", {"process", "delete"}),
    ("w", {"set metadata"}),
    ("d", {"clear"}),
])
def test_an_account_sas_allows_what_it_says(server, queue, permissions, expected):
    sas = generate_account_sas(ACCOUNT, KEY, ResourceTypes(service=True, container=True, object=True),
                               AccountSasPermissions.from_string(permissions), expiry=now() + SOON, services="q")
    assert allowed(queue, by_sas(server, queue, sas)) == expected


def test_an_account_sas_lists_creates_and_deletes(server, service):
    def client(permissions):
        sas = generate_account_sas(ACCOUNT, KEY, ResourceTypes(service=True, container=True, object=True),
                                   AccountSasPermissions.from_string(permissions), expiry=now() + SOON, services="q")
        return QueueServiceClient(server.url("Queue"), credential=sas, retry_total=0)

    client("c").create_queue("by-signature")
    assert "by-signature" in [queue.name for queue in client("l").list_queues()]
    for permissions in ("c", "l", "r"):
        with pytest.raises(HttpResponseError) as refused:
            client(permissions).delete_queue("by-signature")
        assert refused.value.status_code == 403
    client("d").delete_queue("by-signature")


def test_a_signature_is_for_its_queue_its_time_and_its_service(server, service, queue):
    other = service.create_queue("q" + os.urandom(6).hex())
    full = {"permission": QueueSasPermissions(read=True), "expiry": now() + SOON}
    for sas in (generate_queue_sas(ACCOUNT, other.queue_name, KEY, **full),
                generate_queue_sas(ACCOUNT, queue.queue_name, KEY, **{**full, "expiry": now() - SOON}),
                generate_queue_sas(ACCOUNT, queue.queue_name, KEY, start=now() + SOON / 2, **full),
                generate_queue_sas(ACCOUNT, queue.queue_name, "A" * 86 + "==", **full),
                generate_account_sas(ACCOUNT, KEY, ResourceTypes(object=True), AccountSasPermissions(read=True),
                                     expiry=now() + SOON, services="b")):
        with pytest.raises(HttpResponseError) as refused:
            by_sas(server, queue, sas).peek_messages()
        assert refused.value.status_code == 403


def test_a_stored_policy_allows_and_is_revoked_at_once(server, queue):
    queue.set_queue_access_policy({"workers": AccessPolicy(permission="ap", expiry=now() + SOON)})
    sas = generate_queue_sas(ACCOUNT, queue.queue_name, KEY, policy_id="workers")
    client = by_sas(server, queue, sas)
    assert allowed(queue, client) == {"add", "process", "delete"}
    queue.set_queue_access_policy({"workers": AccessPolicy(permission="r", expiry=now() + SOON)})
    assert allowed(queue, client) == {"peek", "metadata"}
    queue.set_queue_access_policy({})
    with pytest.raises(HttpResponseError) as refused:
        client.peek_messages()
    assert refused.value.status_code == 403


def test_the_policies_of_a_deleted_queue_do_not_come_back(server, queue):
    queue.set_queue_access_policy({"workers": AccessPolicy(permission="r", expiry=now() + SOON)})
    sas = generate_queue_sas(ACCOUNT, queue.queue_name, KEY, policy_id="workers")
    by_sas(server, queue, sas).peek_messages()
    queue.delete_queue()
    queue.create_queue()
    assert queue.get_queue_access_policy() == {}
    with pytest.raises(HttpResponseError) as refused:
        by_sas(server, queue, sas).peek_messages()
    assert refused.value.status_code == 403


def test_nothing_is_public(server, queue):
    for method, path in (("GET", "/messages?peekonly=true"), ("GET", "?comp=metadata"), ("POST", "/messages")):
        connection = http.client.HTTPConnection("127.0.0.1", server.ports["Queue"], timeout=20)
        connection.request(method, f"/{ACCOUNT}/{queue.queue_name}{path}", headers={"x-ms-version": "2024-11-04"})
        answer = connection.getresponse()
        assert (answer.status, answer.headers["x-ms-error-code"]) == (401, "NoAuthenticationInformation")
        connection.close()


def test_service_properties_and_stats(server, service):
    retention = RetentionPolicy(enabled=True, days=5)
    service.set_service_properties(
        analytics_logging=QueueAnalyticsLogging(read=True, retention_policy=retention),
        hour_metrics=Metrics(enabled=True, include_apis=True, retention_policy=retention),
        cors=[CorsRule(["http://app"], ["GET"])])
    found = service.get_service_properties()
    assert found["analytics_logging"].read and found["hour_metrics"].retention_policy.days == 5
    assert [rule.allowed_origins for rule in found["cors"]] == ["http://app"]
    service.set_service_properties(cors=[])
    assert service.get_service_properties()["hour_metrics"].enabled, "what is not named stays"
    stats = Client(server.ports["Queue"]).call("GET", "-secondary/", {"restype": "service", "comp": "stats"})
    assert (stats.status, elements(stats.text)["Status"]) == (200, "live")


def test_the_last_writer_of_service_properties_wins(service):
    whole = [[CorsRule([f"http://{number}-{part}"], ["GET"]) for part in range(5)] for number in range(4)]
    threads = [threading.Thread(target=lambda rules=rules: [service.set_service_properties(cors=rules)
                                                            for _ in range(10)]) for rules in whole]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [rule.allowed_origins for rule in service.get_service_properties()["cors"]]
    assert found in [[rule.allowed_origins for rule in rules] for rules in whole]
    service.set_service_properties(cors=[])


def test_a_browser_is_let_in_by_a_rule(server, service, queue):
    service.set_service_properties(cors=[CorsRule(["http://app"], ["GET", "POST"], max_age_in_seconds=60)])
    client = Client(server.ports["Queue"])
    asked = {"Origin": "http://app", "Access-Control-Request-Method": "POST"}
    preflight = client.call("OPTIONS", f"/{queue.queue_name}/messages", headers=asked)
    assert (preflight.status, preflight.headers["Access-Control-Allow-Origin"]) == (200, "http://app")
    refused = client.call("OPTIONS", f"/{queue.queue_name}", headers={**asked, "Origin": "http://elsewhere"})
    assert refused.status == 403
    got = client.call("GET", f"/{queue.queue_name}/messages", headers={"Origin": "http://app"})
    assert (got.status, got.headers["Access-Control-Allow-Origin"]) == (200, "http://app")
    service.set_service_properties(cors=[])


def test_a_missing_queue_tells_the_holder_of_a_key(service):
    with pytest.raises(ResourceNotFoundError):
        service.get_queue_client("never-made").peek_messages()
