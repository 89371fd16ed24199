"""What a turn was asked after is found again from the readings of then: `verify` looks at it, and the pages show it."""

import re
from pathlib import Path

import anyio
import pytest

from app.leasing.datasets import dataset_of
from app.progress.sample import sample
from app.responses.rereading import Reparse, reparse
from app.verify.verifying import Told, verify
from tests.integration.turns.kit import Talks, talks
from tests.support.dashboard import dashboard
from tests.support.product import Product

pytestmark = pytest.mark.anyio


async def asked_after_an_older_reading(store: Talks) -> None:
    """Three turns: the second was asked after a text of the first that is read otherwise now, the third after that."""
    (lease,) = await store.room.claim(await store.room.worker())
    assert await store.answer(lease, 0, "a")
    await store.room.execute("UPDATE reading SET content = 'of old'")
    assert await store.answer(lease, 1, "b")
    settings = await dataset_of(store.room.store, "talks")
    report = await reparse(store.room.store, Reparse(settings, True, True), lambda _done, _all: None)
    assert (report.changed, report.kept) == (1, 0)
    assert await store.answer(lease, 2, "c")


async def found(store: Talks, *, full: bool) -> list[str]:
    lines: list[str] = []
    await verify(store.room.store, Told(lambda finding: lines.append(finding.line)), full=full)
    return lines


async def test_a_history_of_an_older_reading_is_sound_and_shown_as_it_was_sent(tmp_path: Path) -> None:
    async with talks(tmp_path, 3) as store:
        await asked_after_an_older_reading(store)
        assert await found(store, full=True) == []
        turns = (await sample(store.room.store, "talks", "c0")).turns
        assert [turn.content for turn in turns] == ["a", "b", "c"]
        old = {"role": "assistant", "content": "of old"}
        assert [turn.read_then for turn in turns] == [(), ((0, old),), ()]
        assert all(turn.as_known for turn in turns)


@pytest.mark.parametrize("full", [True, False])
async def test_a_history_that_no_reading_says_is_found(tmp_path: Path, full: bool) -> None:
    async with talks(tmp_path, 3, 2) as store:
        first, second = await store.room.claim(await store.room.worker())
        for turn, words in enumerate("abc"):
            assert await store.answer(first, turn, words)
        assert await store.answer(second, 0, "d")
        assert await store.answer(second, 1, "e")
        assert await found(store, full=full) == []
        await store.room.execute("UPDATE response SET request_sha256 = 'other' WHERE turn = 2")
        (line,) = await found(store, full=full)
        assert line.startswith("talks c0: turn 2 was not asked after the answers that stand before it. To do: ask")
        turns = (await sample(store.room.store, "talks", "c0")).turns
        assert [turn.as_known for turn in turns] == [True, True, False]


async def test_where_no_hash_is_known_the_history_is_taken_as_it_is_read(tmp_path: Path) -> None:
    async with talks(tmp_path, 2) as store:
        (lease,) = await store.room.claim(await store.room.worker())
        assert await store.answer(lease, 0, "a")
        assert await store.answer(lease, 1, "b")
        await store.room.execute("UPDATE response SET request = NULL, request_sha256 = NULL")
        assert await found(store, full=True) == []
        turns = (await sample(store.room.store, "talks", "c0")).turns
        assert [(turn.as_known, turn.read_then) for turn in turns] == [(True, ()), (True, ())]


def test_page_json_and_command_show_what_was_sent(tmp_path: Path) -> None:
    async def make() -> None:
        async with talks(tmp_path, 3) as store:
            await asked_after_an_older_reading(store)

    anyio.run(make)
    with dashboard(tmp_path, "--no-auth") as opened:
        page = opened.ask("/datasets/talks/samples/c0").body
        assert re.findall(r'aria-label="(turn \d) as sent for (Turn \d)">([^<]*)</pre>', page) == [
            ("turn 0", "Turn 1", "of old")
        ]
        twin = opened.ask("/api/v1/datasets/talks/samples/c0").json["data"]["turns"]
        assert twin[1]["read_then"] == [[0, {"role": "assistant", "content": "of old"}]]
    lines = (
        Product(tmp_path).run("--db", "t.db", "sample", "talks", "c0", "--part", "prompt").stdout.decode().splitlines()
    )
    at = lines.index("(asked after this text of turn 0, which is read otherwise now)")
    assert lines[at - 1 : at + 3] == ["=== turn 1", lines[at], "--- assistant", "of old"]
