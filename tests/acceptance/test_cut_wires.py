"""Connections that are lost at a chosen message: a commit in doubt, and every statement that a worker sends."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import anyio
import anyio.to_thread
import asyncpg
import pytest
from sqlalchemy import select

from app.store.store import open_store
from app.store.tables import EVENT
from tests.acceptance.test_main_job import check_export, prompts
from tests.integration.store.kit import note
from tests.support.between import Cut, Wire, wire
from tests.support.postgres import Server, server
from tests.support.product import wait_for
from tests.support.simulator import Simulator
from tests.support.site import OnServer

JOBS = 40
COMMIT = b"COMMIT"
ORDINARY_CLAIM = b"job.deaths < "  # not that of jobs which are asked alone: there are none
TELLING = 60  # bytes that tell one statement from another, and not how many rows it has


@pytest.fixture(scope="module")
def behind() -> Server:
    return server()


@pytest.fixture
def cable(behind: Server) -> Iterator[Wire]:
    with wire(behind.port) as made:
        yield made


@pytest.mark.parametrize("where", list(Cut))
def test_a_commit_in_doubt_is_done_once_wherever_the_connection_was_lost(
    behind: Server, cable: Wire, where: Cut
) -> None:
    """Cut before COMMIT arrives nothing was done; cut after its answer all was, and the client cannot tell."""

    async def write() -> list[str]:
        async with open_store(by_way_of(cable, behind.empty()), create=True, patient=True) as store:
            await store.write(note, "before")
            cable.cut_at = lambda _kind, body: where if body.startswith(COMMIT) and cable.cuts == 0 else None
            await store.write(note, "in doubt")
            await store.write(note, "after")
            async with store.snapshot() as reads:
                return [row.kind for row in await reads.rows(select(EVENT.c.kind).order_by(EVENT.c.id))]

    assert anyio.run(write) == ["before", "in doubt", "after"]
    assert cable.cuts == 1


def by_way_of(cable: Wire, url: str) -> str:
    start, _, database = url.rpartition("/")
    return f"{start.rpartition(':')[0]}:{cable.port}/{database}"


@pytest.mark.parametrize("takes", ["SELECT begin_writing(true, '1s')", "SELECT begin_writing(false, '1s')"])
def test_a_host_that_falls_silent_in_a_transaction_keeps_the_others_out_for_ten_seconds_at_most(
    tmp_path: Path, behind: Server, takes: str
) -> None:
    """The server ends its transaction; an import, which waits to be alone for half a minute, goes through."""
    product = OnServer(tmp_path, behind)
    product.import_prompts("first", prompts(1))

    async def import_beside_silence() -> bool:
        silent = await asyncpg.connect(product.url)
        await silent.execute(f"BEGIN; {takes}")
        await anyio.to_thread.run_sync(product.import_prompts, "second", prompts(1))
        return bool(silent.is_closed())

    assert anyio.run(import_beside_silence)
    assert product.count("ready") == 2


@dataclass
class EveryCommit:
    """Each second COMMIT is lost, in turn before it arrives and after it was answered."""

    commits: Iterator[int] = field(default_factory=lambda: count(1))

    def __call__(self, _kind: bytes, body: bytes) -> Cut | None:
        if not body.startswith(COMMIT):
            return None
        number = next(self.commits)
        return None if number % 2 else (Cut.BEFORE, Cut.AFTER)[number // 2 % 2]


@dataclass
class EveryStatement:
    """Each statement is lost when it comes for the first time, in turn before it arrives and after it was answered."""

    seen: set[bytes] = field(default_factory=set)
    _last: bytes = b""

    def __call__(self, kind: bytes, body: bytes) -> Cut | None:
        if kind == b"P":
            self._last = body
        statement = {b"Q": body, b"S": self._last}.get(kind)  # a simple query, or the end of an extended one
        if statement is None or statement[:TELLING] in self.seen:
            return None
        self.seen.add(statement[:TELLING])
        return (Cut.BEFORE, Cut.AFTER)[len(self.seen) % 2]


@dataclass
class FirstClaim:
    """The first claim is committed, its answer is lost, and nobody gets through for longer than a claim is held."""

    cable: Wire
    claiming: bool = False

    def __call__(self, kind: bytes, body: bytes) -> Cut | None:
        self.claiming = self.claiming or (kind == b"P" and ORDINARY_CLAIM in body)
        if not (self.claiming and body.startswith(COMMIT)) or self.cable.cuts:
            return None
        self.cable.cut_for(1.0)
        return Cut.AFTER


@pytest.mark.timeout(900)
def test_leases_of_a_claim_that_was_given_up_and_committed_go_back_to_the_queue(
    tmp_path: Path, behind: Server, cable: Wire
) -> None:
    """The worker lives, so nobody would rescue them before their deadline in two hours."""
    product = OnServer(tmp_path, behind)
    product.import_prompts("d", prompts(8))
    far = ("--db", by_way_of(cable, product.url))
    cable.cut_at = FirstClaim(cable)
    with Simulator() as simulator:
        product.finish(simulator.url, "--concurrency", "8", "--spool-after", "0.2s", *far)
    assert cable.cuts == 1
    assert product.rows("SELECT state, attempt, tries, expiries, count(*) FROM job GROUP BY 1, 2, 3, 4") == [
        ("done", 2, 0, 0, 8)
    ]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("cuts", [EveryCommit(), EveryStatement()], ids=["commits", "statements"])
def test_a_worker_whose_connections_are_lost_asks_each_prompt_once_and_stores_each_answer_once(
    tmp_path: Path, behind: Server, cable: Wire, cuts: EveryCommit | EveryStatement
) -> None:
    asked = prompts(JOBS)
    product = OnServer(tmp_path, behind)
    product.import_prompts("d", asked)
    far = ("--db", by_way_of(cable, product.url))
    with Simulator("--latency", "uniform:0.02,0.1") as simulator:
        with product.worker(simulator.url, "--until-empty", "--concurrency", "8", *far) as running:
            wait_for(lambda: "endpoint_up" in running.said(), "the worker has started")
            cable.cut_at = cuts
            said = running.wait(0)
        repeats = simulator.stats()["requests_a_prompt"]
    assert cable.cuts > 10
    assert repeats == {"1": JOBS}
    assert "deadlock" not in said
    product.check_invariants()
    product.run("verify", "--full")
    check_export(product.export("d", "out.jsonl"), asked)
