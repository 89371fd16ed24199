"""Real files into a real store: which rows become samples and jobs."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from app.intake import chunks, statements
from app.intake.identity import LONGEST_ID
from app.intake.matching import Repeats
from app.store.store import Store
from app.store.tables import COUNTER, DATASET, JOB, SAMPLE, SOURCE
from tests.integration.import_kit import in_store, lines, names, prompts, rows_of, take
from tests.support.kinds import kind


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rows.jsonl"


def test_rows_become_samples_and_ready_jobs_in_file_order(tmp_path: Path, file: Path) -> None:
    file.write_bytes(lines({"id": "b", "prompt": "2"}, {"id": "a", "prompt": "1"}))
    report = take(tmp_path, file, rank=7, max_attempts=2, said={"temperature": 0.5, "extra": {"top_k": 3}})
    assert (report.created, report.rows, report.added, report.rejects) == (True, 2, 2, None)
    assert rows_of(
        tmp_path, JOB.c.sample_id, JOB.c.ordinal, JOB.c.replica, JOB.c.state, JOB.c.rank, JOB.c.sample_ref
    ) == [
        ("b", 1, 0, "ready", 7, 1),
        ("a", 2, 0, "ready", 7, 2),
    ]
    [(config, attempts, rank)] = rows_of(tmp_path, DATASET.c.config, DATASET.c.max_attempts, DATASET.c.rank)
    assert (json.loads(config), attempts, rank) == ({"temperature": 0.5, "extra": {"top_k": 3}}, 2, 7)
    assert rows_of(tmp_path, SAMPLE.c.messages, SAMPLE.c.tools, SAMPLE.c.source_id, SAMPLE.c.source_row) == [
        ('[{"role":"user","content":"2"}]', None, 1, 1),
        ('[{"role":"user","content":"1"}]', None, 1, 2),
    ]


def test_every_reject_names_its_line_and_its_reason(tmp_path: Path, file: Path) -> None:
    deep = b'{"prompt": ' + b"[" * 80 + b"]" * 80 + b"}"
    file.write_bytes(
        lines(
            {"prompt": "good"},
            b"",
            b"[1]",
            b'{"prompt": 1, "prompt": 2}',
            b'{"prompt": NaN}',
            b'{"prompt": "\xff"}',
            deep,
            b'{"prompt": "' + b"x" * 5_000_000 + b'"}',
            b'{"prompt": "\\ud83d"}',
            {"response": "only"},
            {"messages": [{"role": "robot", "content": "x"}]},
            {"id": "x", "prompt": "one"},
            {"id": "x", "prompt": "other"},
            b'{"prompt": "torn',
        ).removesuffix(b"\n")
    )
    report = take(tmp_path, file)
    assert (report.rows, report.added, report.rejected) == (13, 2, 11)
    assert report.rejects == tmp_path / "rows.jsonl.rejects.jsonl"
    written = [json.loads(line) for line in report.rejects.read_bytes().splitlines()]
    assert [(reject["line"], reject["reason"]) for reject in written] == [
        (3, "not_an_object"),
        (4, "duplicate_key:prompt"),
        (5, "not_finite"),
        (6, "not_utf8"),
        (7, "too_deep"),
        (8, "too_large"),
        (9, "lone_surrogate"),
        (10, "unknown_format"),
        (11, "unknown_role:robot"),
        (13, "conflicting_id"),
        (14, "not_json"),
    ]
    assert all(len(reject["text"]) <= 200 and reject["expected"] for reject in written)
    assert written[-2]["detail"] == "'x' has other content at line 12 of rows.jsonl than at line 13 of rows.jsonl"
    assert (report.rejects.stat().st_mode & 0o777) == 0o600
    file.write_bytes(prompts(["good"]))
    assert take(tmp_path, file).rejects is None
    assert len(report.rejects.read_bytes().splitlines()) == len(written)


def test_the_longest_id_is_taken_as_it_is_and_a_longer_one_is_refused_alone(tmp_path: Path, file: Path) -> None:
    """Of letters that no index makes shorter, and of those that take the most room."""
    noise = random.Random(1).randbytes(LONGEST_ID // 2).hex()
    longest = [noise, "\x00" * LONGEST_ID, "\U0001f600" * (LONGEST_ID // 4)]
    ids = [*longest, noise + "x", "\U0001f600" * (LONGEST_ID // 4) + "x", noise * 4000]
    file.write_bytes(lines(*({"id": one, "prompt": "p"} for one in ids)))
    report = take(tmp_path, file)
    assert names(tmp_path) == longest
    assert (report.added, report.reasons) == (3, {"id_too_long": 3})


def counted(folder: Path) -> int | None:
    """The store's number; a server counts what is written elsewhere too."""
    return in_store(folder, lambda store: store.seq()) if kind() == "sqlite" else None


