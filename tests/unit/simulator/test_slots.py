"""Slots: never more than the limit, first come first served, and none is lost when somebody stops waiting."""

import asyncio
import random

import pytest

from worker.simulator.slots import Slots
from worker.simulator.timeline import Timeline


def slots(limit: int | None) -> Slots:
    return Slots(limit, Timeline(lambda: 0.0))


async def settle() -> None:
    """Let every task run until it waits."""
    for _ in range(5):
        await asyncio.sleep(0)


async def one_after_another() -> None:
    place = slots(1)
    order: list[int] = []

    async def one(number: int) -> None:
        await place.enter()
        order.append(number)
        await asyncio.sleep(0)
        place.leave()

    async with asyncio.TaskGroup() as group:
        for number in range(10):
            group.create_task(one(number))
    assert order == list(range(10))
    assert (place.busy, place.queued, place.max_busy, place.max_queued) == (0, 0, 1, 9)


async def hand_over_in_the_moment_of_cancellation(cancel_first: bool) -> None:
    place = slots(1)
    await place.enter()
    first, second = asyncio.create_task(place.enter()), asyncio.create_task(place.enter())
    await settle()
    for step in (first.cancel, place.leave) if cancel_first else (place.leave, first.cancel):
        step()
    await settle()
    assert first.cancelled()
    assert second.done()
    assert (place.busy, place.queued) == (1, 0)


async def come_and_go(seed: int) -> None:
    place = slots(3)
    dice = random.Random(seed)

    async def one() -> None:
        await place.enter()
        try:
            assert place.busy <= 3
            for _ in range(dice.randrange(4)):
                await asyncio.sleep(0)
        finally:
            place.leave()

    tasks = []
    for _ in range(200):
        tasks.append(asyncio.create_task(one()))
        if dice.random() < 0.5:
            dice.choice(tasks).cancel()
        if dice.random() < 0.3:
            await asyncio.sleep(0)
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (place.busy, place.queued) == (0, 0)
    assert place.max_busy == 3


async def grow_and_shrink() -> None:
    place = slots(1)
    waiting = [asyncio.create_task(place.enter()) for _ in range(4)]
    await settle()
    assert (place.busy, place.queued) == (1, 3)
    place.resize(3)
    assert (place.busy, place.queued) == (3, 1)
    place.resize(1)
    place.leave()
    assert (place.busy, place.queued) == (2, 1)
    place.resize(None)
    await asyncio.gather(*waiting)
    assert (place.busy, place.queued) == (3, 0)


def test_first_come_is_first_served() -> None:
    asyncio.run(one_after_another())


@pytest.mark.parametrize("cancel_first", [False, True])
def test_a_place_given_to_one_that_stops_waiting_goes_to_the_next(cancel_first: bool) -> None:
    asyncio.run(hand_over_in_the_moment_of_cancellation(cancel_first))


@pytest.mark.parametrize("seed", range(20))
def test_no_place_is_lost_when_many_come_and_give_up(seed: int) -> None:
    asyncio.run(come_and_go(seed))


def test_the_number_of_places_can_change() -> None:
    asyncio.run(grow_and_shrink())
