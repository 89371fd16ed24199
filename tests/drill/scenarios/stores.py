"""Stores whose disk is full, that somebody locks, replaces, truncates or damages."""

import hashlib
import os
import resource
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.drill.catalogue import Size, fault
from tests.drill.stage import Stage
from tests.drill.support import needs_root, small_disk
from tests.integration.store.raw import connection, spoil
from tests.support.product import Product, RunningWorker, wait_for

HOLDS = "every answer that the server sent is stored, or lies in a spool file, and the run goes on when there is room"


QUICK = ("--spool-after", "0.5s")
SETTLES_S = 4.0
MOST_ROUNDS = 6  # a WAL that was just emptied has room in itself for the answers of one


def _on_small_disk(stage: Stage, folder: Path) -> None:
    """The stage plays on another disk from now on; the journal stays where there is room."""
    stage.product = Product(folder)


def _fill(folder: Path) -> Path:
    """A file that takes what is left of a disk, but for a few pages."""
    ballast = folder / "ballast"
    free = os.statvfs(folder)
    with ballast.open("wb") as out:
        out.truncate(0)
        left = free.f_bavail * free.f_frsize - 65536
        with suppress(OSError):  # somebody else took the rest
            while left > 0:
                left -= out.write(b"\0" * min(left, 1 << 20))
    return ballast


@fault(
    "disk-full",
    "the disk is full in the middle of a run, and has room again later",
    HOLDS,
    needs=needs_root,
    size=Size.SHORT,
)
def disk_full(stage: Stage) -> None:
    with small_disk(stage.product.folder / "disk", 48) as folder:
        _on_small_disk(stage, folder)
        stage.ask(400)
        with stage.simulator("--latency", "uniform:0.05,0.2") as simulator:
            running = stage.worker(simulator.url, "--concurrency", "16")
            for full_s in stage.pick((1,), (60, 1, 1)):
                stage.wait_done(stage.done() + 40)
                ballast = _fill(folder)
                wait_for(lambda: _in_trouble(running), "the worker noticed the full disk")
                time.sleep(full_s)  # the fault itself lasts so long
                ballast.unlink()
                since_s = time.monotonic()
                stage.wait_done(stage.done() + 1)
                stage.resumed(since_s)
                stage.ledger.tried += 1
            stage.expect(stage.end_of(running) == 0, f"the worker ended with {running.process.returncode}")
        _examine_here(stage)


def _examine_here(stage: Stage) -> None:
    """Look while the disk is still mounted; the runner finds a copy in the old place."""
    stage.end_all()
    home = stage.product.folder.parent
    shutil.copytree(stage.product.folder, home, dirs_exist_ok=True, ignore=shutil.ignore_patterns("ballast"))
    stage.product = Product(home)


def _in_trouble(running: RunningWorker) -> bool:
    said = running.said()
    return any(words in said for words in ("store_trouble", "spool", "disk"))


@fault("disk-full-and-kill", "the disk is full, and the worker is killed before there is room again", HOLDS,
       needs=needs_root, size=Size.SHORT)  # fmt: skip
def disk_full_and_kill(stage: Stage) -> None:
    spool = stage.product.folder / "spool"
    with small_disk(stage.product.folder / "disk", 48) as folder:
        _on_small_disk(stage, folder)
        stage.ask(400)
        arguments = ("--concurrency", "16", "--spool-dir", str(spool), *QUICK)
        with stage.simulator("--latency", "uniform:0.05,0.2") as simulator:
            spooled, rounds, wanted = 0, 0, stage.pick(1, 2)
            while spooled < wanted and rounds < MOST_ROUNDS:
                running = stage.worker(simulator.url, *arguments)
                stage.wait_done(stage.done() + 40)
                ballast = _fill(folder)
                wait_for(lambda running=running: _in_trouble(running), "the worker noticed the full disk")
                _settled(simulator)
                before = sum(simulator.stats()["answers_a_prompt"].values())
                running.kill()
                stage.ledger.kills += 1
                stage.ledger.tried += 1
                stage.ledger.excused += simulator.stats()["open"]
                ballast.unlink()
                rounds += 1
                spooled += before > stage.done()
            stage.expect(spooled == wanted, "too rarely was anything answered while the disk was full")
            stage.finish(simulator.url, *arguments)
        _examine_here(stage)


