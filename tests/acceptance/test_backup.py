"""Backup beside busy workers, restore, and a store that is exchanged under a worker."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.test_main_job import check_export, prompts
from tests.support.forks import environment
from tests.support.product import Product, wait_for
from tests.support.simulator import Simulator

JOBS = int(os.environ.get("ACCEPTANCE_JOBS", "400"))


@pytest.mark.timeout(900)
def test_a_backup_beside_two_workers_is_restored_and_holds_what_was_done_at_its_number(product: Product) -> None:
    asked = prompts(JOBS)
    product.import_prompts("busy", asked)
    with Simulator("--latency", "fixed:1") as simulator:  # the run outlasts both commands, and is then hurried
        workers = [product.start_worker(simulator.url, "--concurrency", "8", "--until-empty") for _ in range(2)]
        try:
            wait_for(lambda: product.count("done") >= 20, "20 answers")
            made = json.loads(product.run("backup", "copies.db", "--json").stdout)
            refused = product.run("restore", "copies.db", code=4).stderr.decode()
            done_then = product.rows(
                "SELECT job.sample_id FROM job JOIN response ON response.job_id = job.id WHERE accepted_seq <= ? "
                "ORDER BY ordinal",
                made["seq"],
            )
            simulator.play(latency="0")
            for worker in workers:
                worker.wait(0)
        finally:
            for worker in workers:
                worker.kill()
    assert "2 workers and 0 servers" in refused
    assert product.count("done") == JOBS
    product.run("verify", "--full")
    other = Product(product.folder)
    other.db = product.folder / "other.db"
    restored = json.loads(product.run("--db", "other.db", "restore", "copies.db", "--json").stdout)
    product.run("--db", "other.db", "verify", "--full")
    assert 20 <= len(done_then) < JOBS
    assert restored["released"] > 0
    assert (other.count("leased"), other.count("done"), restored["seq"]) == (0, len(done_then), made["seq"])
    product.run("--db", "other.db", "export", "--dataset", "busy", "--output", "o.jsonl", code=6)
    rows = [json.loads(line) for line in (product.folder / "o.jsonl").read_bytes().splitlines()]
    assert [row["sample_id"] for row in rows] == [name for (name,) in done_then]
    with Simulator() as simulator:
        product.finish(simulator.url, "--db", "other.db")
    product.run("--db", "other.db", "verify", "--full")
    product.run("--db", "other.db", "export", "--dataset", "busy", "--output", "all.jsonl")
    check_export((product.folder / "all.jsonl").read_bytes(), asked)


def move(product: Product) -> None:
    product.db.rename(product.folder / "moved.db")


def put_another(product: Product) -> None:
    (product.folder / "another.db").rename(product.db)


def remove_wal(product: Product) -> None:
    Path(f"{product.db}-wal").unlink()


@pytest.mark.parametrize("change", [move, put_another, remove_wal])
def test_a_worker_whose_store_is_exchanged_stops_and_says_so(product: Product, change: object) -> None:
    product.import_prompts("a", prompts(4))
    product.run("--db", "another.db", "import", "a", "a.prompts.jsonl")
    another = (product.folder / "another.db").read_bytes()
    with Simulator("--persona", "hang") as simulator, product.worker(simulator.url, "--concurrency", "2") as worker:
        wait_for(lambda: simulator.stats()["open"] == 2, "two requests in flight")
        change(product)  # type: ignore[operator]
        said = worker.wait(8)
    assert "while this process had it open" in said
    assert "Traceback" not in said
    if change is put_another:
        assert product.db.read_bytes() == another


def test_a_restored_store_goes_on_where_the_backup_was(product: Product) -> None:
    """A worker is killed after the backup; what it had leased then is asked again, nothing is done twice."""
    asked = prompts(8)
    product.import_prompts("a", asked)
    with Simulator("--persona", "hang") as simulator:
        with product.worker(simulator.url, "--concurrency", "4") as worker:
            wait_for(lambda: simulator.stats()["open"] == 4, "four requests in flight")
            product.run("backup", "copy.db")
            worker.signal(signal.SIGKILL)
        product.run("restore", "copy.db")
        simulator.play("sglang")
        product.finish(simulator.url)
    product.check_invariants()
    assert product.rows("SELECT DISTINCT attempt FROM job ORDER BY 1") == [(1,), (2,)]
    check_export(product.export("a", "o.jsonl"), asked)


def test_a_worker_asks_nothing_while_the_disk_has_less_free_than_its_floor(product: Product) -> None:
    product.import_prompts("a", prompts(2))
    with Simulator() as simulator:
        with product.worker(simulator.url, "--min-free-disk", "1000000GiB", "--until-empty") as worker:
            wait_for(lambda: "disk_low" in worker.said(), "a word about the disk")
            wait_for(lambda: product.value("SELECT count(*) FROM endpoint") == 1, "an endpoint that is up")
            worker.signal(signal.SIGTERM)
            worker.wait(143)
        assert simulator.stats()["requests_a_prompt"] == {}
        product.finish(simulator.url, "--min-free-disk", "0")


def test_a_running_dashboard_keeps_a_restore_away(product: Product) -> None:
    product.import_prompts("a", prompts(2))
    product.run("backup", "copy.db")
    command = [sys.executable, "-c", "import sys; from worker.cli import call; sys.exit(call(sys.argv[1:]))"]
    serve = [*command, "serve", "--port", "0", "--no-auth"]
    with subprocess.Popen(serve, cwd=product.folder, env=environment(), stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline().startswith(b"dashboard ")
        said = product.run("restore", "copy.db", code=4).stderr.decode()
        server.terminate()
        assert server.wait() == 143
    assert "0 workers and 1 server are running" in said
    product.run("restore", "copy.db")
    assert list((product.folder / "thinkledger.db.workers").iterdir()) == []
