"""The Overview and the samples of real stores, filled as workers fill them."""

import json
import os
import pty
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from sqlalchemy import delete, update

from app.leasing.holds import HoldKind, HoldRequest, LiftRequest, hold, lift
from app.leasing.workers import Leave, leave, renew
from app.model.errors import NotFound, UsageError
from app.model.lease import Cause, Settle
from app.model.states import JobState
from app.model.verdicts import Verdict
from app.progress import wording
from app.progress.eta import Word
from app.progress.filters import Filter, Listing
from app.progress.gathering import overview
from app.progress.overview import DatasetProgress, Liveness
from app.progress.rates import MINUTE_MS
from app.progress.sample import sample
from app.progress.samples import samples
from app.store.store import Store
from app.store.tables import COUNTER, JOB
from app.store.transaction import Tx
from tests.support.filled import LOST, Filled, chat, filled, thought
from tests.support.forks import COMMAND, environment
from tests.support.typed import typed

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def change(store: Store, statement: Any) -> None:
    """Do to the store what only an accident would."""

    async def operation(tx: Tx, asked: Sequence[Any]) -> list[None]:
        for one in asked:
            await tx.run(one)
        return [None] * len(asked)

    await store.write(operation, statement)


async def only(store: Store) -> DatasetProgress:
    (found,) = (await overview(store)).datasets
    return found


async def test_every_job_is_counted_in_one_state_beside_its_verdict(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 12)
        await at.answer_next("d", thought(1), chat("a", reasoning="r"), *LOST.values())
        failing, waiting = await at.claim(2)
        await at.fail(failing)
        await at.fail(waiting, Cause.TIMED_OUT, Settle.POSTPONE)
        await at.claim(1)
        tally = (await only(at.store)).tally
    assert {state: tally.state(state) for state in JobState} == {
        JobState.READY: 4, JobState.LEASED: 1, JobState.WAITING: 1, JobState.DONE: 5, JobState.FAILED: 1,
        JobState.CANCELLED: 0,
    }  # fmt: skip
    assert (str(tally.progress), tally.progress.percent, tally.adds_up) == ("5/12", "41.6 %", True)
    assert (str(tally.capture), tally.missing, tally.leaked, str(tally.truncated)) == ("2/4", 1, 1, "1/5")
    assert tally.tokens == 250


async def test_answers_without_thinking_are_in_no_capture_rate(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 2, thinking=False)
        await at.answer_next("d", chat("plain"), thought(2))
        tally = (await only(at.store)).tally
    assert (tally.capture.percent, tally.leaked, tally.verdict(Verdict.NONE_EXPECTED)) == ("-", 1, 1)
    assert tally.adds_up


async def test_a_late_answer_is_kept_and_counted(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 1)
        (lost,) = await at.claim(1)
        await change(at.store, update(JOB).values(state=JobState.READY, lease_worker=None, lease_deadline_ms=None))
        await at.answer_next("d", thought(2))
        assert not await at.answer(lost, thought(1))
        assert (await only(at.store)).tally.late == 1


@pytest.mark.on_files  # on a server it lies in several rows
async def test_a_counter_that_lost_a_move_is_shown_as_a_mismatch(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 5)
        await change(at.store, update(COUNTER).where(COUNTER.c.metric == "state:ready").values(n=4))
        found = await overview(at.store)
    assert not found.adds_up
    assert "sum 4/5 MISMATCH" in wording.states(found.datasets[0].tally)


async def test_a_job_that_vanished_is_shown_as_a_mismatch(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 5)
        await change(at.store, delete(JOB).where(JOB.c.ordinal == 2))
        assert not (await overview(at.store)).adds_up


async def test_replicas_count_as_jobs(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 3, replicas=4)
        found = await only(at.store)
    assert (found.samples, found.replicas, found.tally.total, found.tally.adds_up) == (3, 4, 12, True)


async def run_for(at: Filled, minutes: int, each_minute: int) -> None:
    """Let the worker answer so many a minute, and beat."""
    for _ in range(minutes):
        await at.answer_next("d", *[thought(number) for number in range(each_minute)])
        at.clock.ms += MINUTE_MS
        await at.store.write(renew, at.worker)


async def test_a_rate_and_an_eta_come_from_what_this_run_did(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 400)
        await run_for(at, 3, 6)
        measuring = (await only(at.store)).pace
        await run_for(at, 7, 6)
        pace = (await only(at.store)).pace
    assert wording.per_hour(measuring.rate) == "measuring 18/20"
    assert measuring.eta.word is Word.MEASURING
    assert (pace.rate.per_hour, pace.rate.tokens_per_second) == (360, 5)
    assert wording.eta(pace.eta) == "56 min"


