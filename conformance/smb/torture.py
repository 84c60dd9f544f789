"""Samba's own test suite, smbtorture, against a fresh server, beside what Debian's smbd makes of it.

    python torture.py [--quick] [SUITE or TEST …]

A test counts against us when it fails here, and neither fails on smbd (`smbtorture-smbd.txt`) nor deviates for a reason
(`smbtorture-deviations.txt`). `cargo xtask smbtorture` calls this with everything set up."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from azure.storage.fileshare import ShareServiceClient
from lazuli import ACCOUNT, KEY, Server

HERE = pathlib.Path(__file__).resolve().parent
SUITES = ["connect", "tcon", "create", "mkdir", "read", "rw", "sharemode", "deny", "delete-on-close-perms", "dir", "rename",
          "getinfo", "setinfo", "compound", "compound_find", "credits", "session", "timestamps", "fileid", "maxfid",
          "secleak", "session-id", "lock", "oplock", "lease", "notify", "compound_async", "durable-open", "durable-v2-open", "replay",
          "ioctl"]
# Those that take seconds, and together show most of what can break.
QUICK = ["connect", "tcon", "mkdir", "read", "rw", "sharemode", "deny", "delete-on-close-perms", "rename", "compound",
         "credits", "fileid", "session-id", "compound_async", "notify.valid-req", "notify.tcon", "notify.close", "notify.double",
         "notify.rec", "notify.overflow", "notify.rmdir3", "notify.handle-permissions", "lock", "durable-open", "durable-v2-open",
         "ioctl"]
LIMIT_SECONDS = 240


def listed():
    """Every test that smbtorture has: its suite and its own name. It lists them with the name twice."""
    found = subprocess.run(["smbtorture", "--list"], capture_output=True, text=True).stdout
    parts = [line.strip().split(".") for line in found.splitlines() if line.startswith("smb2.")]
    # A group of a suite stands between the two.
    return [".".join(part[:-1]) if len(part) > 3 else f"smb2.{part[1]}.{part[-1]}" for part in parts]


def table(name):
    """The rows of a file: a test, and behind a bar the reason."""
    rows = (line.partition("|") for line in (HERE / name).read_text().splitlines() if line and line[0] != "#")
    return {test.strip(): reason.strip() for test, _, reason in rows}


def run_one(server, share, test, directory):
    """One suite as one process: what smbtorture says."""
    configuration = directory / "client.conf"
    folders = {"lock directory", "state directory", "cache directory", "private dir", "pid directory", "ncalrpc dir"}
    text = "[global]\n client min protocol = SMB2_02\n"
    for folder in sorted(folders):
        path = directory / folder.replace(" ", "-")
        path.mkdir(exist_ok=True)
        text += f" {folder} = {path}\n"
    configuration.write_text(text)
    command = ["smbtorture", f"//127.0.0.1/{share}", "-p", str(server.smb_port), "-U", f"{ACCOUNT}%{KEY}",
               f"--configfile={configuration}", "--option=torture:progress=no", "--format=subunit", test]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=directory,
                               stdin=subprocess.DEVNULL, errors="replace", text=True)
    try:
        said, _ = process.communicate(timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        said, _ = process.communicate()
    return said


def outcomes(said, suite, tests):
    """What became of each test of a suite. One that said nothing is lost: the suite hung or broke off."""
    found = dict.fromkeys(tests, "lost")
    for outcome, name in re.findall(r"^(success|failure|error|skip): (.*?)(?: \[)?$", said, re.MULTILINE):
        test = ".".join([*suite.split(".")[:2], name])
        if test in found:
            found[test] = {"success": "pass", "skip": "skip"}.get(outcome, "fail")
    return found


def run(server, share, wanted, logs=None):
    """Runs suites and prints a line each. Returns the tests that count against us, with what smbtorture said."""
    every, failed_on_smbd, deviations = listed(), table("smbtorture-smbd.txt"), table("smbtorture-deviations.txt")
    against_us, total = {}, {"pass": 0, "fail": 0, "skip": 0, "lost": 0}
    with tempfile.TemporaryDirectory(prefix="lazuli-torture-") as directory:
        for suite in wanted:
            suite = suite if suite.startswith("smb2.") else f"smb2.{suite}"
            tests = [test for test in every if test == suite or test.startswith(f"{suite}.")]
            if not tests:
                raise SystemExit(f"smbtorture has no test {suite}")
            begun = time.monotonic()
            said = run_one(server, share, suite, pathlib.Path(directory))
            if logs:
                (logs / f"{suite}.log").write_text(said)
            found = outcomes(said, suite, tests)
            counts = {outcome: sum(1 for is_ in found.values() if is_ == outcome) for outcome in total}
            for outcome, count in counts.items():
                total[outcome] += count
            worse = [test for test, outcome in found.items()
                     if outcome in ("fail", "lost") and test not in failed_on_smbd and test not in deviations]
            counted = " ".join(f"{outcome} {count:3}" for outcome, count in counts.items())
            print(f"{suite:28} {counted}  {time.monotonic() - begun:5.1f} s", flush=True)
            for test, outcome in found.items():
                if outcome == "pass" and test in deviations:
                    print(f"  {test} passes: it need not stand in smbtorture-deviations.txt")
                elif outcome in ("fail", "lost") and test in deviations and test not in failed_on_smbd:
                    print(f"  {test} deviates: {deviations[test]}")
            for test in worse:
                print(f"  {test} {found[test]}: worse than smbd", flush=True)
                against_us[test] = said
    print(f"{'together':28} " + " ".join(f"{outcome} {count:3}" for outcome, count in total.items()))
    return against_us


def main(words):
    logs = pathlib.Path(os.environ["LAZULI_TEST_TORTURE_LOGS"]) if "LAZULI_TEST_TORTURE_LOGS" in os.environ else None
    if logs:
        logs.mkdir(parents=True, exist_ok=True)
    wanted = [word for word in words if word != "--quick"] or (QUICK if "--quick" in words else SUITES)
    with Server().checked() as server:
        ShareServiceClient.from_connection_string(server.connection_string).create_share("torture")
        against_us = run(server, "torture", wanted, logs)
    print(f"{len(against_us)} tests count against us")
    return 1 if against_us else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
