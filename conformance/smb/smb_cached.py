"""A client that caches: it has leases or oplocks, is told when they are broken, and answers when the test says so. No library of
SMB for Python reads such news, so this one is made of messages by hand."""

import struct

from smb_raw import CREATE, CLOSE, SUCCESS, WRITE, Answer, Raw, create, write

OPLOCK_BREAK, CANCEL = 18, 12
UNSOLICITED = (1 << 64) - 1
NONE, R, RH, RW, RWH = 0, 1, 3, 5, 7
LEVEL_II, EXCLUSIVE, BATCH, LEASE = 1, 8, 9, 255
PENDING, CANCELLED = 0x103, 0xC0000120
UNSUCCESSFUL, INVALID_OPLOCK_PROTOCOL, REQUEST_NOT_ACCEPTED = 0xC0000001, 0xC00000E3, 0xC00000D0


def lease_context(key, state, epoch=None, parent=None):
    """RqLs: of version 2 when the client counts."""
    data = struct.pack("<16sIIQ", key, state, 4 if parent else 0, 0)
    if epoch is not None:
        data += struct.pack("<16sHH", parent or bytes(16), epoch, 0)
    return struct.pack("<IHHHHI4s4x", 0, 16, 4, 0, 24, len(data), b"RqLs") + data


class Break:
    """The news that a cache is broken."""

    def __init__(self, body):
        (size,) = struct.unpack_from("<H", body)
        if size == 24:
            (self.to,) = struct.unpack_from("<B", body, 2)
            self.file, self.key, self.must_answer = body[8:24], None, None
        else:
            _, self.epoch, flags, self.key, self.held, self.to = struct.unpack_from("<HHI16sII", body)
            self.must_answer = flags == 1


class Opened:
    """What a CREATE was answered."""

    def __init__(self, body):
        (self.level,) = struct.unpack_from("<B", body, 2)
        self.file = body[64:80]
        at = body.find(b"RqLs")
        self.state = self.flags = self.epoch = None
        if at >= 0:
            (length,) = struct.unpack_from("<I", body, at - 4)
            _, self.state, self.flags = struct.unpack_from("<16sII", body, at + 8)
            if length == 52:
                (self.epoch,) = struct.unpack_from("<H", body, at + 56)


class Cached(Raw):
    """A connection in a share, whose breaks are kept until somebody asks for them."""

    def __init__(self, server, share, guid=None, timeout=60):
        super().__init__(server.smb_port, timeout=timeout)
        self.breaks, self.pending = [], {}
        self.guid = guid or self.guid
        assert self.negotiate().status == SUCCESS
        assert self.logon() == SUCCESS
        assert self.connect(share) == SUCCESS

    def news(self):
        """The next message that is no break; those are kept."""
        while True:
            data = self.receive()
            answer = Answer(data)
            if answer.message_id != UNSOLICITED:
                if answer.status == PENDING:
                    (self.pending[answer.message_id],) = struct.unpack_from("<Q", data, 32)
                return answer
            self.breaks.append(Break(answer.body))

    def answer(self):
        while True:
            answer = self.news()
            if answer.status != PENDING:
                return answer

    def next_break(self):
        """Waits for one."""
        while not self.breaks:
            data = self.receive()
            assert Answer(data).message_id == UNSOLICITED, "only a break is awaited"
            self.breaks.append(Break(data[64:]))
        return self.breaks.pop(0)

    def open(self, name, state=None, key=None, epoch=None, oplock=0, **named):
        """Opens with a lease, with an oplock, or with neither. A refusal is its status."""
        self.ask(name, state, key, epoch, oplock, **named)
        return self.opened()

    def ask(self, name, state=None, key=None, epoch=None, oplock=0, **named):
        """The same, and the answer is for later. Returns its number."""
        if state is not None:
            named = {**named, "oplock": LEASE, "contexts": lease_context(key, state, epoch)}
        else:
            named = {**named, "oplock": oplock}
        message = self.message(CREATE, create(name, **named))
        self.send(self.sign(message))
        return self.next_id - 1

    def opened(self):
        answer = self.answer()
        return Opened(answer.body) if answer.status == SUCCESS else answer.status

    def acknowledge(self, told, state):
        """Answers a break with what is kept."""
        if told.key:
            body = struct.pack("<HHI16sIQ", 36, 0, 0, told.key, state, 0)
        else:
            body = struct.pack("<HBBI16s", 24, state, 0, 0, told.file)
        return self.call(OPLOCK_BREAK, body).status

    def write(self, file, data, offset=0):
        answer = self.call(WRITE, write(file, data, offset))
        assert answer.status == SUCCESS, hex(answer.status)

    def close_file(self, file):
        answer = self.call(CLOSE, struct.pack("<HHI16s", 24, 0, 0, file))
        assert answer.status == SUCCESS, hex(answer.status)

    def cancel(self, number):
        """Gives up a request that was told to wait."""
        message = self.message(CANCEL, struct.pack("<HH", 4, 0), flags=2, number=number, credits=0)
        message = message[:32] + struct.pack("<Q", self.pending[number]) + message[40:]
        self.send(self.sign(message))
