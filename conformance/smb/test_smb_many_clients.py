"""Many clients that hold handles and do nothing: what they cost, and that all of their handles are listed."""

import contextlib
import pathlib
import re
import resource

from azure.storage.fileshare import ShareServiceClient
from lazuli import Server
from smb_raw import SUCCESS, Raw

CLIENTS, HANDLES = 1000, 10
MIB = 1024 * 1024


def resident(server):
    """Bytes that the server has in memory."""
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024


def test_a_thousand_clients_with_ten_handles_each(record_property):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
    with Server("--smb-encryption", "optional").checked() as server, contextlib.ExitStack() as clients:
        share = ShareServiceClient.from_connection_string(server.connection_string).get_share_client("many")
        share.create_share()
        for number in range(HANDLES * 10):
            share.get_file_client(f"file{number}").create_file(0)

        def client():
            raw = clients.enter_context(Raw(server.smb_port))
            assert raw.negotiate().status == SUCCESS
            assert raw.logon() == SUCCESS
            assert raw.connect("many") == SUCCESS
            return raw

        # The first one brings what is made once.
        client().create("file0")
        idle = resident(server)
        for number in range(CLIENTS):
            raw = client()
            for handle in range(HANDLES):
                raw.create(f"file{(number * HANDLES + handle) % (HANDLES * 10)}")
        grown = resident(server) - idle
        record_property("bytes_a_client", grown // CLIENTS)
        print(f"{grown / MIB:.1f} MiB for {CLIENTS} clients with {HANDLES} handles each")
        assert grown < 64 * MIB

        pages = list(share.get_directory_client("").list_handles(recursive=True, results_per_page=3000).by_page())
        listed = [handle for page in map(list, pages) for handle in page]
        assert len(pages) > 3
        assert len({handle.id for handle in listed}) == len(listed) == CLIENTS * HANDLES + 1
        assert len({handle.session_id for handle in listed}) == CLIENTS + 1
