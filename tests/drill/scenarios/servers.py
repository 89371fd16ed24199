"""Servers that are down, come and go, say that they are busy, hang, or cannot be found."""

import time
from dataclasses import replace
from pathlib import Path

from tests.drill.catalogue import Size, fault
from tests.drill.stage import Stage
from tests.drill.support import needs_namespaces
from tests.support.product import wait_for
from tests.support.simulator import Simulator

HOLDS = "every job is done in the end, and no trouble of the server made one fail"
PATIENT = ("--max-attempts", "60")


@fault("down-at-start", "the server is down when the worker starts, and comes up later", HOLDS, size=Size.SHORT)
def down_at_start(stage: Stage) -> None:
    stage.ask(40)
    with stage.simulator("--latency", "fixed:0.02") as simulator:
        simulator.outage(stage.pick(2, 6))
        time.sleep(0.2)
        running = stage.worker(simulator.url)
        wait_for(lambda: "endpoint_not_ready" in running.said(), "the worker found it down")
        stage.ledger.tried += 1
        _until_up(simulator)
        stage.until_asked(simulator, time.monotonic(), 0, running)
        stage.expect(stage.end_of(running) == 0, "the worker did not end with 0")
    counted = stage.product.rows("SELECT DISTINCT attempt, tries, expiries FROM job")
    stage.expect(counted == [(1, 0, 0)], f"something was counted against jobs: {counted}")


def _until_up(simulator: Simulator) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            simulator.stats()
        except OSError:
            time.sleep(0.01)
        else:
            return


def _flap(stage: Stage, seconds: float, a_second: int, latency: str) -> None:
    """Up for one to five seconds, away for a half to three; more prompts than are answered until it stays."""
    stage.ask(int(seconds * a_second), "d", *PATIENT)
    with stage.simulator("--latency", latency) as simulator:
        running = stage.worker(simulator.url, "--concurrency", "24")
        end = time.monotonic() + seconds
        while time.monotonic() < end and running.process.poll() is None:
            time.sleep(stage.chance.uniform(1.0, 5.0))
            simulator.outage(stage.chance.uniform(0.5, 3.0))
            time.sleep(0.1)
            stage.ledger.tried += 1
            _until_up(simulator)
            stage.until_asked(simulator, time.monotonic(), simulator.stats()["requests"], running)
        stage.expect(stage.end_of(running, patience_s=900) in (0, 7), "the worker did not end with 0")
        stage.finish(simulator.url, "--concurrency", "32")
    stage.expect(stage.product.count("failed") == 0, "a job failed")


@fault("flapping", "a server that comes and goes every few seconds", HOLDS, size=Size.SHORT)
def flapping(stage: Stage) -> None:
    _flap(stage, stage.pick(10, 90), 50, "uniform:0.2,0.8")


@fault("flapping-30m", "a server that comes and goes every few seconds, for 30 minutes", HOLDS, size=Size.LONG)
def flapping_half_an_hour(stage: Stage) -> None:
    _flap(stage, 1800, 3, "uniform:0.5,1.5")


def _storm(stage: Stage, personas: list[str], seconds: float) -> None:
    """Each persona in turn: half of the requests, then all of them, then none."""
    stage.ask(int(len(personas) * seconds * 40), "d", *PATIENT)
    with stage.simulator("--latency", "uniform:0.3,0.6") as simulator:
        running = stage.worker(simulator.url, "--concurrency", "16")
        stage.wait_done(5)
        for persona in personas:
            for faults in ([f"{persona}@chance:0.5:{stage.chance.randrange(1000)}"], [f"{persona}@after:0"], []):
                if running.process.poll() is not None:
                    break
                simulator.play("sglang", faults=faults)
                stage.ledger.tried += 1
                time.sleep(seconds / 3)
        code = stage.end_of(running, patience_s=600)
        stage.expect(code in (0, 7), f"the worker ended with {code}")
        stage.finish(simulator.url, "--concurrency", "32")
    stage.expect(stage.product.count("failed") == 0, "a job failed")
    refusals = stage.product.value("SELECT count(*) FROM failure")
    stage.expect(refusals > 0, "no request was refused")
    stage.ledger.figures.append(f"{refusals:,} refusals")


@fault("storm-5xx", "500, 502 and 504, half of the time and all of it", HOLDS, size=Size.SHORT)
def storm_5xx(stage: Stage) -> None:
    personas = ["http_500", "http_502", "http_504"]
    _storm(stage, personas[: stage.pick(1, 3)], stage.pick(3, 9))


