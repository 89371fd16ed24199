"""Workers that stop, are slow, or die beside others; rescuers; completions that come twice."""

import signal
import time

from tests.drill.catalogue import Size, fault
from tests.drill.stage import Stage
from tests.integration.store.raw import OperationalError, connection
from tests.support.product import RunningWorker, wait_for
from tests.support.site import OnServer

HOLDS = "late answers are kept, the newest attempt wins, and nothing is lost"
SHORT_TTL = ("--lease-ttl", "1s")


@fault("stopped-past-lease", "SIGSTOP for longer than the lease, SIGCONT after another worker has finished", HOLDS,
       size=Size.SHORT)  # fmt: skip
def stopped_past_lease(stage: Stage) -> None:
    rounds = stage.pick(1, 6)
    with stage.simulator("--latency", "uniform:2,2.5") as simulator:
        for number in range(rounds):
            stage.ask(24, f"d{number}")
            stopped = stage.worker(simulator.url, "--concurrency", "8", *SHORT_TTL)
            wait_for(lambda: simulator.stats()["open"] >= 8, "8 requests in flight")
            _stop_outside_a_transaction(stage, stopped)
            stage.ledger.tried += 1
            stage.excuse_leased()
            stage.expect(stage.end_of(stage.worker(simulator.url, "--concurrency", "8")) == 0, "nobody took over")
            stopped.signal(signal.SIGCONT)
            stage.expect(stage.end_of(stopped) == 0, "the one that was stopped did not end with 0")
    late = stage.product.value("SELECT count(*) FROM response WHERE late = 1")
    stage.expect(late > 0, "no late answer was kept")
    stage.ledger.figures.append(f"{late} late answers kept")


def _stop_outside_a_transaction(stage: Stage, running: RunningWorker) -> None:
    """One that is stopped with a file's lock in its hands keeps everybody out: nobody can take over, by design.

    A server ends the transaction of one that is silent, so there any moment will do.
    """
    while True:
        running.signal(signal.SIGSTOP)
        if isinstance(stage.product, OnServer):
            return
        time.sleep(0.05)  # its last system call may still be under way
        with connection(stage.product.db) as probe:
            try:
                probe.execute("BEGIN IMMEDIATE")
            except OperationalError:
                running.signal(signal.SIGCONT)
                time.sleep(stage.chance.uniform(0.01, 0.1))
                continue
            probe.execute("ROLLBACK")
            return


@fault("killed-while-reading", "kill -9 after a body was acknowledged and before it was read", HOLDS, size=Size.SHORT)
def killed_while_reading(stage: Stage) -> None:
    stage.ask(24)
    with stage.simulator("--latency", "fixed:0.02") as simulator:
        for nth in (1, 2, 3):
            stage.killed(stage.worker(simulator.url, "--concurrency", "4", kill=("read.before", nth)))
        stage.finish(simulator.url)


@fault("rescue-after-done", "kill -9 of a worker that has finished jobs; its leases are rescued",
       "what it had finished stays finished", size=Size.SHORT)  # fmt: skip
def rescue_after_done(stage: Stage) -> None:
    stage.ask(60)
    with stage.simulator("--latency", "fixed:0.1") as simulator:
        for aim in (10, 30):
            running = stage.worker(simulator.url, "--concurrency", "4")
            stage.wait_done(aim)
            stage.kill(running)
        stage.finish(simulator.url)


@fault("two-rescuers", "two rescuers at the same moment", "the leases of the dead are taken once", size=Size.SHORT)
def two_rescuers(stage: Stage) -> None:
    rounds = stage.pick(1, 8)
    with stage.simulator("--latency", "uniform:1,1.5") as simulator:
        for number in range(rounds):
            stage.ask(32, f"d{number}")
            dying = stage.worker(simulator.url, "--concurrency", "16")
            wait_for(lambda: simulator.stats()["open"] >= 12, "12 requests in flight")
            stage.kill(dying)
            leased = stage.product.count("leased")
            pair = [stage.worker(simulator.url, "--concurrency", "16") for _ in range(2)]
            stage.expect([stage.end_of(one) for one in pair] == [0, 0], "a rescuer did not end with 0")
            expired = stage.product.value("SELECT sum(expiries) FROM job JOIN dataset ON dataset.id = dataset_id "
                                          "WHERE name = ?", f"d{number}")  # fmt: skip
            stage.expect(expired <= leased, f"{leased} leases were taken {expired} times")


