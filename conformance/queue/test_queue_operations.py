"""Every operation of the Queue service through the official Python SDK, with its blocking and its asynchronous client."""

import asyncio
import base64
import datetime
import inspect
import os

import pytest
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.storage.queue import (AccessPolicy, BinaryBase64DecodePolicy, BinaryBase64EncodePolicy, QueueSasPermissions,
                                 QueueServiceClient)
from azure.storage.queue.aio import QueueServiceClient as AsyncQueueServiceClient


class Blocking:
    """An asynchronous client that is used like a blocking one, so that both run the same tests."""

    def __init__(self, loop, inner):
        self._loop, self._inner = loop, inner

    def __getattr__(self, name):
        member = getattr(self._inner, name)
        return self._call(member) if callable(member) else member

    def _call(self, method):
        def call(*arguments, **named):
            return self._wait(method(*arguments, **named))
        return call

    def _wait(self, result):
        if inspect.isawaitable(result):
            return self._wait(self._loop.run_until_complete(result))
        if hasattr(result, "by_page"):
            return Pages(self._loop, result)
        return Blocking(self._loop, result) if hasattr(result, "send_message") else result


class Pages:
    def __init__(self, loop, inner):
        self._loop, self._inner = loop, inner

    def __iter__(self):
        return iter(self._loop.run_until_complete(collect(self._inner)))

    def by_page(self):
        return iter(self._loop.run_until_complete(collect_pages(self._inner)))


async def collect(items):
    return [item async for item in items]


async def collect_pages(items):
    return [await collect(page) async for page in items.by_page()]


@pytest.fixture(params=["blocking", "asynchronous"])
def service(server, request):
    if request.param == "blocking":
        yield QueueServiceClient.from_connection_string(server.connection_string, retry_total=0)
        return
    loop = asyncio.new_event_loop()
    client = AsyncQueueServiceClient.from_connection_string(server.connection_string, retry_total=0)
    yield Blocking(loop, client)
    loop.run_until_complete(client.close())
    loop.close()


@pytest.fixture
def queue(service):
    name = "q" + os.urandom(6).hex()
    client = service.create_queue(name)
    yield client
    try:
        service.delete_queue(name)
    except ResourceNotFoundError:
        pass


def fails(status, code, call):
    with pytest.raises(HttpResponseError) as caught:
        call()
    assert (caught.value.response.status_code, caught.value.error_code) == (status, code)
    return caught.value


def test_a_queue_is_created_found_and_deleted(service, queue):
    name = queue.queue_name
    fails(204, "QueueAlreadyExists", queue.create_queue)  # the same metadata: the SDK makes an error of success
    fails(409, "QueueAlreadyExists", lambda: queue.create_queue(metadata={"other": "yes"}))
    queue.set_queue_metadata({"team": "blue", "tier": "2"})
    fails(204, "QueueAlreadyExists", lambda: queue.create_queue(metadata={"tier": "2", "team": "blue"}))
    fails(409, "QueueAlreadyExists", lambda: queue.create_queue())
    found = queue.get_queue_properties()
    assert (found.name, found.metadata, found.approximate_message_count) == (name, {"team": "blue", "tier": "2"}, 0)
    queue.set_queue_metadata({})
    assert queue.get_queue_properties().metadata == {}
    queue.delete_queue()
    for call in (queue.delete_queue, queue.get_queue_properties, queue.clear_messages, queue.get_queue_access_policy,
                 lambda: queue.set_queue_metadata({}), lambda: queue.set_queue_access_policy({}),
                 lambda: queue.send_message("x"), lambda: queue.peek_messages(), lambda: queue.receive_message()):
        fails(404, "QueueNotFound", call)
    queue.create_queue()  # the name is free at once
    assert queue.get_queue_properties().approximate_message_count == 0


def test_queues_are_listed_in_pages(service):
    prefix = "list" + os.urandom(4).hex()
    names = [f"{prefix}-{number:02}" for number in range(7)]
    for name in reversed(names):
        service.create_queue(name, metadata={"number": name[-2:]})
    assert [queue.name for queue in service.list_queues(name_starts_with=prefix)] == names
    pages = [list(page) for page in
             service.list_queues(name_starts_with=prefix, results_per_page=3, include_metadata=True).by_page()]
    assert [[queue.name for queue in page] for page in pages] == [names[:3], names[3:6], names[6:]]
    assert pages[2][0].metadata == {"number": "06"}
    assert not list(service.list_queues(name_starts_with=prefix))[0].metadata
    for name in names:
        service.delete_queue(name)
    assert list(service.list_queues(name_starts_with=prefix)) == []


