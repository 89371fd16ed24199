"""`worker list` says what the page of workers says."""

import json
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from app.gates.health import Found, note_health
from app.leasing.workers import Leave, Registration, leave, register
from app.progress.workers import workers_page
from app.progress.workers_json import workers_json
from app.store.store import wall_ms
from tests.support.filled import filled, thought
from tests.support.kinds import KINDS, stores_on
from tests.support.typed import typed

LONG = "gpu-\u65e5\u672c\u8a9e-" + "x" * 60 + "\x1b[31m"


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("workers")

    async def fill() -> None:
        async with filled(made / "t.db") as at:
            at.clock.ms = wall_ms()
            await at.dataset("d", 9)
            await at.answer_next("d", thought(1), thought(2))
            await at.claim(3, "d")
            who = Registration("u-2", LONG, "host", 7, "boot", "0.1.0", slots=64, ttl_ms=60_000)
            ended = await at.store.write(register, who)
            await at.store.write(leave, Leave(ended, "stopped"))
            await at.store.write(note_health, Found(at.worker, "http://server:30000/v1", None))

    with stores_on(request.param):
        anyio.run(fill)
        yield made


def test_the_table_has_aligned_columns_and_no_escape(folder: Path) -> None:
    text = typed(folder, "--db", "t.db", "worker", "list").stdout.decode()
    names, dead, stopped, *rest = text.splitlines()
    assert names.split()[:3] == ["id", "worker", "state"]
    assert dead[: names.index("state")].split() == ["1", "gpu"]
    assert dead[names.index("state") :].startswith("dead")  # it was started with the clock of last winter
    assert dead[: names.index("slots used") + len("slots used")].endswith("  3 of 8")
    assert stopped.index("stopped") == names.index("state") - 3  # three letters of its name take two columns each
    assert rest[0].endswith("3 leases")
    assert rest[1] == "servers  endpoint not asked"
    assert "\x1b" not in text


def test_a_narrow_terminal_gets_facts_and_nothing_is_cut(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    text = typed(folder, "--db", "t.db", "worker", "list").stdout.decode()
    assert "slots used 3 of 8" in text
    assert "id 1  gpu  dead" in text
    assert "x" * 60 in text


def test_json_is_that_of_the_page(folder: Path) -> None:
    said = json.loads(typed(folder, "--db", "t.db", "worker", "list", "--json").stdout)

    async def read() -> object:
        async with filled(folder / "t.db") as at:
            return workers_json(await workers_page(at.store))

    ours = json.loads(json.dumps(anyio.run(read)))
    assert said["schema"] == 1
    assert said["data"]["workers"][1] == ours["workers"][-1]
    assert said["data"].keys() == ours.keys()
