"""Several clients at once: the last writer's value stands, whole, and nobody gets what somebody else holds."""

import threading

import pytest
from azure.core.exceptions import ResourceNotFoundError
from azure.storage.queue import AccessPolicy, CorsRule, QueueServiceClient

CLIENTS = 8
ROUNDS = 20


@pytest.fixture(scope="module")
def service(server):
    return QueueServiceClient.from_connection_string(server.connection_string, retry_total=0)


def together(work):
    """Runs `work(number)` in several threads, and fails if one of them fails."""
    failures = []

    def guarded(number):
        try:
            work(number)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_set_queue_metadata_is_last_writer_wins(service):
    queue = service.create_queue("metadata-race")
    whole = [{f"name{part}": f"{number}-{part}" for part in range(10)} for number in range(CLIENTS)]
    together(lambda number: [queue.set_queue_metadata(whole[number]) for _ in range(ROUNDS)])
    assert queue.get_queue_properties().metadata in whole


def test_set_queue_acl_is_last_writer_wins(service):
    queue = service.create_queue("acl-race")
    whole = [{f"{number}-{part}" for part in range(5)} for number in range(CLIENTS)]
    together(lambda number: [queue.set_queue_access_policy({name: AccessPolicy() for name in whole[number]})
                             for _ in range(ROUNDS)])
    assert set(queue.get_queue_access_policy()) in whole


def test_set_queue_service_properties_is_last_writer_wins(service):
    whole = [[f"http://{number}-{part}" for part in range(5)] for number in range(CLIENTS)]
    together(lambda number: [service.set_service_properties(cors=[CorsRule([origin], ["GET"]) for origin in whole[number]])
                             for _ in range(ROUNDS)])
    assert [rule.allowed_origins for rule in service.get_service_properties()["cors"]] in whole


def test_of_several_updates_with_one_receipt_one_succeeds(service):
    queue = service.create_queue("update-race")
    for _ in range(ROUNDS):
        sent = queue.send_message("draft")
        updated = []

        def update(number):
            try:
                updated.append((number, queue.update_message(sent.id, sent.pop_receipt, visibility_timeout=0,
                                                             content=f"{number} " * 500)))
            except ResourceNotFoundError:
                pass

        together(update)
        [(winner, receipt)] = updated
        [peeked] = queue.peek_messages()
        assert peeked.content == f"{winner} " * 500
        queue.delete_message(sent.id, receipt.pop_receipt)


def test_a_message_is_got_by_one(service):
    queue = service.create_queue("get-race")
    for number in range(CLIENTS * ROUNDS):
        queue.send_message(str(number))
    got = [[] for _ in range(CLIENTS)]

    def take(number):
        while batch := list(queue.receive_messages(messages_per_page=3, visibility_timeout=300)):
            got[number] += [message.content for message in batch]

    together(take)
    assert sorted(sum(got, []), key=int) == [str(number) for number in range(CLIENTS * ROUNDS)]


def test_puts_while_the_queue_is_cleared_are_whole_or_gone(service):
    queue = service.create_queue("clear-race")

    def work(number):
        for round_ in range(ROUNDS):
            if number == 0:
                queue.clear_messages()
            else:
                queue.send_message(f"{number}-{round_}")

    together(work)
    left = queue.get_queue_properties().approximate_message_count
    got = list(queue.receive_messages(messages_per_page=32))
    assert len(got) == left == len({message.content for message in got})
