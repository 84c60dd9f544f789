"""`kill -9` of the server under load, over and over: what the crash tests of blobs and tables share. LAZULI_CRASHES
raises the count of rounds."""

import os
import random
import threading
import time

from lazuli import Server

ROUNDS = int(os.environ.get("LAZULI_CRASHES", "20"))
WRITERS = 8


def kill_under_load(connect, write, verify):
    """Each round verifies what the last one left, lets the writers work, ends the server in the middle and checks its
    data. `connect(server)` makes the client that the others are given; `write(client, writer, dice)` is called until the
    round is over or it returns False: a request without an answer may have happened or not, and its writer has ended."""
    server = Server()
    for number in range(ROUNDS):
        server.start()
        client = connect(server)
        verify(client)
        over = threading.Event()
        broken = []

        def work(writer):
            dice = random.Random(number * 100 + writer)
            try:
                while not over.is_set() and write(client, writer, dice):
                    pass
            except BaseException as error:  # a thread has no other way to fail a test
                broken.append(error)

        writers = [threading.Thread(target=work, args=(writer,)) for writer in range(WRITERS)]
        for writer in writers:
            writer.start()
        time.sleep(random.Random(number).uniform(0.1, 0.6))
        server.kill()
        over.set()
        for writer in writers:
            writer.join()
        if broken:
            raise broken[0]
        server.must_be_clean(f"round {number}:")
    server.start()
    verify(connect(server))
    assert server.stop() == 0
    server.must_be_clean()
    server.remove()


def was_refused(error):
    """Whether this error of a client is an answer of the server, and not the want of one."""
    return (getattr(error, "status_code", None) or 0) >= 400


class Ledger:
    """What each name must hold: what was last acknowledged, or what was under way when the server died. None is
    nothing. Each name has one writer."""

    def __init__(self):
        self.acknowledged, self.attempts = {}, {}

    def __getitem__(self, name):
        return self.acknowledged.get(name)

    def attempt(self, name, value):
        self.attempts[name] = value

    def acknowledge(self, name, value):
        self.acknowledged[name] = value
        del self.attempts[name]

    def names(self):
        return set(self.acknowledged) | set(self.attempts)

    def settle(self, name, stored):
        """Whether the name may hold this; from now on it must."""
        held = self[name]
        under_way = self.attempts.pop(name, held)
        self.acknowledged[name] = stored
        return stored in (held, under_way)
