"""Whoever lies to the SMB server is refused, and everybody else is served: passwords, replays, signatures that were taken away
or changed, downgrades, frames that promise too much. After each test somebody honest logs on and reads a file."""

import socket
import struct
import time

import pytest
import smb_raw as smb
from azure.storage.fileshare import ShareProtocolSettings, ShareServiceClient, ShareSmbSettings, SmbEncryptionInTransit
from impacket import ntlm
from impacket.smbconnection import SessionError
from lazuli import ACCOUNT, KEY, Server
from smb_clients import impacket, smbclient, smbclient_raw
from smb_raw import ACCESS_DENIED, LOGON_FAILURE, SUCCESS, Raw

DIALECTS = [0x210, 0x300, 0x302, 0x311]
WRONG = KEY[:-3] + "A=="
CONTENT = b"what is there"


@pytest.fixture(autouse=True)
def unharmed(server, share):
    """Somebody honest is served after the test, and over REST too."""
    share.get_file_client("there.txt").upload_file(CONTENT)
    before = server.process.pid
    yield
    assert server.process.poll() is None and server.process.pid == before
    with Raw(server.smb_port) as client:
        client.negotiate()
        assert client.logon() == SUCCESS
        assert client.connect(share.share_name) == SUCCESS
        answer = client.call(smb.READ, smb.read(client.create("there.txt", disposition=1), 100))
        assert answer.status == SUCCESS and answer.body[16:] == CONTENT
    assert share.get_file_client("there.txt").download_file().readall() == CONTENT


def session(server, dialect=0x311, share=None, **named):
    client = Raw(server.smb_port, dialect, **named)
    assert client.negotiate().status == SUCCESS
    assert client.logon() == SUCCESS
    if share is not None:
        assert client.connect(share.share_name) == SUCCESS
    return client


# Who somebody is.


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("user, password", [
    (ACCOUNT, WRONG), (ACCOUNT, "x"), ("nobody", KEY), ("Guest", "x"), ("Administrator", KEY), (ACCOUNT + "x", KEY),
], ids=["wrong key", "short password", "unknown user", "guest", "administrator", "longer name"])
def test_who_is_not_the_account_is_refused(server, share, dialect, user, password):
    # A logon that succeeds forgives those that failed before, so nobody waits here.
    session(server).socket.close()
    with Raw(server.smb_port, dialect) as client:
        client.negotiate()
        assert client.logon(user, password) == LOGON_FAILURE
        # There is no session, signed or not.
        refused = client.call(smb.TREE_CONNECT, smb.tree_connect(share.share_name))
        assert refused.status == 0xC0000203, hex(refused.status)
        refused = client.call(smb.TREE_CONNECT, smb.tree_connect(share.share_name), signed=False, session=0)
        assert refused.status != SUCCESS


def test_the_second_key_and_any_domain_are_welcome(rest):
    other = "b3RoZXIga2V5IG9mIHRoZSBhY2NvdW50IGZvciB0ZXN0cyBvbmx5IQ=="
    with Server("--account", f"{ACCOUNT}={KEY},{other}").checked() as server:
        for password in (KEY, other):
            for user in (ACCOUNT, f"localhost/{ACCOUNT}", f"AZURE/{ACCOUNT}", ACCOUNT.upper()):
                assert "IPC$" in smbclient(server, None, None, user=user, password=password)
        refused = smbclient_raw(server, None, None, password=WRONG)
        assert "NT_STATUS_LOGON_FAILURE" in refused.stdout + refused.stderr


@pytest.mark.parametrize("more", [["-N"], ["-U", "%"], ["-U", "guest%"]], ids=["no password", "anonymous", "guest"])
def test_nobody_is_anonymous(server, share, more):
    for commands in ("ls", None):
        done = smbclient_raw(server, share.share_name, commands, user="", password="", more=more)
        said = done.stdout + done.stderr
        assert done.returncode != 0 and "there.txt" not in said and "IPC$" not in said, said


