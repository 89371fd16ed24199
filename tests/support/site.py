"""Several hosts that work at one queue: each a namespace with a worker that is started again whenever it ends badly."""

import json
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from app.model.exits import Exit
from tests.support.forks import COMMAND, environment
from tests.support.network import Host, own_network
from tests.support.postgres import Server, binaries, free_port, start
from tests.support.product import Product, RunningWorker
from tests.support.simulator import Simulator

AGAIN = (-signal.SIGKILL, Exit.TEMPORARY, Exit.RESOURCE)  # as the service files say


class OnServer(Product):
    """The same commands on a database of a server."""

    def __init__(self, folder: Path, server: Server) -> None:
        super().__init__(folder)
        self.server = server
        self.url = server.empty()
        (folder / "thinkledger.toml").write_text(f'db = "{self.url}"\n')

    @property
    def where(self) -> str:
        return self.url

    @property
    def database(self) -> str:
        """Its name."""
        return self.url.rpartition("/")[2]

    def is_made(self) -> bool:
        return self.server.run("SELECT to_regclass('gate') IS NOT NULL", database=self.database)[0][0] is True

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        for value in values:
            statement = statement.replace("?", f"'{value}'" if isinstance(value, str) else str(value), 1)
        return [tuple(row) for row in self.server.run(statement, database=self.database)]


class Keeper(threading.Thread):
    """The service manager of one host: it starts the worker again until one of them ends with nothing left to do."""

    def __init__(self, host: Host, folder: Path, url: str, arguments: tuple[str, ...]) -> None:
        super().__init__(daemon=True)
        self.host, self.folder = host, folder
        self.surroundings = {"THINKLEDGER_DB": url, "XDG_STATE_HOME": str(folder)}
        self.arguments = arguments
        self.ended: list[int] = []  # exit codes
        self.logs: list[Path] = []
        self._stopping = False
        self._started = threading.Event()
        self._worker: RunningWorker | None = None

    def run(self) -> None:
        while not self._stopping:
            self._worker = self.begin("worker", "start", *self.arguments)
            self.logs.append(self._worker.log)
            self._started.set()
            self.ended.append(self._worker.process.wait())
            if self.ended[-1] not in AGAIN:
                return

    def begin(self, *arguments: str) -> RunningWorker:
        """A command of this host."""
        return RunningWorker(arguments, self.folder, [*self.host.enter, *COMMAND], **self.surroundings)

    def say(self, *arguments: str) -> Any:
        """What a command of this host says with --json."""
        done = subprocess.run(
            [*self.host.enter, *COMMAND, *arguments, "--json"],
            cwd=self.folder, env=environment() | self.surroundings, capture_output=True, check=True,
        )  # fmt: skip
        return json.loads(done.stdout)["data"]

    def kill(self) -> None:
        """kill -9 of the worker that runs now."""
        self._started.wait()
        assert self._worker is not None
        self._worker.process.kill()

    def close(self) -> None:
        """End it for good."""
        self._stopping = True
        self.kill()
        self.join()

    def said(self) -> str:
        """All that its workers said."""
        return "".join(log.read_text(errors="replace") for log in self.logs)


class Site:
    """A database, a model server and hosts that reach each of the two by a cable of its own."""

    def __init__(self, folder: Path, server: Server, simulator: Simulator, hosts: list[Host]) -> None:
        self.folder, self.server, self.simulator, self.hosts = folder, server, simulator, hosts
        self.product = OnServer(folder, server)
        self.keepers: list[Keeper] = []

    def work(self, *arguments: str) -> None:
        """Start a worker on each host."""
        for host in self.hosts:
            folder = self.folder / f"host-{host.number}"
            folder.mkdir()
            database = self.product.url.replace("127.0.0.1", host.to_database.address)
            model = self.simulator.url.replace("127.0.0.1", host.to_model.address)
            about = ("--endpoint", model, "--name", f"host-{host.number}", "--skip-preflight", *arguments)
            self.keepers.append(Keeper(host, folder, database, about))
        for keeper in self.keepers:
            keeper.start()

    def close(self) -> None:
        for keeper in self.keepers:
            keeper.close()


@contextmanager
def site(folder: Path, hosts: int, *simulated: str) -> Iterator[Site]:
    """A site in a network of its own; everything of it ends here."""
    found = binaries()
    assert found is not None
    with own_network(), ExitStack() as stack:
        data = Path(tempfile.mkdtemp(prefix="thinkledger-postgres-"))  # the server's user may enter it
        server = start(found, data, free_port(), listen_addresses="*")
        stack.callback(server.stop)
        server.let_in("10.77.0.0/16")
        simulator = stack.enter_context(Simulator("--host", "0.0.0.0", *simulated))  # noqa: S104 - nobody is there
        named = [stack.enter_context(Host(number + 1)) for number in range(hosts)]
        made = Site(folder, server, simulator, named)
        stack.callback(made.close)
        yield made
