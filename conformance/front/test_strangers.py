"""Somebody without a credential does their worst, and the others notice nothing: signed requests on new connections stay
quick, the server's memory stays small, and afterwards everything works without a restart."""

import contextlib
import http.client
import resource
import socket
import ssl
import subprocess
import threading
import time
import uuid

import h2.config
import h2.connection
import h2.settings
import pytest
from lazuli import ACCOUNT, BINARY, Server
from raw import VERSION, Client, Connection

# What the mission allows; the machine's own noise is far below it.
SLOWEST_SECONDS = 0.5
MEMORY_MIB = 300


def few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))


@pytest.fixture(autouse=True)
def many_files_for_us():
    """The attackers are as many as they like."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@contextlib.contextmanager
def running(*flags, **popen):
    with Server(*flags, **popen).checked() as server:
        client = Client(server.port)
        assert client.call("PUT", "/private", {"restype": "container"}).status == 201
        headers = {"x-ms-blob-public-access": "container"}
        assert client.call("PUT", "/public", {"restype": "container"}, headers).status == 201
        yield server


def put(call, name, content):
    answer = call("PUT", f"/private/{name}", headers={"x-ms-blob-type": "BlockBlob"}, body=content)
    assert answer.status == 201, (answer.status, answer.text)


def get(call, name, content):
    answer = call("GET", f"/private/{name}")
    assert answer.status == 200 and answer.content == content, (answer.status, answer.text[:500])


def served(server, seconds=3, at_least=50):
    """Puts and gets signed requests, each on a connection of its own, and asks how long they took."""
    client, times = Client(server.port), []
    begun = time.monotonic()
    while time.monotonic() < begun + seconds or len(times) < at_least:
        name, content = str(uuid.uuid4()), uuid.uuid4().bytes * 4096
        for step in (put, get):
            before = time.monotonic()
            step(client.call, name, content)
            times.append(time.monotonic() - before)
    times.sort()
    slowest = times[int(len(times) * 0.99)]
    print(f"{len(times)} requests, p50 {times[len(times) // 2] * 1000:.1f} ms, p99 {slowest * 1000:.1f} ms, "
          f"peak {server.peak_mib():.0f} MiB")
    assert slowest < SLOWEST_SECONDS
    assert server.peak_mib() < MEMORY_MIB


def works(server):
    """Everything does, also what strangers may do."""
    with Connection(server.port) as connection:
        put(connection.call, "afterwards", b"x" * 100)
        get(connection.call, "afterwards", b"x" * 100)
        assert connection.call("GET", "/private", {"restype": "container", "comp": "list"}).status == 200
    stranger = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    stranger.request("GET", f"/{ACCOUNT}/public?restype=container&comp=list", headers={"x-ms-version": VERSION})
    assert stranger.getresponse().status == 200
    stranger.close()
    assert admin(server, "/readyz")[0] == 200


def admin(server, path):
    connection = http.client.HTTPConnection("127.0.0.1", server.admin_port, timeout=10)
    connection.request("GET", path)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def metric(server, name):
    lines = [line for line in admin(server, "/metrics")[1].splitlines() if line.startswith(name)]
    return sum(float(line.split()[-1]) for line in lines)


def connect(port, say=b"", receive_buffer=None):
    stream = socket.socket()
    if receive_buffer:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    stream.settimeout(10)
    stream.connect(("127.0.0.1", port))
    with contextlib.suppress(OSError):
        stream.sendall(say)
    return stream


def public_blob(server, mib):
    Client(server.port).call("PUT", "/public/blob", headers={"x-ms-blob-type": "BlockBlob"}, body=b"x" * (mib << 20))


def test_idle_connections_leave_the_store_its_files():
    with running(preexec_fn=few_files) as server:
        idle = [connect(server.port) for _ in range(1100)]
        client = Client(server.port)
        for number in range(200):
            put(client.call, f"blob-{number}", b"y" * 65536)
        served(server)
        for number in range(200):
            get(client.call, f"blob-{number}", b"y" * 65536)
        assert metric(server, "lazuli_closed_connections_total") >= 400
        assert metric(server, "lazuli_refused_connections_total") == 0
        for stream in idle:
            stream.close()
        works(server)


def test_kept_connections_of_users_outlive_those_of_strangers():
    with running(preexec_fn=few_files) as server, contextlib.ExitStack() as stack:
        users = [stack.enter_context(Connection(server.port)) for _ in range(50)]
        for number, user in enumerate(users):
            put(user.call, f"user-{number}", b"u")
        for _ in range(1500):
            stack.callback(connect(server.port).close)
        for number, user in enumerate(users):
            get(user.call, f"user-{number}", b"u")


def test_heads_that_never_end():
    with running() as server:
        begin = f"GET /{ACCOUNT}/public HTTP/1.1\r\nHost: x\r\n" + f"x: {'y' * 1000}\r\n" * 60
        slow = [connect(server.port, begin.encode()) for _ in range(1500)]
        served(server)
        for stream in slow:
            stream.close()
        works(server)


def test_handshakes_that_never_finish(tmp_path):
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    assert subprocess.run([BINARY, "cert", "--cert", cert, "--key", key], capture_output=True).returncode == 0
    server = Server("--tls-cert", str(cert), "--tls-key", str(key), preexec_fn=few_files).start()
    context = ssl.create_default_context(cafile=cert)
    half = [connect(server.port, b"\x16\x03\x01\x02\x00\x01\x00") for _ in range(1100)]
    times = []
    for _ in range(30):
        before = time.monotonic()
        connection = http.client.HTTPSConnection("localhost", server.port, timeout=10, context=context)
        connection.request("GET", f"/{ACCOUNT}?comp=list")
        assert connection.getresponse().status == 401
        connection.close()
        times.append(time.monotonic() - before)
    assert sorted(times)[-2] < SLOWEST_SECONDS, times
    assert server.peak_mib() < MEMORY_MIB
    for stream in half:
        stream.close()
    assert server.stop() == 0
    server.remove()


def taking_nothing(server, requests, path, window):
    """A connection of HTTP/2 that asks for much and takes nothing, with a window or without."""
    stream = connect(server.port, receive_buffer=4096)
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, validate_outbound_headers=False))
    connection.local_settings[h2.settings.SettingCodes.INITIAL_WINDOW_SIZE] = window
    connection.initiate_connection()
    if window:
        connection.increment_flow_control_window(window)
    for _ in range(requests):
        number = connection.get_next_available_stream_id()
        headers = [(":method", "GET"), (":scheme", "http"), (":authority", f"127.0.0.1:{server.port}"),
                   (":path", path), ("x-ms-version", VERSION)]
        connection.send_headers(number, headers, end_stream=True)
    with contextlib.suppress(OSError):
        stream.sendall(connection.data_to_send())
    return stream


@pytest.mark.parametrize(("connections", "streams", "window"), [(32, 128, 0), (1000, 3, 1 << 30)],
                         ids=["without_a_window", "with_a_window"])
def test_streams_that_nobody_reads_hold_no_slots(connections, streams, window):
    with running() as server:
        public_blob(server, 8)
        path = f"/{ACCOUNT}/public/blob"
        greedy = [taking_nothing(server, streams, path, window) for _ in range(connections)]
        served(server)
        assert metric(server, "lazuli_requests_in_flight{service=\"blob\"}") < 100
        for stream in greedy:
            stream.close()
        works(server)


def test_readers_that_take_nothing():
    with running() as server:
        public_blob(server, 8)
        ask = f"GET /{ACCOUNT}/public/blob HTTP/1.1\r\nHost: x\r\nx-ms-version: {VERSION}\r\n\r\n"
        slow = [connect(server.port, ask.encode(), receive_buffer=4096) for _ in range(1000)]
        served(server)
        for stream in slow:
            stream.close()
        works(server)


def test_bodies_of_strangers_are_not_collected():
    with running() as server:
        table = [
            (server.port, "PUT", "/private/b?comp=blocklist", 8 << 20),
            (server.port, "POST", "/?comp=batch", 4 << 20),
            (server.port, "PUT", "/?restype=service&comp=properties", 60_000),
            (server.ports["Table"], "POST", "/mytable", 4 << 20),
            (server.ports["Table"], "POST", "/$batch", 4 << 20),
            (server.ports["Queue"], "POST", "/queue/messages", 60_000),
        ]
        senders, answers = [], []

        def send(port, method, target, length):
            kind = "multipart/mixed; boundary=b" if "batch" in target else "application/json"
            begin = (f"{method} /{ACCOUNT}{target} HTTP/1.1\r\nHost: 127.0.0.1\r\nx-ms-version: {VERSION}\r\n"
                     f"Content-Type: {kind}\r\nContent-Length: {length}\r\n\r\n")
            # All but the last byte: whoever collects it waits for that.
            stream = connect(port, begin.encode())
            with contextlib.suppress(OSError):
                stream.sendall(b"z" * (length - 1))
            answers.append((target, stream.recv(12)))
            stream.close()

        for row in table:
            for _ in range(20):
                senders.append(threading.Thread(target=send, args=row))
        for sender in senders:
            sender.start()
        served(server)
        for sender in senders:
            sender.join()
        refused = {b"HTTP/1.1 401", b"HTTP/1.1 403"}
        assert len(answers) == 120 and {answer for _, answer in answers} <= refused, answers
        works(server)


def test_a_log_that_nobody_reads_hangs_nothing():
    with running("--log-level", "debug", "--request-log", "all", stderr=subprocess.PIPE) as server:
        with Connection(server.port) as connection:
            for number in range(1500):
                answer = connection.call("GET", f"/private/{number}-{'n' * 1000}")
                assert answer.status == 404
        assert admin(server, "/healthz") == (200, "ok\n")
        assert metric(server, "lazuli_log_dropped_lines_total") > 0
        served(server, seconds=1)
        # When somebody reads again, the log says what is missing.
        heard = threading.Event()

        def read():
            for line in server.process.stderr:
                if "lines of the log were dropped" in line:
                    heard.set()

        reader = threading.Thread(target=read)
        reader.start()
        assert heard.wait(10)
        works(server)
    reader.join()
    server.process.stderr.close()


def test_a_log_that_nobody_reads_does_not_keep_it_from_stopping():
    with running("--log-level", "debug", "--request-log", "all", stderr=subprocess.PIPE) as server:
        with Connection(server.port) as connection:
            for number in range(200):
                assert connection.call("GET", f"/private/{number}-{'n' * 1000}").status == 404
    server.process.stderr.close()
