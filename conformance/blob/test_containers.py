"""Containers: metadata, conditions, and a lease that protects against deletion and nothing else."""

import datetime
import uuid

import pytest
from azure.storage.blob import AccessPolicy, BlobLeaseClient, PublicAccess

from expect import refused


def test_metadata_is_replaced_as_a_whole(container):
    before = container.get_container_properties()
    written = container.set_container_metadata({"First": "1", "second": "2"})
    assert written["etag"] != before.etag
    found = container.get_container_properties()
    assert found.metadata == {"First": "1", "second": "2"} and found.etag == written["etag"]
    container.set_container_metadata({"third": "3"})
    assert container.get_container_properties().metadata == {"third": "3"}
    container.set_container_metadata()
    assert container.get_container_properties().metadata == {}


def test_metadata_by_its_own_operation(container, raw):
    container.set_container_metadata({"Name": "value"})
    for method in ("GET", "HEAD"):
        answer = raw.call(method, f"/{container.container_name}", {"restype": "container", "comp": "metadata"})
        assert answer.status == 200 and answer.headers["x-ms-meta-Name"] == "value"
        assert answer.headers["ETag"] and answer.headers["Last-Modified"]
        assert "x-ms-lease-state" not in answer.headers


@pytest.mark.parametrize("header, code", [
    ("If-Match", "ConditionHeadersNotSupported"),
    ("If-None-Match", "ConditionHeadersNotSupported"),
    ("If-Unmodified-Since", "ConditionHeadersNotSupported"),
])
def test_set_metadata_takes_one_condition_only(container, raw, header, code):
    value = "Sun, 06 Nov 1994 08:49:37 GMT" if "Since" in header else '"0x1"'
    query = {"restype": "container", "comp": "metadata"}
    answer = raw.call("PUT", f"/{container.container_name}", query, {header: value})
    assert (answer.status, answer.code) == (400, code)
    assert header in answer.text


def test_dates_guard_metadata_and_delete(service):
    client = service.create_container(f"dates-{uuid.uuid4()}")
    future = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)
    past = future - datetime.timedelta(days=1)
    with refused(412, "ConditionNotMet"):
        client.set_container_metadata({"a": "b"}, if_modified_since=future)
    client.set_container_metadata({"a": "b"}, if_modified_since=past)
    with refused(412, "ConditionNotMet"):
        client.delete_container(if_modified_since=future)
    with refused(412, "ConditionNotMet"):
        client.delete_container(if_unmodified_since=past)
    client.delete_container(if_unmodified_since=future)


def test_a_lease_blocks_only_delete(service):
    client = service.create_container(f"leased-{uuid.uuid4()}", public_access=PublicAccess.BLOB)
    lease = client.acquire_lease()
    found = client.get_container_properties()
    assert (found.lease.status, found.lease.state, found.lease.duration) == ("locked", "leased", "infinite")
    assert found.public_access == "blob"
    # Without the id: everything but the delete.
    client.set_container_metadata({"still": "open"})
    policy = {"readers": AccessPolicy(permission="r")}
    client.set_container_access_policy(policy, public_access=PublicAccess.BLOB)
    assert [found.id for found in client.get_container_access_policy()["signed_identifiers"]] == ["readers"]
    blob = client.upload_blob("b", b"written")
    assert blob.download_blob().readall() == b"written"
    blob.delete_blob()
    assert client.get_container_properties().metadata == {"still": "open"}
    with refused(412, "LeaseIdMissing"):
        client.delete_container()
    # An id that is sent is checked.
    other = str(uuid.uuid4())
    with refused(412, "LeaseIdMismatchWithContainerOperation"):
        client.get_container_properties(lease=other)
    with refused(412, "LeaseIdMismatchWithContainerOperation"):
        client.set_container_metadata({"a": "b"}, lease=other)
    with refused(412, "LeaseIdMismatchWithContainerOperation"):
        client.get_container_access_policy(lease=other)
    with refused(412, "LeaseIdMismatchWithContainerOperation"):
        client.set_container_access_policy({}, lease=other)
    with refused(412, "LeaseIdMismatchWithContainerOperation"):
        client.delete_container(lease=other)
    client.set_container_metadata({"a": "b"}, lease=lease)
    client.set_container_access_policy({}, lease=lease)
    assert client.get_container_properties(lease=lease).metadata == {"a": "b"}
    client.delete_container(lease=lease)


def test_every_action_of_a_container_lease(container):
    first, second = str(uuid.uuid4()), str(uuid.uuid4())
    etag = container.get_container_properties().etag
    lease = container.acquire_lease(lease_duration=15, lease_id=first)
    assert lease.id == first and lease.etag == etag
    with refused(409, "LeaseAlreadyPresent"):
        container.acquire_lease(lease_duration=15, lease_id=second)
    lease.renew()
    lease.change(second)
    assert lease.id == second
    with refused(409, "LeaseIdMismatchWithLeaseOperation"):
        BlobLeaseClient(container, first).renew()
    assert lease.break_lease(lease_break_period=5) == 5
    assert container.get_container_properties().lease.state == "breaking"
    with refused(409, "LeaseIsBreakingAndCannotBeChanged"):
        lease.change(first)
    assert lease.break_lease(lease_break_period=0) == 0
    with refused(409, "LeaseIsBrokenAndCannotBeRenewed"):
        lease.renew()
    lease.release()
    assert container.get_container_properties().lease.state == "available"
    assert container.get_container_properties().etag == etag, "a lease operation changed the ETag"
    with refused(409, "LeaseNotPresentWithLeaseOperation"):
        lease.break_lease()


def test_lease_state_is_listed(service, container):
    container.acquire_lease(lease_duration=15)
    found = [c for c in service.list_containers(name_starts_with=container.container_name)]
    assert [(c.lease.state, c.lease.duration) for c in found] == [("leased", "fixed")]
    BlobLeaseClient(container).break_lease(0)
