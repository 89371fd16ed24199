"""A worker that is asked to drain, on the page of workers for one, ends by itself and loses nothing."""

from tests.support.product import Product, wait_for
from tests.support.simulator import Simulator


def test_a_worker_that_is_asked_to_drain_finishes_its_requests_and_ends_with_0(product: Product) -> None:
    product.import_prompts("main", [f"question {number}" for number in range(300)])
    with Simulator("--latency", "fixed:0.3") as simulator:
        with product.worker(simulator.url, "--concurrency", "4") as worker:
            wait_for(lambda: product.count("done") > 0, "the first answer")
            number = int(product.value("SELECT max(id) FROM worker"))
            assert b"ends when its open answers have come" in product.run("worker", "drain", str(number)).stderr
            said = worker.wait(0)
        assert "draining" in said
    assert 0 < product.count("done") < 300
    assert product.count("leased") == 0
    product.check_invariants()
    assert b"has ended already" in product.run("worker", "drain", str(number)).stderr
    assert b"There is no worker 99" in product.run("worker", "drain", "99", code=3).stderr
