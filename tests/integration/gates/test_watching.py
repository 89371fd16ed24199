"""A hold comes with the answer that caused it, in one transaction, whoever settled it."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from sqlalchemy import text

from app.gates.ending import judge_unfinished
from app.gates.resume import resume
from app.leasing.holds import HoldKind, HoldRequest, LiftRequest, hold, standing
from app.leasing.remaining import remaining
from app.model.ids import DatasetId
from app.model.verdicts import Verdict
from app.responses.endpoints import EndpointIdentity, see
from app.store.store import Store, open_store
from app.store.transaction import Tx
from tests.integration.store.kit import run
from tests.support.filled import LOST, Filled, chat, filled, thought
from tests.support.kinds import db

MISSING = LOST[Verdict.MISSING]
NO_ANSWER = b'{"error": "upstream failed"}'


def watching(tmp_path: Path, work: Callable[[Filled], Awaitable[None]]) -> None:
    """Work in a new store whose answers are watched."""

    async def opened() -> None:
        async with filled(tmp_path / "t.db") as room:
            room.watched = True
            await work(room)

    run(opened)


async def rows(store: Store, sql: str) -> list[tuple[Any, ...]]:
    async with store.snapshot() as reads:
        return [tuple(row) for row in await reads.rows(text(sql))]


async def answer_all(room: Filled, name: str, bodies: Sequence[bytes]) -> None:
    """Claim a job for each body first, then answer: what is in flight at a hold comes in."""
    leases = await room.claim(len(bodies), name)
    assert len(leases) == len(bodies)
    for lease, body in zip(leases, bodies, strict=True):
        await room.answer(lease, body)


async def held(room: Filled) -> set[tuple[str, str]]:
    return {(one.name, one.kind) for one in await standing(room.store)}


def test_a_job_whose_failures_were_counted_holds_nothing_by_its_next_broken_body(tmp_path: Path) -> None:
    """It failed while the server answered others: it says something of the job and nothing new of the server."""

    async def work(room: Filled) -> None:
        dataset = await room.dataset("last", 4)
        await answer_all(room, "last", [NO_ANSWER] * 4)
        assert await held(room) == {("last", HoldKind.GATE)}
        await room.store.write(resume, LiftRequest(dataset, tuple(HoldKind)))
        room.clock.ms += 120_000
        await answer_all(room, "last", [NO_ANSWER] * 4)
        assert await held(room) == set()
        assert await rows(room.store, "SELECT DISTINCT tries FROM job") == [(2,)]

    watching(tmp_path, work)


def test_the_second_answer_without_reasoning_holds_and_no_claim_follows(tmp_path: Path) -> None:
    async def work(room: Filled) -> None:
        await room.dataset("lost", 40)
        await room.dataset("other", 40)
        await answer_all(room, "lost", [MISSING])
        assert await held(room) == set()
        assert len(await room.claim(3, "lost")) == 3
        await answer_all(room, "lost", [MISSING])
        assert await held(room) == {("lost", "gate")}
        assert await room.claim(10, "lost") == []
        assert len(await room.claim(10)) == 10  # of the other one
        (one,) = await standing(room.store)
        assert one.reason.startswith("0 of the first 2 answers captured, 2 missing (needs 19 of 20).")
        assert await rows(room.store, "SELECT kind, state, holds, part, whole FROM alarm ORDER BY kind") == [
            ("gate", "open", 1, 0, 2),
            ("lost_any", "open", 0, 2, 2),
        ]

    watching(tmp_path, work)


def test_no_reader_ever_sees_the_answers_without_the_hold(tmp_path: Path) -> None:
    """Sixty-four answers settle at once, in groups of the writer's own choice."""
    seen: set[tuple[int, int]] = set()

    async def watch(room: Filled) -> None:
        both = "SELECT (SELECT count(*) FROM job WHERE verdict = 'missing'), (SELECT count(*) FROM hold)"
        while (2, 0) not in seen and max(seen, default=(0, 0))[0] < 64:
            seen.update(await rows(room.store, both))  # type: ignore[arg-type]

    async def work(room: Filled) -> None:
        await room.dataset("lost", 200)
        leases = await room.claim(64, "lost")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch, room)
            for lease in leases:
                tasks.start_soon(room.answer, lease, MISSING)
        assert len(await rows(room.store, "SELECT 1 FROM hold")) == 1

    watching(tmp_path, work)
    assert {missing for missing, holds in seen if holds == 0} <= {0, 1}
    assert max(seen) == (64, 1)


