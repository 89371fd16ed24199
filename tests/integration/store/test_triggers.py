"""After any sequence of changes the counters and the minutes say what GROUP BY says."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.model.found import Found
from app.model.states import JobState
from app.model.verdicts import CAPTURED, GRADED, Verdict
from app.progress.histogram import BINS
from tests.integration.store import raw
from tests.integration.store.kit import examples, make
from tests.support.postgres import plainly, server

DATASETS, JOBS = (1, 2), 4
VERDICTS = [verdict for verdict in Verdict if verdict is not Verdict.MALFORMED]


@dataclass(frozen=True)
class Change:
    """A job as it shall be; None for the state removes it."""

    job: int
    state: JobState | None
    verdict: Verdict
    expected: int
    tokens: int | None
    finished_ms: int
    finish_reason: str | None = "stop"
    found: Found | None = None
    length: int | None = None
    cause: str = "x"
    loss_flags: str | None = None


CHANGES = st.builds(
    Change,
    job=st.integers(1, JOBS),
    state=st.one_of(st.sampled_from(JobState), st.sampled_from([JobState.DONE, None])),
    verdict=st.sampled_from(VERDICTS),
    expected=st.integers(0, 1),
    tokens=st.one_of(st.none(), st.sampled_from([0, 1, 70, 2**40])),
    finished_ms=st.sampled_from([0, 59_999, 60_000, 1_770_000_000_123]),
    finish_reason=st.sampled_from([None, "stop", "length"]),
    found=st.one_of(st.none(), st.sampled_from(Found)),
    length=st.sampled_from([None, 0, 1, 127, 128, 5000, 2**18 - 1, 2**18, 2**40]),
    cause=st.sampled_from(["x", "y"]),
    loss_flags=st.one_of(st.none(), st.sampled_from(['["cut_upstream"]', '["cut_upstream", "text_short_for_tokens"]'])),
)


@pytest.fixture(scope="module")
def in_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    path = tmp_path_factory.mktemp("triggers") / "t.db"
    make(path)
    with raw.connection(path) as connection:
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA synchronous=OFF")
        _prepare(connection)
        yield connection


@pytest.fixture(scope="module")
def on_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with plainly(server().url_of(str(tmp_path_factory.mktemp("triggers") / "t.db"))) as connection:
        _prepare(connection)
        yield connection


@pytest.fixture(params=["in_file", "on_server"])
def opened(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def _prepare(connection: Any) -> None:
    for dataset in DATASETS:
        connection.execute("INSERT INTO dataset (id, name, created_ms) VALUES (?, ?, 0)", (dataset, f"d{dataset}"))
        connection.execute(
            "INSERT INTO sample (id, dataset_id, sample_id, base_id, content_sha256, messages)"
            " VALUES (?, ?, 's', 's', '0', '[]')",
            (dataset, dataset),
        )
    connection.execute(
        "INSERT INTO worker (id, uuid, name, host, pid, boot_id, version, slots, started_ms, heartbeat_ms, ttl_ms)"
        " VALUES (1, 'u', 'n', 'h', 1, 'b', '0', 1, 0, 0, 1)"
    )


def _values(change: Change) -> dict[str, Any]:
    leased, finished = change.state is JobState.LEASED, change.state in (JobState.DONE, JobState.FAILED)
    return {
        "state": change.state, "lease_worker": 1 if leased else None, "lease_deadline_ms": 9 if leased else None,
        "due_ms": 9 if change.state is JobState.WAITING else None, "cause": change.cause, "verdict": change.verdict,
        "expected": change.expected, "completion_tokens": change.tokens,
        "finished_ms": change.finished_ms if finished else None, "finish_reason": change.finish_reason,
        "found": change.found, "reasoning_chars": change.length, "loss_flags": change.loss_flags,
    }  # fmt: skip


def _apply(connection: Any, change: Change) -> None:
    there = connection.execute("SELECT 1 FROM job WHERE id = ?", (change.job,)).fetchone()
    if change.state is None:
        connection.execute("DELETE FROM job WHERE id = ?", (change.job,))
        return
    values = _values(change)
    if there:
        columns = ", ".join(f"{name} = :{name}" for name in values)
        connection.execute(f"UPDATE job SET {columns} WHERE id = :id", {**values, "id": change.job})
        return
    dataset = DATASETS[change.job % 2]
    values |= {"id": change.job, "dataset_id": dataset, "sample_ref": dataset, "sample_id": "s"}
    values |= {"ordinal": change.job, "replica": change.job}
    connection.execute(
        f"INSERT INTO job ({', '.join(values)}) VALUES (:{', :'.join(values)})",
        values,
    )


def _counted(connection: Any) -> tuple[dict[Any, int], dict[Any, tuple[int, ...]]]:
    counters: Counter[Any] = Counter()
    minutes: dict[Any, Counter[str]] = {}
    rows = connection.execute(
        "SELECT dataset_id, state, verdict, expected, completion_tokens, finished_ms, cause, loss_flags FROM job"
    )
    for dataset, state, verdict, expected, tokens, finished_ms, cause, loss_flags in rows:
        counters[dataset, f"state:{state}"] += 1
        if state not in ("done", "failed"):
            continue
        minute = minutes.setdefault((dataset, finished_ms // 60_000), Counter())
        minute[state] += 1
        if state == "failed":
            counters[dataset, f"failed:{cause}"] += 1
        if state == "done":
            counters[dataset, f"{'expected' if expected else 'unexpected'}:{verdict}"] += 1
            counters[dataset, "tokens"] += tokens or 0
            counters.update((dataset, f"flag:{flag}") for flag in json.loads(loss_flags or "[]"))
            minute["tokens"] += tokens or 0
            minute["graded"] += bool(expected) and verdict in GRADED
            minute["captured"] += bool(expected) and verdict in CAPTURED
    names = ("done", "failed", "graded", "captured", "tokens")
    return dict(+counters), {key: tuple(minute[name] for name in names) for key, minute in minutes.items()}


def _kept(connection: Any) -> tuple[dict[Any, int], dict[Any, tuple[int, ...]]]:
    counters = {(d, m): n for d, m, n in connection.execute("SELECT * FROM counter") if n != 0}
    rows = connection.execute("SELECT dataset_id, minute, done, failed, graded, captured, tokens FROM bucket")
    return counters, {(d, minute): tuple(numbers) for d, minute, *numbers in rows if any(numbers)}


def _counted_more(connection: Any) -> tuple[Counter[Any], Counter[Any]]:
    """Triage cells and lengths, one job after another."""
    cells: Counter[Any] = Counter()
    lengths: Counter[Any] = Counter()
    rows = connection.execute("SELECT dataset_id, finish_reason, found, reasoning_chars FROM job WHERE state = 'done'")
    for dataset, finish, found, length in rows.fetchall():
        if finish is not None and found is not None:
            cells[dataset, finish, found] += 1
        if length:
            lengths[dataset, max(least for least in BINS if least <= length)] += 1
    return cells, lengths


def _kept_more(connection: Any) -> tuple[Counter[Any], Counter[Any]]:
    cells = connection.execute("SELECT dataset_id, finish_reason, found, n FROM triage WHERE n <> 0")
    lengths = connection.execute("SELECT dataset_id, least, n FROM reasoning_length WHERE n <> 0")
    return Counter({tuple(key): n for *key, n in cells}), Counter({tuple(key): n for *key, n in lengths})


@examples(150)
@given(st.lists(CHANGES, max_size=12))
def test_counters_and_minutes_follow_the_jobs(in_file: Any, changes: list[Change]) -> None:
    _follow(in_file, changes)


@examples(20)  # each statement is a way to the server and back
@given(st.lists(CHANGES, max_size=12))
def test_counters_and_minutes_follow_the_jobs_on_a_server(on_server: Any, changes: list[Change]) -> None:
    _follow(on_server, changes)


def _follow(opened: Any, changes: list[Change]) -> None:
    opened.execute("BEGIN")
    try:
        for change in changes:
            _apply(opened, change)
            assert _kept(opened) == _counted(opened)
            assert _kept_more(opened) == _counted_more(opened)
    finally:
        opened.execute("ROLLBACK")


def test_a_late_answer_is_counted_once(opened: Any, tmp_path: Path) -> None:
    opened.execute("BEGIN")
    _apply(opened, Change(1, JobState.READY, Verdict.MISSING, 1, None, 0))
    opened.execute(
        "INSERT INTO response (id, job_id, attempt, received_ms, raw_bytes, raw_sha256) VALUES (1, 1, 1, 0, 0, '')"
    )
    late = "SELECT n FROM counter WHERE metric = 'late'"
    assert opened.execute(late).fetchall() == []
    for _ in range(2):
        opened.execute("UPDATE response SET late = 1")
        assert opened.execute(late).fetchall() == [(1,)]
    opened.execute("ROLLBACK")


def test_what_a_worker_brings_is_counted_by_the_minute(opened: Any) -> None:
    opened.execute("BEGIN")
    _apply(opened, Change(1, JobState.READY, Verdict.MISSING, 1, None, 0))
    for attempt, received_ms in enumerate((0, 59_999, 60_000), 1):
        opened.execute(
            "INSERT INTO response (job_id, attempt, worker_id, received_ms, raw_bytes, raw_sha256)"
            " VALUES (1, ?, 1, ?, 0, '')",
            (attempt, received_ms),
        )
    opened.execute(
        "INSERT INTO failure (job_id, attempt, at_ms, cause, message, counted, worker_id)"
        " VALUES (1, 4, 60001, 'c', 'm', 1, 1)"
    )
    found = opened.execute("SELECT worker_id, minute, bodies, failed FROM worker_minute ORDER BY minute").fetchall()
    assert [tuple(row) for row in found] == [(1, 0, 2, 0), (1, 1, 1, 1)]
    opened.execute("ROLLBACK")


def test_how_long_bodies_of_workers_took_is_counted_by_dataset(opened: Any) -> None:
    opened.execute("BEGIN")
    _apply(opened, Change(1, JobState.READY, Verdict.MISSING, 1, None, 0))
    took = [(1, 0, 1000), (1, 0, 1001), (1, 500, 0), (1, None, 9), (None, 0, 9), (1, 0, 7_200_001)]
    for attempt, (worker, requested_ms, received_ms) in enumerate(took, 1):
        opened.execute(
            "INSERT INTO response (job_id, attempt, worker_id, requested_ms, received_ms, raw_bytes, raw_sha256)"
            " VALUES (1, ?, ?, ?, ?, 0, '')",
            (attempt, worker, requested_ms, received_ms),
        )
    kept = "SELECT dataset_id, least_ms, n, sum_ms FROM latency WHERE n <> 0 OR sum_ms <> 0 ORDER BY least_ms"
    found = [tuple(row) for row in opened.execute(kept).fetchall()]
    assert found == [(2, 0, 2, 1000), (2, 1001, 1, 1001), (2, 7_200_001, 1, 7_200_001)]
    opened.execute("DELETE FROM response WHERE attempt <> 2")
    assert [tuple(row) for row in opened.execute(kept).fetchall()] == [(2, 1001, 1, 1001)]
    opened.execute("DELETE FROM response")
    assert opened.execute(kept).fetchall() == []
    opened.execute("ROLLBACK")
