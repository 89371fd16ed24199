"""Anything at all through the real paths: no traceback, and every input accounted for.

`FUZZ_LINES`, `FUZZ_BODIES` and `FUZZ_STORED` make it as long as wanted: 50,000 of each of the first two is a full run.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from sqlalchemy import func, select

from app.capture import PROFILES, Asked, Form, read_body
from app.export.exporting import export_dataset
from app.export.request import ExportRequest, Only
from app.intake.dry_run import DryRun
from app.intake.importing import import_file
from app.intake.request import ImportReport, ImportRequest
from app.model.verdicts import Verdict
from app.progress.sample import sample
from app.store.store import Store, open_store
from app.store.tables import JOB, READING, RESPONSE, SAMPLE, UNREAD
from tests.support.filled import filled
from tests.support.mutations import Mutator
from tests.unit.capture.case_file import CASES, RECORDINGS
from tests.unit.capture.test_properties import check_sound

LINES = int(os.environ.get("FUZZ_LINES", "3000"))
BODIES = int(os.environ.get("FUZZ_BODIES", "3000"))
STORED = int(os.environ.get("FUZZ_STORED", "300"))

TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
TALK = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "1 + 1? 中 🙂"},
    {"role": "assistant", "content": "<think>hm</think>2", "tool_calls": [CALL]},
    {"role": "tool", "content": "3", "tool_call_id": "c1"},
    {"role": "user", "content": [{"type": "text", "text": "sure?"}]},
]
ANSWER = {"reasoning": "", "content": " why</think>2", "finish_reason": "stop", "usage": {"completion_tokens": 9}}
GOOD_ROWS = (
    {"sample_id": "a", "messages": TALK, "tools": TOOLS},
    {"sample_id": "b", "messages": TALK[:2]},
    {"messages": TALK, "tools": json.dumps(TOOLS), "system": "first"},
    {"prompt": "what?", "id": 7},
    {"prompt": TALK[:2], "prompt_id": "p"},
    {"sample_id": "r1", "messages": TALK[:2], **ANSWER},
    {"sample_id": "r2", "messages": TALK[:2], **ANSWER, "content": None, "finish_reason": None},
)
GOOD_LINES = [json.dumps(row, ensure_ascii=number % 2 == 0).encode() for number, row in enumerate(GOOD_ROWS)]


def bodies() -> list[bytes]:
    """The bodies of the cases and the recordings, streams among them."""
    found = [json.dumps(case["body"]).encode() for case in CASES if "body" in case]
    found += [_stream(case["chunks"]) for case in CASES if "chunks" in case]
    return found + [row["raw"].encode() for row in RECORDINGS if isinstance(row.get("raw"), str)]


def _stream(chunks: Sequence[object]) -> bytes:
    return b"".join(b"data: %s\n\n" % json.dumps(chunk).encode() for chunk in chunks)


def odd_lines(count: int) -> bytes:
    """Mutated lines; most with ids of their own, so that not each is in conflict with another."""
    mutator = Mutator(20)
    made = []
    for number in range(count):
        line = mutator.one_of(GOOD_LINES)
        made.append(line if number % 10 == 0 else line.replace(b'_id": "', b'_id": "%d' % number))
    return b"\n".join(made)


@pytest.mark.timeout(1800)
def test_every_line_is_added_or_there_or_rejected_with_a_reason(tmp_path: Path) -> None:
    file = tmp_path / "odd.jsonl"
    file.write_bytes(odd_lines(LINES))
    expected = sum(1 for line in file.read_bytes().split(b"\n") if line.strip())

    async def twice() -> tuple[ImportReport, ImportReport, int]:
        async with open_store(str(tmp_path / "t.db"), create=True) as store:
            first = await import_file(store, ImportRequest("d", str(file)), lambda _progress: None)
            again = await import_file(store, ImportRequest("d", str(file)), lambda _progress: None)
            return first, again, await _samples(store)

    first, again, samples = anyio.run(twice)
    for report in (first, again):
        assert report.rows == expected == report.added + report.present + report.dropped + report.rejected
        assert report.rejected == sum(report.reasons.values())
    assert (again.added, again.rejected) == (0, first.rejected)
    assert samples == first.added > LINES // 10
    assert first.rejects is not None
    rejects = [json.loads(line) for line in first.rejects.read_bytes().split(b"\n") if line]
    assert len(rejects) == len({reject["line"] for reject in rejects}) == first.rejected
    assert all(reject["reason"] and reject["expected"] for reject in rejects)
    dry = DryRun(ImportRequest("d", str(file)))
    assert sum(1 for _ in dry.fates()) == expected


async def _samples(store: Store) -> int:
    async with store.snapshot() as reads:
        return int(await reads.value(select(func.count()).select_from(SAMPLE)))


@pytest.mark.timeout(1800)
def test_every_body_has_a_verdict() -> None:
    mutator = Mutator(21)
    good = bodies()
    verdicts: dict[Verdict, int] = {}
    for _ in range(BODIES):
        reading = read_body(mutator.choice((200, 200, 200, None, 500, 404, -1)), mutator.one_of(good), _asked(mutator))
        check_sound(reading)
        verdicts[reading.verdict] = verdicts.get(reading.verdict, 0) + 1
    assert sum(verdicts.values()) == BODIES
    assert len(verdicts) >= 5


def _asked(mutator: Mutator) -> Asked:
    return Asked(
        thinking=mutator.choice((None, True, False)),
        profile=mutator.choice(tuple(PROFILES)),
        prompt=mutator.choice(("", "say </think>")),
        form=mutator.choice((Form.CHAT, Form.CHAT, Form.SSE, Form.RAW_RESPONSES)),
    )


@pytest.mark.timeout(1800)
def test_every_body_is_stored_read_settled_shown_and_exported(tmp_path: Path) -> None:
    mutator = Mutator(22)
    good = [*bodies(), *GOOD_LINES[-2:]]
    sent: dict[int, bytes] = {}

    async def work() -> Sequence[tuple[str, int]]:
        async with filled(tmp_path / "t.db") as at:
            await at.dataset("d", STORED)
            for start in range(0, STORED, 50):
                for lease in await at.claim(min(50, STORED - start)):
                    sent[lease.job] = mutator.one_of(good)
                    form = mutator.choice((Form.CHAT, Form.CHAT, Form.SSE, Form.RAW_RESPONSES))
                    await at.answer(lease, sent[lease.job], form=form)
            async with at.store.snapshot() as reads:
                assert await reads.value(select(func.count()).select_from(UNREAD)) == 0
                by_state = await reads.rows(select(JOB.c.state, func.count()).group_by(JOB.c.state))
                read = select(func.count()).select_from(RESPONSE).join(READING, READING.c.response_id == RESPONSE.c.id)
                assert await reads.value(read) == STORED
                names = await reads.rows(select(JOB.c.id, JOB.c.sample_id))
            for job in names:
                view = await sample(at.store, "d", job.sample_id, replica=0, attempt=1)
                assert view.texts is not None
                assert view.texts.raw == sent[job.id]
            request = ExportRequest("d", tmp_path / "d.jsonl", only=Only.DONE, allow_uncaptured=True)
            report = await export_dataset(at.store, request)
            assert report.written.rows + sum(report.left_out.values()) == STORED
            return [(str(row[0]), int(row[1])) for row in by_state]

    states = dict(anyio.run(work))
    assert sum(states.values()) == STORED
    assert set(states) == {"done", "waiting"}
    for line in (tmp_path / "d.jsonl").read_bytes().split(b"\n")[:-1]:
        assert json.loads(line)["sample_id"]
