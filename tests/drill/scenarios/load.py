"""Many slots, many workers, many jobs: measured, with nothing beside it."""

import signal
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from tests.drill.catalogue import Size, fault
from tests.drill.stage import WORKER, Stage
from tests.support.product import RunningWorker, wait_for
from tests.support.simulator import Simulator
from worker.simulator.answers import answer_of

HOLDS = "no database is locked, memory stays flat, each prompt is asked once"
FLAT = 1.25  # the memory at the end, as a multiple of that after a third of the time
FLAT_BYTES = 32 << 20
LOOK_S = 0.5


def memory_of(running: RunningWorker) -> int:
    """Resident bytes of a process."""
    for line in Path(f"/proc/{running.process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def _loaded(stage: Stage, workers: int, slots: int, seconds: float, a_second: int) -> None:
    """So many prompts that the time is over before they are; then the rest is drained off and finished."""
    stage.ask(int(seconds * a_second))
    stage.witness = replace(stage.witness, truth=partial(answer_of, answer_bytes=1500), unfinished=True)
    with stage.simulator("--latency", "uniform:1,5", "--answer-bytes", "1500") as simulator:
        running = [stage.worker(simulator.url, "--concurrency", str(slots)) for _ in range(workers)]
        memory = _watch(running, seconds)
        done = stage.done()
        for one in running:
            one.signal(signal.SIGTERM)
        for one in running:
            stage.expect(stage.end_of(one) in (0, 143), f"a worker ended with {one.process.returncode}")
            for words in ("database is locked", "store_trouble", "declared_dead"):
                told = next((line for line in one.said().splitlines() if words in line), None)
                stage.expect(told is None, f"a worker said {told}")
        most = simulator.stats()["max_open"]
        stage.expect(most >= workers * slots * 0.9, f"only {most} requests were open at once")
    stage.ledger.tried = workers
    at_third, at_end = memory
    stage.expect(at_end <= at_third * FLAT + FLAT_BYTES, f"memory grew from {at_third >> 20} to {at_end >> 20} MiB")
    figures = f"{most:,} open at once, {done / seconds:.0f} answers/s, {at_third >> 20} -> {at_end >> 20} MiB"
    stage.ledger.figures.append(figures)


def _watch(running: list[RunningWorker], seconds: float) -> tuple[int, int]:
    """The largest process's memory after a third of the time, and at its end."""
    begun = time.monotonic()
    third: list[int] = []
    last: list[int] = []
    while (passed := time.monotonic() - begun) < seconds and all(one.process.poll() is None for one in running):
        most = max(memory_of(one) for one in running)
        (third if passed < seconds / 3 else last).append(most)
        time.sleep(LOOK_S)
    return max(third), max(last[-10:] or third)


@fault("load-1024", "1,024 slots in one worker", HOLDS, alone=True)
def load_1024(stage: Stage) -> None:
    _loaded(stage, 1, 1024, stage.pick(15, 60), 450)


@fault("load-4", "four workers of 128 slots at once", HOLDS, alone=True)
def load_4(stage: Stage) -> None:
    _loaded(stage, 4, 128, stage.pick(15, 60), 450)


@fault("load-1024-10m", "1,024 slots in one worker, for ten minutes", HOLDS, size=Size.LONG, alone=True)
def load_1024_long(stage: Stage) -> None:
    _loaded(stage, 1, 1024, 600, 450)


@fault("load-4-10m", "four workers of 256 slots at once, for ten minutes", HOLDS, size=Size.LONG, alone=True)
def load_4_long(stage: Stage) -> None:
    _loaded(stage, 4, 256, 600, 450)


RESTART_S = 2.0


def _restart(stage: Stage, jobs: int) -> None:
    """A whole start, imports of the interpreter included, after a kill in the middle of the work."""
    stage.ask(jobs)
    stage.witness = replace(stage.witness, truth=partial(answer_of, answer_bytes=800), unfinished=True)
    with stage.simulator("--latency", "fixed:0.2", "--answer-bytes", "800") as simulator:
        stage.look_at_machine()
        for _ in range(5):
            before = simulator.stats()["requests"]
            since_s = time.monotonic()
            command = ("worker", "start", "--endpoint", simulator.url, *WORKER, "--concurrency", "32")
            running = stage.product.start(*command)
            try:
                stage.until_asked(simulator, since_s, before, running)
                time.sleep(1.0)
            finally:
                stage.kill(running)
        _drain(stage, simulator)
    worst = max(stage.ledger.resumes_s)
    stage.expect_measured(worst <= RESTART_S, f"the first request came after {worst:.2f} s")


def _drain(stage: Stage, simulator: Simulator) -> None:
    """One more worker takes over what the last one left, and ends in good order."""
    running = stage.worker(simulator.url, "--concurrency", "8")
    left = "SELECT count(*) FROM job WHERE state = 'leased' AND lease_worker < (SELECT max(id) FROM worker)"
    wait_for(lambda: "worker_rescued" in running.said(), "the dead was found")
    wait_for(lambda: stage.product.value(left) == 0, "what it left was taken")
    running.signal(signal.SIGTERM)
    stage.expect(stage.end_of(running) == 143, f"the last worker ended with {running.process.returncode}")


@fault("restart-20k", "kill -9 and a whole start, with 20,000 jobs in the store", "the first request within 2 s",
       size=Size.SHORT, alone=True)  # fmt: skip
def restart_20k(stage: Stage) -> None:
    _restart(stage, stage.pick(5_000, 20_000))


@fault("restart-1m", "kill -9 and a whole start, with 1,000,000 jobs in the store", "the first request within 2 s",
       size=Size.LONG, alone=True)  # fmt: skip
def restart_1m(stage: Stage) -> None:
    _restart(stage, 1_000_000)