async def test_a_resume_starts_the_measuring_again(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        dataset = await at.dataset("d", 400)
        await run_for(at, 10, 6)
        await at.store.write(hold, HoldRequest(dataset, HoldKind.PERSON, "lunch"))
        paused = (await only(at.store)).pace.eta.word
        await at.store.write(lift, LiftRequest(dataset))
        resumed = (await only(at.store)).pace
    assert paused is Word.PAUSED
    assert (resumed.rate.completions, resumed.eta.word) == (0, Word.MEASURING)


async def test_words_take_the_place_of_the_eta(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        dataset = await at.dataset("d", 2)
        await at.store.write(hold, HoldRequest(dataset, HoldKind.GATE, "3 of 20 captured"))
        held = await overview(at.store)
        await at.store.write(lift, LiftRequest(dataset))
        await at.answer_next("d", thought(1), thought(2))
        complete = await overview(at.store)
    assert (held.datasets[0].pace.eta.word, held.pace.eta.word) == (Word.HELD, Word.HELD)
    assert held.datasets[0].holds[0].reason == "3 of 20 captured"
    assert (complete.datasets[0].pace.eta.word, complete.pace.eta.word) == (Word.COMPLETE, Word.COMPLETE)


async def test_workers_are_live_late_dead_or_stopped(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 1)
        seen = []
        for wait_ms in (0, 31_000, 30_000):
            at.clock.ms += wait_ms
            seen += [worker.liveness for worker in (await overview(at.store)).workers.open]
        silent = (await only(at.store)).pace.eta.word
        await at.store.write(leave, Leave(at.worker, "stopped"))
        stopped = (await overview(at.store)).workers
    assert seen == [Liveness.LIVE, Liveness.LATE, Liveness.DEAD]
    assert silent is Word.NO_WORKER
    assert (stopped.open, stopped.count(Liveness.STOPPED)) == ((), 1)


async def test_the_sum_of_all_datasets_is_a_line_of_its_own(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 3)
        await at.dataset("e", 4)
        await at.answer_next("e", thought(1))
        found = await overview(at.store)
        one = await overview(at.store, "e")
        with pytest.raises(NotFound, match="There are: d, e"):
            await overview(at.store, "f")
    assert (str(found.total.progress), str(one.total.progress)) == ("1/7", "1/4")


async def test_an_empty_store_has_an_overview(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        found = await overview(at.store)
    assert (found.datasets, found.total.total, found.adds_up) == ((), 0, True)


async def test_pages_of_samples_follow_one_another_without_gap(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 7, replicas=2)
        seen, after = [], None
        while True:
            page = await samples(at.store, "d", Listing(after=after, per=3))
            seen += [(line.sample_id, line.replica) for line in page.lines]
            after = page.after
            if after is None:
                break
        with pytest.raises(UsageError):
            await samples(at.store, "d", Listing(per=501))
    assert seen == [(f"s{number}", replica) for number in range(1, 8) for replica in (0, 1)]


async def test_filters_meet_all_at_once(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 8)
        await at.answer_next("d", thought(1), *LOST.values(), thought(5))
        (lease,) = await at.claim(1)
        await at.fail(lease, Cause.REJECTED)

        async def found(**wanted: str) -> list[str]:
            return [line.sample_id for line in (await samples(at.store, "d", Listing(Filter(**wanted)))).lines]

        assert await found(state="done") == ["s1", "s2", "s3", "s4", "s5"]
        assert await found(verdict="split_from_content") == ["s1", "s5"]
        assert await found(finish="length") == ["s4"]
        assert await found(state="done", verdict="missing", finish="stop") == ["s2"]
        assert await found(cause="rejected") == ["s6"]


async def test_one_sample_tells_all_its_attempts(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 1, prompts=["what?"])
        (lease,) = await at.claim(1)
        await at.answer(lease, b"<html>busy</html>")
        at.clock.ms += 2 * MINUTE_MS
        await at.answer_next("d", chat("a\x00b\ud800</think>c"))
        view = await sample(at.store, "d", "s1")
        first = await sample(at.store, "d", "s1", attempt=1)
        with pytest.raises(NotFound, match="Stored: 1, 2"):
            await sample(at.store, "d", "s1", attempt=3)
        with pytest.raises(NotFound, match="no sample"):
            await sample(at.store, "d", "s\udcff")
    assert view.messages == [{"role": "user", "content": "what?"}]
    assert [(answer.attempt, answer.standing) for answer in view.answers] == [(1, "kept"), (2, "accepted")]
    assert [(failure.attempt, failure.cause) for failure in view.failures] == [(1, "malformed")]
    assert view.texts is not None
    assert (view.texts.reasoning, view.texts.content) == ("a\x00b\ud800", "c")
    assert json.loads(view.texts.raw)["choices"][0]["message"]["content"] == "a\x00b\ud800</think>c"
    assert view.answers[1].base_url == "http://server:30000/v1"
    assert first.texts is not None
    assert (first.texts.raw, first.texts.content) == (b"<html>busy</html>", None)


# The commands


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    async def make() -> None:
        async with filled(tmp_path / "t.db") as at:
            dataset = await at.dataset("B1_glaive", 10)
            await at.answer_next("B1_glaive", thought(1), chat("\x1b[2Jx\u202e</think>c\ud800"), LOST[Verdict.MISSING])
            await at.store.write(hold, HoldRequest(dataset, HoldKind.ALARM, "lost \x1b[31mtoo many"))

    anyio.run(make)
    return tmp_path


def test_status_is_a_line_a_dataset_with_its_sum_and_holds(folder: Path) -> None:
    done = typed(folder, "--db", "t.db", "status")
    said = done.stdout.decode()
    assert done.returncode == 0
    assert "B1_glaive  3/10 30.0 %  cap 2/3 66.6 %" in said
    assert "sum 10/10 ok" in said
    assert "HELD by alarm" in said
    assert "lost \\x1b[31mtoo many" in said
    assert "\x1b" not in said


def test_status_as_json_is_one_object(folder: Path) -> None:
    said = json.loads(typed(folder, "--db", "t.db", "status", "B1_glaive", "--json").stdout)
    (dataset,) = said["data"]["datasets"]
    assert (said["schema"], dataset["progress"]["part"], dataset["adds_up"]) == (1, 3, True)
    assert dataset["pace"]["eta"]["word"] == "held"


def test_what_is_not_there_ends_with_3(folder: Path) -> None:
    assert typed(folder, "--db", "t.db", "status", "nope").returncode == 3
    assert typed(folder, "--db", "absent.db", "status").returncode == 3
    assert typed(folder, "--db", "t.db", "samples", "nope").returncode == 3
    assert typed(folder, "--db", "t.db", "sample", "B1_glaive", "nope").returncode == 3
    assert typed(folder, "--db", "t.db", "sample", "B1_glaive", "s9", "--part", "raw").returncode == 3
    assert typed(folder, "--db", "t.db", "samples", "B1_glaive", "--state", "lost").returncode == 2


def test_samples_are_listed_page_by_page(folder: Path) -> None:
    done = typed(folder, "--db", "t.db", "samples", "B1_glaive", "--jsonl", "--limit", "2")
    assert [json.loads(line)["sample_id"] for line in done.stdout.splitlines()] == ["s1", "s2"]
    place = done.stderr.decode().split()[-1]
    rest = json.loads(typed(folder, "--db", "t.db", "samples", "B1_glaive", "--json", "--after", place).stdout)
    assert (len(rest["samples"]), rest["after"]) == (8, None)


def test_samples_are_listed_by_what_the_pages_filter_by(folder: Path) -> None:
    def listed(*filters: str) -> list[str]:
        done = typed(folder, "--db", "t.db", "samples", "B1_glaive", "--jsonl", *filters)
        return [json.loads(line)["sample_id"] for line in done.stdout.splitlines()]

    assert listed("--found", "tag", "--min-reasoning", "1", "--sort", "order") == ["s1", "s2"]
    assert listed("--q", "s1") == ["s1", "s10"]
    assert listed("--sort", "newest", "--verdict", "missing") == ["s3"]
    said = typed(folder, "--db", "t.db", "samples", "B1_glaive", "--sort", "random").stderr.decode()
    assert "Known: order, id, newest" in said


def test_stored_text_cannot_steer_the_terminal(folder: Path) -> None:
    said = typed(folder, "--db", "t.db", "sample", "B1_glaive", "s2").stdout.decode()
    assert "\\x1b[2Jx\\u202e" in said
    assert "\x1b" not in said
    assert "\u202e" not in said


def test_raw_gives_the_exact_bytes_of_a_part(folder: Path) -> None:
    def raw(part: str) -> bytes:
        return typed(folder, "--db", "t.db", "sample", "B1_glaive", "s2", "--part", part, "--raw").stdout

    assert raw("reasoning") == "\x1b[2Jx\u202e".encode()
    assert raw("content") == "c\ud800".encode("utf-8", "surrogatepass")
    assert raw("raw") == chat("\x1b[2Jx\u202e</think>c\ud800")
    assert json.loads(raw("prompt")) == [{"role": "user", "content": "question 2"}]


def test_raw_is_refused_at_a_terminal_unless_forced(folder: Path) -> None:
    def at_a_terminal(*more: str) -> int:
        ours, theirs = pty.openpty()
        command = [*COMMAND, "--db", "t.db", "sample", "B1_glaive", "s2", "--part", "content", "--raw", *more]
        done = subprocess.run(
            command, cwd=folder, env=environment(), stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, check=False
        )
        os.close(theirs)
        os.close(ours)
        return done.returncode

    assert at_a_terminal() == 4
    assert at_a_terminal("--force") == 0


def test_a_sample_as_json_is_ascii_and_whole(folder: Path) -> None:
    out = typed(folder, "--db", "t.db", "sample", "B1_glaive", "s2", "--json").stdout
    assert out.isascii()
    assert json.loads(out)["texts"]["content"] == "c\ud800"
