"""Leases of blobs: every action in every state that can be reached without waiting, and the three strategies."""

import threading
import time
import uuid

import pytest
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import BlobBlock, BlobLeaseClient

from expect import refused

A, B, C = (str(uuid.UUID(int=number)) for number in (0xA, 0xB, 0xC))


@pytest.fixture()
def blob(container):
    return container.upload_blob("leased", b"content")


def state(blob):
    return blob.get_blob_properties().lease.state


def bring(blob, wanted):
    """Brings a fresh blob into a state, with A as the id of the lease."""
    if wanted == "available":
        return
    lease = blob.acquire_lease(lease_duration=-1, lease_id=A)
    if wanted == "breaking":
        lease.break_lease(60)
    if wanted == "broken":
        lease.break_lease(0)
    assert state(blob) == wanted


ACTIONS = {
    "acquire": lambda blob: blob.acquire_lease(lease_duration=15),
    "acquire A": lambda blob: blob.acquire_lease(lease_duration=15, lease_id=A),
    "acquire B": lambda blob: blob.acquire_lease(lease_duration=15, lease_id=B),
    "renew A": lambda blob: BlobLeaseClient(blob, A).renew(),
    "renew B": lambda blob: BlobLeaseClient(blob, B).renew(),
    "change A to B": lambda blob: BlobLeaseClient(blob, A).change(B),
    "change B to A": lambda blob: BlobLeaseClient(blob, B).change(A),
    "change B to C": lambda blob: BlobLeaseClient(blob, B).change(C),
    "release A": lambda blob: BlobLeaseClient(blob, A).release(),
    "release B": lambda blob: BlobLeaseClient(blob, B).release(),
    "break": lambda blob: BlobLeaseClient(blob, A).break_lease(),
    "break 0": lambda blob: BlobLeaseClient(blob, A).break_lease(0),
    "break 10": lambda blob: BlobLeaseClient(blob, A).break_lease(10),
}

MISMATCH, ABSENT = "LeaseIdMismatchWithLeaseOperation", "LeaseNotPresentWithLeaseOperation"
PRESENT = "LeaseAlreadyPresent"

# What each action does, in the states Available, Leased (infinite), Breaking, Broken: the new state, or the code of a 409.
TABLE = {
    "acquire": ("leased", PRESENT, PRESENT, "leased"),
    "acquire A": ("leased", "leased", "LeaseIsBreakingAndCannotBeAcquired", "leased"),
    "acquire B": ("leased", PRESENT, PRESENT, "leased"),
    "renew A": (MISMATCH, "leased", "LeaseIsBrokenAndCannotBeRenewed", "LeaseIsBrokenAndCannotBeRenewed"),
    "renew B": (MISMATCH, MISMATCH, MISMATCH, MISMATCH),
    "change A to B": (ABSENT, "leased", "LeaseIsBreakingAndCannotBeChanged", ABSENT),
    "change B to A": (ABSENT, "leased", MISMATCH, ABSENT),
    "change B to C": (ABSENT, MISMATCH, MISMATCH, ABSENT),
    "release A": (MISMATCH, "available", "available", "available"),
    "release B": (MISMATCH, MISMATCH, MISMATCH, MISMATCH),
    "break": (ABSENT, "broken", "breaking", "broken"),
    "break 0": (ABSENT, "broken", "broken", "broken"),
    "break 10": (ABSENT, "breaking", "breaking", "broken"),
}
STATES = ("available", "leased", "breaking", "broken")


@pytest.mark.parametrize("action", TABLE)
@pytest.mark.parametrize("before", STATES)
def test_every_action_in_every_state(blob, action, before):
    expected = TABLE[action][STATES.index(before)]
    bring(blob, before)
    etag = blob.get_blob_properties().etag
    try:
        ACTIONS[action](blob)
        found = state(blob)
    except HttpResponseError as error:
        assert error.status_code == 409
        found = error.error_code
        assert state(blob) == before, "a refusal changed something"
    assert found == expected
    assert blob.get_blob_properties().etag == etag, "a lease operation changed the ETag"


def write(blob, **lease):
    blob.upload_blob(b"written", overwrite=True, **lease)


# What a write answers in each state, by the id that it sends.
WRITES = {
    ("available", None): None,
    ("available", B): "LeaseNotPresentWithBlobOperation",
    ("leased", None): "LeaseIdMissing",
    ("leased", A): None,
    ("leased", B): "LeaseIdMismatchWithBlobOperation",
    ("breaking", None): "LeaseIdMissing",
    ("breaking", A): None,
    ("breaking", B): "LeaseIdMismatchWithBlobOperation",
    ("broken", None): None,
    ("broken", A): "LeaseLost",
    ("broken", B): "LeaseNotPresentWithBlobOperation",
}


@pytest.mark.parametrize("before, lease", WRITES)
def test_writes_and_reads_in_every_state(blob, before, lease):
    bring(blob, before)
    code = WRITES[before, lease]
    sent = {"lease": lease} if lease else {}
    if code is None:
        write(blob, **sent)
    else:
        with refused(412, code):
            write(blob, **sent)
    # A read without an id is shared; one with an id is checked as a write is.
    if lease is None:
        blob.download_blob()
    elif code:
        with refused(412, code):
            blob.download_blob(**sent)
    else:
        blob.download_blob(**sent)
    if before == "broken" and lease is None:
        assert state(blob) == "available", "a write ends a broken lease"


