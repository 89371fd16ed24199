"""kill -9 of workers, at named points and at random moments."""

import time
from collections.abc import Sequence

from tests.drill.catalogue import Size, fault
from tests.drill.stage import Stage
from tests.support.simulator import Simulator

SLOTS = 8
PROMPTS = 240
HOLDS = "nothing lost, doubled or wrong; what was acknowledged is stored; only what was in flight is asked again"
SERVER = ("--latency", "uniform:0.005,0.03", "--answer-bytes", "1500")


def _truth(stage: Stage) -> None:
    from dataclasses import replace
    from functools import partial

    from worker.simulator.answers import answer_of

    stage.witness = replace(stage.witness, truth=partial(answer_of, answer_bytes=1500))


def kill_at(stage: Stage, points: Sequence[str], *arguments: str, server: Sequence[str] = ()) -> None:
    """Workers that die at each of the points in turn, in an order of the seed, over the same store."""
    _truth(stage)
    times = stage.pick(1, 6)
    aims = [(point, nth) for point in points for nth in range(1, times + 1)]
    stage.chance.shuffle(aims)
    stage.ledger.schedule += [f"{point}:{nth}" for point, nth in aims]
    sets = 1
    stage.ask(PROMPTS, "d1", "--max-attempts", "50")
    with stage.simulator(*SERVER, *server) as simulator:
        for number, aim in enumerate(aims):
            running = _killed_once(stage, simulator, aim, arguments, measured=number % 5 == 1)
            if not running:  # it came to the end of the prompts first
                sets += 1
                stage.ask(PROMPTS, f"d{sets}", "--max-attempts", "50")
        stage.finish(simulator.url, "--concurrency", str(SLOTS))
    stage.expect(stage.ledger.kills >= len(aims) * 2 // 3, f"only {stage.ledger.kills} of {len(aims)} kills came")


def _killed_once(
    stage: Stage, simulator: Simulator, aim: tuple[str, int], arguments: Sequence[str], *, measured: bool
) -> bool:
    before = simulator.stats()["requests"] if measured else 0
    since_s = time.monotonic()
    running = stage.worker(simulator.url, "--concurrency", str(SLOTS), *arguments, kill=aim)
    if measured:
        while simulator.stats()["requests"] <= before and running.process.poll() is None:
            time.sleep(0.005)
        if simulator.stats()["requests"] > before:
            stage.resumed(since_s)
    return stage.killed(running)


@fault("kill-claim", "kill -9 around a claim and the look at its prompts", HOLDS, size=Size.SHORT)
def kill_claim(stage: Stage) -> None:
    kill_at(stage, ["claim.before", "claim.inside", "claim.commit", "claim.after", "prompts.before", "prompts.after"])


@fault("kill-ask", "kill -9 before a request, in it, and after its answer", HOLDS, size=Size.SHORT)
def kill_ask(stage: Stage) -> None:
    kill_at(stage, ["ask.before", "ask.during", "ask.after", "pack.before", "pack.after"])


@fault("kill-keep", "kill -9 around the commit of a body", HOLDS, size=Size.SHORT)
def kill_keep(stage: Stage) -> None:
    kill_at(stage, ["keep.before", "keep.inside", "keep.commit", "keep.after", "read.before", "read.after"])


@fault("kill-settle", "kill -9 around the commit that finishes a job", HOLDS, size=Size.SHORT)
def kill_settle(stage: Stage) -> None:
    kill_at(stage, ["settle.before", "settle.inside", "settle.commit", "settle.after"])


@fault("kill-fail", "kill -9 around the commit of a failed attempt", HOLDS, size=Size.SHORT)
def kill_fail(stage: Stage) -> None:
    points = ["fail.before", "fail.inside", "fail.commit"]
    kill_at(stage, points, server=("--fault", "http_500@every:6"))


@fault("kill-start", "kill -9 while a worker takes its lock, registers and meets the server", HOLDS, size=Size.SHORT)
def kill_start(stage: Stage) -> None:
    """Of these each worker passes once, so n-th passes beyond the first do not come: one aim a worker."""
    _truth(stage)
    points = ["lock.before", "lock.after", "register.before", "register.inside", "register.commit", "register.after",
              "see.before", "see.inside", "see.commit", "see.after"]  # fmt: skip
    _once_each(stage, points * stage.pick(1, 2), "--concurrency", str(SLOTS))


@fault("kill-end", "kill -9 while a worker hands back its leases and leaves", HOLDS, size=Size.SHORT)
def kill_end(stage: Stage) -> None:
    _truth(stage)
    points = ["leave.before", "leave.inside", "leave.commit", "leave.after"]
    _once_each(stage, points * stage.pick(1, 3), "--concurrency", str(SLOTS), "--limit", "6")


def _once_each(stage: Stage, points: Sequence[str], *arguments: str) -> None:
    stage.ask(PROMPTS // 2)
    with stage.simulator(*SERVER) as simulator:
        for point in points:
            running = stage.worker(simulator.url, *arguments, kill=(point, 1))
            stage.expect(stage.killed(running), f"no kill at {point}")
        stage.finish(simulator.url, "--concurrency", str(SLOTS))


@fault(
    "kill-rescue",
    "kill -9 of rescuers, in the middle of a rescue and while they read what the dead had stored",
    HOLDS,
    size=Size.SHORT,
)
def kill_rescue(stage: Stage) -> None:
    """Each rescuer is the next one's dead."""
    _truth(stage)
    points = ["rescue.before", "rescue.inside", "rescue.commit", "rescue.after", "load.before", "load.after"]
    stage.ask(PROMPTS * 2)
    with stage.simulator(*SERVER) as simulator:
        for point in points * stage.pick(1, 4):
            stage.killed(stage.worker(simulator.url, "--concurrency", str(SLOTS), kill=("read.before", 3)))
            stage.killed(stage.worker(simulator.url, "--concurrency", str(SLOTS), kill=(point, 1)))
        stage.finish(simulator.url, "--concurrency", str(SLOTS))


@fault("kill-beat", "kill -9 around the heartbeat", HOLDS, size=Size.SHORT)
def kill_beat(stage: Stage) -> None:
    points = ["renew.before", "renew.inside", "renew.commit", "renew.after"]
    _truth(stage)
    stage.ask(600)
    with stage.simulator("--latency", "uniform:0.2,0.4", "--answer-bytes", "1500") as simulator:
        for point in points * stage.pick(1, 2):
            stage.killed(stage.worker(simulator.url, "--concurrency", "8", "--lease-ttl", "1s", kill=(point, 1)))
        stage.finish(simulator.url, "--concurrency", "64")


@fault("kill-random", "kill -9 at any moment, one worker", HOLDS, size=Size.SHORT)
def kill_random(stage: Stage) -> None:
    _truth(stage)
    kills = stage.pick(4, 30, 100)
    stage.ask(kills * 40)
    with stage.simulator("--latency", "uniform:0.01,0.05", "--answer-bytes", "1500") as simulator:
        for _ in range(kills):
            running = stage.worker(simulator.url, "--concurrency", "16")
            _at_any_moment(stage, running)
        stage.finish(simulator.url, "--concurrency", "16")


def _at_any_moment(stage: Stage, running: object) -> None:
    """Beginning before the start has ended, and up to a second of work later."""
    from tests.support.product import RunningWorker

    assert isinstance(running, RunningWorker)
    time.sleep(stage.chance.uniform(0.02, 0.8))
    if running.process.poll() is None:
        stage.kill(running)


@fault(
    "kill-one-of-two", "kill -9 at named points of one of two workers that work side by side", HOLDS, size=Size.SHORT
)
def kill_one_of_two(stage: Stage) -> None:
    """What the dead one held is taken by the other at once; it goes on all the while."""
    _truth(stage)
    points = ["claim.after", "keep.inside", "keep.after", "read.before", "settle.inside", "settle.after"]
    aims = points * stage.pick(1, 3)
    stage.chance.shuffle(aims)
    stage.ask(len(aims) * 60)
    with stage.simulator("--latency", "uniform:0.02,0.08", "--answer-bytes", "1500") as simulator:
        survivor = stage.worker(simulator.url, "--concurrency", "4")
        for aim in aims:
            dying = stage.worker(simulator.url, "--concurrency", "8", kill=(aim, stage.chance.randint(1, 5)))
            _killed_beside(stage, dying)
        stage.expect(stage.end_of(survivor) == 0, "the other worker did not end with 0")
        stage.finish(simulator.url)


def _killed_beside(stage: Stage, dying: object) -> None:
    """Its leases may be taken by the other before anybody can look: each of its slots may be asked again."""
    from tests.support.product import RunningWorker

    assert isinstance(dying, RunningWorker)
    if stage.end_of(dying) == -9:
        stage.ledger.kills += 1
        stage.ledger.tried += 1
        stage.ledger.excused += 8
