"""Content of any size that is never in memory: mebibytes that differ in their first bytes."""

import random
import threading

MIB = 1024 * 1024
PIECE = random.Random(1).randbytes(MIB)


def part(start, count):
    """The bytes from `start` on."""
    out = bytearray()
    while len(out) < count:
        number, offset = divmod(start + len(out), MIB)
        whole = number.to_bytes(8, "big") + PIECE[8:]
        out += whole[offset:offset + count - len(out)]
    return bytes(out)


class Source:
    """A stream of `size` bytes to upload."""

    def __init__(self, size):
        self.size, self.place = size, 0

    def read(self, count=-1):
        left = self.size - self.place
        start, count = self.place, left if count < 0 else min(count, left)
        self.place += count
        return part(start, count)


class Sink:
    """What a download is written to, at any place and in any order: every byte must be the right one."""

    def __init__(self):
        self.place, self.written, self.wrong, self.lock = 0, {}, [], threading.Lock()

    def seekable(self):
        return True

    def tell(self):
        return self.place

    def seek(self, place):
        self.place = place

    def write(self, data):
        with self.lock:
            self.written[self.place] = len(data)
            if data != part(self.place, len(data)):
                self.wrong.append((self.place, len(data)))
            self.place += len(data)
        return len(data)

    def check(self, size):
        """All of it came, each byte once."""
        assert self.wrong == []
        place = 0
        for start in sorted(self.written):
            assert start == place
            place += self.written[start]
        assert place == size