def _settled(simulator: object) -> None:
    """Until no more answers come, and those that came had the time to go to the spool."""
    from tests.support.simulator import Simulator

    assert isinstance(simulator, Simulator)
    before = -1
    while simulator.stats()["answers"] != before:
        before = simulator.stats()["answers"]
        time.sleep(SETTLES_S)


@fault("quota", "no file may grow any more in the middle of a run (RLIMIT_FSIZE), and may again later", HOLDS,
       size=Size.SHORT)  # fmt: skip
def quota(stage: Stage) -> None:
    stage.ask(300)
    with stage.simulator("--latency", "uniform:0.05,0.2") as simulator:
        running = stage.worker(simulator.url, "--concurrency", "16")
        for _ in range(stage.pick(1, 3)):
            stage.wait_done(stage.done() + 30)
            _limit(running, max(stage.product.db.stat().st_size, _wal_size(stage)) + 8192)
            wait_for(lambda: _in_trouble(running), "the worker noticed the limit")
            time.sleep(0.5)
            _limit(running, resource.RLIM_INFINITY)
            since_s = time.monotonic()
            stage.wait_done(stage.done() + 1)
            stage.resumed(since_s)
            stage.ledger.tried += 1
        stage.expect(stage.end_of(running) == 0, f"the worker ended with {running.process.returncode}")


def _limit(running: RunningWorker, limit: int) -> None:
    resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))


def _wal_size(stage: Stage) -> int:
    wal = stage.product.db.with_name(stage.product.db.name + "-wal")
    return wal.stat().st_size if wal.exists() else 0


@fault("store-locked", "another process holds the store's lock for a minute",
       "nobody is taken for dead, every answer is stored afterwards")  # fmt: skip
def store_locked(stage: Stage) -> None:
    """Two workers with a TTL far below that minute."""
    stage.ask(300)
    with stage.simulator("--latency", "uniform:0.1,0.3") as simulator:
        pair = [stage.worker(simulator.url, "--concurrency", "8", "--lease-ttl", "5s") for _ in range(2)]
        stage.wait_done(40)
        with _locked(stage.product.db):
            time.sleep(stage.pick(10, 60))
        since_s = time.monotonic()
        stage.ledger.tried += 1
        before = stage.done()
        stage.wait_done(before + 1)
        stage.resumed(since_s)
        for running in pair:
            stage.expect(stage.end_of(running) == 0, f"a worker ended with {running.process.returncode}")
            stage.expect("declared_dead" not in running.said(), "a living worker was declared dead")
    stage.expect(stage.product.value("SELECT sum(expiries) FROM job") == 0, "leases expired")


@fault(
    "store-locked-and-kill",
    "another process holds the store's lock, and the worker is killed meanwhile",
    HOLDS,
    size=Size.SHORT,
)
def store_locked_and_kill(stage: Stage) -> None:
    stage.ask(200)
    with stage.simulator("--latency", "uniform:0.1,0.3") as simulator:
        running = stage.worker(simulator.url, "--concurrency", "8", *QUICK)
        stage.wait_done(20)
        with _locked(stage.product.db):
            wait_for(lambda: _in_trouble(running), "the worker noticed the lock")
            _settled(simulator)
            running.kill()
            stage.ledger.kills += 1
            stage.ledger.tried += 1
            stage.ledger.excused += simulator.stats()["open"]
        stage.finish(simulator.url)


