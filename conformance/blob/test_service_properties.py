"""Service properties through the official SDK, and what CORS rules do to requests of browsers."""

import http.client

import pytest
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import BlobAnalyticsLogging, BlobServiceClient, CorsRule, Metrics, RetentionPolicy

from lazuli import ACCOUNT
from raw import Client, xml_of


@pytest.fixture
def service(server):
    return BlobServiceClient.from_connection_string(server.connection_string)


def ask(server, method, path="/", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request(method, f"/{ACCOUNT}{path}", headers={name.replace("_", "-"): it for name, it in headers.items()})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer


def test_what_is_not_named_stays(service):
    retention = RetentionPolicy(enabled=True, days=5)
    service.set_service_properties(analytics_logging=BlobAnalyticsLogging(
        read=True, write=True, delete=False, retention_policy=retention))
    service.set_service_properties(hour_metrics=Metrics(enabled=True, include_apis=True, retention_policy=retention))
    service.set_service_properties(target_version="2021-12-02")
    found = service.get_service_properties()
    assert found["analytics_logging"].read and not found["analytics_logging"].delete
    assert found["analytics_logging"].retention_policy.days == 5
    assert found["hour_metrics"].enabled and found["hour_metrics"].include_apis
    assert not found["minute_metrics"].enabled
    assert found["target_version"] == "2021-12-02"


def test_too_many_rules_are_refused_and_change_nothing(service):
    service.set_service_properties(cors=[CorsRule(["http://kept"], ["GET"])])
    with pytest.raises(HttpResponseError) as refused:
        service.set_service_properties(cors=[CorsRule(["*"], ["GET"])] * 6)
    assert refused.value.status_code == 400 and refused.value.error_code == "InvalidXmlNodeValue"
    assert [rule.allowed_origins for rule in service.get_service_properties()["cors"]] == ["http://kept"]


def test_soft_delete_is_refused_as_long_as_it_does_not_exist(service):
    with pytest.raises(HttpResponseError) as refused:
        service.set_service_properties(delete_retention_policy=RetentionPolicy(enabled=True, days=3))
    assert refused.value.status_code == 400


def test_account_information(service):
    assert service.get_account_information()["account_kind"] == "StorageV2"


def test_preflight(server, service):
    service.set_service_properties(cors=[])
    asked = {"Origin": "http://app", "Access_Control_Request_Method": "PUT"}
    assert ask(server, "OPTIONS", **asked).status == 403
    service.set_service_properties(cors=[
        CorsRule(["http://app"], ["PUT", "GET"], allowed_headers=["x-ms-*"], max_age_in_seconds=77)])
    answer = ask(server, "OPTIONS", "/container/b", Access_Control_Request_Headers="x-ms-date, x-ms-version", **asked)
    assert answer.status == 200
    assert answer.headers["Access-Control-Allow-Origin"] == "http://app"
    assert answer.headers["Access-Control-Allow-Credentials"] == "true"
    assert answer.headers["Access-Control-Allow-Methods"] == "PUT"
    assert answer.headers["Access-Control-Allow-Headers"] == "x-ms-date, x-ms-version"
    assert answer.headers["Access-Control-Max-Age"] == "77"
    refused = ask(server, "OPTIONS", "/container/b", Access_Control_Request_Headers="cookie", **asked)
    assert refused.status == 403 and refused.headers["x-ms-error-code"] == "CorsPreflightFailure"
    lacking = ask(server, "OPTIONS", Origin="http://app")
    assert (lacking.status, lacking.headers["x-ms-error-code"]) == (400, "InvalidHeaderValue")
    assert ask(server, "OPTIONS", Access_Control_Request_Method="PUT").status == 400


def test_actual_requests_are_marked_never_refused(server, service):
    service.set_service_properties(cors=[
        CorsRule(["http://app"], ["GET"], exposed_headers=["x-ms-request-id", "x-ms-err*"]),
        CorsRule(["*"], ["HEAD"])])
    answer = ask(server, "GET", "/container/b", Origin="http://app")
    assert answer.status in (401, 403, 404)
    assert answer.headers["Access-Control-Allow-Origin"] == "http://app"
    assert "x-ms-request-id" in answer.headers["Access-Control-Expose-Headers"]
    assert answer.headers["Vary"] == "Origin"
    anybody = ask(server, "HEAD", "/container/b", Origin="http://other")
    assert anybody.headers["Access-Control-Allow-Origin"] == "*" and "Vary" not in anybody.headers
    stranger = ask(server, "GET", "/container/b", Origin="http://other")
    assert "Access-Control-Allow-Origin" not in stranger.headers and stranger.headers["Vary"] == "Origin"
    assert "Vary" not in ask(server, "GET", "/container/b").headers


def test_requests_without_a_version_get_the_default_one(server, service):
    service.create_container("versions", public_access="blob")
    service.get_blob_client("versions", "b").upload_blob(b"x")
    service.set_service_properties(target_version="2009-09-19")
    # In which ETags have no quotes.
    assert not ask(server, "GET", "/versions/b").headers["ETag"].startswith('"')
    service.set_service_properties(target_version="2021-12-02")
    assert ask(server, "GET", "/versions/b").headers["ETag"].startswith('"')


def test_stats_come_from_the_secondary_location(server):
    # The SDK swaps only the host for the secondary one, which path-style addresses do not have.
    answer = Client(server.port).call("GET", "-secondary/", {"restype": "service", "comp": "stats"})
    assert answer.status == 200 and xml_of(answer).findtext("GeoReplication/Status") == "live"
