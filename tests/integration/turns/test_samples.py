"""`--samples N`: several answers a prompt, each a job of its own with its seed."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.intake.importing import import_file
from app.intake.request import ImportReport, ImportRequest
from app.leasing.claim import prompts_of
from app.model.errors import UsageError
from tests.integration.leasing.kit import Room, open_room
from tests.support.product import Product
from worker.asking import Dialect, question

pytestmark = pytest.mark.anyio
PLAIN = Dialect("other", raw_text=False, token_ids=False)


async def take(room: Room, folder: Path, *rows: dict[str, Any], **said: Any) -> ImportReport:
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return await import_file(room.store, ImportRequest("d", str(file), said=said), lambda _progress: None)


def row(name: str, **body: Any) -> dict[str, Any]:
    asked = {"messages": [{"role": "user", "content": name}], **body}
    return {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": asked}


async def test_each_answer_is_a_job_with_its_seed_recorded_and_sent(tmp_path: Path) -> None:
    async with open_room(tmp_path / "t.db") as room:
        report = await take(room, tmp_path, row("a"), row("b", seed=40, top_p=0.5), samples=3)
        assert report.added == 2
        jobs = await room.all("SELECT sample_id, replica, seed, ordinal FROM job ORDER BY id")
        assert jobs == [
            ("a", 0, 0, 1), ("a", 1, 1, 1), ("a", 2, 2, 1), ("b", 0, 40, 2), ("b", 1, 41, 2), ("b", 2, 42, 2),
        ]  # fmt: skip
        leases = await room.claim(await room.worker())
        prompts = await prompts_of(room.store, leases)
        sent = [question(prompts[lease.job], "m", PLAIN).body for lease in leases]
        assert [body["seed"] for body in sent] == [0, 1, 2, 40, 41, 42]
        assert [body["top_p"] for body in sent] == [0.95] * 3 + [0.5] * 3


async def test_a_repeated_import_adds_nothing_and_another_number_is_refused(tmp_path: Path) -> None:
    async with open_room(tmp_path / "t.db") as room:
        await take(room, tmp_path, row("a"), samples=2)
        again = await take(room, tmp_path, row("a"))
        assert (again.added, again.present) == (0, 1)
        await take(room, tmp_path, row("a"), row("b"))
        assert await room.all("SELECT count(*) FROM job WHERE replica = 1") == [(2,)]
        with pytest.raises(UsageError, match="2 answers a prompt, and this import says 3"):
            await take(room, tmp_path, row("a"), samples=3)


async def test_one_answer_a_prompt_sends_no_seed_of_its_own(tmp_path: Path) -> None:
    async with open_room(tmp_path / "t.db") as room:
        await take(room, tmp_path, row("a"))
        (lease,) = await room.claim(await room.worker())
        prompt = (await prompts_of(room.store, [lease]))[lease.job]
        assert "seed" not in question(prompt, "m", PLAIN).body
        assert await room.all("SELECT seed FROM job") == [(None,)]


async def test_a_seed_that_is_no_number_is_refused(tmp_path: Path) -> None:
    async with open_room(tmp_path / "t.db") as room:
        with pytest.raises(ExceptionGroup) as caught:
            await take(room, tmp_path, row("a", seed="x"), samples=2)
        assert caught.group_contains(UsageError, match="need a whole number")


def test_a_sample_is_found_by_the_name_that_the_list_gives_it(tmp_path: Path) -> None:
    product = Product(tmp_path)
    rows = [{"sample_id": name, "prompt": name} for name in ("a", "a#x", "b#1")]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    product.run("import", "d", "rows.jsonl", "--samples", "2")
    for asked, found in (
        ("a", ("a", 0)),
        ("a#1", ("a", 1)),
        ("b#1", ("b#1", 0)),
        ("b#1#1", ("b#1", 1)),
        ("a#x", ("a#x", 0)),
    ):
        shown = json.loads(product.run("sample", "d", asked, "--json").stdout)["sample"]
        assert (shown["sample_id"], shown["replica"]) == found
    for asked in ("a#2", "a#", "#1", "c#1", "a#²"):
        assert b"has no sample" in product.run("sample", "d", asked, code=3).stderr
