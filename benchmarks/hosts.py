"""Several hosts at one store: each a process that begins at the same moment as the others."""

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import anyio
import anyio.to_thread

from app.leasing.release import release
from app.responses.endpoints import EndpointIdentity, see
from benchmarks import cycle, data
from benchmarks.measuring import Meter, Spent, in_child

_LOOK_S = 0.005


def together(
    work: object, hosts: int, folder: Path, *arguments: object, meanwhile: AbstractContextManager[object] | None = None
) -> list[Spent]:
    """The same work in so many processes at once; they begin when all are ready, and leave when all have ended.

    `meanwhile` lasts as long as all are at work.
    """
    meeting = folder / f"meeting-{time.monotonic_ns()}"
    meeting.mkdir()
    with ThreadPoolExecutor(hosts) as threads:
        begun = [
            threads.submit(in_child, work, str(meeting), hosts, number, *arguments)  # type: ignore[arg-type]
            for number in range(hosts)
        ]
        _until(meeting, "ready", hosts, begun)
        with meanwhile or nullcontext():
            _until(meeting, "done", hosts, begun)
        return [one.result() for one in begun]


def _until(meeting: Path, what: str, hosts: int, begun: Sequence[Future[Spent]]) -> None:
    while sum(1 for _ in meeting.glob(f"{what}-*")) < hosts and not any(one.done() for one in begun):
        time.sleep(_LOOK_S)


def _meet(meeting: str, what: str, hosts: int, number: int) -> None:
    (Path(meeting) / f"{what}-{number}").touch()
    _until(Path(meeting), what, hosts, ())


def claims_of(meeting: str, hosts: int, number: int, url: str, claims: int) -> Spent:
    """Claim 64 and give them back, so often; the seconds of each claim alone."""
    spent: Spent = cycle.run(_claims, meeting, hosts, number, url, claims)  # type: ignore[assignment]
    return spent


async def _claims(meeting: str, hosts: int, number: int, url: str, claims: int) -> Spent:
    seconds = []
    async with cycle.opened(url) as at:
        await _give_back(at, await at.claim())
        await anyio.to_thread.run_sync(_meet, meeting, "ready", hosts, number)
        with Meter() as meter:
            for _ in range(claims):
                begun = time.perf_counter()
                leases = await at.claim()
                seconds.append(time.perf_counter() - begun)
                assert len(leases) == cycle.BATCH
                await _give_back(at, leases)
        await anyio.to_thread.run_sync(_meet, meeting, "done", hosts, number)
    return meter.spent(seconds)


async def _give_back(at: cycle.Cycle, leases: Sequence[object]) -> None:
    async with anyio.create_task_group() as tasks:
        for lease in leases:
            tasks.start_soon(at.store.write, release, lease)


def completions_of(meeting: str, hosts: int, number: int, url: str, jobs: int, model_servers: int) -> Spent:
    """Claim, store and settle so many answers of 8 KB, 64 at a time; the seconds of all.

    They come from as many model servers: one a host, or one for all of them.
    """
    spent: Spent = cycle.run(_completions, meeting, hosts, number, url, jobs, model_servers)  # type: ignore[assignment]
    return spent


async def _completions(meeting: str, hosts: int, number: int, url: str, jobs: int, model_servers: int) -> Spent:
    answers = [cycle.answer(place, packed=False) for place in range(jobs)]
    async with cycle.opened(url) as at:
        beside = EndpointIdentity(f"http://gpu{number % model_servers}:30000/v1", "kimi-k2.5", {"version": "0"})
        at.endpoint = await at.store.write(see, beside)
        await at.complete(await at.claim(), answers[: cycle.BATCH])  # statements are built, the parser is noted
        await anyio.to_thread.run_sync(_meet, meeting, "ready", hosts, number)
        with Meter() as meter:
            for batch in data.batches(answers, cycle.BATCH):
                await at.complete(await at.claim(len(batch)), batch)
        await anyio.to_thread.run_sync(_meet, meeting, "done", hosts, number)
    return meter.spent()


async def fill(url: str, jobs: int) -> None:
    """A store with so many prompts to ask."""
    async with cycle.opened(url) as at:
        for batch in data.batches(range(jobs), 1024):
            await at.enqueue([cycle.row(number) for number in batch])
