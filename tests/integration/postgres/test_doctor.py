"""`doctor` looks at a store on a server: what only a file has is left out, and the two clocks are compared."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from app.store.store import open_store
from tests.support.postgres import free_port, server
from tests.support.product import Product
from worker import doctor
from worker.doctor import Check, Level, examine

NAMES = {"schema", "locks", "server", "parser", "sums", "disk", "spool", "backup", "workers", "clock"}


@pytest.fixture
def url() -> str:
    return server().empty()


def examined(product: Product, url: str, code: int = 0) -> dict[str, dict[str, Any]]:
    said = json.loads(product.run("--db", url, "doctor", "--json", code=code).stdout)
    return {check["name"]: check for check in said["checks"]}


async def make(url: str) -> None:
    async with open_store(url, create=True):
        pass


def test_a_store_on_a_server_is_examined(tmp_path: Path, url: str) -> None:
    anyio.run(make, url)
    checks = examined(Product(tmp_path), url)
    assert checks.keys() == NAMES
    assert {name: check["level"] for name, check in checks.items() if check["level"] != "ok"} == {}
    assert "is PostgreSQL " in checks["server"]["says"]
    assert checks["backup"]["says"] == "backups by pg_dump"


def test_a_server_without_a_store_and_one_that_is_away_are_failures(tmp_path: Path, url: str) -> None:
    product = Product(tmp_path)
    empty = examined(product, url, code=3)
    assert empty["store"]["level"] == "fail"
    away = examined(product, f"postgresql://nobody@127.0.0.1:{free_port()}/none", code=5)
    assert away["store"]["level"] == "fail"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("ahead_ms", "level"), [(30_000, Level.OK), (90_000, Level.WARN), (-90_000, Level.WARN)])
def test_a_clock_that_is_not_the_servers_is_told(
    url: str, ahead_ms: int, level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    anyio.run(make, url)
    true_ms = doctor.wall_ms
    monkeypatch.setattr(doctor, "wall_ms", lambda: true_ms() + ahead_ms)
    checks: list[Check] = []

    async def look() -> None:
        checks.extend([check async for check in examine(url, (), named=True)])

    anyio.run(look)
    (clock,) = (check for check in checks if check.name == "clock")
    assert clock.level is level
    assert ("the store's server" in clock.says) == (level is Level.WARN)
