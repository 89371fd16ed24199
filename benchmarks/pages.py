"""What the dashboard's pages take beside a busy worker, and what open tabs cost that worker."""

import http.client
import random
import re
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Barrier, Event

from benchmarks.measuring import cpu_s_of
from benchmarks.running import beside
from tests.support.dashboard import Dashboard, dashboard
from tests.support.product import Product, wait_for
from tests.support.simulator import Simulator

SLOTS = 32
LATENCY = "fixed:0.8"  # 40 answers a second: worker and simulator need less than half of two cores
EVERY_S = 2.0  # the shortest choice of the page
JITTER = 0.2  # as the script spreads its polls
WARM_S = 15.0
ALONE = 1 / 3  # of the tabs' time, before and after it: the worker without them
BURSTS = 20  # times that all tabs ask at one instant, which they do by chance alone
PAGES = (
    ("Overview", "/"),
    ("Dataset", "/datasets/data"),
    ("sample list", "/datasets/data/samples?state=done"),
    ("Sample", "/datasets/data/samples/s1"),
)


@dataclass(frozen=True, slots=True)
class Took:
    """One answer: from its request to its last byte, and of that what the server says that it took there."""

    client_ms: float
    server_ms: float


@dataclass
class Tab:
    """A page that polls itself as the script does, with its ETag, over a connection that is kept."""

    name: str
    path: str
    took: list[Took] = field(default_factory=list)
    unchanged: int = 0
    tag: str = ""

    def poll(self, connection: http.client.HTTPConnection) -> None:
        """Ask once more, and note how long the answer took to be whole."""
        headers = {"X-Live": "1"} | ({"If-None-Match": self.tag} if self.tag else {})
        begun = time.monotonic()
        connection.request("GET", self.path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        client_ms = (time.monotonic() - begun) * 1000
        if answer.status not in (200, 304):
            raise AssertionError(f"{self.path}: {answer.status}")
        said = re.fullmatch(r"app;dur=([0-9.]+)", answer.getheader("Server-Timing") or "")
        assert said is not None
        self.took.append(Took(client_ms, float(said[1])))
        self.unchanged += answer.status == 304
        self.tag = answer.getheader("ETag") or ""


def measure(jobs: int, tabs: int, seconds: float, folder: Path | None = None) -> None:
    """Print the time of each page, and the worker's answers a second with and without tabs.

    The store of an earlier measurement in `folder` is used as it stands; without a folder it is thrown away.
    """
    with tempfile.TemporaryDirectory() as passing:
        product = _filled(Path(passing) if folder is None else folder, jobs)
        with (
            Simulator("--latency", LATENCY) as simulator,
            product.worker(simulator.url, "--concurrency", str(SLOTS)),
            dashboard(product.folder, "--no-auth", db=str(product.db)) as shown,
        ):
            wait_for(lambda: simulator.stats()["answers"] > SLOTS, "answers come")
            time.sleep(WARM_S)
            before = _rate(simulator, seconds * ALONE)
            spent_s = cpu_s_of(shown.process.pid)
            with open_tabs(shown, tabs) as spread:
                with_tabs = _rate(simulator, seconds)
            spent_s = cpu_s_of(shown.process.pid) - spent_s
            after = _rate(simulator, seconds * ALONE)
            at_once = _tabs(tabs)
            together = Barrier(tabs, timeout=60)
            with beside([partial(_burst, tab, shown, together) for tab in at_once]):
                pass
        _print(f"{tabs} tabs, each every {EVERY_S:.0f} s, {JITTER:.0%} jitter", spread)
        _print(f"{tabs} tabs at one instant, {BURSTS} times", at_once)
        polls = sum(len(tab.took) for tab in spread)
        print(f"the server: {spent_s / polls * 1000:.1f} ms of CPU a poll, {spent_s / seconds:.1%} of a core")
        alone = (before + after) / 2
        print(f"the worker: {alone:.2f} answers/s alone, {with_tabs:.2f} beside {tabs} tabs: {with_tabs / alone:.1%}")


def _filled(folder: Path, jobs: int) -> Product:
    folder.mkdir(parents=True, exist_ok=True)
    product = Product(folder.resolve())
    if not product.db.exists():
        begun = time.monotonic()
        file = product.folder / "prompts.jsonl"
        with file.open("w", encoding="utf-8") as out:
            out.writelines(f'{{"sample_id":"s{number}","prompt":"what is {number}?"}}\n' for number in range(jobs))
        product.run("import", "data", str(file))
        file.unlink()
        print(f"{jobs:,} jobs imported in {time.monotonic() - begun:.0f} s, {product.db.stat().st_size >> 20:,} MiB")
    return product


@contextmanager
def open_tabs(shown: Dashboard, count: int) -> Iterator[list[Tab]]:
    """So many tabs of the pages of a dataset `data`, until the block ends."""
    tabs = _tabs(count)
    with beside([partial(_keep_open, tab, shown) for tab in tabs]):
        yield tabs


def _tabs(count: int) -> list[Tab]:
    return [Tab(*PAGES[number % len(PAGES)]) for number in range(count)]


def _keep_open(tab: Tab, shown: Dashboard, over: Event) -> None:
    """Opened at some moment, and then as the script polls: anew some time after the last answer came."""
    connection = shown.connection()
    wait_s = random.uniform(0, EVERY_S)  # noqa: S311 - no secret
    while not over.wait(wait_s):
        tab.poll(connection)
        wait_s = EVERY_S * random.uniform(1 - JITTER / 2, 1 + JITTER / 2)  # noqa: S311 - no secret
    connection.close()


def _burst(tab: Tab, shown: Dashboard, together: Barrier, _over: Event) -> None:
    for _ in range(BURSTS):
        connection = shown.connection()
        connection.connect()
        together.wait()
        tab.poll(connection)
        connection.close()
        time.sleep(EVERY_S)


def _rate(simulator: Simulator, seconds: float) -> float:
    """Answers a second."""
    since, answers = time.monotonic(), simulator.stats()["answers"]
    time.sleep(seconds)  # what is measured is time
    return float((simulator.stats()["answers"] - answers) / (time.monotonic() - since))


def _print(what: str, tabs: Sequence[Tab]) -> None:
    print(f"{what}:")
    for name, _ in PAGES:
        took = [one for tab in tabs if tab.name == name for one in tab.took]
        of_name = sum(tab.unchanged for tab in tabs if tab.name == name)
        server, client = _spread([one.server_ms for one in took]), _spread([one.client_ms for one in took])
        print(f"  {name:12} {len(took):6,} times ({of_name:,} unchanged)  server {server}  client {client}")


def _spread(taken_ms: Sequence[float]) -> str:
    p50, p95 = statistics.median(taken_ms), statistics.quantiles(taken_ms, n=20)[-1]
    return f"p50 {p50:6.1f} p95 {p95:6.1f} most {max(taken_ms):6.1f} ms"