def test_importing_a_file_again_changes_nothing(tmp_path: Path, file: Path) -> None:
    file.write_bytes(prompts(["a", "b", "a", "c", "a"]))
    first = take(tmp_path, file)
    before = rows_of(tmp_path, SAMPLE.c.id, SAMPLE.c.sample_id), counted(tmp_path)
    again = take(tmp_path, file)
    assert (first.added, first.repeated) == (5, 2)
    assert (again.created, again.rows, again.added, again.present, again.repeated) == (False, 5, 0, 5, 2)
    assert (rows_of(tmp_path, SAMPLE.c.id, SAMPLE.c.sample_id), counted(tmp_path)) == before
    assert len(rows_of(tmp_path, SOURCE.c.id)) == 1


def test_only_further_occurrences_are_added(tmp_path: Path, file: Path) -> None:
    file.write_bytes(lines({"id": "x", "prompt": "p"}, {"id": "x", "prompt": "p"}))
    take(tmp_path, file)
    other = tmp_path / "more.jsonl"
    other.write_bytes(lines(*[{"id": "x", "prompt": "p"}] * 3, {"id": "y", "prompt": "q"}))
    report = take(tmp_path, other)
    assert (report.added, report.present) == (2, 2)
    assert names(tmp_path) == ["x", "x-2", "x-3", "y"]
    assert rows_of(tmp_path, SAMPLE.c.base_id, SAMPLE.c.occurrence)[2] == ("x", 3)
    assert [ordinal for (ordinal,) in rows_of(tmp_path, JOB.c.ordinal)] == [1, 2, 3, 4]


def test_a_number_that_another_id_has_is_left_out(tmp_path: Path, file: Path) -> None:
    x, x2 = {"id": "x", "prompt": "p"}, {"id": "x-2", "prompt": "q"}
    file.write_bytes(lines(x2, x, x, x, x2))
    take(tmp_path, file)
    assert names(tmp_path) == ["x-2", "x", "x-3", "x-4", "x-2-2"]
    assert take(tmp_path, file).added == 0
    file.write_bytes(lines(x, x, x2))
    take(tmp_path, file, name="other")
    assert names(tmp_path)[5:] == ["x", "x-2", "x-2-2"]


def test_other_content_under_an_id_of_an_earlier_file_is_refused_naming_both(tmp_path: Path, file: Path) -> None:
    file.write_bytes(lines({"id": "w", "prompt": "w"}, {"id": "x", "prompt": "p"}))
    take(tmp_path, file)
    later = tmp_path / "later.jsonl"
    later.write_bytes(lines({"id": "x", "prompt": "changed"}, {"id": "z", "prompt": "z"}))
    report = take(tmp_path, later)
    assert (report.added, report.reasons) == (1, {"conflicting_id": 1})
    assert report.rejects is not None
    detail = json.loads(report.rejects.read_bytes())["detail"]
    assert detail == "'x' has other content at line 2 of rows.jsonl than at line 1 of later.jsonl"


def test_a_prompt_id_repeats_by_design(tmp_path: Path, file: Path) -> None:
    rows = [{"prompt_id": "p", "prompt": text} for text in ("a", "b", "a")]
    file.write_bytes(lines(*rows))
    assert take(tmp_path, file).repeated == 1
    assert names(tmp_path) == ["p", "p-2", "p-3"]
    assert take(tmp_path, file).added == 0
    file.write_bytes(lines(*reversed(rows)))
    assert take(tmp_path, file).added == 0


