"""A store with every kind of job in it, and verifications of it."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from app.model.lease import Settle
from app.store.store import Store, open_store
from app.verify.findings import Finding, Report
from app.verify.verifying import Told, verify
from tests.integration.leasing.kit import execute
from tests.integration.store.kit import run
from tests.support.cancelling import cancel
from tests.support.filled import Filled, chat, filled, thought
from tests.support.kinds import db, kind
from tests.support.postgres import server

NO_ANSWER = b'{"error": "busy'
STREAMED = chat("a" * 3000 + "</think>" + "b" * 3000)


async def fill(at: Filled) -> None:
    """Jobs in every state, with and without earlier answers; late, malformed and superseded responses."""
    await at.dataset("first", 12)
    await at.dataset("second", 2, replicas=2, thinking=False)
    at.watched = True
    await at.answer_next("first", thought(1), STREAMED)  # s1, s2
    at.watched = False  # or the gate would hold the rest
    await at.answer_next("first", chat("no thought"), chat("cut", finish="length"))  # s3, s4
    (given_up, postponed, malformed, cancelled) = await at.claim(4, "first")  # s5 to s8
    await at.fail(given_up)
    await at.fail(postponed, settle_as=Settle.POSTPONE)
    assert not await at.answer(malformed, NO_ANSWER)
    await at.store.write(cancel, cancelled.job)
    assert not await at.answer(cancelled, thought(8))  # late
    await at.claim(1, "first")  # s9 stays leased
    at.clock.ms += 120_000
    await at.store.write(execute, "UPDATE job SET state = 'ready' WHERE sample_id = 's1' AND dataset_id = 1")
    (again,) = await at.claim(1, "first")
    assert await at.answer(again, thought(100))  # s1 has a superseded answer
    await at.store.write(execute, "UPDATE job SET state = 'ready' WHERE sample_id = 's2' AND dataset_id = 1")
    await at.answer_next("second", chat("plain"))


async def look(store: Store, *, full: bool = True) -> tuple[Report, list[Finding]]:
    """One verification: its report and what it found."""
    found: list[Finding] = []
    report = await verify(store, Told(found.append), full=full)
    return report, found


def _make_filled(path: Path | str) -> None:
    async def work() -> None:
        async with filled(path) as at:
            await fill(at)

    run(work)


@cache
def _template() -> bytes:
    """The file of such a store, made once."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.db"
        _make_filled(path)
        return path.read_bytes()


@cache
def _template_database() -> str:
    """The same on a server."""
    url = server().empty()
    _make_filled(url)
    return url.rsplit("/", 1)[1]


def make_filled(path: Path) -> None:
    """A store with every kind of job at `path`."""
    if kind() == "sqlite":
        path.write_bytes(_template())
    else:
        server().copy(str(path), _template_database())


def verified(path: Path, *changes: str, full: bool = True) -> tuple[Report, list[str]]:
    """The lines of a verification, after SQL of the test's own was run by the store's writer."""

    async def work() -> tuple[Report, list[str]]:
        async with open_store(db(path)) as store:
            for change in changes:
                await store.write(execute, change)
            report, found = await look(store, full=full)
            return report, [finding.line for finding in found]

    return run(work)
