"""A store that takes no answers for a while: full disk, file size limit, foreign lock, damage. No answer is lost."""

import errno
import json
import resource
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any

import pytest

from app.spool.looking import look, waiting_words
from app.store.place import locate
from tests.acceptance.test_main_job import prompts
from tests.integration.store import raw
from tests.integration.store.kit import process, says, tell
from tests.support.product import Product, RunningWorker, wait_for
from tests.support.simulator import Simulator
from worker.simulator.answers import answer_of

JOBS = 120
BYTES = 40_000  # of an answer: enough for a full disk to be felt
SLOTS = 8
LATENCY = "uniform:0.1,0.4"
# Without a floor: the disk is to be full, not low. Who is gone is known by its lock, not by waiting ten minutes.
WORKER = (
    "--concurrency", str(SLOTS), "--spool-after", "0.3s", "--spool-reserve", "4MiB", "--min-free-disk", "0",
    "--lease-ttl", "10m",
)  # fmt: skip


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted here: {done.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def product(tmp_path: Path) -> Product:
    """The commands run in a folder of their own, so that logs and outputs are not on the disk that fills."""
    return Product(tmp_path)


@pytest.fixture
def on_disk(product: Product, disk: Path) -> Product:
    """Its store lies on the small disk; the folder has a link to it."""
    product.db.symlink_to(disk / "thinkledger.db")
    return product


def fill(disk: Path) -> Path:
    """Take all the room that is left; the file to remove for it to be free again."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as out:
        for size in (2**20, 4096, 1):
            _fill_by(out, size)
    return filler


def _fill_by(out: FileIO, size: int) -> None:
    try:
        while True:
            out.write(bytes(size))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise


@contextmanager
def growing_wal(product: Product) -> Iterator[None]:
    """While a reader stays at the first state, the WAL cannot begin anew: each commit needs new room on the disk."""
    with raw.connection(product.db) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM job").fetchone()
        yield


def spool_of(product: Product) -> dict[str, Any]:
    spool: dict[str, Any] = json.loads(product.run("status", "--json").stdout)["data"]["spool"]
    return spool


def answered(simulator: Simulator) -> int:
    return int(simulator.stats()["answers"])


def stored(product: Product) -> int:
    return int(product.value("SELECT count(*) FROM response"))


def quiet(simulator: Simulator) -> bool:
    return int(simulator.stats()["open"]) == 0


def check_all(product: Product, simulator: Simulator, asked: list[str]) -> None:
    """Everything answered once, everything in the store, nothing left over, and the texts are the server's."""
    assert simulator.stats()["requests_a_prompt"] == {"1": len(asked)}
    assert stored(product) == answered(simulator) == len(asked)
    check_texts(product, asked)


def check_texts(product: Product, asked: list[str]) -> None:
    """Every prompt has its own answer, once."""
    product.check_invariants()
    assert spool_of(product)["files"] == []
    exported = product.export("data", "out.jsonl")
    rows = [json.loads(line) for line in exported.split(b"\n")[:-1]]
    assert [(row["reasoning"], row["content"]) for row in rows] == [
        (truth.reasoning, truth.content) for truth in (answer_of(prompt, BYTES) for prompt in asked)
    ]


def check_waiting(product: Product, simulator: Simulator) -> int:
    """While nothing is asked: every answer that was sent is a stored body or waits in the spool."""
    waiting = 0

    def all_there() -> bool:
        nonlocal waiting
        waiting = int(spool_of(product)["waiting"])
        return answered(simulator) == stored(product) + waiting

    wait_for(all_there, "every answer in the store or in the spool")
    return waiting


def spooling(running: RunningWorker) -> bool:
    return " spooling " in running.said()


def test_a_disk_that_is_full_for_a_while_costs_nothing(on_disk: Product, disk: Path) -> None:
    asked = prompts(JOBS)
    on_disk.import_prompts("data", asked)
    with Simulator("--latency", LATENCY, "--answer-bytes", str(BYTES)) as simulator:
        with growing_wal(on_disk), on_disk.worker(simulator.url, "--until-empty", *WORKER) as running:
            wait_for(lambda: on_disk.count("done") >= 20, "20 jobs done")
            filler = fill(disk)
            wait_for(lambda: spooling(running), "answers go to the spool")
            wait_for(lambda: quiet(simulator), "nothing is asked any more")
            assert 0 < check_waiting(on_disk, simulator) <= on_disk.count("leased")
            assert "a live worker brings them in" in on_disk.run("status").stdout.decode()
            requests = simulator.stats()["requests"]
            assert running.said().count("store_trouble") == 1
            assert simulator.stats()["requests"] == requests < JOBS
            filler.unlink()
            said = running.wait(0)
        assert "The disk of the store is full" in said
        assert "store_well" in said
        check_all(on_disk, simulator, asked)


def test_a_drain_on_a_full_disk_ends_and_the_next_worker_brings_the_answers_in(on_disk: Product, disk: Path) -> None:
    asked = prompts(JOBS)
    on_disk.import_prompts("data", asked)
    with Simulator("--latency", LATENCY, "--answer-bytes", str(BYTES)) as simulator:
        with growing_wal(on_disk), on_disk.worker(simulator.url, *WORKER) as running:
            wait_for(lambda: on_disk.count("done") >= 20, "20 jobs done")
            filler = fill(disk)
            wait_for(lambda: spooling(running), "answers go to the spool")
            running.signal(signal.SIGTERM)
            said = running.wait(9)
        assert "in the spool" in said.splitlines()[-1]
        waiting = check_waiting(on_disk, simulator)
        assert waiting > 0
        assert "start a worker to bring them in" in on_disk.run("status").stdout.decode()
        filler.unlink()
        on_disk.run("export", "--dataset", "data", "--output", "part.jsonl", code=6)
        manifest = json.loads((on_disk.folder / "part.jsonl.manifest.json").read_bytes())
        assert manifest["warnings"] == [waiting_words(waiting)]
        on_disk.finish(simulator.url, *WORKER)
        check_all(on_disk, simulator, asked)


def test_a_worker_killed_on_a_full_disk_loses_nothing_that_reached_the_spool(on_disk: Product, disk: Path) -> None:
    asked = prompts(JOBS)
    on_disk.import_prompts("data", asked)
    with Simulator("--latency", LATENCY, "--answer-bytes", str(BYTES)) as simulator:
        with growing_wal(on_disk), on_disk.worker(simulator.url, *WORKER) as running:
            wait_for(lambda: on_disk.count("done") >= 20, "20 jobs done")
            filler = fill(disk)
            wait_for(lambda: spooling(running) and quiet(simulator), "answers go to the spool")
            assert check_waiting(on_disk, simulator) > 0
            running.kill()
        filler.unlink()
        on_disk.finish(simulator.url, *WORKER)
        check_all(on_disk, simulator, asked)


def test_files_that_may_not_grow_cost_nothing(product: Product) -> None:
    """RLIMIT_FSIZE, as a quota does: the database may not grow, the reserve was allocated before."""
    asked = prompts(JOBS)
    product.import_prompts("data", asked)
    limit = 5 * 2**20
    with Simulator("--latency", LATENCY, "--answer-bytes", str(BYTES * 4)) as simulator:
        with product.worker(simulator.url, "--until-empty", *WORKER) as running:
            wait_for(lambda: product.count("done") >= 5, "5 jobs done")
            unlimited = resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (limit, unlimited[1]))
            wait_for(lambda: spooling(running) and quiet(simulator), "answers go to the spool")
            check_waiting(product, simulator)  # small ones may still find room in the WAL
            resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, unlimited)
            running.wait(0)
        assert simulator.stats()["requests_a_prompt"] == {"1": JOBS}
        assert stored(product) == JOBS
    product.check_invariants()


