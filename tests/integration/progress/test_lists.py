"""Lists of samples: every order and every filter gives what a look at every job gives, page by page, without gap."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from app.progress import samples as module
from app.progress.filters import Filter, Listing, Sort
from app.progress.sample import sample
from app.progress.samples import Neighbour, SampleLine, samples
from app.store.store import Store
from tests.support.filled import START_MS, Filled, chat, every_kind, filled, thought

pytestmark = pytest.mark.anyio

ORDERS: dict[Sort, Callable[[SampleLine], Any]] = {
    Sort.ORDER: lambda line: (line.ordinal, line.replica),
    Sort.ID: lambda line: (line.sample_id, line.replica),
    Sort.NEWEST: lambda line: (-(line.finished_ms or 0), -line.job),
    Sort.OLDEST: lambda line: (line.finished_ms, line.job),
    Sort.LONGEST: lambda line: (-(line.reasoning_chars or 0), -line.job),
    Sort.SHORTEST: lambda line: (line.reasoning_chars, line.job),
}


def everything(_line: SampleLine) -> bool:
    return True


def nothing(_line: SampleLine) -> bool:
    return False


WANTED: tuple[tuple[Filter, Callable[[SampleLine], bool]], ...] = (
    (Filter(), everything),
    (Filter(state="done"), lambda line: line.state == "done"),
    (Filter(state="cancelled"), lambda line: line.state == "cancelled"),
    (Filter(verdict="truncated"), lambda line: line.verdict == "truncated"),
    (Filter(finish="stop"), lambda line: line.finish_reason == "stop"),
    (Filter(finish="length", found="neither"), lambda line: (line.finish_reason, line.found) == ("length", "neither")),
    (Filter(found="both"), lambda line: line.found == "both"),
    (Filter(flag="text_short_for_tokens"), lambda line: "text_short_for_tokens" in line.loss_flags),
    (Filter(flag="cut_upstream", verdict="missing"), lambda line: "cut_upstream" in line.loss_flags),
    (Filter(cause="timed_out"), lambda line: line.cause == "timed_out"),
    (Filter(q="s1"), lambda line: line.sample_id.startswith("s1")),
    (Filter(q=""), everything),
    (Filter(min_reasoning=8, max_reasoning=200), lambda line: 8 <= (line.reasoning_chars or 0) <= 200),
    (Filter(attempt_gt=0), lambda line: line.attempt > 0),
    (
        Filter(since=START_MS + 61_000, until=START_MS + 122_000),
        lambda line: START_MS + 61_000 <= (line.finished_ms or 0) < START_MS + 122_000,
    ),
    (
        Filter(state="done", verdict="missing", q="s", finish="stop", found="neither", attempt_gt=0, max_reasoning=9),
        nothing,  # what is missing has no length
    ),
    (
        Filter(state="done", verdict="split_from_content", since=START_MS + 1),
        lambda line: line.verdict == "split_from_content" and (line.finished_ms or 0) > START_MS,
    ),
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Filled]:
    async with filled(tmp_path / "t.db") as made:
        await every_kind(made)
        await made.answer_next("d", chat("\n\ncut"), chat("\n\ncut", counted=900), chat("t</think>a", counted=900))
        yield made


async def walk(store: Store, listing: Listing) -> list[SampleLine]:
    """All pages, one after another."""
    found: list[SampleLine] = []
    while True:
        page = await samples(store, "d", listing)
        found += page.lines
        if page.after is None:
            return found
        listing = Listing(listing.wanted, listing.sort, page.after, listing.per)


@pytest.mark.parametrize("searched", [3, 10_000])
async def test_every_filter_in_every_order_gives_each_job_once(
    at: Filled, monkeypatch: pytest.MonkeyPatch, searched: int
) -> None:
    every = await walk(at.store, Listing(per=500))
    assert len(every) == 80
    monkeypatch.setattr(module, "SEARCHED", searched)
    for sort, order in ORDERS.items():
        there = [line for line in every if line.place(sort) is not None]
        for wanted, fits in WANTED:
            expected = sorted((line for line in there if fits(line)), key=order)
            assert await walk(at.store, Listing(wanted, sort, per=4)) == expected, (sort, wanted)


async def test_a_page_that_searched_in_vain_says_so_and_goes_on(at: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SEARCHED", 10)
    first = await samples(at.store, "d", Listing(Filter(attempt_gt=99)))
    assert (first.lines, first.searched_all) == ((), False)
    assert str(first.after) == "5.1"
    assert (await samples(at.store, "d", Listing(Filter(verdict="truncated"), per=3))).searched_all


async def test_a_worker_finds_what_it_holds_and_what_it_answered(at: Filled) -> None:
    found = await walk(at.store, Listing(Filter(worker=at.worker)))
    assert {str(line.state) for line in found} == {"done", "leased"}
    assert len(found) == 29
    assert await walk(at.store, Listing(Filter(worker=at.worker + 1))) == []


async def test_neighbours_are_those_of_the_list_that_a_sample_was_opened_from(at: Filled) -> None:
    listing = Listing(Filter(verdict="missing"), Sort.NEWEST)
    lines = await walk(at.store, listing)
    assert len(lines) == 5
    around = []
    for line in lines:
        view = await sample(at.store, "d", line.sample_id, replica=line.replica, listing=listing)
        around.append((view.neighbours.previous, view.neighbours.next))
    keys = [None, *(Neighbour(line.sample_id, line.replica) for line in lines), None]
    assert around == list(zip(keys, keys[2:], strict=False))


async def test_a_sample_that_the_order_does_not_hold_has_no_neighbours(at: Filled) -> None:
    view = await sample(at.store, "d", "s40", listing=Listing(sort=Sort.NEWEST))
    assert (view.neighbours.previous, view.neighbours.next) == (None, None)


async def test_jobs_that_finished_in_the_same_moment_are_neither_lost_nor_doubled(at: Filled) -> None:
    await at.answer_next("d", *[thought(1)] * 9)
    moment = at.clock.ms
    found = await walk(at.store, Listing(Filter(since=moment, until=moment + 1), Sort.NEWEST, per=2))
    assert len({line.job for line in found}) == len(found) >= 9


async def test_ids_that_order_unlike_their_numbers_page_without_gap(tmp_path: Path) -> None:
    async with filled(tmp_path / "u.db") as at:
        await at.dataset("d", 120)
        found = await walk(at.store, Listing(Filter(q="s1"), Sort.ID, per=5))
        assert [line.sample_id for line in found] == sorted(f"s{n}" for n in range(1, 121) if str(n)[0] == "1")


async def test_one_attempt_holds_its_body_and_its_failure(at: Filled) -> None:
    (waiting,) = await walk(at.store, Listing(Filter(cause="malformed")))
    view = await sample(at.store, "d", waiting.sample_id, replica=waiting.replica)
    (attempt,) = view.attempts
    assert (attempt.standing, attempt.verdict, attempt.cause) == ("kept", "malformed", "malformed")
    assert (attempt.leased_ms, attempt.sent_ms, attempt.ended_ms) == (at.clock.ms, at.clock.ms - 1500, at.clock.ms)
    assert (attempt.body_bytes, attempt.worker, attempt.counted) == (len(b"<html>busy</html>"), at.worker, True)


async def test_an_attempt_without_a_body_says_why_it_failed(at: Filled) -> None:
    (failed,) = await walk(at.store, Listing(Filter(cause="rejected")))
    view = await sample(at.store, "d", failed.sample_id, replica=failed.replica)
    (attempt,) = view.attempts
    assert (attempt.response, attempt.verdict, attempt.cause, attempt.sent_ms) == (None, None, "rejected", None)
    assert (attempt.leased_ms, view.reassembly) == (at.clock.ms, None)


async def test_a_sample_shows_that_its_parts_join_to_the_servers_text(at: Filled) -> None:
    view = await sample(at.store, "d", "s1")
    assert view.reassembly is not None
    assert (view.reassembly.joined, view.reassembly.tag_at) == ("exact", len("think 0"))
    assert view.config == "{}"
