"""An outage of an hour, in simulated time: what reaches the server, what it costs the jobs, and how it ends."""

import pytest

from app.model.lease import Cause
from tests.unit.worker.outage import Outage, World

OUTAGES = {
    "500 at once": Outage(Cause.SERVER_ERROR),
    "504 after a minute": Outage(Cause.SERVER_ERROR, after_s=60.0),
    "an HTML page of a proxy": Outage(Cause.MALFORMED),
    "broken connections": Outage(Cause.CUT),
    "503 without Retry-After": Outage(Cause.BUSY),
    "503 with Retry-After 0": Outage(Cause.BUSY, retry_after_s=0.0),
    "503 with Retry-After 1": Outage(Cause.BUSY, retry_after_s=1.0),
    "503 with Retry-After 30": Outage(Cause.BUSY, retry_after_s=30.0),
    "503 after 20 seconds": Outage(Cause.BUSY, after_s=20.0),
    "refused": Outage(Cause.UNREACHABLE, health_fails=True),
    "refused, while /health is well": Outage(Cause.UNREACHABLE),
    "hangs with /health": Outage(Cause.TIMED_OUT, health_fails=True, hangs=True),
    "hangs, while /health is well": Outage(Cause.TIMED_OUT, hangs=True),
    "no descriptors": Outage(Cause.OUT_OF_FILES),
}


@pytest.mark.parametrize("kind", OUTAGES)
@pytest.mark.parametrize("latency_s", [2.0, 30.0])
def test_in_an_outage_of_an_hour_at_most_a_fiftieth_of_the_requests_before_it_reach_the_server(
    kind: str, latency_s: float
) -> None:
    world = World(OUTAGES[kind], latency_s=latency_s)
    world.run(world.end_s)
    before = world.rate(300.0, 600.0)
    assert before > 200 / latency_s  # its slots were in use
    assert world.rate(601.0, 4200.0) <= before * 0.02
    assert world.failed == []


@pytest.mark.parametrize("kind", [kind for kind in OUTAGES if kind != "hangs, while /health is well"])
def test_two_minutes_after_an_outage_the_server_has_all_its_slots_again_and_no_job_was_lost(kind: str) -> None:
    world = World(OUTAGES[kind])
    world.run(world.end_s + 120.0)
    assert world.busy() >= 250
    before = world.done
    world.run(world.end_s + 720.0)
    assert world.done - before > 600 / world.latency_s * 200
    assert world.failed == []


def test_a_server_that_is_ill_every_other_minute_costs_no_job() -> None:
    """Each outage hits what is in flight; its failures do not count once it is seen to be ill."""
    world = World(Outage(Cause.SERVER_ERROR), slots=64, latency_s=10.0)
    for minute in range(60):
        world.begin_s, world.end_s = minute * 120.0 + 60.0, minute * 120.0 + 90.0
        world.run((minute + 1) * 120.0)
    assert world.failed == []
    assert world.done > 60 * 64 * 4


@pytest.mark.parametrize(("latency_s", "hours"), [(4.0, 0.3), (30.0, 1.0), (600.0, 4.0)])
def test_a_server_that_takes_fewer_than_the_worker_has_is_kept_full_and_rarely_asked_for_more(
    latency_s: float, hours: float
) -> None:
    world = World(Outage(Cause.BUSY), slots=64, capacity=40, latency_s=latency_s, begin_s=1e9, end_s=2e9)
    world.run(hours * 3600)
    assert world.done >= 0.9 * 40 * (hours * 3600 / latency_s - 2)
    assert len(world.refusals) <= 100 + hours * 3600 / 5
