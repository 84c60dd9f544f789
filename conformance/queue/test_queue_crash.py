"""Many consumers and producers, consumers that die with a message in their hands, and `kill -9` of the server in the
middle: no message is lost, and none is delivered while somebody holds it. LAZULI_QUEUE_MESSAGES raises the count,
LAZULI_CRASHES the number of kills.

Messages are put and got by asynchronous clients in processes of their own: a machine with two cores has no time for 72
threads of Python, and an event loop holds 36 clients at once as well as a thread each would.
"""

import asyncio
import json
import multiprocessing
import os
import random
import time

from azure.core.exceptions import AzureError
from azure.storage.queue import QueueServiceClient
from azure.storage.queue.aio import QueueClient

from lazuli import Server

PROCESSES = 2
PRODUCERS = 8 // PROCESSES
CONSUMERS = 64 // PROCESSES
KILLS = max(1, int(os.environ.get("LAZULI_CRASHES", "20")) // 10)
MESSAGES = int(os.environ.get("LAZULI_QUEUE_MESSAGES", max(1200, 100 * KILLS)))
TIMEOUT = 3
DEADLINE_SECONDS = 60 + MESSAGES / 20 + KILLS * 5


class Party:
    """The clients of one process. What happens is written down with the time before the call and after its answer; a
    message counts as processed by a consumer that lived long enough to try to delete it."""

    def __init__(self, number, connection_string, inbox, outbox):
        self.number, self.inbox, self.outbox = number, inbox, outbox
        self.connection_string = connection_string
        self.dice = random.Random(number)
        self.acknowledged, self.deliveries, self.processed, self.deleted = [], [], [], []
        self.next = 0
        self.ended = False

    def client(self):
        return QueueClient.from_connection_string(self.connection_string, "work", retry_total=0, connection_timeout=5,
                                                  read_timeout=10)

    async def produce(self):
        client = self.client()
        while self.next < MESSAGES // PROCESSES and not self.ended:
            name = f"{self.number}-{self.next}"
            self.next += 1
            sent = False
            while not sent and not self.ended:
                try:
                    # A put without an answer may have happened: it is sent again, and may then be there twice.
                    await client.send_message(json.dumps({"name": name, "attempt": self.dice.random()}))
                    sent = True
                except AzureError:
                    await client.close()
                    client = await self.again()
            if sent:
                self.acknowledged.append(name)
        await client.close()

    async def consume(self):
        client = self.client()
        while not self.ended:
            asked = time.monotonic()
            try:
                batch = [message async for message in
                         client.receive_messages(messages_per_page=self.dice.choice([1, 1, 4]), max_messages=4,
                                                 visibility_timeout=TIMEOUT)]
            except AzureError:
                await client.close()
                client = await self.again()
                continue
            answered = time.monotonic()
            if not batch:
                await asyncio.sleep(0.05)
            for message in batch:
                name = json.loads(message.content)["name"]
                self.deliveries.append((message.id, message.dequeue_count, asked, answered))
                if self.dice.random() < 0.1:
                    continue  # the consumer dies with it
                self.processed.append(name)
                try:
                    await client.delete_message(message)
                    self.deleted.append((message.id, time.monotonic()))
                except AzureError:
                    pass  # too late, and somebody else has it; or no answer, and it is gone or comes again
        await client.close()

    async def again(self):
        """The server is gone: wait for the next one."""
        await asyncio.sleep(0.1)
        self.hear()
        return self.client()

    def hear(self):
        while not self.inbox.empty():
            said = self.inbox.get()
            if said is None:
                self.ended = True
            else:
                self.connection_string = said

    async def listen(self):
        while not self.ended:
            self.hear()
            self.outbox.put((self.number, len(self.acknowledged), len(self.processed)))
            await asyncio.sleep(0.1)

    async def run(self):
        work = [self.produce() for _ in range(PRODUCERS)] + [self.consume() for _ in range(CONSUMERS)]
        await asyncio.gather(self.listen(), *work)


def party(number, connection_string, inbox, outbox, results):
    party = Party(number, connection_string, inbox, outbox)
    asyncio.run(party.run())
    results.put((party.acknowledged, party.deliveries, party.processed, party.deleted))


def test_no_message_is_lost_and_none_is_delivered_while_it_is_held():
    server = Server().start()
    QueueServiceClient.from_connection_string(server.connection_string).create_queue("work")
    context = multiprocessing.get_context("spawn")
    outbox, results = context.Queue(), context.Queue()
    inboxes = [context.Queue() for _ in range(PROCESSES)]
    workers = [context.Process(target=party, args=(number, server.connection_string, inbox, outbox, results))
               for number, inbox in enumerate(inboxes)]
    for worker in workers:
        worker.start()
    try:
        kills = kill_while_they_work(server, inboxes, outbox)
        for inbox in inboxes:
            inbox.put(None)
        outcomes = [results.get(timeout=60) for _ in workers]
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()
    acknowledged = {name for outcome in outcomes for name in outcome[0]}
    deliveries = [delivery for outcome in outcomes for delivery in outcome[1]]
    processed = {name for outcome in outcomes for name in outcome[2]}
    deleted = [deletion for outcome in outcomes for deletion in outcome[3]]

    assert kills == KILLS
    assert len(acknowledged) == MESSAGES // PROCESSES * PROCESSES, "every producer got through"
    assert acknowledged <= processed, "a message that was acknowledged was never processed"
    nobody_held_it(deliveries, deleted)
    left = QueueServiceClient.from_connection_string(server.connection_string).get_queue_client("work")
    assert left.get_queue_properties().approximate_message_count == 0
    assert server.stop() == 0
    server.must_be_clean()
    server.remove()


def kill_while_they_work(server, inboxes, outbox):
    """Ends the server without warning now and then, until everything is processed and the queue is empty."""
    progress, kills = {}, 0
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        assert time.monotonic() < deadline, f"stuck at {progress}"
        number, put, done = outbox.get(timeout=60)
        progress[number] = (put, done)
        processed = sum(done for _, done in progress.values())
        if kills < KILLS and processed > (kills + 1) * MESSAGES // (KILLS + 2):
            kills += 1
            server.kill()
            server.must_be_clean()
            server.start()
            for inbox in inboxes:
                inbox.put(server.connection_string)
        if sum(put for put, _ in progress.values()) >= MESSAGES // PROCESSES * PROCESSES and kills == KILLS:
            client = QueueServiceClient.from_connection_string(server.connection_string).get_queue_client("work")
            if client.get_queue_properties().approximate_message_count == 0:
                return kills


def nobody_held_it(deliveries, deleted):
    """Two deliveries of one message are at least the timeout apart, counted from when the first can have happened at the
    earliest to when the second can have happened at the latest; and after its deletion it is not delivered."""
    by_message = {}
    for message, count, asked, answered in deliveries:
        by_message.setdefault(message, []).append((count, asked, answered))
    gone = dict(deleted)
    for message, times in by_message.items():
        times.sort()
        counts = [count for count, _, _ in times]
        assert len(set(counts)) == len(counts), f"{message} was handed out twice as delivery number {counts}"
        for (_, asked, _), (_, _, answered) in zip(times, times[1:]):
            assert answered - asked >= TIMEOUT - 0.01, f"{message} was delivered while somebody held it"
        if message in gone:
            assert all(asked <= gone[message] for _, asked, _ in times), f"{message} was delivered after its deletion"