@fault("storm-busy", "429 and 503 with and without Retry-After, half of the time and all of it", HOLDS, size=Size.SHORT)
def storm_busy(stage: Stage) -> None:
    personas = ["http_429", "http_503", "http_429_bare", "http_503_wait"]
    _storm(stage, personas[: stage.pick(1, 4)], stage.pick(3, 9))
    tried = stage.product.value("SELECT sum(tries) FROM job")
    stage.expect(tried == 0, f"{tried} tries were counted for a busy server")


@fault("hang", "requests that are never answered", HOLDS, size=Size.SHORT)
def hang(stage: Stage) -> None:
    stage.ask(stage.pick(30, 120), "d", *PATIENT)
    with stage.simulator("--fault", "hang@every:6", "--latency", "fixed:0.05") as simulator:
        stage.finish(simulator.url, "--request-timeout", "2s", "--concurrency", "8")
        stage.ledger.tried = simulator.stats()["by_persona"].get("hang", 0)
    stage.expect(stage.ledger.tried > 0, "nothing hung")


@fault("dead-scheduler", "a server whose scheduler died: it takes requests, /health says 503", HOLDS)
def dead_scheduler(stage: Stage) -> None:
    """A minute without a byte makes the worker ask /health; it cuts, holds, and goes on when the server is well."""
    stage.ask(40)
    with stage.simulator("--latency", "fixed:0.05") as simulator:
        running = stage.worker(simulator.url, "--limit", "8", "--concurrency", "8")
        stage.end_of(running)
        simulator.play("health_503")
        running = stage.worker(simulator.url, "--concurrency", "8")
        time.sleep(1.0)  # it finds the server ill at the start; well again, it asks and is never answered
        simulator.play("hang")
        wait_for(lambda: simulator.stats()["open"] == 8, "8 requests in flight")
        simulator.play("health_503")
        stage.ledger.tried += 1
        wait_for(lambda: "endpoint_hangs" in running.said(), "the worker saw that it hangs")
        simulator.play("sglang")
        stage.until_asked(simulator, time.monotonic(), simulator.stats()["requests"], running)
        stage.expect(stage.end_of(running) == 0, "the worker did not end with 0")


@fault(
    "no-such-host", "the server's name is not found, and found later", HOLDS, needs=needs_namespaces, size=Size.SHORT
)
def no_such_host(stage: Stage) -> None:
    """In a mount namespace of its own, so that the machine's own names stay as they are."""
    stage.ask(20)
    hosts = stage.product.folder / "hosts"
    hosts.write_text("127.0.0.1 localhost\n")
    mounted = ("unshare", "-m", "sh", "-c", f'mount --bind {hosts} /etc/hosts && exec "$@"', "sh")
    with stage.simulator() as simulator:
        url = f"http://drill-model.invalid:{simulator.port}"
        running = stage.fresh_worker(url, through=mounted)
        wait_for(lambda: "endpoint_not_ready" in running.said(), "the worker did not find the name")
        stage.ledger.tried += 1
        _append(hosts, "127.0.0.1 drill-model.invalid\n")
        stage.until_asked(simulator, time.monotonic(), 0, running)
        stage.expect(stage.end_of(running) == 0, "the worker did not end with 0")
    counted = stage.product.rows("SELECT DISTINCT attempt, tries FROM job")
    stage.expect(counted == [(1, 0)], f"something was counted against jobs: {counted}")


def _append(file: Path, line: str) -> None:
    with file.open("a") as out:
        out.write(line)


@fault(
    "server-killer",
    "a prompt that kills the server each time it is asked",
    "it fails alone; all others are done",
    size=Size.SHORT,
)
def server_killer(stage: Stage) -> None:
    """All connections break when that prompt is asked, and the server is back at once."""
    prompts = stage.ask(60, mark={7: "deadly "})
    stage.witness = replace(stage.witness, may_fail=frozenset({prompts[7]}))
    with stage.simulator("--latency", "fixed:0.3", "--fault", "drops_all@prompt:deadly") as simulator:
        stage.finish(simulator.url, "--concurrency", "8", codes=(6,))
        stage.ledger.tried = simulator.stats()["cut"]
    causes = {row[0] for row in stage.product.rows("SELECT DISTINCT cause FROM job WHERE state = 'failed'")}
    # `cut` where nothing else was in flight: nobody else saw the server go.
    stage.expect(bool(causes) and causes <= {"kills_server", "cut"}, f"it failed as {causes}")