def test_an_empty_authenticate_is_no_logon(server):
    """Anonymous as NTLM has it: no name and no proof."""
    with Raw(server.smb_port) as client:
        client.negotiate()
        hello, _ = client.begin()
        empty = ntlm.NTLMAuthChallengeResponse("", "", bytes(8))
        empty["flags"] = hello["flags"]
        empty["ntlm"], empty["lanman"] = b"", b"\0"
        answer, _ = client.setup(client.wrapped(empty.getData()))
        assert answer.status in (LOGON_FAILURE, smb.INVALID_PARAMETER, ACCESS_DENIED), hex(answer.status)
        # Neither a guest nor anonymous.
        assert len(answer.body) < 10 or struct.unpack_from("<H", answer.body, 2)[0] & 3 == 0


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_authenticate_is_good_for_one_challenge(server, dialect):
    with session(server, dialect) as honest, Raw(server.smb_port, dialect) as replayer:
        # What somebody overheard, on a connection of its own: the challenge is another one.
        replayer.negotiate()
        replayer.begin()
        answer, _ = replayer.setup(honest.authenticate)
        assert answer.status == LOGON_FAILURE, hex(answer.status)
        # And again on the connection where it was right.
        answer, _ = honest.setup(honest.authenticate)
        assert answer.status != SUCCESS
        honest.begin()
        answer, _ = honest.setup(honest.authenticate)
        assert answer.status == LOGON_FAILURE, hex(answer.status)


def test_who_fails_often_waits_and_who_is_right_does_not():
    with Server().checked() as server:
        def fails():
            with Raw(server.smb_port) as client:
                client.negotiate()
                begun = time.monotonic()
                assert client.logon(password="x") == LOGON_FAILURE
                return time.monotonic() - begun
        waits = [fails() for _ in range(8)]
        assert max(waits[:4]) < 0.2 and waits[7] > 0.7, waits
        begun = time.monotonic()
        session(server).socket.close()
        assert time.monotonic() - begun < 0.5
        # Right once: forgiven.
        assert fails() < 0.2


# Signatures and encryption.


@pytest.mark.parametrize("dialect", DIALECTS)
def test_who_must_sign_and_does_not_is_refused(server, share, dialect):
    with session(server, dialect, must_sign=True) as client:
        assert client.connect(share.share_name, signed=False) == ACCESS_DENIED
        assert client.connect(share.share_name) == SUCCESS
        file_id = client.create("there.txt", disposition=1)
        assert client.call(smb.READ, smb.read(file_id, 100), signed=False).status == ACCESS_DENIED
        assert client.call(smb.WRITE, smb.write(file_id, b"stripped"), signed=False).status == ACCESS_DENIED
        assert client.call(smb.READ, smb.read(file_id, 100)).body[16:] == CONTENT


def test_the_first_tree_connect_of_311_is_signed(server, share):
    """It shows what was agreed on, also where nobody demands signatures."""
    with session(server) as client:
        assert client.connect(share.share_name, signed=False) == ACCESS_DENIED
        assert client.connect(share.share_name) == SUCCESS


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_signature_that_is_wrong_is_refused(server, share, dialect):
    with session(server, dialect, share) as client:
        file_id = client.create("there.txt", disposition=1)
        whole = smb.write(file_id, b"tampered")
        for place in (50, 112, -1):
            message = bytearray(client.sign(client.message(smb.WRITE, whole)))
            message[place] ^= 1
            client.send(bytes(message))
            assert client.answer().status == ACCESS_DENIED
        assert client.call(smb.READ, smb.read(file_id, 100)).body[16:] == CONTENT


def test_answers_are_signed_and_encrypted_as_the_request_was(server, share):
    for dialect in DIALECTS:
        with session(server, dialect, share) as client:
            answer = client.call(smb.ECHO, smb.echo())
            assert answer.flags & smb.SIGNED and answer.signature == client.signature(answer.bytes)
    with session(server, share=share) as client:
        client.send(client.seal(client.message(smb.CREATE, smb.create("there.txt", disposition=1))))
        (length,) = struct.unpack(">I", client.receive_exactly(4))
        assert client.receive_exactly(length)[:4] == b"\xfdSMB"