@pytest.mark.parametrize("ends", [False, True], ids=["the worker waits", "the worker is stopped"])
def test_a_lock_that_another_process_keeps_costs_nothing(product: Product, ends: bool) -> None:
    asked = prompts(JOBS)
    product.import_prompts("data", asked)
    with Simulator("--latency", LATENCY, "--answer-bytes", str(BYTES)) as simulator:
        with product.worker(simulator.url, "--until-empty", *WORKER) as running:
            wait_for(lambda: product.count("done") >= 20, "20 jobs done")
            with process("hold", product.db) as other:
                assert says(other) == "held"
                wait_for(lambda: spooling(running) and quiet(simulator), "answers go to the spool")
                assert check_waiting(product, simulator) > 0
                if ends:
                    running.signal(signal.SIGTERM)
                    running.wait(5)
                tell(other)
            if not ends:
                running.wait(0)
        product.finish(simulator.url, *WORKER)
        check_all(product, simulator, asked)


def test_a_store_that_was_moved_away_ends_the_worker_and_nothing_is_lost_once_it_is_back(product: Product) -> None:
    asked = prompts(JOBS)
    product.import_prompts("data", asked)
    aside = product.folder / "aside.db"
    with Simulator("--latency", LATENCY, "--answer-bytes", str(BYTES)) as simulator:
        with product.worker(simulator.url, "--until-empty", *WORKER) as running:
            wait_for(lambda: product.count("done") >= 20, "20 jobs done")
            product.db.rename(aside)
            assert "was replaced or removed" in running.wait(8)
        aside.rename(product.db)
        product.finish(simulator.url, *WORKER)
        times = simulator.stats()["requests_a_prompt"]
        assert set(times) <= {"1", "2"}
        assert times.get("2", 0) <= SLOTS
        check_texts(product, asked)


