"""Real files into a real store."""

import gzip
import json
import os
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest
import zstandard
from sqlalchemy import ColumnElement, func, select

from app.intake import chunks, rejects, statements
from app.intake.dry_run import DryRun, to_json
from app.intake.importing import import_file
from app.intake.lines import open_lines
from app.intake.matching import Repeats
from app.intake.request import ImportReport, ImportRequest
from app.intake.rows import Reading
from app.model.errors import NotFound, Refused, UsageError
from app.store.store import Store, open_store
from app.store.tables import COUNTER, DATASET, EVENT, JOB, SAMPLE, SOURCE

ROOT = Path(__file__).parents[2]
Result = TypeVar("Result")


def in_store(folder: Path, work: Callable[[Store], Awaitable[Result]]) -> Result:
    async def opened() -> Result:
        async with open_store(str(folder / "store" / "t.db"), create=True) as store:
            return await work(store)

    (folder / "store").mkdir(exist_ok=True)
    return anyio.run(opened)


def take(folder: Path, path: Path, name: str = "d", **settings: Any) -> ImportReport:
    async def work(store: Store) -> ImportReport:
        return await import_file(store, ImportRequest(name, str(path), **settings), lambda _progress: None)

    return in_store(folder, work)


def rows_of(folder: Path, *columns: ColumnElement[Any]) -> list[tuple[Any, ...]]:
    async def work(store: Store) -> list[tuple[Any, ...]]:
        async with store.snapshot() as reads:
            return [tuple(row) for row in await reads.rows(select(*columns).order_by(columns[0].table.c.id))]

    return in_store(folder, work)


def names(folder: Path) -> list[str]:
    return [name for (name,) in rows_of(folder, SAMPLE.c.sample_id)]


def lines(*rows: Any) -> bytes:
    return b"".join(row + b"\n" if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in rows)


def prompts(texts: Iterable[str]) -> bytes:
    return lines(*({"prompt": text} for text in texts))


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


def test_importing_a_file_again_changes_nothing(tmp_path: Path, file: Path) -> None:
    file.write_bytes(prompts(["a", "b", "a", "c", "a"]))
    first = take(tmp_path, file)
    before = rows_of(tmp_path, SAMPLE.c.id, SAMPLE.c.sample_id), in_store(tmp_path, lambda store: store.seq())
    again = take(tmp_path, file)
    assert (first.added, first.repeated) == (5, 2)
    assert (again.created, again.rows, again.added, again.present, again.repeated) == (False, 5, 0, 5, 2)
    assert (rows_of(tmp_path, SAMPLE.c.id, SAMPLE.c.sample_id), in_store(tmp_path, lambda store: store.seq())) == before
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


CLEAN = lines({"id": "1", "prompt": "a"}, {"id": "2", "prompt": "line\u2028separator"}, {"id": "3", "prompt": "c"})
RAW_SEPARATOR = CLEAN.replace(b"\\u2028", "\u2028".encode())