@pytest.mark.parametrize("place", [8, 24, 40, 44, 60, -1], ids=["tag", "nonce", "length", "session", "body", "end"])
def test_a_sealed_frame_that_was_changed_ends_the_connection(server, share, place):
    with session(server, share=share) as client:
        client.send(client.seal(client.message(smb.ECHO, smb.echo())))
        assert client.answer().status == SUCCESS
        frame = bytearray(client.seal(client.message(smb.ECHO, smb.echo())))
        frame[place] ^= 1
        client.send(bytes(frame))
        assert client.is_closed()


def test_a_sealed_frame_is_of_the_session_whose_key_it_has(server, share):
    """Two sessions on one connection: what one has sealed says nothing for the other."""
    with session(server, share=share) as client:
        other, tree = client.session, client.tree
        client.preauth = client.agreed
        assert client.logon() == SUCCESS and client.session != other
        message = client.message(smb.CREATE, smb.create("there.txt", disposition=1), session=other, tree=tree)
        client.send(client.seal(message))
        assert client.answer().status == ACCESS_DENIED


def test_where_encryption_is_required_nothing_else_is_answered():
    with Server("--smb-encryption", "required").checked() as server:
        with Raw(server.smb_port, 0x210) as client:
            assert client.negotiate().status == SUCCESS
            assert client.logon() == ACCESS_DENIED
        with session(server) as client:
            assert client.connect("IPC$") == ACCESS_DENIED
            client.send(client.seal(client.message(smb.TREE_CONNECT, smb.tree_connect("IPC$"))))
            assert client.answer().status == SUCCESS
        assert "IPC$" in smbclient(server, None, None, protection="encrypted")
        # The client was told, and does by itself what is required.
        assert "IPC$" in smbclient(server, None, None, dialect="SMB3_00", protection="plain")


def test_an_account_says_itself_whether_its_clients_must_encrypt():
    for server_says, account_says in (("optional", True), ("required", False)):
        with Server("--smb-encryption", server_says).checked() as server:
            service = ShareServiceClient.from_connection_string(server.connection_string)
            assert service.get_service_properties()["protocol"].smb.encryption_in_transit is None
            settings = ShareSmbSettings(encryption_in_transit=SmbEncryptionInTransit(required=account_says))
            service.set_service_properties(protocol=ShareProtocolSettings(smb=settings))
            said = service.get_service_properties()["protocol"].smb.encryption_in_transit
            assert said.required == account_says
            with session(server) as client:
                assert client.connect("IPC$") == (ACCESS_DENIED if account_says else SUCCESS)
            with Raw(server.smb_port, 0x210) as client:
                assert client.negotiate().status == SUCCESS
                assert client.logon() == (ACCESS_DENIED if account_says else SUCCESS)


# Downgrades.


@pytest.mark.parametrize("dialect", [0x210, 0x300, 0x302])
@pytest.mark.parametrize("lie", ["none", "dialects", "capabilities", "guid", "security mode"])
def test_a_negotiation_that_was_changed_on_its_way_ends_the_connection(server, share, dialect, lie):
    with session(server, dialect, share) as client:
        guid, mode, capabilities, dialects = client.guid, client.security_mode, client.capabilities, [dialect]
        match lie:
            case "dialects":
                dialects = [dialect, 0x311]
            case "capabilities":
                capabilities ^= 0x40
            case "guid":
                guid = bytes(16)
            case "security mode":
                mode ^= 3
        said = struct.pack("<I16sHH", capabilities, guid, mode, len(dialects)) + struct.pack(f"<{len(dialects)}H", *dialects)
        client.send(client.sign(client.message(smb.IOCTL, smb.ioctl(smb.VALIDATE_NEGOTIATE_INFO, said))))
        if lie == "none":
            answer = client.answer()
            assert answer.status == SUCCESS
            assert struct.unpack_from("<H", answer.body, 48 + 22)[0] == dialect
            assert answer.signature == client.signature(answer.bytes)
        else:
            assert client.is_closed()


