"""A writer with a lease: whoever has no lease cannot write, nobody else gets the lease, and everybody can read."""

import os
import sys

from azure.core.exceptions import HttpResponseError
from azure.storage.blob import BlobServiceClient

CONNECTION = (sys.argv[1:] or [os.environ.get("AZURE_STORAGE_CONNECTION_STRING", "UseDevelopmentStorage=true")])[0]


def refused(what, action, status, code):
    """Does something that must be refused, and says how it was."""
    try:
        action()
    except HttpResponseError as error:
        found = error.status_code, error.response.headers["x-ms-error-code"]
        print(f"{what} was refused:", *found)
        assert found == (status, code)
    else:
        raise SystemExit(f"{what} was not refused")


def main():
    container = BlobServiceClient.from_connection_string(CONNECTION).get_container_client("example-lease")
    if not container.exists():
        container.create_container()
    blob = container.get_blob_client("document")
    blob.upload_blob("draft", overwrite=True)

    lease = blob.acquire_lease(lease_duration=15)
    lease_id = lease.id
    blob.upload_blob("by the holder", overwrite=True, lease=lease_id)
    refused("a write without the lease", lambda: blob.upload_blob("by another", overwrite=True), 412, "LeaseIdMissing")
    refused("a second acquire", lambda: blob.acquire_lease(lease_duration=15), 409, "LeaseAlreadyPresent")
    assert blob.download_blob().readall() == b"by the holder"
    print("everybody reads:", "by the holder")

    lease.release()
    blob.upload_blob("by another", overwrite=True)
    refused("a write with a lease that is over", lambda: blob.upload_blob("late", overwrite=True, lease=lease_id),
            412, "LeaseLost")
    container.delete_container()


if __name__ == "__main__":
    main()
