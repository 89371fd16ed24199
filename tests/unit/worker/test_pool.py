"""Who is asked next, and what a broken connection says."""

from typing import Any

import anyio
import pytest

from app.model.lease import Cause
from worker.endpoint import AskFailed
from worker.pool import Pool, Server
from worker.pressure import Pressure


class Endpoint:
    """Stands in for a server's connection pool: what /health says, or why nobody could look."""

    def __init__(self, health: int | Cause) -> None:
        self.health = health

    async def get(self, _path: str) -> tuple[int, object]:
        if isinstance(self.health, Cause):
            raise AskFailed(self.health, "no answer")
        return self.health, None


def server(limit: int = 16, busy: int = 0, health: int | Cause = 200) -> Server:
    endpoint: Any = Endpoint(health)
    return Server(endpoint, Pressure(limit, limit, limit), well=True, busy=busy)


def test_the_least_used_server_comes_first_and_one_without_room_not_at_all() -> None:
    half, idle, full = server(16, 8), server(4, 0), server(8, 8)
    assert Pool([half, full, idle], 64).shares() == [(idle, 4), (half, 8)]


def test_a_server_in_trouble_gets_less_and_an_ill_one_nothing_while_the_others_get_all_they_can_take() -> None:
    well, slowed, ill = server(16), server(16), server(16)
    slowed.pressure.limit = 2
    pool = Pool([ill, slowed, well], 64)
    assert pool.hold(ill, "it failed", wants_answer=True)
    assert not pool.hold(ill, "it failed", wants_answer=True)
    slowed.busy = 1
    assert pool.shares() == [(well, 16), (slowed, 1)]


def test_nothing_is_sent_beside_a_job_that_is_asked_alone() -> None:
    one, other = server(), server()
    pool = Pool([one, other], 64)
    pool.take(one, alone=True)
    assert pool.shares() == [(other, 16)]
    pool.give_back(one)
    assert len(pool.shares()) == 2


@pytest.mark.parametrize(
    ("health", "cuts", "died"),
    [(200, 1, False), (200, 2, True), (503, 1, True), (Cause.UNREACHABLE, 1, True), (Cause.OUT_OF_FILES, 1, False)],
)
def test_a_connection_broke_with_its_server_where_others_broke_too_or_nobody_is_there(
    health: int | Cause, cuts: int, died: bool
) -> None:
    async def work() -> list[bool]:
        one, found = server(health=health), []

        async def cut(job: int) -> None:
            found.append(await one.died(job))

        async with anyio.create_task_group() as tasks:
            for job in range(1, cuts + 1):
                tasks.start_soon(cut, job)
        return found

    assert anyio.run(work) == [died] * cuts


def test_while_a_server_is_ill_no_failure_is_a_job_s_own() -> None:
    one = server()
    one.answered(7)
    assert one.answered_others_lately(8)
    assert not one.answered_others_lately(7)
    one.pressure.fell_ill(0.0, wants_answer=True)
    assert not one.answered_others_lately(8)