def test_a_second_negotiation_ends_the_connection(server):
    with session(server) as client:
        try:
            client.negotiate()
            raise AssertionError("answered")
        except smb.Closed:
            pass


def test_nothing_is_done_before_the_negotiation(server, share):
    with Raw(server.smb_port) as client:
        client.send(client.message(smb.TREE_CONNECT, smb.tree_connect(share.share_name)))
        assert client.is_closed()


# Frames that promise too much.


@pytest.mark.parametrize("length", [65_537, 1 << 20, (1 << 24) - 1])
def test_before_logon_a_large_frame_ends_the_connection_and_takes_no_memory(server, length):
    before = server.resident_mib()
    clients = [Raw(server.smb_port) for _ in range(50)]
    try:
        for client in clients:
            client.socket.sendall(struct.pack(">I", length))
        assert all(client.is_closed() for client in clients)
    finally:
        for client in clients:
            client.socket.close()
    assert server.resident_mib() < before + 30


def test_half_a_frame_keeps_nobody_waiting(server, share):
    """Many that never send their rest; the others are served meanwhile."""
    clients = [Raw(server.smb_port) for _ in range(100)]
    try:
        for client in clients:
            client.socket.sendall(struct.pack(">I", 60_000) + b"\xfeSMB")
        begun = time.monotonic()
        assert "there.txt" in smbclient(server, share.share_name, "ls")
        assert time.monotonic() - begun < 5
    finally:
        for client in clients:
            client.socket.close()


def test_who_never_logs_on_is_sent_away(server):
    """After the time that strangers have, from the beginning of the connection: half a frame gives no new time."""
    with Raw(server.smb_port, timeout=90) as silent, Raw(server.smb_port, timeout=90) as half:
        half.socket.sendall(struct.pack(">I", 60_000) + b"\xfeSMB")
        begun = time.monotonic()
        assert silent.is_closed() and half.is_closed()
        assert 20 < time.monotonic() - begun < 45


@pytest.mark.parametrize("bytes_", [
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\0\0\0\0", b"\0\0\0\x22" + bytes(34), b"\0\0\0\x40" + bytes(64),
    b"\0\0\0\x40\xfeSMB" + b"\xff" * 60, b"\0\0\0\x60\xfdSMB" + bytes(92), b"\0\0\0\x60\xfcSMB" + b"\xff" * 92,
], ids=["HTTP", "empty", "short", "zeros", "lies", "sealed", "compressed"])
def test_what_is_no_smb_ends_the_connection(server, bytes_):
    with Raw(server.smb_port) as client:
        client.socket.sendall(bytes_)
        assert client.is_closed()


# Compounds.


def compound(client, parts):
    """Messages in one frame, each signed."""
    frame = b""
    for position, (command, body, flags) in enumerate(parts):
        body += bytes(-len(body) % 8)
        is_last = position == len(parts) - 1
        message = client.message(command, body, flags=flags, next_command=0 if is_last else 64 + len(body))
        frame += client.sign(message)
    return frame


def test_300_parts_end_the_connection(server, share):
    with session(server, share=share) as client:
        for _ in range(8):
            assert client.call(smb.ECHO, smb.echo(), credits=512).status == SUCCESS
        client.send(compound(client, [(smb.ECHO, smb.echo(), 0)] * 200))
        assert client.answer().status == SUCCESS
    with session(server, share=share) as client:
        for _ in range(8):
            client.call(smb.ECHO, smb.echo(), credits=512)
        client.send(compound(client, [(smb.ECHO, smb.echo(), 0)] * 300))
        assert client.is_closed()


