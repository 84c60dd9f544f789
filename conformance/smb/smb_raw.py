"""SMB 2 and 3 by hand, for what no client sends: each message can be left unsigned, changed after it was signed or sealed, or
lie about itself. NTLM and SPNEGO come from impacket; keys, signatures and frames are made here."""

import hashlib
import hmac
import os
import socket
import struct

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.cmac import CMAC
from impacket import ntlm
from impacket.spnego import SPNEGO_NegTokenInit, SPNEGO_NegTokenResp, TypesMech
from lazuli import ACCOUNT, KEY

NEGOTIATE, SESSION_SETUP, LOGOFF, TREE_CONNECT, CREATE, CLOSE, READ, WRITE, IOCTL, ECHO = 0, 1, 2, 3, 5, 6, 8, 9, 11, 13
SIGNED, RELATED = 0x8, 0x4
SUCCESS = 0
MORE_PROCESSING = 0xC0000016
ACCESS_DENIED = 0xC0000022
LOGON_FAILURE = 0xC000006D
INVALID_PARAMETER = 0xC000000D
VALIDATE_NEGOTIATE_INFO = 0x00140204
HEADER = "<4sHHIHHIIQIIQ16s"
NO_ID = b"\xff" * 16


class Closed(Exception):
    """The server has ended the connection."""


class Answer:
    def __init__(self, bytes_):
        (_, _, _, self.status, self.command, self.credits, self.flags, self.next, self.message_id, _, self.tree,
         self.session, self.signature) = struct.unpack(HEADER, bytes_[:64])
        self.bytes, self.body = bytes_, bytes_[64:]


def derive(key, label, context):
    data = struct.pack(">I", 1) + label + b"\0\0" + context + struct.pack(">I", 128)
    return hmac.new(key, data, hashlib.sha256).digest()[:16]