def test_a_message_goes_through_its_life(queue):
    sent = queue.send_message("hello <&> \"wörld\" \U0001F600\r\n\t")
    assert sent.id and sent.pop_receipt and sent.expires_on - sent.inserted_on == datetime.timedelta(days=7)
    [peeked] = queue.peek_messages()
    assert (peeked.id, peeked.content, peeked.dequeue_count) == (sent.id, sent.content, 0)
    before = datetime.datetime.now(datetime.UTC)
    got = queue.receive_message(visibility_timeout=40)
    assert (got.id, got.content, got.dequeue_count) == (sent.id, sent.content, 1)
    assert -1 < (got.next_visible_on - before).total_seconds() - 40 < 2, "the time of the get plus the timeout"
    assert list(queue.peek_messages()) == [] and queue.receive_message() is None
    assert queue.get_queue_properties().approximate_message_count == 1
    fails(404, "MessageNotFound", lambda: queue.delete_message(got.id, sent.pop_receipt))
    updated = queue.update_message(got, visibility_timeout=0, content="changed")
    assert updated.pop_receipt != got.pop_receipt
    fails(404, "MessageNotFound", lambda: queue.update_message(got.id, got.pop_receipt, visibility_timeout=0))
    again = queue.receive_message()
    assert (again.id, again.content, again.dequeue_count) == (got.id, "changed", 2)
    kept = queue.update_message(again.id, again.pop_receipt, visibility_timeout=0)
    assert queue.peek_messages()[0].content == "changed", "no text: it stays"
    queue.delete_message(again.id, kept.pop_receipt)
    fails(404, "MessageNotFound", lambda: queue.delete_message(again.id, kept.pop_receipt))
    assert queue.get_queue_properties().approximate_message_count == 0


def test_many_messages_come_in_order_and_at_most_32_at_once(queue):
    for number in range(40):
        queue.send_message(str(number))
    assert queue.get_queue_properties().approximate_message_count == 40
    assert [message.content for message in queue.peek_messages(max_messages=32)] == [str(n) for n in range(32)]
    got = list(queue.receive_messages(messages_per_page=32))
    assert [message.content for message in got] == [str(n) for n in range(40)]
    assert len({message.pop_receipt for message in got}) == 40
    for message in got[:10]:
        queue.delete_message(message)
    assert queue.get_queue_properties().approximate_message_count == 30
    queue.clear_messages()
    assert queue.get_queue_properties().approximate_message_count == 0
    fails(404, "MessageNotFound", lambda: queue.delete_message(got[20]))
    queue.send_message("after")
    assert queue.receive_message().content == "after"


def test_delay_and_time_to_live(queue):
    never = queue.send_message("never", time_to_live=-1)
    assert never.expires_on.year == 9999
    long = queue.send_message("long", time_to_live=30 * 86400, visibility_timeout=604800)
    assert long.expires_on - long.inserted_on == datetime.timedelta(days=30)
    assert long.next_visible_on - long.inserted_on == datetime.timedelta(days=7)
    short = queue.send_message("short", time_to_live=1)
    assert short.expires_on - short.inserted_on == datetime.timedelta(seconds=1)
    deadline = datetime.datetime.now() + datetime.timedelta(seconds=10)
    while any(message.content == "short" for message in queue.peek_messages(max_messages=32)):
        assert datetime.datetime.now() < deadline, "it is still there"
    fails(404, "MessageNotFound", lambda: queue.delete_message(short.id, short.pop_receipt))
    delayed = queue.send_message("delayed", visibility_timeout=600)
    assert [message.content for message in queue.peek_messages(max_messages=32)] == ["never"]
    queue.update_message(delayed.id, delayed.pop_receipt, visibility_timeout=0)
    assert [message.content for message in queue.peek_messages(max_messages=32)] == ["never", "delayed"]


