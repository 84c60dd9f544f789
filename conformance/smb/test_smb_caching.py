"""What SMB clients cache, and who takes it away: REST requests wait for a client that answers, also late, and do not wait longer than
they may for one that never does."""

import concurrent.futures
import struct
import time

import pytest
from azure.core.exceptions import HttpResponseError
from azure.storage.fileshare import ContentSettings, ShareServiceClient
from smb_cached import (BATCH, CANCEL, CANCELLED, EXCLUSIVE, INVALID_OPLOCK_PROTOCOL, LEVEL_II, NONE, PENDING, R,
                        REQUEST_NOT_ACCEPTED, RH, RW, RWH, UNSUCCESSFUL, Cached)
from smb_raw import CLOSE, CREATE, NO_ID, RELATED, create

KEY1, KEY2 = b"k" * 16, b"l" * 16
LATE_SECONDS = 1


@pytest.fixture
def file(server, share):
    """A file over REST, by a client that does not try again."""
    once = ShareServiceClient.from_connection_string(server.connection_string, retry_total=0)
    client = once.get_share_client(share.share_name).get_file_client("a.txt")
    client.upload_file(b"old bytes")
    return client


@pytest.fixture
def beside():
    """Runs what waits."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        yield pool


def code(error):
    return error.status_code, error.error_code


# The page of Microsoft about locks: what an operation leaves of each state, and whether it waits.
READS = {RWH: (RH, True), RW: (R, True), RH: None, R: None}
WRITES = {RWH: (NONE, True), RW: (NONE, True), RH: (NONE, False), R: (NONE, False)}
OPERATIONS = {
    "Get File": (lambda file, **named: file.download_file(**named).readall(), READS),
    "Get File Properties": (lambda file, **named: file.get_file_properties(**named), READS),
    "List Ranges": (lambda file, **named: list(file.list_ranges(**named)), READS),
    "Put Range": (lambda file, **named: file.upload_range(b"new", 0, 3, **named), WRITES),
    "Set File Metadata": (lambda file, **named: file.set_file_metadata({"a": "b"}, **named), WRITES),
    "Set File Properties": (lambda file, **named: file.set_http_headers(ContentSettings(), **named), WRITES),
}


@pytest.mark.parametrize("state", [RWH, RW, RH, R], ids=["RWH", "RW", "RH", "R"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_request_waits_for_the_client_as_long_as_it_must(server, share, file, beside, name, state):
    operation, table = OPERATIONS[name]
    with Cached(server, share.share_name) as client:
        held = client.open("a.txt", state, KEY1, epoch=7)
        assert (held.state, held.epoch) == (state, 8)
        request = beside.submit(operation, file, timeout=20)
        if table[state] is None:
            request.result(timeout=10)
            client.close_file(held.file)
            assert client.breaks == [], "nothing was taken away"
            return
        left, waits = table[state]
        told = client.next_break()
        assert (told.key, told.held, told.to, told.epoch) == (KEY1, state, left, 9)
        assert told.must_answer == (state != R)
        if not waits:
            request.result(timeout=10)
            return
        time.sleep(LATE_SECONDS)
        assert not request.done(), "the client has not answered yet"
        # What the client had in its cache.
        client.write(held.file, b"cached bytes, flushed")
        assert not request.done()
        assert client.acknowledge(told, left) == 0
        result = request.result(timeout=10)
        if name == "Get File":
            assert result == b"cached bytes, flushed"
        elif name == "Get File Properties":
            assert result.size == 21
        elif name == "Put Range":
            assert file.download_file().readall() == b"newhed bytes, flushed"
        client.close_file(held.file)


@pytest.mark.parametrize("name", ["Get File", "Put Range"])
def test_a_client_that_never_answers_delays_a_request_for_its_own_time(server, share, file, beside, name):
    operation, table = OPERATIONS[name]
    with Cached(server, share.share_name) as client:
        held = client.open("a.txt", RWH, KEY1)
        begun = time.monotonic()
        request = beside.submit(operation, file, timeout=3)
        told = client.next_break()
        with pytest.raises(HttpResponseError) as caught:
            request.result(timeout=30)
        assert code(caught.value) == (500, "ClientCacheFlushDelay")
        assert 2.5 < time.monotonic() - begun < 10
        # A second one finds the break under way: the client is not told again.
        with pytest.raises(HttpResponseError) as caught:
            operation(file, timeout=1)
        assert code(caught.value) == (500, "ClientCacheFlushDelay")
        # It is there after all, and nothing was lost.
        client.write(held.file, b"late")
        assert client.acknowledge(told, table[RWH][0]) == 0
        assert client.breaks == []
        assert file.download_file().readall() == b"latebytes"
        client.close_file(held.file)


def test_a_client_that_is_gone_is_not_waited_for(server, share, file, beside):
    with Cached(server, share.share_name) as client:
        client.open("a.txt", RWH, KEY1)
        request = beside.submit(file.upload_range, b"new", 0, 3, timeout=25)
        client.next_break()
        begun = time.monotonic()
    request.result(timeout=20)
    assert time.monotonic() - begun < 10
    assert file.download_file().readall() == b"new bytes"


@pytest.mark.parametrize("closes", [True, False], ids=["the handle was only cached", "the handle is open"])
def test_a_delete_asks_for_handles_that_may_only_be_cached(server, share, file, beside, closes):
    with Cached(server, share.share_name) as client:
        held = client.open("a.txt", RWH, KEY1)
        request = beside.submit(file.delete_file, timeout=20)
        told = client.next_break()
        assert (told.held, told.to) == (RWH, RW)
        if closes:
            client.close_file(held.file)
            request.result(timeout=10)
            assert not file.exists()
            return
        assert client.acknowledge(told, RW) == 0
        with pytest.raises(HttpResponseError) as caught:
            request.result(timeout=10)
        assert code(caught.value) == (409, "SharingViolation")


@pytest.mark.parametrize("level", [BATCH, EXCLUSIVE], ids=["batch", "exclusive"])
def test_oplocks_are_broken_by_requests_too(server, share, file, beside, level):
    with Cached(server, share.share_name) as client:
        held = client.open("a.txt", oplock=level)
        assert held.level == level
        request = beside.submit(lambda: file.download_file(timeout=20).readall())
        told = client.next_break()
        assert (told.file, told.to) == (held.file, LEVEL_II)
        client.write(held.file, b"OLD")
        assert client.acknowledge(told, LEVEL_II) == 0
        assert request.result(timeout=10) == b"OLD bytes"
        # Level II goes without an answer, with the first change of anybody.
        file.upload_range(b"new", 0, 3)
        assert client.next_break().to == NONE
        assert client.acknowledge(told, NONE) == INVALID_OPLOCK_PROTOCOL


def test_an_open_waits_for_the_holder_and_can_be_given_up(server, share, file):
    with Cached(server, share.share_name) as holder, Cached(server, share.share_name) as other:
        held = holder.open("a.txt", RWH, KEY1)
        number = other.ask("a.txt", RWH, KEY2)
        told = holder.next_break()
        assert other.news().status == PENDING
        other.cancel(number)
        assert other.opened() == CANCELLED
        other.ask("a.txt", RWH, KEY2)
        assert other.news().status == PENDING, "the break is under way, and not told again"
        for state, status in ((RWH, REQUEST_NOT_ACCEPTED), (RW, REQUEST_NOT_ACCEPTED), (RH, 0), (RH, UNSUCCESSFUL)):
            assert holder.acknowledge(told, state) == status
        opened = other.opened()
        assert opened.state == RH and holder.breaks == []
        # A write of one takes what the other has, and nothing of its own.
        holder.write(held.file, b"x")
        assert other.next_break().to == NONE and holder.breaks == []


def test_an_open_that_waits_in_a_compound_can_be_given_up(server, share, file):
    with Cached(server, share.share_name) as holder, Cached(server, share.share_name) as other:
        held = holder.open("a.txt", RWH, KEY1)
        body = create("a.txt", disposition=1)
        body += bytes(-len(body) % 8)
        number = other.next_id
        first = other.sign(other.message(CREATE, body, next_command=64 + len(body)))
        close = struct.pack("<HHI16s", 24, 0, 0, NO_ID)
        other.send(first + other.sign(other.message(CLOSE, close, flags=RELATED)))
        told = holder.next_break()
        # It has no other number: whoever waits in the middle is not told so.
        other.send(other.sign(other.message(CANCEL, struct.pack("<HH", 4, 0), number=number, credits=0)))
        answer = other.news()
        assert answer.status == CANCELLED and answer.next > 0
        assert struct.unpack_from("<I", answer.bytes, answer.next + 8) == (CANCELLED,), "nothing was opened to be closed"
        assert holder.acknowledge(told, RH) == 0
        holder.close_file(held.file)


def test_a_lease_belongs_to_the_client_and_not_to_a_connection(server, share, file):
    with Cached(server, share.share_name) as first, Cached(server, share.share_name) as other:
        with Cached(server, share.share_name, guid=first.guid) as second:
            one = first.open("a.txt", R, KEY1)
            raised = second.open("a.txt", RWH, KEY1)
            assert raised.state == RWH, "nobody else is in the way"
            first.close_file(one.file)
            other.ask("a.txt")
            told = first.next_break()
            assert (told.held, told.to) == (RWH, RH)
            assert second.acknowledge(told, RH) == 0, "either may answer"
            other.opened()
        # The connection that had the handles is gone.
        assert other.open("a.txt", R, KEY2).state == R
        assert first.open("b.txt", RWH, KEY1).state == RWH, "the key is free for another file"
        assert first.open("a.txt", RWH, KEY1) == 0xC000000D, "and of one file at a time"