@fault(
    "slow-worker",
    "two workers, one of them slow: its leases run out while its requests are in flight",
    HOLDS,
    size=Size.SHORT,
)
def slow_worker(stage: Stage) -> None:
    """The slow one is told a deadline of half a second; the other one looks for overdue leases every second."""
    stage.ask(120)
    hasty = {"worker.feeder:DEADLINE_SLACK_MS": -7_199_500}
    with stage.simulator("--latency", "fixed:2.5") as slow, stage.simulator("--latency", "fixed:0.2") as fast:
        one = stage.worker(slow.url, "--concurrency", "8", constants=hasty)
        wait_for(lambda: slow.stats()["open"] == 8, "8 requests in flight")
        other = stage.worker(fast.url, "--concurrency", "2", constants={"worker.rescuer:OVERDUE_EVERY_S": 1.0})
        stage.expect([stage.end_of(worker) for worker in (one, other)] == [0, 0], "a worker did not end with 0")
    expired = int(stage.product.value("SELECT sum(expiries) FROM job"))
    stage.ledger.tried = expired
    stage.ledger.excused += expired
    stage.expect(expired > 0, "no lease ran out")
    stage.ledger.figures.append(f"{expired} leases ran out")


@fault("completed-twice", "every completion comes twice", "the second one changes nothing", size=Size.SHORT)
def completed_twice(stage: Stage) -> None:
    count = stage.pick(60, 300)
    stage.ask(count)
    with stage.simulator() as simulator:
        stage.expect(stage.end_of(stage.worker(simulator.url, twice=True)) == 0, "the worker did not end with 0")
    stage.ledger.tried = count
    stage.expect(stage.product.value("SELECT count(*) FROM response") == count, "a body was stored twice")
    stage.expect(stage.product.value("SELECT count(*) FROM reading") == count, "a reading was stored twice")


@fault(
    "drained",
    "SIGTERM, and a second one, at any moment",
    "no lease is left; nothing is counted against a job",
    size=Size.SHORT,
)
def drained(stage: Stage) -> None:
    rounds = stage.pick(2, 12)
    stage.ask(rounds * 60)
    with stage.simulator("--latency", "uniform:0.05,0.4") as simulator:
        for number in range(rounds):
            running = stage.worker(simulator.url, "--concurrency", "16", "--grace", "10s")
            time.sleep(stage.chance.uniform(0.3, 1.0))
            running.signal(signal.SIGTERM)
            if number % 2:
                time.sleep(stage.chance.uniform(0.05, 0.3))
                running.signal(signal.SIGTERM)
                stage.ledger.excused += 16
            stage.expect(stage.end_of(running) in (143, 0, -15), f"ended with {running.process.returncode}")
            stage.ledger.tried += 1
            if running.process.returncode == -signal.SIGTERM:  # before it listened to signals
                stage.excuse_leased()
            else:
                stage.expect(stage.product.count("leased") == 0, "a lease was left")
        stage.finish(simulator.url)
    stage.expect(stage.product.value("SELECT sum(tries) FROM job") == 0, "tries were counted")


@fault("orphans", "kill -9 of a worker beside an idle one on the same host", "its leases are leased again within 1 s",
       size=Size.SHORT, alone=True)  # fmt: skip
def orphans(stage: Stage) -> None:
    leased = "SELECT count(*) FROM job WHERE state = 'leased' AND attempt = ?"
    stage.look_at_machine()
    with stage.simulator("--persona", "hang") as simulator:
        for number in range(stage.pick(3, 10)):
            simulator.play("hang")
            stage.ask(8, f"d{number}")
            dying = stage.worker(simulator.url, "--concurrency", "8")
            wait_for(lambda: stage.product.value(leased, 1) == 8, "8 leases")
            idle = stage.worker(simulator.url, "--concurrency", "8")
            wait_for(lambda idle=idle: "endpoint_up" in idle.said(), "the idle one is up")
            time.sleep(stage.chance.uniform(0.6, 1.6))  # any moment of its rounds
            since_s = time.monotonic()
            stage.kill(dying)
            wait_for(lambda: stage.product.value(leased, 2) == 8, "8 leases again")
            stage.resumed(since_s)
            stage.kill(idle)
            simulator.play("sglang")
            stage.finish(simulator.url)
    worst = max(stage.ledger.resumes_s)
    stage.expect_measured(worst <= 1.0, f"orphans waited {worst:.2f} s")
