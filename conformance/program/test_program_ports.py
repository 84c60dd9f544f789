"""Everything runs beside a server, or Azurite, on the default ports: no test takes one of them."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEFAULT_PORT = re.compile(r"(?<!\d)(?:1000[0-3]|10009|10445)(?!\d)|UseDevelopmentStorage")
# Lines that speak of a default port and connect to none.
SPEAKS_ONLY = (
    'from_connection_string("UseDevelopmentStorage=true")',
    'fromConnectionString("UseDevelopmentStorage=true")',
    'client.url == f"http://127.0.0.1:10000/{ACCOUNT}/"',
    "assert.equal(service.url, `http://127.0.0.1:10000/${server.account}`)",
    '"[default: 10000]"',
)


def test_no_test_takes_a_default_port():
    places = [*ROOT.glob("conformance/**/*.py"), *ROOT.glob("conformance/**/*.mjs"), *ROOT.glob("conformance/rust/*/*.rs"),
              *ROOT.glob("crates/server/tests/**/*.rs")]
    places = [path for path in places if "node_modules" not in path.parts and path.name != pathlib.Path(__file__).name]
    assert len(places) > 50
    found = [f"{path.relative_to(ROOT)}: {line.strip()}"
             for path in places for line in path.read_text().splitlines()
             if DEFAULT_PORT.search(line) and not any(known in line for known in SPEAKS_ONLY)]
    assert found == []


def test_every_harness_asks_for_free_ports():
    for harness in ("conformance/lazuli.py", "conformance/js/lazuli.mjs", "conformance/rust/src/lib.rs"):
        text = (ROOT / harness).read_text()
        for service in ("blob", "queue", "table", "file", "smb", "admin"):
            assert f"--{service}-port" in text or f'"{service}"' in text, (harness, service)
