"""Stores of any size, made by raw inserts in a minute and kept: through the product three million rows take five.

Three datasets: `held`, whose jobs come first by rank, `main`, a third of whose jobs are done, and `answered`, with all
that a worker stores of an answer. Rows are what an import and a worker would have written; those of `main` have no
responses and what comes with these, so its sums are those of states and verdicts only.
"""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks import cycle, data
from benchmarks.library import sqlite3
from benchmarks.measuring import ROOT

CACHE = ROOT / "build" / "bench"
_FEWEST_ANSWERS = 1000  # in a small store too: the progress page looks at the latest 200
_JOBS_FOR_EACH_ANSWER = 150  # 20,000 in three millions
_SIZE = 16_384  # bytes of a body
_NUMBERS = "WITH RECURSIVE number(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM number WHERE n < :jobs) "


def large_store(jobs: int, held: int) -> Path:
    """A store with so many jobs, `held` of them in a dataset that comes first. Kept: let its jobs be as they were."""
    path = CACHE / f"large-{jobs}-{held}-{_answers(jobs)}-{_SIZE}-{schema()}.db"
    if not path.exists():
        part = path.with_suffix(".part")
        for old in CACHE.glob(f"{part.name}*"):
            old.unlink()
        cycle.run(cycle.fill, part, _answers(jobs), _SIZE)
        _grow(part, jobs, held)
        part.rename(path)
    return path


def _answers(jobs: int) -> int:
    return max(_FEWEST_ANSWERS, jobs // _JOBS_FOR_EACH_ANSWER)


@cache
def schema() -> str:
    """What a store of this version looks like, as a few letters: a kept store of another one is not taken."""
    CACHE.mkdir(parents=True, exist_ok=True)
    empty = CACHE / "empty.db"
    empty.unlink(missing_ok=True)
    cycle.run(cycle.fill, empty, 0, 0)
    connection = sqlite3.connect(empty)
    rows = connection.execute("SELECT sql FROM sqlite_master ORDER BY name").fetchall()
    connection.close()
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:12]


def _grow(path: Path, jobs: int, held: int) -> None:
    """Add jobs, with indexes and triggers put aside: in sorted order an index is made in a tenth of the time."""
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode=OFF", "synchronous=OFF", "foreign_keys=OFF", "cache_size=-262144"):
        connection.execute(f"PRAGMA {pragma}")
    put_aside = connection.execute(
        "SELECT type, name, sql FROM sqlite_master WHERE type IN ('index', 'trigger') AND sql IS NOT NULL"
        " AND tbl_name IN ('job', 'sample')"
    ).fetchall()
    for kind, name, _ in put_aside:
        connection.execute(f"DROP {kind} {name}")
    connection.execute("UPDATE dataset SET name = 'answered', rank = 2")
    in_main = jobs - held - _answers(jobs)
    _add(connection, _dataset(connection, "main", 1), in_main, done=in_main // 3)
    if held:
        _add(connection, _dataset(connection, "held", 0), held, done=0)
    connection.execute("DELETE FROM counter WHERE metric LIKE 'state:%' OR metric LIKE 'expected:%'")
    connection.execute(
        "INSERT INTO counter SELECT dataset_id, 'state:' || state, count(*) FROM job GROUP BY 1, 2 UNION ALL"
        " SELECT dataset_id, 'expected:' || verdict, count(*) FROM job WHERE state = 'done' GROUP BY 1, 2"
    )
    for _, _, sql in put_aside:
        connection.execute(sql)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.close()


def _dataset(connection: Any, name: str, rank: int) -> int:
    """The number of a new dataset."""
    row = {"name": name, "rank": rank, "created_ms": 0}
    added = connection.execute("INSERT INTO dataset (name, rank, created_ms) VALUES (:name, :rank, :created_ms)", row)
    return int(added.lastrowid)


def _add(connection: Any, dataset: int, jobs: int, *, done: int) -> None:
    """Samples and jobs of one dataset, the first ones done."""
    last = connection.execute("SELECT coalesce(max(id), 0) FROM sample").fetchone()[0]
    values = {"jobs": jobs, "dataset": dataset, "last": last, "done": done}
    values["messages"] = data.messages(1, 40)
    connection.execute(
        _NUMBERS + "INSERT INTO sample (id, dataset_id, sample_id, base_id, content_sha256, messages, source_row)"
        " SELECT :last + n, :dataset, 'row-' || n, 'row-' || n, printf('%064x', n), :messages, n"
        " FROM number",
        values,
    )
    last_job = connection.execute("SELECT coalesce(max(id), 0) FROM job").fetchone()[0]
    connection.execute(
        _NUMBERS + "INSERT INTO job (id, dataset_id, sample_ref, sample_id, ordinal, state, attempt, leased_ms,"
        " finished_ms, verdict, expected, finish_reason, found, reasoning_chars, content_chars, completion_tokens,"
        " latency_ms, preview) SELECT :last_job + n, :dataset, :last + n, 'row-' || n, n,"
        " iif(n <= :done, 'done', 'ready'), n <= :done, iif(n <= :done, 1770000000000 + n, NULL),"
        " iif(n <= :done, 1770000001500 + n, NULL), iif(n <= :done, 'split_from_content', NULL),"
        " iif(n <= :done, 1, NULL), iif(n <= :done, 'stop', NULL), iif(n <= :done, 'tag', NULL),"
        " iif(n <= :done, 6000 + n % 1000, NULL), iif(n <= :done, 2000, NULL), iif(n <= :done, 2000, NULL),"
        " iif(n <= :done, 1500, NULL), iif(n <= :done, 'the beginning of an answer', NULL) FROM number",
        values | {"last_job": last_job},
    )