def test_an_expired_lease_is_lost(blob):
    lease = blob.acquire_lease(lease_duration=15)
    deadline = time.monotonic() + 30
    while state(blob) != "expired":
        assert time.monotonic() < deadline
        threading.Event().wait(0.2)
    with refused(412, "LeaseLost"):
        write(blob, lease=lease)
    lease.renew()  # nobody wrote since
    write(blob, lease=lease)
    lease.release()


def test_an_uncommitted_blob_can_be_leased(container):
    blob = container.get_blob_client("uncommitted")
    blob.stage_block("YQ==", b"x")
    lease = blob.acquire_lease()
    with refused(412, "LeaseIdMissing"):
        blob.stage_block("Yg==", b"y")
    with refused(412, "LeaseIdMissing"):
        blob.commit_block_list([BlobBlock("YQ==")])
    blob.commit_block_list([BlobBlock("YQ==")], lease=lease)
    assert state(blob) == "leased"
    lease.release()


def test_snapshots_cannot_be_leased(blob, raw):
    taken = blob.create_snapshot()["snapshot"]
    answer = raw.call("PUT", f"/{blob.container_name}/leased", {"comp": "lease", "snapshot": taken},
                      {"x-ms-lease-action": "acquire", "x-ms-lease-duration": "-1"})
    assert (answer.status, answer.code) == (400, "InvalidOperation")
    found = blob.get_blob_properties()
    assert found.lease.state == "available"


@pytest.mark.parametrize("headers, code", [
    ({}, "MissingRequiredHeader"),
    ({"x-ms-lease-action": "steal"}, "InvalidHeaderValue"),
    ({"x-ms-lease-action": "acquire"}, "MissingRequiredHeader"),
    ({"x-ms-lease-action": "acquire", "x-ms-lease-duration": "14"}, "InvalidHeaderValue"),
    ({"x-ms-lease-action": "acquire", "x-ms-lease-duration": "61"}, "InvalidHeaderValue"),
    ({"x-ms-lease-action": "acquire", "x-ms-lease-duration": "15", "x-ms-proposed-lease-id": "x"},
     "InvalidHeaderValue"),
    ({"x-ms-lease-action": "renew"}, "MissingRequiredHeader"),
    ({"x-ms-lease-action": "change", "x-ms-lease-id": A}, "MissingRequiredHeader"),
    ({"x-ms-lease-action": "break", "x-ms-lease-break-period": "61"}, "InvalidHeaderValue"),
])
def test_parameters_of_a_lease(blob, raw, headers, code):
    answer = raw.call("PUT", f"/{blob.container_name}/leased", {"comp": "lease"}, headers)
    assert (answer.status, answer.code) == (400, code), answer.text
    assert state(blob) == "available"


def test_generated_ids_are_not_the_request_s_and_never_the_same(blob, raw):
    path, headers = f"/{blob.container_name}/leased", {"x-ms-lease-action": "acquire", "x-ms-lease-duration": "-1"}
    seen = set()
    for _ in range(20):
        answer = raw.call("PUT", path, {"comp": "lease"}, headers)
        lease = answer.headers["x-ms-lease-id"]
        assert uuid.UUID(lease).version == 4 and lease != answer.headers["x-ms-request-id"]
        seen.add(lease)
        BlobLeaseClient(blob, lease).release()
    assert len(seen) == 20


# The three strategies.

def test_exclusive_write_shared_read(blob):
    lease = blob.acquire_lease(lease_duration=15)
    with refused(412, "LeaseIdMissing"):
        write(blob)
    with refused(412, "LeaseIdMissing"):
        blob.delete_blob()
    with refused(412, "LeaseIdMissing"):
        blob.set_blob_metadata({"a": "b"})
    assert blob.download_blob().readall() == b"content", "everybody reads"
    write(blob, lease=lease)
    assert blob.download_blob().readall() == b"written"
    lease.release()


def test_exclusive_write_exclusive_read(blob):
    """All readers send the id that they were given; whoever has another one does not read."""
    lease = blob.acquire_lease(lease_duration=-1)
    assert blob.download_blob(lease=lease).readall() == b"content"
    write(blob, lease=lease)
    with refused(412, "LeaseIdMismatchWithBlobOperation"):
        blob.download_blob(lease=B)
    lease.change(C)
    with refused(412, "LeaseIdMismatchWithBlobOperation"):
        blob.download_blob(lease=B)
    assert blob.download_blob(lease=C).readall() == b"written"
    BlobLeaseClient(blob, C).release()
    with refused(412, "LeaseLost"):
        blob.download_blob(lease=C)


def test_shared_write_exclusive_read(blob):
    """Writers share one id; a reader takes the lease from them to see a state that nobody changes."""
    shared = blob.acquire_lease(lease_duration=-1, lease_id=A)
    for writer in (b"first", b"second"):
        blob.upload_blob(writer, overwrite=True, lease=A)
    with refused(409, "LeaseAlreadyPresent"):
        blob.acquire_lease(lease_duration=15, lease_id=B)
    shared.change(B)  # the reader's id
    with refused(412, "LeaseIdMismatchWithBlobOperation"):
        blob.upload_blob(b"late", overwrite=True, lease=A)
    assert blob.download_blob(lease=B).readall() == b"second"
    BlobLeaseClient(blob, B).change(A)
    blob.upload_blob(b"third", overwrite=True, lease=A)
    BlobLeaseClient(blob, A).release()
