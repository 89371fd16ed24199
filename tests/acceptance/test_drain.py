"""A worker that is asked to drain, on the page of workers for one, ends by itself and loses nothing."""

from app.leasing.workers import Leave, leave
from app.model.ids import WorkerId
from app.store.store import open_store
from tests.support.product import Product, wait_for
from tests.support.simulator import Simulator


def test_a_worker_that_is_asked_to_drain_finishes_its_requests_and_ends_with_0(product: Product) -> None:
    import anyio

    product.import_prompts("main", [f"question {number}" for number in range(300)])
    with Simulator("--latency", "fixed:0.3") as simulator:
        with product.worker(simulator.url, "--concurrency", "4") as worker:
            wait_for(lambda: product.count("done") > 0, "the first answer")
            number = int(product.value("SELECT max(id) FROM worker"))

            async def ask() -> None:
                async with open_store(str(product.db)) as store:
                    assert await store.write(leave, Leave(WorkerId(number), "draining"))

            anyio.run(ask)
            said = worker.wait(0)
        assert "draining" in said
    assert 0 < product.count("done") < 300
    assert product.count("leased") == 0
    product.check_invariants()
