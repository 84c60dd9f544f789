"""A work queue as people run it: kombu's transport, eight workers. Every message is processed, none of them twice."""

import threading
import time
import urllib.parse

from kombu import Connection

from lazuli import ACCOUNT, KEY

WORKERS = 8
MESSAGES = 200


def test_eight_workers_process_every_message_once(server):
    host = urllib.parse.urlsplit(server.url("Queue")).netloc
    url = f"azurestoragequeues://{KEY}@http://{host}/{ACCOUNT}"
    with Connection(url) as connection:
        queue = connection.SimpleQueue("work")
        for number in range(MESSAGES):
            queue.put({"number": number, "text": "<&>" * 10})
        queue.close()
    processed, lock = [], threading.Lock()
    deadline = time.monotonic() + 120

    def work():
        with Connection(url, transport_options={"polling_interval": 0.05}) as connection:
            queue = connection.SimpleQueue("work")
            while time.monotonic() < deadline:
                with lock:
                    if len(processed) >= MESSAGES:
                        break
                try:
                    message = queue.get(block=True, timeout=0.5)
                except queue.Empty:
                    continue
                assert message.payload["text"] == "<&>" * 10
                with lock:
                    processed.append(message.payload["number"])
                message.ack()
            queue.close()

    workers = [threading.Thread(target=work) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(processed) == list(range(MESSAGES))
