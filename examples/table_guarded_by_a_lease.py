"""Pessimistic locking of a table: a lease on a blob that stands for it.

The Table service itself only knows the optimistic way (an ETag and If-Match). Where several changes belong together that
no batch can hold, clients agree on a blob, take a lease on it before they touch the table, and give it back afterwards.
The lease protects only against clients that do the same.

    pip install azure-data-tables azure-storage-blob
    python examples/table_guarded_by_a_lease.py
"""

import contextlib
import os
import sys
import threading
import time
import uuid

from azure.core.exceptions import HttpResponseError, ResourceExistsError
from azure.data.tables import TableServiceClient, UpdateMode
from azure.storage.blob import BlobServiceClient

CONNECTION = (sys.argv[1:] or [os.environ.get("AZURE_STORAGE_CONNECTION_STRING", "UseDevelopmentStorage=true")])[0]
LEASE_SECONDS = 15  # the shortest there is: nobody is locked out for longer by a client that died


class TableLock:
    """Whoever is inside holds the lease of the blob that stands for the table."""

    def __init__(self, blobs, table_name):
        container = blobs.get_container_client("table-locks")
        with contextlib.suppress(ResourceExistsError):
            container.create_container()
        self.blob = container.get_blob_client(table_name.lower())
        with contextlib.suppress(HttpResponseError):  # it is there, or it is leased right now
            self.blob.upload_blob(b"", overwrite=False)

    @contextlib.contextmanager
    def held(self, timeout_seconds=30):
        deadline = time.monotonic() + timeout_seconds
        while True:
            try:
                lease = self.blob.acquire_lease(LEASE_SECONDS)
                break
            except HttpResponseError as refused:
                if refused.status_code != 409 or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)  # somebody else holds it
        try:
            yield lease
        finally:
            lease.release()


def main(connection_string):
    blobs = BlobServiceClient.from_connection_string(connection_string)
    name = f"Stock{uuid.uuid4().hex}"
    table = TableServiceClient.from_connection_string(connection_string).create_table(name)
    # Two partitions: no batch can change both, so the lease has to make it one step.
    for city in ("Berlin", "Paris"):
        table.create_entity({"PartitionKey": city, "RowKey": "apples", "count": 100})

    def move(number):
        lock = TableLock(blobs, name)
        for _ in range(number):
            with lock.held():
                berlin, paris = table.get_entity("Berlin", "apples"), table.get_entity("Paris", "apples")
                table.update_entity({**berlin, "count": berlin["count"] - 1}, mode=UpdateMode.REPLACE)
                table.update_entity({**paris, "count": paris["count"] + 1}, mode=UpdateMode.REPLACE)

    movers = [threading.Thread(target=move, args=(5,)) for _ in range(4)]
    for mover in movers:
        mover.start()
    for mover in movers:
        mover.join()
    counts = [table.get_entity(city, "apples")["count"] for city in ("Berlin", "Paris")]
    table.delete_table()
    print("Berlin and Paris have", counts)
    assert counts == [80, 120], "a move was lost"


if __name__ == "__main__":
    main(CONNECTION)
