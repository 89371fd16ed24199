"""A worker that was killed is called gone at once, by every page and command, long before its lease has passed."""

import json
import re

from tests.acceptance.test_main_job import prompts
from tests.support.dashboard import dashboard
from tests.support.product import Product, wait_for
from tests.support.simulator import Simulator


def test_a_killed_worker_is_gone_at_once_and_dead_when_another_has_taken_over(product: Product) -> None:
    product.import_prompts("orphans", prompts(4))
    with Simulator("--persona", "hang") as simulator, dashboard(product.folder, "--no-auth", db=product.db.name) as web:
        with product.worker(simulator.url, "--concurrency", "4", "--lease-ttl", "1h", "--name", "gpu-7") as dying:
            wait_for(lambda: simulator.stats()["open"] == 4, "4 requests in flight")
            assert _counts(product) == (1, 0)
            wait_for(lambda: "endpoint up" in web.ask("/").body, "the worker's word of its server")
            dying.kill()
        assert _counts(product) == (0, 1)
        status = product.run("status").stdout.decode()
        assert "workers  0 live, 0 late, 1 gone, 0 stopped, 0 dead" in status
        assert "no worker" in status
        assert re.search(r"gpu-7 +gone +4 of 4", product.run("worker", "list").stdout.decode())
        assert "silent: gpu-7" in product.run("doctor", code=0).stdout.decode()
        for path in ("/", "/workers"):
            page = web.ask(path).body
            assert 'mark bad"><span aria-hidden="true">\N{BALLOT X}</span> gone<' in page, path
            assert "0 live, 0 late, 1 gone, 0 stopped, 0 dead" in page, path
            assert "endpoint not asked" in page, path
        assert web.ask("/api/v1/workers").json["data"]["workers"][0]["liveness"] == "gone"
        simulator.play("sglang")
        product.finish(simulator.url)
        assert "0 live, 0 late, 1 stopped, 1 dead" in web.ask("/workers").body


def _counts(product: Product) -> tuple[int, int]:
    workers = json.loads(product.run("status", "--json").stdout)["data"]["workers"]
    return workers["live"], workers["gone"]