def test_a_message_comes_back_when_its_time_is_over(queue):
    queue.send_message("again")
    first = queue.receive_message(visibility_timeout=1)
    deadline = datetime.datetime.now() + datetime.timedelta(seconds=10)
    while (second := queue.receive_message(visibility_timeout=30)) is None:
        assert datetime.datetime.now() < deadline, "it did not come back"
    assert (second.id, second.dequeue_count) == (first.id, 2)
    fails(404, "MessageNotFound", lambda: queue.delete_message(first))
    queue.delete_message(second)


def test_texts_are_carried_byte_for_byte(server, queue):
    binary = QueueServiceClient.from_connection_string(server.connection_string).get_queue_client(
        queue.queue_name, message_encode_policy=BinaryBase64EncodePolicy(),
        message_decode_policy=BinaryBase64DecodePolicy())
    data = os.urandom(48 * 1024)  # 64 KiB as base64: exactly what fits
    binary.send_message(data)
    assert binary.receive_message().content == data
    for text in ("", " ", "\n", "]]>", "<a b='c'>&amp;</a>", base64.b64encode(data).decode(), "\u00e4" * 32 * 1024,
                 "\"" * 65536):
        queue.clear_messages()
        queue.send_message(text)
        assert (queue.peek_messages()[0].content or "") == text
        assert (queue.receive_message().content or "") == text


def test_what_is_out_of_range_is_refused_with_its_range(queue):
    queue.send_message("x")
    got = queue.receive_message()
    table = [
        (lambda: list(queue.receive_messages(messages_per_page=0)), "numofmessages", "0", "1", "32"),
        (lambda: list(queue.receive_messages(messages_per_page=33)), "numofmessages", "33", "1", "32"),
        (lambda: list(queue.receive_messages(visibility_timeout=0)), "visibilitytimeout", "0", "1", "604800"),
        (lambda: list(queue.receive_messages(visibility_timeout=604801)), "visibilitytimeout", "604801", "1", "604800"),
        (lambda: queue.send_message("x", visibility_timeout=-1), "visibilitytimeout", "-1", "0", "604800"),
        (lambda: queue.update_message(got, visibility_timeout=604801), "visibilitytimeout", "604801", "0", "604800"),
    ]
    for call, name, value, minimum, maximum in table:
        error = fails(400, "OutOfRangeQueryParameterValue", call)
        found = error.additional_info
        assert (found["queryparametername"], found["queryparametervalue"]) == (name, value)
        assert (found["minimumallowed"], found["maximumallowed"]) == (minimum, maximum)
    fails(400, "InvalidQueryParameterValue", lambda: queue.send_message("x", time_to_live=10, visibility_timeout=10))
    fails(413, "RequestBodyTooLarge", lambda: queue.send_message("x" * 65537))
    fails(400, "InvalidQueryParameterValue", lambda: queue.delete_message(got.id, "invented"))
    assert queue.get_queue_properties().approximate_message_count == 1, "nothing changed"


def test_stored_policies_are_kept(queue):
    assert queue.get_queue_access_policy() == {}
    now = datetime.datetime(2026, 5, 1, 12, 30, 15, tzinfo=datetime.UTC)
    policies = {
        "full": AccessPolicy(permission=QueueSasPermissions(read=True, add=True, update=True, process=True),
                             start=now, expiry=now + datetime.timedelta(days=3)),
        "bare": AccessPolicy(),
    }
    queue.set_queue_access_policy(policies)
    found = queue.get_queue_access_policy()
    assert set(found) == {"full", "bare"}
    assert (found["full"].permission, str(found["full"].start)[:19]) == ("raup", "2026-05-01T12:30:15")
    six = {str(number): AccessPolicy() for number in range(6)}
    fails(400, "InvalidXmlDocument", lambda: queue.set_queue_access_policy(six))
    queue.set_queue_access_policy({})
    assert queue.get_queue_access_policy() == {}


def test_names_are_checked(service):
    for name, code in (("ab", "OutOfRangeInput"), ("a" * 64, "OutOfRangeInput"), ("Upper", "InvalidResourceName"),
                       ("a--b", "InvalidResourceName"), ("-ab", "InvalidResourceName")):
        fails(400, code, lambda: service.create_queue(name))


def test_existing_is_an_error_of_its_own(service, queue):
    with pytest.raises(ResourceExistsError):
        service.create_queue(queue.queue_name, metadata={"a": "b"})
    with pytest.raises(ResourceNotFoundError):
        service.delete_queue("never-made")
