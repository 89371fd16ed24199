"""What a person takes out: single jobs by filter, and a whole dataset once a copy of it is known."""

from pathlib import Path

import anyio
import pytest

from app.model.lease import Cause, Settle
from tests.integration.store import raw
from tests.support.filled import LOST, filled, thought
from tests.support.kinds import kind
from tests.support.product import Product

TABLES = (
    *("dataset", "source", "sample", "job", "response", "reading", "failure", "token_ids", "unread", "hold"),
    *("counter", "bucket", "gate_window", "alarm"),
)


@pytest.fixture
def product(tmp_path: Path) -> Product:
    """Six jobs of `d`: two captured, one lost, one failed, one waiting, one ready; and a second dataset of two."""

    async def fill() -> None:
        async with filled(tmp_path / "thinkledger.db") as at:
            await at.dataset("d", 6)
            at.watched = True
            await at.answer_next("d", thought(1), thought(2), next(iter(LOST.values())))
            failing, waiting = await at.claim(2, "d")
            await at.fail(failing)
            await at.fail(waiting, Cause.SERVER_ERROR, Settle.POSTPONE)
            await at.dataset("other", 2)
            await at.answer_next("other", thought(3))

    anyio.run(fill)
    return Product(tmp_path)


def states(product: Product, dataset: str = "d") -> dict[str, int]:
    joined = "SELECT state, count(*) FROM job JOIN dataset d ON d.id = dataset_id WHERE d.name = ? GROUP BY 1"
    return dict(product.rows(joined, dataset))


def everything_of(product: Product, dataset: int) -> dict[str, int]:
    of_jobs = "job_id IN (SELECT id FROM job WHERE dataset_id = ?)"
    of_responses = f"response_id IN (SELECT id FROM response WHERE {of_jobs})"
    where = {"response": of_jobs, "failure": of_jobs, "unread": of_jobs, "reading": of_responses}
    where |= {"token_ids": of_responses, "dataset": "id = ?"}
    return {
        table: product.value(f"SELECT count(*) FROM {table} WHERE {where.get(table, 'dataset_id = ?')}", dataset)
        for table in TABLES
    }


def test_jobs_are_cancelled_by_filter_and_done_ones_stay(product: Product) -> None:
    shown = product.run("cancel", "d", "--cause", "server_error", "--dry-run").stdout.decode()
    assert shown == "d: 1 jobs would be cancelled\n  waiting server_error  1\n"
    product.run("cancel", "d", "--state", "failed", "--expect", "2", "--yes", code=4)
    product.run("cancel", "d", "--state", "failed", code=4)  # nobody to ask
    product.run("cancel", "d", "--state", "done", code=2)
    product.run("cancel", "d", code=2)
    assert states(product) == {"done": 3, "failed": 1, "ready": 1, "waiting": 1}
    product.run("cancel", "d", "--state", "failed", "--yes")
    assert states(product) == {"done": 3, "cancelled": 1, "ready": 1, "waiting": 1}
    product.run("cancel", "d", "--all", "--yes")
    assert states(product) == {"done": 3, "cancelled": 3}
    assert states(product, "other") == {"done": 1, "ready": 1}
    product.check_invariants()
    product.run("retry", "d", "--state", "cancelled", "--yes")
    assert states(product) == {"done": 3, "ready": 3}
    product.check_invariants()


def test_a_dataset_is_deleted_only_when_a_copy_of_its_newest_answer_is_there(product: Product) -> None:
    said = product.run("datasets", "delete", "d", "--yes", code=4).stderr.decode()
    assert "No backup or export is known" in said
    assert "`thinkledger export --dataset d`" in said
    product.run("export", "--dataset", "d", "--limit", "1", "-o", "one.jsonl", "--allow-incomplete")
    product.run("datasets", "delete", "d", "--yes", code=4)  # a limit cut it short
    product.run("export", "--dataset", "d", "--allow-incomplete")
    kept = (product.folder / "d.jsonl").rename(product.folder / "moved.jsonl")
    product.run("datasets", "delete", "d", "--yes", code=4)
    kept.rename(product.folder / "d.jsonl")
    product.run("datasets", "delete", "d", code=4)  # nobody to ask
    assert "would be deleted" in product.run("datasets", "delete", "d", "--dry-run").stdout.decode()
    before = everything_of(product, 2)
    said = product.run("datasets", "delete", "d", "--yes").stdout.decode()
    assert "d is deleted: 6 jobs" in said
    assert "which holds 2 rows" in said
    assert set(everything_of(product, 1).values()) == {0}
    assert everything_of(product, 2) == before
    if kind() == "sqlite":  # a server looks at every row itself
        assert product.rows("PRAGMA foreign_key_check") == []
    product.check_invariants()
    product.run("datasets", "delete", "d", "--yes", code=3)
    product.run("status", "other")


def test_a_leased_dataset_is_not_deleted(product: Product) -> None:
    product.run("export", "--dataset", "d", "--allow-incomplete")
    raw.script(
        product.db,
        "UPDATE job SET state = 'leased', lease_worker = 1, lease_deadline_ms = 9e15 WHERE sample_id = 's6'",
    )
    assert "leased" in product.run("datasets", "delete", "d", "--yes", code=4).stderr.decode()
    assert product.value("SELECT count(*) FROM hold") == 0
    raw.script(
        product.db,
        "UPDATE job SET state = 'ready', lease_worker = NULL, lease_deadline_ms = NULL WHERE sample_id = 's6'",
    )
    product.run("datasets", "delete", "d", "--yes")


def test_prompts_without_answers_need_no_copy(product: Product) -> None:
    product.import_prompts("new", ["a", "b"])
    assert "no answer is lost" in product.run("datasets", "delete", "new", "--yes").stdout.decode()
    product.import_prompts("new", ["a", "b"])
    assert states(product, "new") == {"ready": 2}


def test_an_answer_after_the_export_makes_the_copy_too_old(product: Product) -> None:
    product.run("export", "--dataset", "other", "--allow-incomplete")
    raw.script(product.db, "UPDATE response SET received_ms = received_ms + 9000000000000 WHERE job_id = 7")
    product.run("datasets", "delete", "other", "--yes", code=4)