def test_answers_elsewhere_are_found_by_a_worker_that_was_not_told_where(product: Product, tmp_path: Path) -> None:
    asked = prompts(JOBS)
    product.import_prompts("data", asked)
    elsewhere = tmp_path / "other disk"
    with Simulator("--latency", LATENCY, "--answer-bytes", str(BYTES)) as simulator:
        with product.worker(simulator.url, *WORKER, "--spool-dir", str(elsewhere)) as running:
            wait_for(lambda: product.count("done") >= 20, "20 jobs done")
            with process("hold", product.db) as other:
                assert says(other) == "held"
                wait_for(lambda: spooling(running) and quiet(simulator), "answers go to the spool")
                wait_for(lambda: check_waiting(product, simulator) > 0, "they wait")
                running.kill()
                tell(other)
        assert str(elsewhere) in spool_of(product)["files"][0]["path"]
        product.finish(simulator.url, *WORKER)
        check_all(product, simulator, asked)


def test_a_damaged_store_ends_the_worker_and_the_answer_is_in_the_spool(product: Product) -> None:
    product.import_prompts("data", prompts(5))
    raw.spoil(product.db, ["response"])
    with Simulator() as simulator:
        said = product.finish(simulator.url, "--concurrency", "1", code=8)
        assert answered(simulator) == 1
    assert "The store is damaged" in said
    assert look(locate(str(product.db))).waiting == 1


def test_a_torn_write_is_named_and_kept_and_what_stands_before_it_is_brought_in(product: Product) -> None:
    """kill -9 in the middle of a write: the bytes that got there are no answer, and a person may still want them."""
    asked = prompts(JOBS)
    product.import_prompts("data", asked)
    with Simulator("--latency", LATENCY, "--answer-bytes", str(BYTES)) as simulator:
        with product.worker(simulator.url, *WORKER) as running:
            wait_for(lambda: product.count("done") >= 20, "20 jobs done")
            with process("hold", product.db) as other:
                assert says(other) == "held"
                wait_for(lambda: spooling(running) and quiet(simulator), "answers go to the spool")
                assert check_waiting(product, simulator) > 1
                running.kill()
                tell(other)
        (file,) = spool_of(product)["files"]
        cut_last_record(Path(file["path"]))
        said = product.run("status").stdout.decode()
        assert "bytes of a write that was cut off" in said
        product.finish(simulator.url, *WORKER)
        repeats = simulator.stats()["requests_a_prompt"]
    assert repeats == {"1": JOBS - 1, "2": 1}
    product.check_invariants()
    spool = spool_of(product)
    assert (spool["waiting"], len(spool["files"])) == (0, 1)
    assert spool["files"][0]["path"] == file["path"] + ".kept"
    assert spool["torn_bytes"] > 0


def cut_last_record(path: Path) -> None:
    """As if its last bytes had never been written."""
    data = path.read_bytes()
    end = len(data.rstrip(b"\0"))
    with path.open("r+b") as out:
        out.seek(end - 100)
        out.write(bytes(100))


def test_without_room_for_the_reserve_nothing_is_asked(on_disk: Product) -> None:
    on_disk.import_prompts("data", prompts(3))
    with Simulator() as simulator:
        said = on_disk.finish(simulator.url, "--spool-reserve", "100MiB", code=9)
        assert "a smaller --spool-reserve" in said
        assert simulator.stats()["requests"] == 0
    assert list((on_disk.db.resolve().parent / "thinkledger.db.spool").iterdir()) == []
