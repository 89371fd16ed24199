"""A store behind PgBouncer in transaction mode, where each transaction may meet another session of the server."""

import json
from pathlib import Path

from tests.acceptance.test_main_job import check_export, prompts
from tests.support.pgbouncer import SESSIONS, bouncer
from tests.support.postgres import server
from tests.support.product import Product
from tests.support.simulator import Simulator

JOBS = 120


def test_a_queue_behind_pgbouncer_is_made_worked_at_shown_and_exported(tmp_path: Path) -> None:
    behind = server()
    database = behind.empty().rpartition("/")[2]
    asked = prompts(JOBS)
    with bouncer(behind) as between, Simulator("--latency", "uniform:0.02,0.1") as simulator:
        product = Product(tmp_path)
        (tmp_path / "thinkledger.toml").write_text(f'db = "{between.url(database)}"\n')
        product.import_prompts("d", asked)
        start = ("--until-empty", "--concurrency", "8")
        with product.worker(simulator.url, *start) as one, product.worker(simulator.url, *start) as other:
            said = one.wait(0) + other.wait(0)
        states = json.loads(product.run("status", "--json").stdout)["data"]["datasets"][0]["states"]
        written = product.export("d", "out.jsonl")
        product.run("verify", "--full")
        repeats = simulator.stats()["requests_a_prompt"]
        clients = between.clients()
        sessions = behind.run(
            f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}' AND backend_type = 'client backend'"
        )
    assert "store_trouble" not in said
    assert states["done"] == JOBS
    assert repeats == {"1": JOBS}
    check_export(written, asked)
    assert clients > 2 * SESSIONS
    assert sessions[0][0] <= SESSIONS
