"""`kill -9` while blobs are written and deleted: nothing that was acknowledged is lost, and the store is clean."""

from azure.core.exceptions import AzureError, ResourceExistsError, ResourceNotFoundError
from azure.storage.blob import BlobServiceClient

from crash import Ledger, kill_under_load


def test_nothing_acknowledged_is_lost():
    blobs = Ledger()

    def connect(server):
        service = BlobServiceClient.from_connection_string(server.connection_string, retry_total=0,
                                                           connection_timeout=5, read_timeout=10)
        try:
            return service.create_container("crash")
        except ResourceExistsError:
            return service.get_container_client("crash")

    def write(container, writer, dice):
        name = f"w{writer}-{dice.randrange(20)}"
        data = dice.randbytes(dice.choice([0, 10, 4096, 70_000, 300_000])) if dice.random() < 0.8 else None
        blobs.attempt(name, data)
        try:
            if data is None:
                container.delete_blob(name)
            else:
                container.upload_blob(name, data, overwrite=True)
        except ResourceNotFoundError:
            assert blobs[name] is None, f"{name} is not there"
        except AzureError:
            return False
        blobs.acknowledge(name, data)
        return True

    def verify(container):
        found = {blob.name for blob in container.list_blobs()}
        for name in blobs.names():
            stored = container.download_blob(name).readall() if name in found else None
            assert blobs.settle(name, stored), f"{name} holds {None if stored is None else len(stored)} bytes"

    kill_under_load(connect, write, verify)
