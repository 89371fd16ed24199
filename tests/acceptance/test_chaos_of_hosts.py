"""Four hosts, one queue, and a minute in which everything fails: nothing lost, nothing doubled, texts as generated.

By default the minute has seconds. `HOSTS_JOBS=100000 HOSTS_CHAOS_SECONDS=60` plays it as promised.
"""

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.acceptance.test_main_job import prompts
from tests.support.network import why_no_networks
from tests.support.postgres import Server, binaries
from tests.support.product import wait_for
from tests.support.site import Keeper, Site, site
from worker.simulator.answers import answer_of

JOBS = int(os.environ.get("HOSTS_JOBS", "1200"))
SECONDS = float(os.environ.get("HOSTS_CHAOS_SECONDS", "0"))
LONG = SECONDS > 0
HOSTS = 4
SLOTS = 32 if LONG else 12
BYTES = 2000  # of an answer
LATENCY = "uniform:0.02,0.1" if LONG else "uniform:0.2,0.6"
CUTS_S = (1.0, 4.0, 35.0) if LONG else (0.5,)  # the longest is noticed by TCP as a peer that is gone
WORKER = (
    "--until-empty", "--concurrency", str(SLOTS), "--spool-after", "0.5s", "--spool-reserve", "8MiB",
    "--lease-ttl", "6s", "--min-free-disk", "0",
)  # fmt: skip
STEPS = {  # each known by words of a statement that it alone runs
    "begin": "%begin_writing%",
    "claim": "%SKIP LOCKED%",
    "keep": "%INSERT INTO body %",
    "settle": "%INSERT INTO reading %",
    "accept": "%UPDATE job %finished_ms%",
    "renew": "%UPDATE worker SET heartbeat_ms%",
}


@pytest.fixture
def four(tmp_path: Path) -> Iterator[Site]:
    reason = why_no_networks() or (None if binaries() else "no PostgreSQL was found on this machine")
    if reason is not None:
        pytest.skip(reason)
    with site(tmp_path, HOSTS, "--latency", LATENCY, "--answer-bytes", str(BYTES)) as made:
        yield made


class Chaos:
    """What goes wrong, one thing after another, by a seed."""

    def __init__(self, site: Site, seed: int) -> None:
        self.site, self.chance = site, random.Random(seed)
        self.played: Counter[str] = Counter()

    def play(self) -> None:
        """Everything once, in some order, and again until the time is over."""
        end_s = time.monotonic() + SECONDS
        while not self.played or time.monotonic() < end_s:
            faults = self.faults()
            self.chance.shuffle(faults)
            for fault in faults:
                fault()

    def faults(self) -> list[Callable[[], None]]:
        """One of each kind."""
        cuts = [
            lambda how=how, seconds=seconds: self.cut(how, seconds)
            for how in ("pulled", "switched off", "losing")
            for seconds in CUTS_S[: None if how == "losing" else 2]
        ]
        ends = [lambda step=step: self.end_connections(step) for step in STEPS]
        return [self.kill, self.kill, *cuts, *ends, *(lambda how=how: self.restart(how) for how in RESTARTS)]

    def kill(self) -> None:
        """kill -9 of a worker; its host starts another."""
        self.note("kill -9")
        self._keeper().kill()

    def cut(self, how: str, seconds: float) -> None:
        """No network between one host and the database for a while."""
        self.note(f"network {how}")
        with self._keeper().host.to_database.cuts[how]():
            time.sleep(seconds)  # the fault itself lasts so long

    def end_connections(self, step: str) -> None:
        """pg_terminate_backend of whoever is in that step; a minute's work meets each step many times."""
        if end_one_in(self.site.server, STEPS[step]):
            self.note(f"connection ended in {step}")

    def restart(self, how: signal.Signals) -> None:
        """The server stops and comes back."""
        self.note(f"server restarted {RESTARTS[how]}")
        self.site.server.restart(how)

    def note(self, words: str) -> None:
        self.played[words] += 1

    def _keeper(self) -> Keeper:
        return self.chance.choice(self.site.keepers)


RESTARTS = {signal.SIGINT: "fast", signal.SIGQUIT: "immediate"}
_END_ONE = """
CREATE OR REPLACE FUNCTION end_one_in(words TEXT) RETURNS BOOLEAN LANGUAGE plpgsql AS $$
DECLARE victim INT; until TIMESTAMPTZ := clock_timestamp() + INTERVAL '10 s';
BEGIN
    WHILE clock_timestamp() < until LOOP
        PERFORM pg_stat_clear_snapshot();
        SELECT pid INTO victim FROM pg_stat_activity WHERE query LIKE words AND pid <> pg_backend_pid()
            AND state IN ('active', 'idle in transaction') LIMIT 1;
        IF FOUND THEN RETURN pg_terminate_backend(victim); END IF;
        PERFORM pg_sleep(0.001);
    END LOOP;
    RETURN false;
END $$"""


def end_one_in(server: Server, words: str) -> bool:
    """End the connection of somebody who runs such a statement, or has just run it in a transaction still open."""
    server.run(_END_ONE)
    return bool(server.run(f"SELECT end_one_in('{words}')")[0][0])


@pytest.mark.timeout(7200 if LONG else 600)
def test_four_hosts_lose_and_double_nothing_whatever_fails(four: Site) -> None:
    asked = prompts(JOBS)
    four.product.import_prompts("shared", asked)
    four.work(*WORKER)
    wait_for(lambda: four.product.count("done") > HOSTS, "the hosts work")
    chaos = Chaos(four, seed=20)
    chaos.play()
    assert four.product.count("done") < JOBS, "the work ended before the chaos did: give it more"
    for keeper in four.keepers:
        keeper.join()

    check_ends(four)
    assert four.product.count("done") == JOBS
    four.product.check_invariants()
    four.product.run("verify", "--full")
    rows = [json.loads(line) for line in four.product.export("shared", "out.jsonl").split(b"\n")[:-1]]
    assert [row["sample_id"] for row in rows] == [f"s{number}" for number in range(JOBS)]
    for row, prompt in zip(rows, asked, strict=True):
        truth = answer_of(prompt, BYTES)
        assert (row["reasoning"], row["content"]) == (truth.reasoning, truth.content)
    tell(four, chaos)


def check_ends(four: Site) -> None:
    """Every host's last worker found nothing left to do; no fault of the database reached a person; no spool waits."""
    for keeper in four.keepers:
        said = keeper.said()
        assert keeper.ended[-1] == 0, (keeper.ended, said[-4000:])
        assert "Traceback" not in said
        assert "deadlock" not in said
        assert keeper.say("status")["spool"]["files"] == []


def tell(four: Site, chaos: Chaos) -> None:
    """What was played and what it came to, for whoever runs it with -s."""
    repeats = four.simulator.stats()["requests_a_prompt"]
    log = (four.server.folder / "log").read_text()
    print({  # noqa: T201
        "played": dict(chaos.played), "starts": [len(keeper.ended) for keeper in four.keepers],
        "requests_a_prompt": repeats, "deadlocks in the server": log.count("deadlock detected"),
        "spooled": sum(keeper.said().count(" spooling ") for keeper in four.keepers),
        "late": four.product.rows("SELECT sum(n) FROM counter WHERE metric = 'late'"),
        "attempts": four.product.rows("SELECT attempt, count(*) FROM job GROUP BY 1 ORDER BY 1"),
    })  # fmt: skip
