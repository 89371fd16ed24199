"""What the dashboard's pages take beside a busy worker, and what open tabs cost that worker."""

import statistics
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

from tests.support.dashboard import Dashboard, dashboard
from tests.support.product import Product, wait_for
from tests.support.simulator import Simulator

SLOTS = 32
LATENCY = "fixed:0.8"  # 40 answers a second: worker and simulator need less than half of two cores
EVERY_S = 2.0  # the shortest choice of the page
WARM_S = 15.0


@dataclass
class Tab:
    """A page that polls itself as the script does, with its ETag."""

    name: str
    path: str
    taken_ms: list[float] = field(default_factory=list)
    unchanged: int = 0
    tag: str = ""

    def poll(self, shown: Dashboard) -> None:
        """Ask once more, and note how long the answer took to be whole."""
        connection = shown.connection()
        headers = {"X-Live": "1"} | ({"If-None-Match": self.tag} if self.tag else {})
        begun = time.monotonic()
        connection.request("GET", self.path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        self.taken_ms.append((time.monotonic() - begun) * 1000)
        connection.close()
        if answer.status not in (200, 304):
            raise AssertionError(f"{self.path}: {answer.status}")
        self.unchanged += answer.status == 304
        self.tag = answer.getheader("ETag") or ""


def measure(jobs: int, tabs: int, seconds: float) -> None:
    """Print the time of each page, and the worker's answers a second with and without tabs."""
    with tempfile.TemporaryDirectory() as folder:
        product = Product(Path(folder))
        begun = time.monotonic()
        _fill(product, jobs)
        print(f"{jobs:,} jobs imported in {time.monotonic() - begun:.0f} s, {product.db.stat().st_size >> 20:,} MiB")
        with (
            Simulator("--latency", LATENCY) as simulator,
            product.worker(simulator.url, "--concurrency", str(SLOTS)),
            dashboard(product.folder, "--no-auth", db=str(product.db)) as shown,
        ):
            wait_for(lambda: product.count("done") > SLOTS, "answers come")
            time.sleep(WARM_S)
            before = _rate(simulator, seconds)
            open_tabs = _tabs(tabs)
            over = Event()
            threads = [Thread(target=_keep_open, args=(tab, shown, over)) for tab in open_tabs]
            for thread in threads:
                thread.start()
            beside = _rate(simulator, seconds)
            over.set()
            for thread in threads:
                thread.join()
            after = _rate(simulator, seconds)
        _print(open_tabs, before, beside, after)


def _fill(product: Product, jobs: int) -> None:
    file = product.folder / "prompts.jsonl"
    with file.open("w", encoding="utf-8") as out:
        out.writelines(f'{{"sample_id":"s{number}","prompt":"what is {number}?"}}\n' for number in range(jobs))
    product.run("import", "data", str(file))
    file.unlink()


def _tabs(count: int) -> list[Tab]:
    kinds = [
        ("Overview", "/"),
        ("Dataset", "/datasets/data"),
        ("sample list", "/datasets/data/samples?state=done"),
        ("Sample", "/datasets/data/samples/s1"),
    ]
    return [Tab(*kinds[number % len(kinds)]) for number in range(count)]


def _keep_open(tab: Tab, shown: Dashboard, over: Event) -> None:
    while not over.wait(EVERY_S):
        tab.poll(shown)


def _rate(simulator: Simulator, seconds: float) -> float:
    """Answers a second."""
    since, answers = time.monotonic(), simulator.stats()["answers"]
    time.sleep(seconds)  # what is measured is time
    return float((simulator.stats()["answers"] - answers) / (time.monotonic() - since))


def _print(tabs: list[Tab], before: float, beside: float, after: float) -> None:
    for name in dict.fromkeys(tab.name for tab in tabs):
        taken = [ms for tab in tabs if tab.name == name for ms in tab.taken_ms]
        of_name = sum(tab.unchanged for tab in tabs if tab.name == name)
        p50, p95 = statistics.median(taken), statistics.quantiles(taken, n=20)[-1]
        print(f"{name:12} {len(taken):6,} times ({of_name:,} unchanged)  p50 {p50:6.1f} ms  p95 {p95:6.1f} ms")
    alone = (before + after) / 2
    print(f"the worker: {alone:.2f} answers/s alone, {beside:.2f} beside {len(tabs)} tabs: {beside / alone:.1%}")
