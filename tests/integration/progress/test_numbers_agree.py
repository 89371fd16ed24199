"""Every number of every page is what plain SQL counts, in a store with every state and every verdict."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from app.leasing.retry import Retry, Selection, retry, select
from app.model.found import Found
from app.model.lease import Cause
from app.model.states import JobState
from app.model.verdicts import Verdict
from app.progress.dataset_page import DatasetPage, dataset_counts, dataset_page
from app.progress.filters import EVERYTHING, Filter, Listing
from app.progress.gathering import overview
from app.progress.overview import Liveness
from app.progress.samples import samples
from app.progress.series import Span
from app.progress.workers import workers_page
from app.store.store import Store
from tests.support.filled import Filled, every_kind, filled, thought

pytestmark = pytest.mark.anyio

D = "dataset_id = (SELECT id FROM dataset WHERE name = 'd')"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def counted(store: Store, sql: str) -> list[tuple[Any, ...]]:
    async with store.snapshot() as reads:
        return [tuple(row) for row in await reads.rows(text(sql))]


async def count(store: Store, where: str) -> int:
    return int((await counted(store, f"SELECT count(*) FROM job WHERE {D} AND {where}"))[0][0])


async def listed(store: Store, **words: Any) -> int:
    """How many samples a filter lists, over all pages."""
    found, listing = 0, Listing(Filter(**words), Filter(**words).sort, per=7)
    while True:
        page = await samples(store, "d", listing)
        found += len(page.lines)
        if page.after is None:
            return found
        listing = Listing(listing.wanted, listing.sort, page.after, per=7)


async def check(store: Store) -> DatasetPage:
    page = await dataset_page(store, "d", span=Span.SIX_HOURS)
    await check_states(store, page)
    await check_verdicts(store, page)
    await check_triage(store, page)
    await check_lengths(store, page)
    await check_series(store, page)
    await check_errors(store, page)
    return page


async def check_states(store: Store, page: DatasetPage) -> None:
    tally = page.progress.tally
    for state in JobState:
        assert tally.state(state) == await count(store, f"state = '{state}'") == await listed(store, state=state)
    assert tally.adds_up
    assert tally.tokens == (
        await counted(store, f"SELECT coalesce(sum(completion_tokens), 0) FROM job WHERE {D} AND state = 'done'")
    )[0][0]  # fmt: skip
    late = "SELECT count(*) FROM response JOIN job ON job.id = job_id WHERE late = 1 AND " + D
    assert tally.late == (await counted(store, late))[0][0]


async def check_verdicts(store: Store, page: DatasetPage) -> None:
    table = page.verdicts
    for row in table.rows:
        done = f"state = 'done' AND verdict = '{row.verdict}'"
        assert row.expected == await count(store, f"{done} AND expected = 1")
        assert row.unexpected == await count(store, f"{done} AND expected = 0")
        assert row.expected + row.unexpected == await listed(store, state="done", verdict=row.verdict)
    captured = "verdict IN ('captured_field', 'split_from_content')"
    rated = "state = 'done' AND expected = 1 AND verdict IN"
    assert table.capture.part == await count(store, f"state = 'done' AND expected = 1 AND {captured}")
    assert table.capture.whole == await count(
        store, f"{rated} ('captured_field', 'split_from_content', 'missing', 'leaked')"
    )
    assert table.truncated.part == await count(store, f"{rated} ('truncated')")
    assert table.capture.whole + table.truncated.part + table.unexpected + table.other == table.done
    assert table.done == page.progress.tally.state(JobState.DONE)


async def check_triage(store: Store, page: DatasetPage) -> None:
    for row in page.triage.rows:
        for found, jobs in row.cells.items():
            wanted = {"state": "done", "finish": row.finish, "found": found}
            where = f"state = 'done' AND finish_reason = '{row.finish}' AND found = '{found}'"
            assert jobs == await count(store, where) == await listed(store, **wanted)
    assert sum(row.jobs for row in page.triage.rows) + page.triage.others == page.verdicts.done
    assert page.triage.others == 0


async def check_lengths(store: Store, page: DatasetPage) -> None:
    for one in page.histogram.bins:
        most = "" if one.most is None else f" AND reasoning_chars <= {one.most}"
        bounds = {"min_reasoning": one.least} | ({} if one.most is None else {"max_reasoning": one.most})
        where = f"state = 'done' AND reasoning_chars >= {one.least}{most}"
        assert one.jobs == await count(store, where) == await listed(store, state="done", **bounds)
    assert page.histogram.without == await count(store, "state = 'done' AND coalesce(reasoning_chars, 0) = 0")


async def check_series(store: Store, page: DatasetPage) -> None:
    for point in page.series.points:
        within = f"finished_ms >= {point.start_ms} AND finished_ms < {point.start_ms + page.series.step_ms}"
        rated = "state = 'done' AND expected = 1 AND verdict IN"
        captured = "('captured_field', 'split_from_content')"
        assert point.done == await count(store, f"state = 'done' AND {within}")
        assert point.failed == await count(store, f"state = 'failed' AND {within}")
        assert point.captured == await count(store, f"{rated} {captured} AND {within}")
        graded = f"{rated} ('captured_field', 'split_from_content', 'missing', 'leaked') AND {within}"
        assert point.graded == await count(store, graded)
    assert sum(point.done for point in page.series.points) == page.verdicts.done


async def check_errors(store: Store, page: DatasetPage) -> None:
    for total in page.errors.causes:
        failed = f"state = 'failed' AND cause = '{total.cause}'"
        assert total.failed_jobs == await count(store, failed)
        assert total.failed_jobs == await listed(store, state="failed", cause=total.cause)
        of_cause = (
            f"SELECT count(*) FROM failure JOIN job ON job.id = job_id WHERE {D} AND failure.cause = '{total.cause}'"
        )
        assert total.attempts == (await counted(store, of_cause))[0][0]
    assert {total.cause for total in page.errors.causes} >= {Cause.REJECTED, Cause.TIMED_OUT, Cause.MALFORMED}
    for group in page.errors.groups:
        rows = f"SELECT count(*), max(at_ms), min(at_ms) FROM failure WHERE group_id = {group.id}"
        assert (await counted(store, rows))[0] == (group.attempts, group.last_ms, group.first_ms)
        lately = f"SELECT count(*) FROM failure WHERE group_id = {group.id} AND at_ms >= {page.as_of_ms - 3_600_000}"
        assert group.last_hour == (await counted(store, lately))[0][0]


async def test_every_number_of_a_dataset_is_what_sql_counts(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await every_kind(at)
        page = await check(at.store)
        whole = await overview(at.store)
        counts = await dataset_counts(at.store, "d")
        assert page.samples == await samples(at.store, "d", EVERYTHING)
    tally = page.progress.tally
    assert all(tally.state(state) for state in JobState)
    assert all(
        tally.verdict(verdict) for verdict in Verdict if verdict not in (Verdict.MALFORMED, Verdict.NONE_EXPECTED)
    )
    assert {found for row in page.triage.rows for found, jobs in row.cells.items() if jobs} == set(Found)
    assert (page.progress, page.verdicts, page.triage) == (counts.progress, counts.verdicts, counts.triage)
    assert page.progress == next(dataset for dataset in whole.datasets if dataset.name == "d")


async def test_numbers_agree_after_a_retry_and_new_answers(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        dataset = await every_kind(at)
        again = Selection(verdicts=(Verdict.MISSING, Verdict.TRUNCATED))
        assert await retry(at.store, Retry(dataset, again), await select(at.store, dataset, again)) == 6
        await check(at.store)
        at.clock.ms += 301_000
        await at.answer_next("d", *[thought(number) for number in range(5)])
        await check(at.store)


async def test_a_dataset_without_thinking_has_its_answers_in_no_rate(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await every_kind(at)
        page = await dataset_page(at.store, "d-off")
    assert (page.verdicts.done, page.verdicts.unexpected, page.verdicts.capture.whole) == (3, 3, 0)
    assert sum(row.jobs for row in page.triage.rows) == 3


async def test_the_workers_page_counts_what_workers_hold_and_brought(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await every_kind(at)
        page = await workers_page(at.store)
        held = await counted(at.store, "SELECT count(*), min(leased_ms) FROM job WHERE state = 'leased'")
        brought = await counted(at.store, "SELECT count(*) FROM response WHERE worker_id IS NOT NULL")
        failed = await counted(at.store, "SELECT count(*) FROM failure")
    (worker,) = page.workers
    assert (worker.leases, worker.oldest_lease_ms) == held[0] == (2, at.clock.ms)
    assert page.leases == len(page.oldest) == 2
    assert (worker.failed_last_hour, worker.liveness) == (failed[0][0], Liveness.DEAD)  # it has not beaten for 3 min
    assert worker.rate.completions <= brought[0][0]
    assert [(card.base_url, card.version, card.current) for card in page.endpoints] == [
        ("http://server:30000/v1", "0.5.23", True)
    ]


async def test_failures_that_differ_in_numbers_are_one_group_with_its_latest_example(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 3)
        leases = await at.claim(3)
        for lease, tokens in zip(leases, (8193, 9000, 70000), strict=True):
            await fail_with(at, lease, f"the prompt has {tokens} tokens")
            at.clock.ms += 1000
        at.clock.ms += 3_600_000
        errors = (await dataset_counts(at.store, "d")).errors
    (group,) = errors.groups
    assert (group.message, group.attempts, group.http_status) == ("the prompt has N tokens", 3, 400)
    assert (group.last_hour, group.last_hour_cut) == (0, False)
    assert group.example is not None
    assert (group.example.sample_id, group.example.message) == ("s3", "the prompt has 70000 tokens")
    assert [(total.cause, total.failed_jobs) for total in errors.causes] == [(Cause.REJECTED, 3)]


async def fail_with(at: Filled, lease: Any, message: str) -> None:
    from app.leasing.settle import fail
    from app.model.lease import Failure, Settle

    await at.store.write(fail, Failure(lease, Cause.REJECTED, message, Settle.GIVE_UP, counted=True, http_status=400))


async def test_a_server_whose_every_message_is_another_does_not_fill_the_store_with_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.leasing.failure_groups.MOST_GROUPS", 3)
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 6)
        for lease, word in zip(await at.claim(6), ("a", "b", "c", "d", "e", "a"), strict=True):
            await fail_with(at, lease, f"no {word * 3}!")
        groups = (await dataset_counts(at.store, "d")).errors.groups
    assert {group.message: group.attempts for group in groups} == {
        "no aaa!": 2, "no bbb!": 1, "no ccc!": 1, "(other messages)": 2,
    }  # fmt: skip