def _frames(data: bytes) -> bytes:
    half = len(data) // 2
    compress = zstandard.ZstdCompressor().compress
    return compress(data[:half]) + compress(data[half:])


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(RAW_SEPARATOR, id="U+2028 inside a line"),
        pytest.param(b"\xef\xbb\xbf" + CLEAN.replace(b"\n", b"\r\n\r\n  \r\n"), id="BOM, CRLF and blank lines"),
        pytest.param(CLEAN.removesuffix(b"\n"), id="no last newline"),
        pytest.param(gzip.compress(CLEAN[:40]) + gzip.compress(CLEAN[40:]), id="gzip of two members"),
        pytest.param(_frames(CLEAN), id="zstd of two frames"),
    ],
)
def test_the_container_does_not_matter(tmp_path: Path, file: Path, data: bytes) -> None:
    file.write_bytes(data)
    report = take(tmp_path, file)
    assert (report.rejected, names(tmp_path)) == (0, ["1", "2", "3"])
    contents = [content for (content,) in rows_of(tmp_path, SAMPLE.c.content_sha256)]
    file.write_bytes(CLEAN)
    assert take(tmp_path, file, name="plain").added == 3
    assert [content for (content,) in rows_of(tmp_path, SAMPLE.c.content_sha256)] == contents * 2


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.ZstdCompressor().compress], ids=["gzip", "zstd"])
def test_compressed_data_that_ends_early_is_said(
    tmp_path: Path, file: Path, compress: Callable[[bytes], bytes]
) -> None:
    whole = compress(prompts(str(number) * 40 for number in range(20_000)))
    file.write_bytes(whole[: len(whole) // 2])
    report = take(tmp_path, file)
    assert report.reasons == {"damaged_file": 1}
    assert report.sha256 is None
    file.write_bytes(whole)
    assert take(tmp_path, file).added + report.added == 20_000


def test_a_line_of_any_length_takes_little_memory(file: Path) -> None:
    with gzip.open(file, "wb", compresslevel=1) as out:
        for _ in range(150):
            out.write(b"x" * 2**20)
        out.write(b'\n{"prompt": "after"}\n')
    tracemalloc.start()
    try:
        with open_lines(str(file)) as opened:
            found = [(line.number, line.fault, len(line.data)) for line in opened]
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == [(1, "too_large", 1000), (2, None, 19)]
    assert peak_bytes < 24 * 2**20


def test_the_source_tells_what_was_read(tmp_path: Path, file: Path) -> None:
    file.write_bytes(lines({"prompt": "a"}, b"[]", {"prompt": "b"}))
    whole = take(tmp_path, file)
    limited = take(tmp_path, file, name="limited", limit=1)
    assert (limited.rows, limited.added, limited.sha256) == (1, 1, None)
    found = rows_of(tmp_path, SOURCE.c.name, SOURCE.c.sha256, SOURCE.c.rows, SOURCE.c.rejected)
    assert found == [("rows.jsonl", whole.sha256, 3, 1), ("rows.jsonl", None, 1, 0)]
    assert all(finished for (finished,) in rows_of(tmp_path, SOURCE.c.finished_ms))
    assert [kind for (kind,) in rows_of(tmp_path, EVENT.c.kind)] == ["dataset_created", "imported"] * 2


def test_settings_said_again_must_be_the_stored_ones(tmp_path: Path, file: Path) -> None:
    file.write_bytes(prompts(["a"]))
    take(tmp_path, file, said={"temperature": 0.5})
    take(tmp_path, file, said={"temperature": 0.5})
    with pytest.raises(BaseExceptionGroup) as raised:
        take(tmp_path, file, said={"temperature": 0.6, "model": "m"}, max_attempts=9)
    [error] = raised.value.exceptions
    assert isinstance(error, UsageError)
    assert "temperature is 0.5, this import says 0.6" in str(error)
    assert 'model is not set, this import says "m"' in str(error)
    assert "max_attempts is 5, this import says 9" in str(error)


@pytest.mark.parametrize(
    ("name", "path", "kind"),
    [
        ("d", "absent.jsonl", NotFound),
        ("d", ".", UsageError),
        ("d", "rows.xlsx", UsageError),
        ("d", "store/t.db", Refused),
        ("../d", "rows.jsonl", UsageError),
        ("d\n", "rows.jsonl", UsageError),
    ],
)
def test_what_cannot_be_meant_changes_nothing(
    tmp_path: Path, file: Path, name: str, path: str, kind: type[Exception]
) -> None:
    file.write_bytes(prompts(["a"]))
    (tmp_path / "rows.xlsx").touch()
    with pytest.raises(BaseExceptionGroup) as raised:
        take(tmp_path, tmp_path / path, name=name)
    assert raised.group_contains(kind)
    assert rows_of(tmp_path, DATASET.c.id) == []


def test_ids_in_every_script_and_with_control_characters_are_kept(tmp_path: Path, file: Path) -> None:
    odd = ["é☕", "a\x00b", "a\x00c", "two\nlines", " x ", "100%", "'"]
    file.write_bytes(lines(*({"id": name, "prompt": "p\x00" + name} for name in odd)))
    assert take(tmp_path, file).added == len(odd)
    assert names(tmp_path) == odd
    assert take(tmp_path, file).added == 0


def test_a_dry_run_writes_nothing_and_names_rows_as_an_import_does(tmp_path: Path, file: Path) -> None:
    file.write_bytes(
        lines(
            {"prompt": "a"},
            {"prompt": "a"},
            {"id": "x", "prompt": "p"},
            {"id": "x", "prompt": "q"},
            b"?",
            {"id": "x", "prompt": "p"},
        )
    )
    run = DryRun(ImportRequest("d", str(file)))
    shown = [json.loads(to_json(fate)) for fate in run.fates()]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.jsonl"]
    assert [row["dropped"] for row in shown] == [None, None, None, "conflicting_id", "not_json", None]
    assert list(shown[0]) == ["sample_id", "messages", "tools", "dropped", "notes"]
    assert shown[3] == {"sample_id": None, "messages": None, "tools": None, "dropped": "conflicting_id", "notes": []}
    report = take(tmp_path, file)
    assert [row["sample_id"] for row in shown if row["sample_id"]] == names(tmp_path)
    dry = run.report()
    assert (dry.rows, dry.added, dry.rejected, dry.repeated, dry.sha256) == (6, 4, 2, 2, report.sha256)


def test_rows_that_are_not_allowed_to_guess_their_id_are_refused(tmp_path: Path, file: Path) -> None:
    file.write_bytes(lines({"key": "k", "prompt": "a"}, {"id": "i", "prompt": "b"}))
    report = take(tmp_path, file, reading=Reading(id_field="key"))
    assert (names(tmp_path), report.reasons) == (["k"], {"no_id": 1})


def test_rejects_of_a_link_or_a_folder_that_cannot_be_written_go_elsewhere(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_bytes(b"?\n")
    victim = tmp_path / "victim"
    victim.write_text("mine")
    beside = tmp_path / "rows.jsonl.rejects.jsonl"
    beside.symlink_to(victim)
    assert take(tmp_path, file).rejects == tmp_path / "rows.jsonl.rejects.2.jsonl"
    assert (victim.read_text(), beside.is_symlink()) == ("mine", True)
    opened = os.open

    def refuse(path: Path, flags: int, mode: int) -> int:  # a folder without write access, which root does not know
        if Path(path).parent == tmp_path:
            raise PermissionError(13, "Permission denied")
        return opened(path, flags, mode)

    monkeypatch.setattr(rejects.os, "open", refuse)
    assert take(tmp_path, file).rejects == tmp_path / "store" / "rows.jsonl.rejects.jsonl"


def test_rejects_of_standard_input_go_to_the_folder_of_the_store(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    command = [sys.executable, "-c", CHILD, str(tmp_path / "store" / "t.db"), "-"]
    subprocess.run(command, cwd=ROOT, input=b"?\n", check=True, capture_output=True)
    assert (tmp_path / "store" / "d.stdin.rejects.jsonl").exists()


CHILD = """
import sys, anyio
from app.intake import chunks
from app.intake.importing import import_file
from app.intake.request import ImportRequest
from app.store.store import open_store
chunks.ROWS = 500

async def main():
    async with open_store(sys.argv[1], create=True) as store:
        await import_file(store, ImportRequest("d", sys.argv[2]), lambda progress: print(progress.added, flush=True))

anyio.run(main)
"""


def test_an_import_that_was_killed_is_completed_by_running_it_again(tmp_path: Path, file: Path) -> None:
    texts = [str(number % 1900) for number in range(3_000)]
    data = prompts(texts)
    file.write_bytes(data)
    (tmp_path / "store").mkdir()
    command = [sys.executable, "-c", CHILD, str(tmp_path / "store" / "t.db"), "-"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(b"".join(data.splitlines(keepends=True)[:2_200]))  # not the end: it cannot be finished yet
        child.stdin.flush()
        for _ in range(4):
            child.stdout.readline()
        child.send_signal(signal.SIGKILL)
        child.wait()
    committed = len(names(tmp_path))
    assert committed == 2_000
    report = take(tmp_path, file)
    assert (report.added, report.present) == (1_000, 2_000)
    assert len(names(tmp_path)) == len(set(names(tmp_path))) == 3_000
    assert [ordinal for (ordinal,) in rows_of(tmp_path, JOB.c.ordinal)] == list(range(1, 3_001))
    assert rows_of(tmp_path, SOURCE.c.sha256, SOURCE.c.finished_ms)[0] == (None, None)
    assert take(tmp_path, file).added == 0


def test_an_import_that_waits_for_its_input_can_be_interrupted(tmp_path: Path) -> None:
    child_code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n" + CHILD.replace("500", "1")
    command = [sys.executable, "-c", child_code, str(tmp_path / "t.db"), "-"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(prompts(["a", "b"]))
        child.stdin.flush()
        child.stdout.readline()
        child.send_signal(signal.SIGINT)
        child.wait(timeout=60)  # its input is still open
        assert child.stderr is not None
        assert b"KeyboardInterrupt" in child.stderr.read()


MEMORY = """
import resource, sys, anyio
from app.intake.importing import import_file
from app.intake.request import ImportRequest
from app.store.store import open_store

peaks = []
async def main():
    async with open_store(sys.argv[1], create=True) as store:
        def note(progress):
            peaks.append((progress.rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
        await import_file(store, ImportRequest("d", sys.argv[2]), note)

anyio.run(main)
early = next(peak for rows, peak in peaks if rows >= 30_000)
print((peaks[-1][1] - early) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in other units elsewhere")
def test_memory_does_not_grow_with_the_file(tmp_path: Path, file: Path) -> None:
    with file.open("wb") as out:
        for start in range(0, 100_000, 1_000):
            out.write(prompts(f"{number} " + "word " * 20 for number in range(start, start + 1_000)))
    command = [sys.executable, "-c", MEMORY, str(tmp_path / "t.db"), str(file)]
    grown_mib = int(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    assert grown_mib < 20


def test_the_states_add_up_to_the_samples(tmp_path: Path, file: Path) -> None:
    file.write_bytes(prompts(str(number) for number in range(1_234)))
    take(tmp_path, file)

    async def work(store: Store) -> tuple[Any, Any]:
        async with store.snapshot() as reads:
            counted = await reads.value(select(COUNTER.c.n).where(COUNTER.c.metric == "state:ready"))
            return counted, await reads.value(select(func.count()).select_from(SAMPLE))

    assert in_store(tmp_path, work) == (1_234, 1_234)


STATEMENTS = ("dataset_named", "standing", "taken", "first_places", "highest_ordinal", "add_samples", "add_jobs")


@pytest.mark.parametrize("name", [*STATEMENTS, "count_source", "finish_source", "source_of_content"])
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