def test_workers_with_stores_of_their_own_agree(tmp_path: Path) -> None:
    async def work(room: Filled) -> None:
        await room.dataset("shared", 40)
        async with open_store(db(tmp_path / "t.db"), now_ms=room.clock.now_ms) as other:
            second = Filled(other, room.clock, room.worker, room.endpoint, room.thinking, watched=True)
            await answer_all(room, "shared", [MISSING])
            await answer_all(second, "shared", [thought(1)])
            await answer_all(second, "shared", [MISSING])
            assert await room.claim(5) == await second.claim(5) == []
        assert await held(room) == {("shared", "gate")}
        assert await rows(room.store, "SELECT first, recent FROM gate_window") == [("mcm", "mcm")]

    watching(tmp_path, work)


def test_watching_costs_two_statements_whatever_the_number_of_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    for name in ("rows", "run", "many"):
        original = getattr(Tx, name)

        async def counted(self: Tx, statement: Any, params: Any = None, _run: Any = original) -> Any:
            if "gate_window" in str(statement) or "alarm" in str(statement):
                ran.append(str(statement)[:6])
            return await _run(self, statement, params)

        monkeypatch.setattr(Tx, name, counted)

    async def work(room: Filled) -> None:
        await room.dataset("many", 100)
        await answer_all(room, "many", [thought(1)])
        assert ran == ["SELECT", "INSERT"]
        leases = await room.claim(64, "many")
        ran.clear()
        async with anyio.create_task_group() as tasks:
            for lease in leases:
                tasks.start_soon(room.answer, lease, thought(2))
        assert len(await rows(room.store, "SELECT 1 FROM response")) == 65
        assert len(ran) <= 2 * 5 + 1  # a few groups, and once the end of a server's alarms

    watching(tmp_path, work)


def test_an_answer_is_counted_once_and_an_imported_one_never(tmp_path: Path) -> None:
    async def work(room: Filled) -> None:
        await room.dataset("once", 40)
        (lease,) = await room.claim(1, "once")
        await room.answer(lease, MISSING)
        await room.answer(lease, MISSING)
        room.watched = False  # as an import settles: no server of ours
        await answer_all(room, "once", [MISSING] * 5)
        assert await rows(room.store, "SELECT recent FROM gate_window") == [("m",)]
        assert await held(room) == set()

    watching(tmp_path, work)


def test_bodies_that_are_no_answers_count_for_the_gate_and_not_for_the_rate(tmp_path: Path) -> None:
    async def work(room: Filled) -> None:
        await room.dataset("broken", 60)
        leases = await room.claim(41, "broken")
        for lease in leases[:38]:
            await room.answer(lease, thought(1))
        assert await held(room) == set()
        for lease in leases[38:]:
            await room.answer(lease, NO_ANSWER)
        assert await held(room) == {("broken", "alarm")}
        assert await rows(room.store, "SELECT kind, part, whole FROM alarm") == [("unreadable", 3, 20)]

    watching(tmp_path, work)


def test_thinking_that_is_off_is_never_held_for_missing_reasoning(tmp_path: Path) -> None:
    async def work(room: Filled) -> None:
        await room.dataset("instant", 40, thinking=False)
        await answer_all(room, "instant", [chat("an answer")] * 30)
        assert await held(room) == set()
        assert await rows(room.store, "SELECT first, recent FROM gate_window") == [("", "n" * 30)]

    watching(tmp_path, work)


def test_resume_begins_the_windows_anew_and_ends_the_alarms(tmp_path: Path) -> None:
    async def work(room: Filled) -> None:
        dataset = await room.dataset("again", 200)
        await answer_all(room, "again", [MISSING] * 2)
        room.clock.ms += 60_000
        assert await room.store.write(resume, LiftRequest(dataset)) == 1
        assert await rows(room.store, "SELECT * FROM gate_window") == []
        assert await rows(room.store, "SELECT DISTINCT state FROM alarm") == [("cleared",)]
        await answer_all(room, "again", [*[thought(1)] * 19, MISSING])
        assert await held(room) == set()
        await answer_all(room, "again", [MISSING] * 11)
        assert await held(room) == {("again", "alarm")}
        again = await rows(room.store, "SELECT kind, state, since_ms FROM alarm WHERE kind IN ('gate', 'lost_any')")
        assert sorted(again) == [
            ("gate", "cleared", room.clock.ms - 60_000),
            ("lost_any", "open", room.clock.ms),
        ]

    watching(tmp_path, work)


def test_lifting_the_gate_leaves_a_person_s_pause(tmp_path: Path) -> None:
    async def work(room: Filled) -> None:
        dataset = await room.dataset("paused", 20)
        await answer_all(room, "paused", [MISSING] * 2)
        await room.store.write(hold, HoldRequest(dataset, HoldKind.PERSON, "lunch"))
        assert await room.store.write(resume, LiftRequest(dataset, (HoldKind.GATE, HoldKind.ALARM))) == 1
        assert await held(room) == {("paused", "person")}

    watching(tmp_path, work)


