"""PgBouncer in transaction mode in front of a test's server: its binary, a folder of its own, no service."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.postgres import OWNER, Server, free_port
from tests.support.simulator import PATIENCE_SECONDS

REQUIRED = "PGBOUNCER_TESTS_REQUIRED"
SESSIONS = 2  # with the server: fewer than there are clients, so that they meet each other's


@dataclass(frozen=True, slots=True)
class Bouncer:
    """A running PgBouncer."""

    port: int
    log: Path

    def url(self, database: str) -> str:
        """A database of the server by way of it."""
        return f"postgresql://{OWNER}@127.0.0.1:{self.port}/{database}"

    def clients(self) -> int:
        """How many connections it was asked for so far."""
        return self.log.read_text().count("login attempt")


def binary() -> str:
    """The binary; without one the test is skipped, unless the environment says it may not."""
    found = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None:
        assert REQUIRED not in os.environ, "no pgbouncer was found on this machine"
        pytest.skip("no pgbouncer was found on this machine (Debian: package pgbouncer)")
    return found


@contextmanager
def bouncer(server: Server) -> Iterator[Bouncer]:
    """In front of the server until the end."""
    program, port = binary(), free_port()
    folder = Path(tempfile.mkdtemp(prefix="thinkledger-pgbouncer-"))  # its user may enter it
    if os.geteuid() == 0:
        shutil.chown(folder, "nobody", "nogroup")
    (folder / "users").write_text(f'"{OWNER}" ""\n')
    (folder / "ini").write_text(f"""
[databases]
* = host=127.0.0.1 port={server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = {SESSIONS}
""")
    as_user = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
    log = folder / "log"
    with log.open("wb") as out:
        process = subprocess.Popen([program, str(folder / "ini")], stdout=out, stderr=out, cwd=folder, **as_user)  # type: ignore[call-overload]
    try:
        _wait_until_it_listens(port, process, log)
        yield Bouncer(port, log)
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder)


def _wait_until_it_listens(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    end_s = time.monotonic() + PATIENCE_SECONDS
    while True:
        assert process.poll() is None, log.read_text()
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            assert time.monotonic() < end_s, log.read_text()
            time.sleep(0.02)
        else:
            return
