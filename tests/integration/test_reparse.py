"""A better parser mends stored answers: readings as an older, broken one made them are repaired from the bodies."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.capture import PARSER_VERSION, Reading
from app.leasing.datasets import dataset_of
from app.model.lease import Settle
from app.model.loss_flags import LossFlag
from app.model.verdicts import Verdict
from app.progress.gathering import overview
from app.responses import rereading, statements_stored
from app.responses.rereading import Reparse, reparse
from app.responses.rewriting import Rewrite, rewrite
from app.responses.transitions import Transition
from app.store.batch import bind_rows
from tests.integration.reparse_kit import again, answer, answers, execute, in_filled, rows
from tests.support.filled import Filled, chat, thought
from tests.support.product import Product

MISSING_TO_SPLIT = Transition(Verdict.MISSING, Verdict.SPLIT_FROM_CONTENT, accepted=True)


def old_bug(reading: Reading) -> Reading:
    """What a parser saw that only looked at the reasoning field: `reasoning or ""`."""
    whole = (reading.reasoning or "") + "</think>" + (reading.content or "")
    lost = {
        "loss_flags": frozenset(),
        "verdict": Verdict.MISSING,
        "flags": frozenset({"no_trace"}),
        "reasoning": None,
        "content": whole,
    }
    return replace(reading, parts=None, choices=(), **lost)


def no_answer(_reading: Reading) -> Reading:
    """What a parser saw that took a body for none."""
    return Reading(Verdict.MALFORMED, frozenset({"bad_content_type"}))


def captured(_reading: Reading) -> Reading:
    """What a parser saw that took anything for a thought."""
    return Reading(Verdict.CAPTURED_FIELD, frozenset(), "t", "a", finish_reason="stop")


def test_answers_of_the_old_bug_are_repaired_and_a_second_time_nothing_changes(tmp_path: Path) -> None:
    async def work(at: Filled) -> None:
        await at.dataset("d", 40)
        await answers(at, old_bug, *(thought(number) for number in range(39)))
        await answers(at, lambda reading: reading, thought(39))
        bodies = await rows(at, "SELECT id, raw, raw_sha256 FROM response JOIN body ON response_id = id")
        before = await at.store.seq()
        dry = await again(at)
        assert (dry.bodies, dry.unchanged, dict(dry.transitions)) == (40, 1, {MISSING_TO_SPLIT: 39})
        assert await at.store.seq() == before
        done = await again(at, apply=True)
        assert (done.bodies, done.unchanged, dict(done.transitions)) == (40, 1, {MISSING_TO_SPLIT: 39})
        assert await rows(at, "SELECT id, raw, raw_sha256 FROM response JOIN body ON response_id = id") == bodies
        tally = (await overview(at.store, "d")).datasets[0].tally
        assert (str(tally.capture), tally.missing, tally.adds_up) == ("40/40", 0, True)
        facts = "SELECT DISTINCT verdict, reasoning_chars > 0, content_chars > 0, state FROM job"
        assert await rows(at, facts) == [("split_from_content", 1, 1, "done")]
        assert await rows(at, "SELECT sum(done), sum(graded), sum(captured) FROM bucket") == [(40, 40, 40)]
        assert await rows(at, "SELECT count(*), count(DISTINCT response_id) FROM reading") == [(79, 40)]
        before = await at.store.seq()
        assert (await again(at, apply=True)).unchanged == 40
        assert await at.store.seq() == before

    in_filled(tmp_path, work)


def test_a_body_that_is_readable_now_finishes_a_waiting_or_failed_job(tmp_path: Path) -> None:
    async def work(at: Filled) -> None:
        await at.dataset("d", 3)
        waiting, failed, _ = await at.claim(3)
        await answer(at, waiting, thought(1), no_answer)
        await answer(at, failed, thought(2), no_answer, Settle.GIVE_UP)
        came_ms = at.clock.ms
        at.clock.ms += 30_000
        assert await rows(at, "SELECT state FROM job ORDER BY id") == [("waiting",), ("failed",), ("leased",)]
        assert (await again(at)).finished == 2
        assert (await again(at, apply=True)).finished == 2
        found = "SELECT state, verdict, finished_ms, cause, due_ms, latency_ms, imported FROM job ORDER BY id LIMIT 2"
        assert await rows(at, found) == [("done", "split_from_content", came_ms, None, None, 1500, 0)] * 2
        assert await rows(at, "SELECT count(*) FROM response WHERE accepted_seq > 0") == [(2,)]
        assert (await overview(at.store, "d")).datasets[0].tally.adds_up

    in_filled(tmp_path, work)


def test_a_job_that_is_being_asked_is_left_to_its_worker(tmp_path: Path) -> None:
    async def work(at: Filled) -> None:
        await at.dataset("d", 1)
        await answers(at, no_answer, thought(1))
        at.clock.ms += 120_000
        (lease,) = await at.claim(1)
        assert (await again(at, apply=True)).finished == 0
        assert await rows(at, "SELECT state, attempt, verdict FROM job") == [("leased", 2, None)]
        await at.fail(lease)  # the body that can be read now stands in
        assert await rows(at, "SELECT state, verdict FROM job") == [("done", "split_from_content")]

    in_filled(tmp_path, work)


def test_a_regression_is_not_written_unless_allowed_and_the_job_stays_done(tmp_path: Path) -> None:
    async def work(at: Filled) -> None:
        await at.dataset("d", 2)
        await answers(at, captured, b"<html>", chat("no thought"))
        report = await again(at, apply=True)
        assert (report.regressions, report.kept) == (2, 2)
        assert await rows(at, "SELECT DISTINCT verdict FROM job") == [("captured_field",)]
        assert await rows(at, "SELECT count(*) FROM reading") == [(2,)]
        report = await again(at, apply=True, allow_regression=True)
        assert (report.regressions, report.kept) == (2, 0)
        assert await rows(at, "SELECT state, verdict FROM job ORDER BY id") == [
            ("done", "malformed"),
            ("done", "missing"),
        ]
        tally = (await overview(at.store, "d")).datasets[0].tally
        assert (str(tally.capture), tally.adds_up) == ("0/1", True)

    in_filled(tmp_path, work)


def _compared(at: Filled) -> Callable[[], Awaitable[list[Any]]]:
    async def compared() -> list[Any]:
        ids = bind_rows(await rows(at, "SELECT id FROM response"))
        async with at.store.snapshot() as reads:
            return rereading._compare(await reads.rows(statements_stored.to_reread(), {"responses": ids}))

    return compared


def test_an_answer_that_is_superseded_meanwhile_gives_its_job_no_facts(tmp_path: Path) -> None:
    async def work(at: Filled) -> None:
        await at.dataset("d", 1)
        await answers(at, old_bug, thought(1))
        changed = await _compared(at)()
        await at.store.write(execute, "UPDATE job SET state = 'ready'")
        (lease,) = await at.claim(1)
        await answer(at, lease, chat("cut", finish="length"), lambda reading: reading)
        await at.store.write(rewrite, Rewrite(changed))
        assert await rows(at, "SELECT verdict FROM job") == [("truncated",)]
        assert await rows(at, "SELECT verdict FROM reading WHERE response_id = 1 ORDER BY seq") == [
            ("missing",),
            ("split_from_content",),
        ]

    in_filled(tmp_path, work)


def test_of_two_reparses_at_once_the_second_writes_nothing(tmp_path: Path) -> None:
    async def work(at: Filled) -> None:
        await at.dataset("d", 1)
        await answers(at, old_bug, thought(1))
        changed = await _compared(at)()
        assert (await again(at, apply=True)).changed == 1
        done = await at.store.write(rewrite, Rewrite(changed))
        assert done.overtaken == {changed[0].response}
        assert await rows(at, "SELECT count(*) FROM reading") == [(2,)]

    in_filled(tmp_path, work)


def test_large_and_small_bodies_are_taken_in_bounded_steps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(rereading, "PAGE", 7)
    monkeypatch.setattr(rereading, "ROWS", 3)
    monkeypatch.setattr(rereading, "BYTES", 2000)

    async def work(at: Filled) -> None:
        await at.dataset("d", 23)
        await answers(at, old_bug, *(chat("x" * 900 * (number % 4) + "</think>a") for number in range(23)))
        places: list[int] = []
        request = Reparse(await dataset_of(at.store, "d"), apply=True)
        report = await reparse(at.store, request, lambda done, _total: places.append(done))
        assert (report.bodies, report.changed) == (23, 17 + 6)
        assert places == sorted(set(places))
        assert len(places) > 23 // 3

    in_filled(tmp_path, work)


@pytest.mark.on_files
def test_a_store_of_a_newer_parser_takes_no_readings_of_an_older_one(tmp_path: Path) -> None:
    async def work(at: Filled) -> None:
        await at.dataset("d", 2)
        await answers(at, old_bug, thought(1))
        assert await rows(at, "SELECT parser_version FROM meta") == [(PARSER_VERSION,)]
        await at.store.write(execute, "UPDATE meta SET parser_version = 99")

    in_filled(tmp_path, work)
    product = Product(tmp_path)
    assert b"missing -> split_from_content  1\n" in product.run("reparse", "d").stdout
    assert b"Parser 99" in product.run("reparse", "d", "--apply", code=2).stderr
    with product.worker("http://127.0.0.1:9", "--until-empty") as worker:
        assert "Parser 99" in worker.wait(2)
    assert product.value("SELECT count(*) FROM reading") == 1


@pytest.mark.on_files
def test_the_command_shows_the_matrix_and_its_exit_code_says_what_happened(tmp_path: Path) -> None:
    async def work(at: Filled) -> None:
        await at.dataset("d", 5)
        await answers(at, old_bug, *(thought(number) for number in range(3)))
        await answers(at, captured, chat("no thought"))
        await at.dataset("empty", 1)

    in_filled(tmp_path, work)
    product = Product(tmp_path)
    shown = product.run("reparse", "d").stdout.decode().splitlines()
    assert shown == [
        f"d: 4 stored bodies read by parser {PARSER_VERSION}; nothing is written without --apply",
        "  unchanged  0",
        "  missing -> split_from_content  3",
        "  captured_field -> missing  1  (REGRESSION)",
    ]
    product.run("reparse", "d", "--apply", "--fail-on-regression", code=7)
    assert product.value("SELECT count(*) FROM reading") == 4
    facts = json.loads(product.run("reparse", "--all", "--apply", "--json", code=6).stdout)
    assert (facts["schema"], facts["applied"], [one["name"] for one in facts["datasets"]]) == (1, True, ["d", "empty"])
    assert facts["datasets"][0]["regressions_not_written"] == 1
    product.check_invariants()
    assert product.value("SELECT detail FROM event WHERE kind = 'reparsed'")
    product.run("reparse", "d", "--apply", "--allow-regression")
    product.run("reparse", "none such", code=3)
    for nonsense in ((), ("d", "--all"), ("d", "--fail-on-regression", "--allow-regression")):
        product.run("reparse", *nonsense, code=2)


@pytest.mark.on_files
def test_hints_at_lost_text_come_and_go_with_a_reparse(tmp_path: Path) -> None:
    def blind(reading: Reading) -> Reading:
        return replace(reading, loss_flags=frozenset())

    def wary(reading: Reading) -> Reading:
        return replace(reading, loss_flags=frozenset(LossFlag))

    flags = "SELECT loss_flags FROM job ORDER BY id"

    async def work(at: Filled) -> None:
        await at.dataset("d", 3)
        await answers(at, blind, chat("\n\ncut", counted=100), chat("t</think>a", counted=100))
        await answers(at, wary, chat("t</think>" + "a" * 200))
        dry = await again(at)
        assert (dry.flagged, dry.cleared) == (
            {LossFlag.TEXT_SHORT: 2, LossFlag.CUT_UPSTREAM: 1},
            {LossFlag.TEXT_SHORT: 1, LossFlag.CUT_UPSTREAM: 1},
        )
        assert dry.regressions == 0
        done = await again(at, apply=True)
        assert (done.flagged, done.cleared) == (dry.flagged, dry.cleared)
        both, short = '["cut_upstream", "text_short_for_tokens"]', '["text_short_for_tokens"]'
        assert await rows(at, flags) == [(both,), (short,), (None,)]
        assert (await again(at, apply=True)).unchanged == 3

    in_filled(tmp_path, work)
    shown = Product(tmp_path).run("reparse", "d").stdout
    assert b"unchanged  3" in shown
