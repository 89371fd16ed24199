"""What several ask for at about the same time is made once, and never shown to who asked for something newer."""

import anyio
import pytest

from app.web.sharing import Sharing

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Kitchen:
    """A making that ends when it is told to; each has the next number."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.begun = 0
        self.go_on = anyio.Event()
        self.fails = False
        self.sharing: Sharing[int] = Sharing(1.0, lambda: self.now_s)
        self.told: list[int | str] = []

    async def make(self) -> int:
        self.begun += 1
        number = self.begun
        await self.go_on.wait()
        if self.fails:
            raise ValueError(number)
        return number

    async def ask(self, since_s: float = 0.0, key: str = "page") -> None:
        try:
            self.told.append(await self.sharing.made(key, self.make, since_s))
        except ValueError as error:
            self.told.append(f"failed {error}")


async def test_twenty_who_ask_at_once_are_given_one_making() -> None:
    kitchen = Kitchen()
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(kitchen.ask)
        await anyio.wait_all_tasks_blocked()
        kitchen.go_on.set()
    assert kitchen.told == [1] * 20


async def test_what_was_begun_too_early_is_made_anew_also_while_it_is_under_way() -> None:
    kitchen = Kitchen()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(kitchen.ask)
        await anyio.wait_all_tasks_blocked()
        kitchen.now_s += 0.5
        tasks.start_soon(kitchen.ask, 100.1)
        tasks.start_soon(kitchen.ask, 100.1)
        await anyio.wait_all_tasks_blocked()
        kitchen.go_on.set()
    await kitchen.ask(100.5)
    await kitchen.ask(100.6)
    assert sorted(map(str, kitchen.told)) == ["1", "2", "2", "2", "3"]


async def test_each_key_is_made_by_itself() -> None:
    kitchen = Kitchen()
    kitchen.go_on.set()
    await kitchen.ask(key="one")
    await kitchen.ask(key="other")
    assert kitchen.told == [1, 2]


async def test_an_error_is_that_of_all_who_wait_and_of_nobody_later() -> None:
    kitchen = Kitchen()
    kitchen.fails = True
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(kitchen.ask)
        await anyio.wait_all_tasks_blocked()
        kitchen.go_on.set()
    kitchen.fails = False
    await kitchen.ask()
    assert kitchen.told == ["failed 1"] * 3 + [2]


async def test_when_the_maker_is_cancelled_one_of_those_who_wait_makes_it() -> None:
    kitchen = Kitchen()
    async with anyio.create_task_group() as tasks:
        with anyio.CancelScope() as first:
            async with anyio.create_task_group() as cancelled:
                cancelled.start_soon(kitchen.ask)
                await anyio.wait_all_tasks_blocked()
                for _ in range(3):
                    tasks.start_soon(kitchen.ask)
                await anyio.wait_all_tasks_blocked()
                first.cancel()
        await anyio.wait_all_tasks_blocked()
        kitchen.go_on.set()
    assert kitchen.told == [2] * 3


async def test_what_nobody_wants_any_more_is_not_kept() -> None:
    kitchen = Kitchen()
    kitchen.go_on.set()
    for number in range(5):
        await kitchen.ask(key=f"page {number}")
        kitchen.now_s += 0.6
    assert list(kitchen.sharing._latest) == ["page 3", "page 4"]
