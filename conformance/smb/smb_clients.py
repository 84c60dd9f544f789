"""Clients of SMB against the built server: Samba's smbclient as a program, and impacket and smbprotocol as libraries."""

import contextlib
import subprocess
import uuid

from impacket.smbconnection import SMBConnection
from lazuli import ACCOUNT, KEY
from smbprotocol.connection import Connection
from smbprotocol.session import Session
from smbprotocol.tree import TreeConnect

DIALECTS = ["SMB2_10", "SMB3_00", "SMB3_02", "SMB3_11"]
PROTECTIONS = {
    "plain": ["--client-protection=off"],
    "signed": ["--option=clientsigning=required"],
    "encrypted": ["--client-protection=encrypt"],
}


def smbclient_raw(server, share, commands, dialect="SMB3_11", protection="plain", user=ACCOUNT, password=KEY, more=()):
    """Runs commands in a share; without commands it lists the shares."""
    target = [f"//127.0.0.1/{share}", "-c", commands] if commands else ["-L", "127.0.0.1", "-g"]
    return subprocess.run(
        # Without a file: what the machine has in its own has no say.
        ["smbclient", *target, "-p", str(server.smb_port), "-U", f"{user}%{password}", "--configfile=/dev/null",
         f"--option=clientminprotocol={dialect}", f"--option=clientmaxprotocol={dialect}",
         *PROTECTIONS[protection], *more],
        capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
    )


def smbclient(server, share, commands, *arguments, **named):
    """The same, and it must succeed."""
    done = smbclient_raw(server, share, commands, *arguments, **named)
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "NT_STATUS" not in said, said
    return said


@contextlib.contextmanager
def impacket(server, password=KEY, user=ACCOUNT):
    """A connection of impacket, logged on."""
    connection = SMBConnection("127.0.0.1", "127.0.0.1", sess_port=server.smb_port, timeout=30)
    try:
        connection.login(user, password)
        yield connection
    finally:
        connection.close()


@contextlib.contextmanager
def smbprotocol(server, share, encrypted=False):
    """A tree of smbprotocol."""
    connection = Connection(uuid.uuid4(), "127.0.0.1", server.smb_port, require_signing=True)
    connection.connect(timeout=30)
    try:
        session = Session(connection, ACCOUNT, KEY, require_encryption=encrypted)
        session.connect()
        tree = TreeConnect(session, rf"\\127.0.0.1\{share}")
        tree.connect()
        yield tree
    finally:
        connection.disconnect(close=False)
