"""What stands as a hold or an alarm is said by `status`, its JSON and the page, once."""

import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from app.model.verdicts import Verdict
from app.progress.as_json import overview_json
from app.progress.gathering import overview
from app.progress.overview import Overview
from app.web.hosts import Hosts
from app.web.overview_page import overview_page
from app.web.site import Site
from tests.support.filled import LOST, Filled, filled, thought
from tests.support.forks import COMMAND, environment
from tests.support.typed import in_words, typed

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def one_lost_and_one_held(at: Filled) -> Overview:
    """`warned` lost one answer of 21; `held` lost its first two."""
    at.watched = True
    await at.dataset("warned", 40)
    await at.dataset("held", 40)
    await at.answer_next("warned", *[thought(number) for number in range(20)], LOST[Verdict.MISSING])
    await at.answer_next("held", LOST[Verdict.MISSING], LOST[Verdict.MISSING])
    return await overview(at.store)


def at_a_terminal(folder: Path) -> str:
    """What `status` writes to a terminal."""
    ours, theirs = pty.openpty()
    command = [*COMMAND, *in_words(folder, ("--db", "t.db", "status"))]
    subprocess.run(command, cwd=folder, env=environment(), stdin=theirs, stdout=theirs, stderr=theirs, check=True)
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
    except OSError:  # Linux says so when the other end is closed and all is read
        pass
    os.close(ours)
    return shown.decode()


async def test_status_shows_each_alarm_once_and_red_at_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    async with filled(tmp_path / "t.db") as at:
        await one_lost_and_one_held(at)
    plain = typed(tmp_path, "--db", "t.db", "status").stdout.decode()
    assert plain.count("0 of the first 2 answers captured") == 1
    assert plain.count("ALARM lost_any warned since") == plain.count("ALARM lost_any held since") == 1
    assert "\x1b" not in plain
    red = re.findall(r"\x1b\[31m\s*(HELD by gate|ALARM lost_any \w+)[^\n]*\x1b\[0m", at_a_terminal(tmp_path))
    assert red == ["HELD by gate", "ALARM lost_any warned", "ALARM lost_any held"]


async def test_one_dataset_shows_its_own_alarms(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await one_lost_and_one_held(at)
        found = await overview(at.store, "warned")
    assert [alarm.dataset for alarm in found.alarms] == ["warned"]


async def test_the_json_has_every_open_alarm_with_its_numbers(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        alarms = overview_json(await one_lost_and_one_held(at))["alarms"]
    assert [(one["kind"], one["dataset"], one["holds"], one["part"], one["whole"]) for one in alarms] == [
        ("gate", "held", True, 0, 2),
        ("lost_any", "warned", False, 1, 21),
        ("lost_any", "held", False, 2, 2),
    ]


async def test_the_page_has_them_in_its_banner(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        page = overview_page(Site(at.store, Hosts("127.0.0.1"), None), await one_lost_and_one_held(at))
    assert [(alert.tone, alert.title.partition(" since")[0]) for alert in page.alerts] == [
        ("bad", "held: held by gate"),
        ("warn", "warned: lost any"),
        ("warn", "held: lost any"),
    ]
    assert all("thinkledger samples" in alert.text for alert in page.alerts)