def test_an_id_means_its_first_content_even_where_a_prompt_id_is_the_same_word(tmp_path: Path, file: Path) -> None:
    file.write_bytes(lines({"id": "p", "prompt": "a"}, {"id": "p", "prompt": "b"}, {"prompt_id": "p", "prompt": "b"}))
    assert take(tmp_path, file).reasons == {"conflicting_id": 1}
    again = take(tmp_path, file)
    assert (again.added, again.reasons) == (0, {"conflicting_id": 1})


def test_many_equal_rows_are_many_jobs_and_stay_so(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "ROWS", 30)
    file.write_bytes(prompts(["same"] * 200))
    assert take(tmp_path, file).added == 200
    assert take(tmp_path, file).added == 0
    file.write_bytes(prompts(["same"] * 250 + ["other"]))
    assert (take(tmp_path, file).added, len(set(names(tmp_path)))) == (51, 251)


def test_many_contents_under_one_prompt_id_match_in_any_order(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "ROWS", 30)
    rows = [{"prompt_id": "p", "prompt": str(number % 90)} for number in range(150)]
    file.write_bytes(lines(*rows))
    assert take(tmp_path, file).added == 150
    file.write_bytes(lines(*reversed(rows)))
    assert take(tmp_path, file).added == 0


def test_dedupe_drops_equal_rows(tmp_path: Path, file: Path) -> None:
    file.write_bytes(prompts(["a", "b", "a", "a"]))
    report = take(tmp_path, file, repeats=Repeats(drop=True))
    assert (report.rows, report.added, report.dropped, report.rejected) == (4, 2, 2, 0)
    again = take(tmp_path, file, repeats=Repeats(drop=True))
    assert (again.added, again.present, again.dropped) == (0, 2, 2)


def test_on_duplicate_error_rejects_rows_that_are_there(tmp_path: Path, file: Path) -> None:
    file.write_bytes(prompts(["a"]))
    take(tmp_path, file)
    later = tmp_path / "later.jsonl"
    later.write_bytes(prompts(["b", "a", "b"]))
    report = take(tmp_path, later, repeats=Repeats(refuse=True))
    assert (report.added, report.reasons) == (1, {"duplicate": 2})
    assert report.rejects is not None
    details = [json.loads(line)["detail"] for line in report.rejects.read_bytes().splitlines()]
    assert "line 2 of later.jsonl is the same as at line 1 of rows.jsonl" in details[0]
    assert "line 3 of later.jsonl is the same as at line 1 of later.jsonl" in details[1]


def test_the_states_add_up_to_the_samples(tmp_path: Path, file: Path) -> None:
    file.write_bytes(prompts(str(number) for number in range(1_234)))
    take(tmp_path, file)

    async def work(store: Store) -> tuple[Any, Any]:
        async with store.snapshot() as reads:
            counted = await reads.value(select(COUNTER.c.n).where(COUNTER.c.metric == "state:ready"))
            return counted, await reads.value(select(func.count()).select_from(SAMPLE))

    assert in_store(tmp_path, work) == (1_234, 1_234)


STATEMENTS = ("dataset_named", "standing", "taken", "first_places", "highest_ordinal", "add_samples", "add_jobs")


@pytest.mark.on_files
@pytest.mark.parametrize("name", [*STATEMENTS, "count_source", "finish_source", "source_of_content", "latest_imports"])
def test_no_statement_reads_a_whole_table(tmp_path: Path, file: Path, name: str) -> None:
    from sqlalchemy import text
    from sqlalchemy.dialects import sqlite

    file.write_bytes(prompts(["a"]))
    take(tmp_path, file)
    statement = getattr(statements, name)()
    compiled = str(statement.compile(dialect=sqlite.dialect(paramstyle="named")))

    async def work(store: Store) -> list[str]:
        async with store.snapshot() as reads:
            explain = text("EXPLAIN QUERY PLAN " + compiled)
            return [row.detail for row in await reads.rows(explain, dict.fromkeys(explain.compile().params))]

    scans = [step for step in in_store(tmp_path, work) if step.startswith("SCAN") and "VIRTUAL TABLE" not in step]
    assert scans == []