class Raw:
    """A connection. `dialect` is the only one that it offers."""

    def __init__(self, port, dialect=0x311, must_sign=False, timeout=20):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.dialect, self.guid = dialect, os.urandom(16)
        self.security_mode = 2 if must_sign else 1
        self.capabilities = 0x44 if dialect >= 0x300 else 0
        self.next_id, self.session, self.tree = 0, 0, 0
        self.preauth, self.key, self.nonce = bytes(64), None, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, message):
        self.socket.sendall(struct.pack(">I", len(message)) + message)

    def receive_exactly(self, count):
        data = b""
        while len(data) < count:
            try:
                more = self.socket.recv(count - len(data))
            except ConnectionResetError as error:
                raise Closed from error
            if not more:
                raise Closed
            data += more
        return data

    def receive(self):
        (length,) = struct.unpack(">I", self.receive_exactly(4))
        data = self.receive_exactly(length)
        if data[:4] == b"\xfdSMB":
            sealed = AESGCM(self.key_in)
            data = sealed.decrypt(data[20:32], data[52:] + data[4:20], data[20:52])
        return data

    def is_closed(self):
        """Waits for the end of the connection; an answer before it is none."""
        try:
            while True:
                self.receive()
        except Closed:
            return True
        except TimeoutError:
            return False

    def hash(self, message):
        self.preauth = hashlib.sha512(self.preauth + message).digest()

    def message(self, command, body, flags=0, session=None, tree=None, next_command=0, charge=1, credits=64, number=None):
        if number is None:
            number, self.next_id = self.next_id, self.next_id + max(charge, 1)
        return struct.pack(HEADER, b"\xfeSMB", 64, charge, 0, command, credits, flags, next_command, number, 0xFEFF,
                           self.tree if tree is None else tree, self.session if session is None else session,
                           bytes(16)) + body

    def signature(self, message):
        plain = message[:48] + bytes(16) + message[64:]
        if self.dialect < 0x300:
            return hmac.new(self.sign_key, plain, hashlib.sha256).digest()[:16]
        mac = CMAC(AES(self.sign_key))
        mac.update(plain)
        return mac.finalize()

    def sign(self, message):
        (flags,) = struct.unpack_from("<I", message, 16)
        message = message[:16] + struct.pack("<I", flags | SIGNED) + message[20:]
        return message[:48] + self.signature(message) + message[64:]

    def seal(self, message):
        self.nonce += 1
        nonce = struct.pack("<Q", self.nonce) + bytes(4)
        rest = struct.pack("<12s4xIHHQ", nonce, len(message), 0, 1, self.session)
        sealed = AESGCM(self.key_out).encrypt(nonce, message, rest)
        return b"\xfdSMB" + sealed[-16:] + rest + sealed[:-16]

    def call(self, command, body, signed=True, **named):
        message = self.message(command, body, **named)
        self.send(self.sign(message) if signed and self.key else message)
        return self.answer()

    def answer(self):
        """The next answer that is not the news that one will come."""
        while True:
            answer = Answer(self.receive())
            if answer.status != 0x103:
                return answer

    def negotiate(self):
        contexts = b""
        offset = 0
        if self.dialect == 0x311:
            integrity = struct.pack("<HHH", 1, 32, 1) + os.urandom(32)
            ciphers = struct.pack("<HH", 1, 2)
            contexts = struct.pack("<HHI", 1, len(integrity), 0) + integrity + bytes(2)
            contexts += struct.pack("<HHI", 2, len(ciphers), 0) + ciphers
            offset = struct.pack("<IHH", 64 + 36 + 2 + 2, 2, 0)
        body = struct.pack("<HHHHI", 36, 1, self.security_mode, 0, self.capabilities) + self.guid
        body += (offset or bytes(8)) + struct.pack("<H", self.dialect)
        body += bytes(2) + contexts if contexts else b""
        message = self.message(NEGOTIATE, body)
        self.hash(message)
        self.send(message)
        data = self.receive()
        self.hash(data)
        self.agreed = self.preauth
        return Answer(data)

    def setup(self, token, session=None):
        """One step of a logon. The answer and the token in it."""
        body = struct.pack("<HBBIIHHQ", 25, 0, self.security_mode, 0, 0, 64 + 24, len(token), 0) + token
        message = self.message(SESSION_SETUP, body, session=session)
        self.hash(message)
        self.send(message)
        data = self.receive()
        answer = Answer(data)
        if answer.status == MORE_PROCESSING:
            self.hash(data)
        return answer, data[data.find(b"NTLMSSP\0"):]

    def begin(self):
        """The first step: the challenge."""
        hello = ntlm.getNTLMSSPType1("", "", True, use_ntlmv2=True)
        token = SPNEGO_NegTokenInit()
        token["MechTypes"] = [TypesMech["NTLMSSP - Microsoft NTLM Security Support Provider"]]
        token["MechToken"] = hello.getData()
        answer, challenge = self.setup(token.getData(), session=0)
        assert answer.status == MORE_PROCESSING, hex(answer.status)
        self.session = answer.session
        return hello, challenge

    @staticmethod
    def wrapped(authenticate):
        token = SPNEGO_NegTokenResp()
        token["ResponseToken"] = authenticate
        return token.getData()

    def logon(self, user=ACCOUNT, password=KEY):
        """Both steps. Returns the status; afterwards there are keys."""
        hello, challenge = self.begin()
        authenticate, self.key = ntlm.getNTLMSSPType3(hello, challenge, user, password, "WORKGROUP", use_ntlmv2=True)
        self.authenticate = self.wrapped(authenticate.getData())
        answer, _ = self.setup(self.authenticate)
        key = self.key
        if self.dialect == 0x311:
            self.sign_key = derive(key, b"SMBSigningKey", self.preauth)
            self.key_out = derive(key, b"SMBC2SCipherKey", self.preauth)
            self.key_in = derive(key, b"SMBS2CCipherKey", self.preauth)
        elif self.dialect >= 0x300:
            self.sign_key = derive(key, b"SMB2AESCMAC", b"SmbSign\0")
        else:
            self.sign_key = key
        return answer.status

    def connect(self, share, **named):
        answer = self.call(TREE_CONNECT, tree_connect(share), **named)
        if answer.status == SUCCESS:
            self.tree = answer.tree
        return answer.status

    def create(self, name, access=0x12019F, disposition=3, options=0, share_access=7):
        answer = self.call(CREATE, create(name, access, disposition, options, share_access))
        assert answer.status == SUCCESS, hex(answer.status)
        return answer.body[64:80]


def tree_connect(share):
    path = rf"\\127.0.0.1\{share}".encode("utf-16-le")
    return struct.pack("<HHHH", 9, 0, 72, len(path)) + path


def create(name, access=0x12019F, disposition=3, options=0, share_access=7, oplock=0, contexts=b""):
    name = name.encode("utf-16-le")
    padded = name + bytes(-len(name) % 8 if contexts else 0)
    return struct.pack("<HBBIQQIIIIIHHII", 57, 0, oplock, 2, 0, 0, access, 0x80, share_access, disposition, options, 120,
                       len(name), 120 + len(padded) if contexts else 0, len(contexts)) + (padded + contexts or b"\0")


def read(file_id, length, offset=0):
    return struct.pack("<HBBIQ16sIIIHH", 49, 0, 0, length, offset, file_id, 0, 0, 0, 0, 0) + b"\0"


def write(file_id, data, offset=0):
    return struct.pack("<HHIQ16sIIHHI", 49, 112, len(data), offset, file_id, 0, 0, 0, 0, 0) + data


def ioctl(code, data):
    return struct.pack("<HHI16sIIIIIIII", 57, 0, code, NO_ID, 120, len(data), 0, 120, 0, 64, 1, 0) + data


def echo():
    return struct.pack("<HH", 4, 0)
