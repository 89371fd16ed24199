"""Token ids are read anew as everything else is, and an export as of an older point shows those of then."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.capture import Reading
from app.export.census import Census, take_census
from app.export.pages import Columns
from app.export.pages import answers as exported
from app.verify.verifying import Told, verify
from tests.integration.reparse_kit import again, answers, execute, in_filled, rows
from tests.support.filled import Filled, chat
from tests.support.kinds import kind

IDS = ((1, 2), (7, 8, 9))
NONE = (None, None)


def with_ids() -> bytes:
    said: dict[str, Any] = json.loads(chat("t</think>a"))
    said["choices"][0] |= {"prompt_token_ids": IDS[0], "response_token_ids": IDS[1]}
    return json.dumps(said).encode()


def blind(reading: Reading) -> Reading:
    """What a parser saw that did not look for ids."""
    return replace(reading, token_ids=None, prompt_token_ids=None)


def inventive(reading: Reading) -> Reading:
    """What a parser saw that took something else for ids."""
    return replace(reading, token_ids=(5,), prompt_token_ids=None)


async def found(at: Filled) -> list[str]:
    lines: list[str] = []
    await verify(at.store, Told(lambda finding: lines.append(finding.line)), full=True)
    return lines


async def census_of(at: Filled) -> Census:
    return await take_census(at.store, "d")


async def tokens(at: Filled, census: Census) -> list[Any]:
    return [
        one.exported().tokens
        async for page in exported(at.store, census, columns=Columns(tokens=True))
        for one in page.answers
    ]


def test_ids_that_only_a_later_reading_sees_are_not_those_of_an_older_point(tmp_path: Path) -> None:
    async def work(at: Filled) -> None:
        await at.dataset("d", 3)
        await answers(at, blind, with_ids())
        await answers(at, inventive, with_ids(), chat("t</think>a"))
        before = await census_of(at)
        seen = [NONE, (None, (5,)), (None, (5,))]
        assert await tokens(at, before) == seen
        assert (await again(at)).changed == 3
        report = await again(at, apply=True)
        assert (report.changed, report.regressions) == (3, 0)
        assert await tokens(at, before) == seen
        assert await tokens(at, await census_of(at)) == [IDS, IDS, NONE]
        assert (await again(at, apply=True)).unchanged == 3
        assert await rows(at, "SELECT count(*) FROM token_ids") == [(5,)]

    in_filled(tmp_path, work)


def test_damaged_ids_are_found_by_verify_and_mended_by_a_reparse(tmp_path: Path) -> None:
    async def work(at: Filled) -> None:
        await at.dataset("d", 1)
        await answers(at, lambda reading: reading, with_ids())
        spoiled = "X'01'" if kind() == "sqlite" else r"CAST('\x01' AS BYTEA)"
        await at.store.write(execute, f"UPDATE token_ids SET prompt = {spoiled}")
        assert [line for line in await found(at) if "the token ids of its prompt" in line and "reparse NAME" in line]
        assert (await again(at, apply=True)).changed == 1
        assert await found(at) == []

    in_filled(tmp_path, work)
