"""The bound on bodies in memory: readers wait, and never for ever."""

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.memory import Memory


def test_a_reader_waits_until_others_are_stored() -> None:
    async def work() -> list[str]:
        memory, happened = Memory(100), []

        async def second() -> None:
            with memory.body() as body:
                await body.grow(40)
                happened.append("second went on")

        async with anyio.create_task_group() as tasks:
            with memory.body() as first:
                await first.grow(90)
                await first.grow(20)  # one may always go on
                tasks.start_soon(second)
                await anyio.wait_all_tasks_blocked()
                happened.append("first is stored")
        assert memory.used == 0
        return happened

    assert anyio.run(work) == ["first is stored", "second went on"]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(1, 80), max_size=6), max_size=8), st.integers(1, 120))
def test_every_body_is_read_to_its_end_and_only_one_at_a_time_exceeds_the_bound(
    bodies: list[list[int]], most: int
) -> None:
    async def work() -> int:
        memory, peak = Memory(most), 0

        async def read(chunks: list[int]) -> None:
            nonlocal peak
            with memory.body() as body:
                for chunk in chunks:
                    await body.grow(chunk)
                    peak = max(peak, memory.used)
                    await anyio.lowlevel.checkpoint()

        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                for chunks in bodies:
                    tasks.start_soon(read, chunks)
        assert memory.used == 0
        return peak

    largest = max((sum(chunks) for chunks in bodies), default=0)
    assert anyio.run(work) <= most + largest
