"""`kill -9` under load: nothing that was acknowledged is lost, and the store is clean. LAZULI_CRASHES raises the count."""

import os
import random
import threading
import time

from azure.core.exceptions import AzureError, ResourceNotFoundError
from azure.storage.blob import BlobServiceClient

from lazuli import Server

ROUNDS = int(os.environ.get("LAZULI_CRASHES", "20"))


def test_nothing_acknowledged_is_lost():
    server = Server()
    acknowledged = {}
    attempts = {}
    lock = threading.Lock()
    for number in range(ROUNDS):
        server.start()
        service = BlobServiceClient.from_connection_string(server.connection_string, retry_total=0,
                                                           connection_timeout=5, read_timeout=10)
        container = service.get_container_client("crash")
        if number == 0:
            container.create_container()
        verify(container, acknowledged, attempts)
        stop = threading.Event()

        def write(worker):
            dice = random.Random(number * 100 + worker)
            while not stop.is_set():
                name = f"w{worker}-{dice.randrange(20)}"
                data = dice.randbytes(dice.choice([0, 10, 4096, 70_000, 300_000]))
                with lock:
                    attempts[name] = data
                try:
                    if dice.random() < 0.2:
                        with lock:
                            attempts[name] = None
                        container.delete_blob(name)
                        data = None
                    else:
                        container.upload_blob(name, data, overwrite=True)
                except ResourceNotFoundError:
                    data = None
                except AzureError:
                    return  # not acknowledged: it may have happened or not
                with lock:
                    acknowledged[name] = data
                    attempts.pop(name)

        writers = [threading.Thread(target=write, args=(worker,)) for worker in range(8)]
        for writer in writers:
            writer.start()
        time.sleep(random.Random(number).uniform(0.1, 0.6))
        server.kill()
        stop.set()
        for writer in writers:
            writer.join()
        checked = server.check()
        assert checked.returncode == 0, f"round {number}: {checked.stdout}{checked.stderr}"
    server.start()
    service = BlobServiceClient.from_connection_string(server.connection_string, retry_total=0)
    verify(service.get_container_client("crash"), acknowledged, attempts)
    assert server.stop() == 0
    assert server.check().returncode == 0
    server.remove()


def verify(container, acknowledged, attempts):
    """Every name holds what was last acknowledged, or what was under way when the server died."""
    found = {blob.name for blob in container.list_blobs()}
    for name in set(acknowledged) | set(attempts):
        stored = container.download_blob(name).readall() if name in found else None
        allowed = [acknowledged.get(name)] + ([attempts[name]] if name in attempts else [])
        assert stored in allowed, f"{name} holds {None if stored is None else len(stored)} bytes"
        acknowledged[name] = stored
    attempts.clear()
