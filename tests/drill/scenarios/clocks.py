"""Wall clocks that jump, monotonic time untouched (libfaketime)."""

from pathlib import Path

from tests.drill.catalogue import Size, fault
from tests.drill.stage import Stage
from tests.drill.support import libfaketime, needs_faketime

HOLDS = "nobody is taken for dead, waiting jobs come back, leases that look overdue are asked again at most once a jump"
HOUR_S = 3600
SLOTS = 6


def _write(file: Path, seconds: int) -> None:
    """In one step, so that nobody reads half of it."""
    new = file.with_suffix(".new")
    new.write_text(f"{seconds:+d}\n")
    new.replace(file)


def jumping(stage: Stage, jumps: list[int]) -> None:
    """Two workers on one host whose clock jumps while they work."""
    offset = stage.product.folder / "offset"
    _write(offset, 0)
    faked = {
        "LD_PRELOAD": str(libfaketime()), "DONT_FAKE_MONOTONIC": "1", "FAKETIME_TIMESTAMP_FILE": str(offset),
        "FAKETIME_CACHE_DURATION": "1",
    }  # fmt: skip
    stage.ask(len(jumps) * 120 + 120, "d", "--max-attempts", "50")
    with stage.simulator("--latency", "uniform:0.1,0.4", "--fault", "http_500@every:10") as simulator:
        pair = [
            stage.fresh_worker(simulator.url, "--concurrency", str(SLOTS), "--request-timeout", "30m", **faked)
            for _ in range(2)
        ]
        for number, jump in enumerate(jumps, 1):
            stage.wait_done(number * 80)
            _write(offset, jump)
            stage.ledger.tried += 1
        for worker in pair:
            code = stage.end_of(worker)
            stage.expect(code == 0, f"a worker ended with {code}: {worker.said()[-500:]}")
            stage.expect("declared_dead" not in worker.said(), "a living worker was declared dead")
    expired = int(stage.product.value("SELECT sum(expiries) FROM job"))
    stage.expect(expired <= 2 * SLOTS * len(jumps), f"{expired} leases were taken, more than were in flight")
    stage.ledger.excused += expired
    stage.ledger.figures.append(f"{expired} leases looked overdue")


@fault("clock-forward", "the wall clock jumps an hour ahead, twice", HOLDS, needs=needs_faketime, size=Size.SHORT)
def clock_forward(stage: Stage) -> None:
    jumping(stage, [HOUR_S, 2 * HOUR_S])


@fault("clock-back", "the wall clock jumps an hour back, twice", HOLDS, needs=needs_faketime, size=Size.SHORT)
def clock_back(stage: Stage) -> None:
    jumping(stage, [-HOUR_S, -2 * HOUR_S])


@fault(
    "clock-to-and-fro",
    "the wall clock jumps an hour ahead and back again",
    HOLDS,
    needs=needs_faketime,
    size=Size.SHORT,
)
def clock_to_and_fro(stage: Stage) -> None:
    jumping(stage, [HOUR_S, 0, -HOUR_S, 0])
