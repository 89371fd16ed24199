"""`doctor` names what is wrong, says what to do, and exits by the worst of it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from app.model.exits import Exit
from tests.integration.keeping.kit import make_filled, verified
from tests.integration.spool.kit import left_by_dead, spooled
from tests.integration.store import raw
from tests.integration.store.kit import run
from tests.support.filled import filled, thought
from tests.support.product import Product
from tests.support.simulator import Simulator
from worker.doctor import Check, Level, exit_of

NAMES = {
    "sqlite", "file system", "permissions", "schema", "locks", "integrity", "parser", "sums", "disk", "wal", "backup",
    "workers", "clock", "spool",
}  # fmt: skip


def examined(product: Product, *arguments: str, code: int = 0) -> dict[str, dict[str, Any]]:
    facts = json.loads(product.run("doctor", "--json", *arguments, code=code).stdout)
    assert facts["exit"] == code
    return {check["name"]: check for check in facts["checks"]}


def healthy(product: Product) -> None:
    make_filled(product.db)
    product.db.chmod(0o600)
    released = "state = 'ready', lease_worker = NULL, lease_deadline_ms = NULL"
    raw.script(product.db, "UPDATE worker SET state = 'stopped'", f"UPDATE job SET {released} WHERE state = 'leased'")
    product.run("backup")


def test_a_store_that_is_well_is_called_so(product: Product) -> None:
    healthy(product)
    with Simulator() as simulator:
        checks = examined(product, "--endpoint", simulator.url)
        text = product.run("doctor", "--endpoint", simulator.url).stdout.decode()
    assert checks.keys() == NAMES | {"endpoint"}
    assert {name: check["level"] for name, check in checks.items() if check["level"] != "ok"} == {}
    assert len(text.splitlines()) == len(checks)
    assert "as of seq" in checks["backup"]["says"]


def test_a_dead_endpoint_is_exit_5(product: Product) -> None:
    healthy(product)
    checks = examined(product, "--endpoint", "http://127.0.0.1:9", code=5)
    assert checks["endpoint"]["level"] == "fail"
    assert "http://127.0.0.1:9" in checks["endpoint"]["says"]
    assert checks["endpoint"]["todo"]


def test_what_is_worth_a_word_and_no_failure_is_a_warning(product: Product) -> None:
    make_filled(product.db)
    product.db.chmod(0o644)
    raw.script(product.db, "UPDATE meta SET created_ms = 9000000000000000")
    checks = examined(product)
    assert {name for name, check in checks.items() if check["level"] == "warn"} == {
        "permissions", "backup", "workers", "clock",
    }  # fmt: skip
    assert all(check["todo"] for check in checks.values() if check["level"] == "warn")


@pytest.mark.parametrize(
    ("change", "name", "code"),
    [
        ("UPDATE counter SET n = n + 1 WHERE metric = 'state:done'", "sums", 8),
        ("UPDATE meta SET parser_version = 99", "parser", 2),
        ("UPDATE alembic_version SET version_num = '9999'", "store", 2),
    ],
)
def test_a_failure_exits_by_its_kind(product: Product, change: str, name: str, code: int) -> None:
    healthy(product)
    verified(product.db, change)
    checks = examined(product, code=code)
    assert checks[name]["level"] == "fail"
    assert checks[name]["todo"]


def test_a_page_of_garbage_is_exit_8(product: Product) -> None:
    healthy(product)
    raw.spoil(product.db, ["response"])
    checks = examined(product, code=8)
    assert [check["level"] for name, check in checks.items() if name in ("integrity", "store")][-1] == "fail"


def test_a_fresh_machine_without_a_store_is_well(product: Product) -> None:
    checks = examined(product)
    assert {check["level"] for check in checks.values()} == {"ok"}
    assert "none yet at" in checks["store"]["says"]
    assert os.listdir(product.folder) == []  # noqa: PTH208 - nothing at all


def test_a_wal_without_its_store_is_no_fresh_machine(product: Product) -> None:
    left_behind = product.folder / f"{product.db.name}-{'wal'}"
    left_behind.write_bytes(b"x" * 100)
    assert examined(product, code=3)["store"]["level"] == "fail"


def test_a_store_that_is_named_and_missing_is_exit_3(product: Product) -> None:
    checks = examined(product, "--db", "other.db", code=3)
    assert "`thinkledger import NAME FILE` makes one" in checks["store"]["says"]
    assert not Path(product.db).exists()
    assert os.listdir(product.folder) == []  # noqa: PTH208 - nothing at all


def test_the_worst_failure_gives_the_exit_code() -> None:
    def failed(code: Exit) -> Check:
        return Check("x", Level.FAIL, "", exit=code)

    assert exit_of([]) == Exit.DONE
    assert exit_of([Check("x", Level.WARN, "", exit=Exit.INTEGRITY)]) == Exit.DONE
    assert exit_of([failed(Exit.TEMPORARY), failed(Exit.RESOURCE), failed(Exit.NOT_FOUND)]) == Exit.RESOURCE
    assert exit_of([failed(Exit.RESOURCE), failed(Exit.INTEGRITY)]) == Exit.INTEGRITY


def test_answers_that_wait_in_the_spool_are_named_with_what_to_do(product: Product) -> None:
    healthy(product)

    async def leave() -> None:
        async with filled(product.db) as room:
            await room.dataset("spooled", 1)
            (lease,) = await room.claim(1, "spooled")
            left_by_dead(room, spooled(room, lease, "s1", thought(1)))

    run(leave)
    spool = examined(product)["spool"]
    assert spool["level"] == "warn"
    assert "1 answer waits" in spool["says"]
    assert "start a worker" in spool["todo"]
    verified_json = json.loads(product.run("verify", "--json").stdout)
    assert verified_json["spool_waiting"] == 1