@pytest.mark.parametrize("next_command", [1, 7, 8, 63, 65, 72, 80, 1 << 20, 0xFFFFFFF8, 0xFFFFFFFF])
def test_a_next_command_that_lies_ends_the_connection(server, share, next_command):
    with session(server, share=share) as client:
        client.send(client.sign(client.message(smb.ECHO, smb.echo(), next_command=next_command)))
        assert client.is_closed()


def test_a_compound_cannot_ask_for_more_than_a_frame_carries(server, share):
    """100 READs of 8 MiB in one frame: the first are done, the others refused, and none of it takes memory."""
    share.get_file_client("large.bin").upload_file(bytes(8 << 20))
    before = server.peak_mib()
    with session(server, share=share) as client:
        file_id = client.create("large.bin", disposition=1)
        for _ in range(40):
            client.call(smb.ECHO, smb.echo(), credits=512)
        frame = b""
        for position in range(50):
            body = smb.read(file_id, 8 << 20) + bytes(7)
            frame += client.sign(client.message(smb.READ, body, charge=128, next_command=120 if position < 49 else 0))
        client.send(frame)
        answers, statuses = client.receive(), []
        while True:
            answer = smb.Answer(answers)
            statuses.append(answer.status)
            if not answer.next:
                break
            answers = answers[answer.next:]
        assert statuses == [SUCCESS] + [0xC000009A] * 49
    assert server.peak_mib() < before + 100


def test_what_is_related_to_nothing_is_refused(server, share):
    with session(server, share=share) as client:
        client.send(compound(client, [(smb.READ, smb.read(smb.NO_ID, 10), smb.RELATED), (smb.ECHO, smb.echo(), smb.RELATED)]))
        assert client.answer().status == smb.INVALID_PARAMETER
        assert client.call(smb.ECHO, smb.echo()).status == SUCCESS


def test_what_is_related_to_a_session_that_is_none_is_refused(server, share):
    with session(server, share=share) as client:
        body = smb.echo() + bytes(4)
        first = client.message(smb.CREATE, smb.create("there.txt", disposition=1) + bytes(6), session=1 << 40, next_command=144)
        second = client.message(smb.ECHO, body, flags=smb.RELATED)
        client.send(first + client.sign(second))
        answers = client.receive()
        first = smb.Answer(answers)
        assert (first.status, smb.Answer(answers[first.next:]).status) == (0xC0000203, smb.INVALID_PARAMETER)


def test_a_number_that_was_not_granted_ends_the_connection(server):
    for number in (0, 1 << 20, (1 << 64) - 1):
        with session(server) as client:
            client.send(client.sign(client.message(smb.ECHO, smb.echo(), number=number)))
            assert client.is_closed()


# Memory.


def test_reads_that_nobody_takes_are_bounded(share):
    """Each of 8 clients asks for 8 MiB sixty times and takes none of it."""
    with Server().checked() as server:
        ours = ShareServiceClient.from_connection_string(server.connection_string).create_share("large")
        ours.get_file_client("large.bin").upload_file(bytes(64 << 20))
        clients = []
        for _ in range(8):
            client = session(server)
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            assert client.connect("large") == SUCCESS
            clients.append(client)
        try:
            for client in clients:
                file_id = client.create("large.bin", disposition=1)
                for _ in range(16):
                    client.call(smb.ECHO, smb.echo(), credits=512)
                for number in range(60):
                    body = smb.read(file_id, 8 << 20, offset=(number % 8) << 23)
                    client.send(client.sign(client.message(smb.READ, body, charge=128)))
            # The others are served meanwhile.
            for _ in range(5):
                assert "large.bin" in smbclient(server, "large", "ls")
            assert server.peak_mib() < 700, server.peak_mib()
        finally:
            for client in clients:
                client.socket.close()


def test_impacket_is_told_why(server):
    with pytest.raises(SessionError) as caught, impacket(server, password="x"):
        pass
    assert caught.value.getErrorCode() == LOGON_FAILURE