def test_a_warning_is_one_row_with_newer_numbers_and_ends_by_itself(tmp_path: Path) -> None:
    async def work(room: Filled) -> None:
        await room.dataset("low", 200)
        await answer_all(room, "low", [thought(1)] * 50)
        await answer_all(room, "low", [MISSING] * 3)
        room.clock.ms += 1000
        await answer_all(room, "low", [MISSING])
        low = "SELECT state, holds, part, whole, last_ms - since_ms FROM alarm WHERE kind = 'capture_low'"
        assert await rows(room.store, low) == [("open", 0, 46, 50, 1000)]
        await answer_all(room, "low", [thought(1)] * 50)
        assert (await rows(room.store, low))[0][:2] == ("cleared", 0)
        assert await held(room) == set()

    watching(tmp_path, work)


def test_the_end_of_a_run_holds_a_small_dataset_that_is_all_lost(tmp_path: Path) -> None:
    async def work(room: Filled) -> None:
        await room.dataset("one", 1)
        await room.dataset("fine", 3)
        await answer_all(room, "one", [MISSING])
        await answer_all(room, "fine", [thought(1)] * 3)
        assert await room.store.write(judge_unfinished, frozenset({"fine"})) == 0
        assert (await remaining(room.store, None)).gated == 0
        assert await room.store.write(judge_unfinished, None) == 1
        assert await held(room) == {("one", "gate")}
        assert (await remaining(room.store, None)).gated == 1
        assert (await remaining(room.store, frozenset({"fine"}))).gated == 0

    watching(tmp_path, work)


def test_a_dataset_that_has_jobs_to_ask_is_not_judged_at_the_end_of_a_run(tmp_path: Path) -> None:
    """Else `--until-empty` would hold, as lost, what a person paused after its first answer."""

    async def work(room: Filled) -> None:
        await room.dataset("paused", 2)
        await answer_all(room, "paused", [MISSING])
        assert await room.store.write(judge_unfinished, None) == 0
        assert await held(room) == set()

    watching(tmp_path, work)


def test_each_server_has_a_gate_of_its_own(tmp_path: Path) -> None:
    """One of eight servers without its parser would be hidden in a common rate."""

    async def work(room: Filled) -> None:
        await room.dataset("fleet", 400)
        first = room.endpoint
        await answer_all(room, "fleet", [thought(1)] * 100)
        room.endpoint = await room.store.write(see, EndpointIdentity("http://other:1/v1", "kimi", {"version": "0.5.8"}))
        await answer_all(room, "fleet", [MISSING])
        room.endpoint = first
        await answer_all(room, "fleet", [thought(1)] * 7)
        assert await held(room) == set()
        room.endpoint = await room.store.write(see, EndpointIdentity("http://other:1/v1", "kimi", {"version": "0.5.8"}))
        await answer_all(room, "fleet", [MISSING])
        assert await held(room) == {("fleet", "gate")}

    watching(tmp_path, work)


def test_a_changed_server_is_an_alarm_until_a_gate_has_passed_on_it(tmp_path: Path) -> None:
    url = "http://server:30000/v1"

    async def work(room: Filled) -> None:
        changed = "SELECT state, message FROM alarm WHERE kind = 'server_changed'"
        await room.dataset("moved", 60)
        assert await room.store.write(see, EndpointIdentity(url, "kimi", {"version": "0.5.23"})) == room.endpoint
        assert await rows(room.store, changed) == []
        room.clock.ms += 1000
        room.endpoint = await room.store.write(see, EndpointIdentity(url, "kimi", {"version": "0.5.24"}))
        (alarm,) = await rows(room.store, changed)
        assert alarm[0] == "open"
        assert alarm[1].startswith(f"{url} is not the server it was: version 0.5.24; before: version 0.5.23.")
        await answer_all(room, "moved", [thought(1)] * 20)
        assert (await rows(room.store, changed))[0][0] == "cleared"

    watching(tmp_path, work)


def test_a_body_of_a_job_claimed_before_the_hold_is_kept_and_its_prompt_says_held(tmp_path: Path) -> None:
    from app.leasing.claim import prompts_of

    async def work(room: Filled) -> None:
        dataset: DatasetId = await room.dataset("late", 20)
        (lease,) = await room.claim(1)
        assert not (await prompts_of(room.store, [lease]))[lease.job].held
        await room.store.write(hold, HoldRequest(dataset, HoldKind.GATE, "why"))
        assert (await prompts_of(room.store, [lease]))[lease.job].held
        assert await room.answer(lease, thought(1))

    watching(tmp_path, work)
