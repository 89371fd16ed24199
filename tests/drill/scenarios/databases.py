"""A PostgreSQL server that is restarted, ends connections, or cannot be reached; only with stores on one."""

import signal
import time
from dataclasses import replace
from functools import partial

from tests.acceptance.test_chaos_of_hosts import STEPS, end_one_in
from tests.drill.catalogue import Size, fault
from tests.drill.stage import Stage
from tests.support.between import Cut, wire
from tests.support.product import RunningWorker
from tests.support.simulator import Simulator
from tests.support.site import OnServer
from worker.simulator.answers import answer_of

HOLDS = "nothing lost, doubled or wrong, nothing asked again; the workers go on by themselves"
SERVER = ("--latency", "uniform:0.05,0.2", "--answer-bytes", "1500")
SLOTS = ("--concurrency", "8", "--spool-after", "0.5s")
TIMES = (2, 6, 20)


def _two_workers(stage: Stage, simulator: Simulator, *arguments: str) -> list[RunningWorker]:
    """Work for as long as the faults take, by two workers."""
    return [stage.worker(simulator.url, *SLOTS, *arguments) for _ in range(2)]


def _begin(stage: Stage) -> OnServer:
    stage.witness = replace(stage.witness, truth=partial(answer_of, answer_bytes=1500))
    stage.ask(200 * stage.pick(*TIMES))
    assert isinstance(stage.product, OnServer)
    return stage.product


def _go_on(stage: Stage, simulator: Simulator, since_s: float, before: int, workers: list[RunningWorker]) -> None:
    stage.ledger.tried += 1
    stage.until_asked(simulator, since_s, before, workers[0])


def _end(stage: Stage, workers: list[RunningWorker]) -> None:
    stage.expect([stage.end_of(one) for one in workers] == [0, 0], "a worker did not end with 0")
    said = "".join(one.said() for one in workers)
    stage.expect("deadlock" not in said, "a deadlock was told")


def _restarted(stage: Stage, how: signal.Signals) -> None:
    product = _begin(stage)
    with stage.simulator(*SERVER) as simulator:
        workers = _two_workers(stage, simulator)
        for number in range(stage.pick(*TIMES)):
            stage.wait_done(20 + 40 * number)
            time.sleep(stage.chance.uniform(0, 0.3))  # any moment
            before = simulator.stats()["requests"]
            product.server.restart(how)
            _go_on(stage, simulator, time.monotonic(), before, workers)
        _end(stage, workers)


@fault("server-fast", "the PostgreSQL server is stopped (fast) and started again", HOLDS, size=Size.SHORT, alone=True)
def server_fast(stage: Stage) -> None:
    _restarted(stage, signal.SIGINT)


@fault("server-crash", "the PostgreSQL server stops as in a crash (immediate) and recovers", HOLDS, size=Size.SHORT,
       alone=True)  # fmt: skip
def server_crash(stage: Stage) -> None:
    _restarted(stage, signal.SIGQUIT)


@fault("connection-ended", "pg_terminate_backend in every step of a worker", HOLDS, size=Size.SHORT, alone=True)
def connection_ended(stage: Stage) -> None:
    product = _begin(stage)
    hits = 0
    with stage.simulator(*SERVER) as simulator:
        workers = _two_workers(stage, simulator, "--lease-ttl", "6s")
        stage.wait_done(10)
        for step in [*STEPS] * stage.pick(1, 3, 10):
            ended = end_one_in(product.server, STEPS[step])
            hits += ended
            stage.ledger.schedule.append(f"{step}:{'ended' if ended else 'nobody was there'}")
        _end(stage, workers)
    stage.ledger.tried += hits
    stage.expect(hits >= len(STEPS) // 2, f"only {hits} connections were ended")


@fault("network-cut", "no connection to the PostgreSQL server for some seconds", HOLDS, size=Size.SHORT)
def network_cut(stage: Stage) -> None:
    product = _begin(stage)
    with wire(product.server.port) as cable, stage.simulator(*SERVER) as simulator:
        far = product.url.replace(f":{product.server.port}/", f":{cable.port}/")
        workers = _two_workers(stage, simulator, "--db", far)
        for number in range(stage.pick(*TIMES)):
            stage.wait_done(20 + 40 * number)
            before = simulator.stats()["requests"]
            cable.cut()
            time.sleep(stage.chance.uniform(0.2, 3.0))  # the fault itself lasts so long
            cable.mend()
            _go_on(stage, simulator, time.monotonic(), before, workers)
        _end(stage, workers)


@fault("commit-in-doubt", "the connection is lost at COMMIT, before it arrives and after it was answered", HOLDS,
       size=Size.SHORT)  # fmt: skip
def commit_in_doubt(stage: Stage) -> None:
    product = _begin(stage)
    commits = 0

    def every_fourth(_kind: bytes, body: bytes) -> Cut | None:
        nonlocal commits
        commits += body.startswith(b"COMMIT")
        doubt = body.startswith(b"COMMIT") and commits % 4 == 0
        return stage.chance.choice(list(Cut)) if doubt else None

    with wire(product.server.port) as cable, stage.simulator(*SERVER) as simulator:
        far = product.url.replace(f":{product.server.port}/", f":{cable.port}/")
        workers = _two_workers(stage, simulator, "--db", far)
        stage.wait_done(10)
        cable.cut_at = every_fourth
        _end(stage, workers)
        stage.ledger.tried = cable.cuts