@contextmanager
def _locked(db: Path) -> Iterator[None]:
    """The drill itself is the other process that holds the write lock."""
    with connection(db) as held:
        held.execute("PRAGMA busy_timeout=60000")
        held.execute("BEGIN IMMEDIATE")
        yield
        held.execute("ROLLBACK")


def _answered(stage: Stage, count: int) -> None:
    stage.ask(count)
    with stage.simulator() as simulator:
        stage.finish(simulator.url, "--concurrency", "32")


def _refused(stage: Stage, spoil_it: Callable[[Path], None], name: str, *, seen_at_once: bool = True) -> None:
    """On a damaged copy every command ends with 8 and, where that is seen at once, changes nothing."""
    copy = stage.product.folder / name
    shutil.copyfile(stage.product.db, copy)
    spoil_it(copy)
    before = hashlib.sha256(copy.read_bytes()).hexdigest()
    for command in (("worker", "start", "--endpoint", "http://127.0.0.1:9", "--skip-preflight", "--until-empty"),
                    ("import", "more", "d.jsonl"), ("export", "--dataset", "d", "-o", f"{name}.jsonl")):  # fmt: skip
        running = stage.start("--db", str(copy), *command)
        code = stage.end_of(running)
        stage.ledger.tried += 1
        stage.expect(code == 8, f"{name}: {command[0]} ended with {code}: {running.said()[-300:]}")
    same = hashlib.sha256(copy.read_bytes()).hexdigest() == before
    stage.expect(same or not seen_at_once, f"{name} was changed")
    stage.expect(not (stage.product.folder / f"{name}.jsonl").exists(), f"{name} was exported")


REFUSED = "exit code 8 and a sentence; the file is not touched, and nothing is exported from it"


@fault("store-truncated", "the store's file is cut off", REFUSED, size=Size.SHORT)
def store_truncated(stage: Stage) -> None:
    _answered(stage, 200)
    size = stage.product.db.stat().st_size
    for part in (60, 4096, size // 3, size // 2):
        _refused(stage, lambda path, part=part: os.truncate(path, part), f"cut-{part}.db")


@fault("store-damaged", "the store's file is overwritten in part", REFUSED, size=Size.SHORT)
def store_damaged(stage: Stage) -> None:
    _answered(stage, 200)
    _refused(stage, lambda path: spoil(path, ["job", "sample", "dataset"]), "tables.db", seen_at_once=False)
    _refused(stage, lambda path: spoil(path, ["meta"]), "meta.db")
    _refused(stage, _overwrite_header, "header.db")


def _overwrite_header(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"\xa5" * 100)


@fault("store-replaced", "the store's file is moved away and another one put in its place while a worker runs",
       "the worker ends with 8 and has not touched the other file; put back with its WAL, the run goes on",
       size=Size.SHORT)  # fmt: skip
def store_replaced(stage: Stage) -> None:
    other = Product(stage.product.folder / "other")
    other.folder.mkdir()
    other.import_prompts("strangers", ["one", "two"])
    stage.ask(200)
    with stage.simulator("--latency", "uniform:0.1,0.3") as simulator:
        running = stage.worker(simulator.url, "--concurrency", "8")
        stage.wait_done(20)
        aside = stage.product.folder / "aside.db"
        stage.product.db.rename(aside)
        shutil.copyfile(other.db, stage.product.db)
        stage.ledger.tried += 1
        before = hashlib.sha256(other.db.read_bytes()).hexdigest()
        code = stage.end_of(running)
        stage.expect(code == 8, f"the worker ended with {code}: {running.said()[-300:]}")
        after = hashlib.sha256(stage.product.db.read_bytes()).hexdigest()
        stage.expect(after == before, "the other store was written to")
        aside.rename(stage.product.db)  # as a person who saw the mistake and does what the worker said
        for wal in stage.product.folder.glob("*-wal.of-inode-*"):
            wal.rename(stage.product.db.with_name(stage.product.db.name + "-wal"))
        stage.excuse_leased()
        stage.finish(simulator.url)
