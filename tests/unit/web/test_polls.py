"""Which requests share a page, before any application of ours: a plain one that counts."""

from typing import Any

import anyio
import pytest

from app.web.polls import NEW_ENOUGH_S, Polls

pytestmark = pytest.mark.anyio
LIVE = {"x-live": "1"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Site:
    """An application whose pages say how many were made, and what stands in front of it."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.made = 0
        self.slow = anyio.Event()
        self.slow.set()
        self.polls = Polls(self.app, lambda: self.now_s)

    async def app(self, scope: Any, _receive: Any, send: Any) -> None:
        self.made += 1
        body = f"{scope['path']} {self.made}".encode()
        await self.slow.wait()
        assert "if-none-match" not in dict(scope["headers"])
        headers = [(b"etag", b'"%d"' % self.made), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body[:2], "more_body": True})
        await send({"type": "http.response.body", "body": body[2:]})

    async def ask(self, path: str = "/", method: str = "GET", query: str = "", **headers: str) -> tuple[int, str]:
        said: list[Any] = []

        async def receive() -> Any:
            raise AssertionError("nobody reads the body of a page's request")

        async def send(message: Any) -> None:
            said.append(message)

        named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        await self.polls(
            {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": named},
            receive, send,
        )  # fmt: skip
        return said[0]["status"], b"".join(one.get("body", b"") for one in said[1:]).decode()


async def test_polls_of_one_address_are_one_page_for_a_second() -> None:
    site = Site()
    assert [await site.ask(x_live="1") for _ in range(3)] == [(200, "/ 1")] * 3
    site.now_s += NEW_ENOUGH_S
    assert await site.ask(x_live="1") == (200, "/ 1")
    site.now_s += 0.001
    assert await site.ask(x_live="1") == (200, "/ 2")
    assert await site.ask("/other", x_live="1") == (200, "/other 3")
    assert await site.ask(query="span=6h", x_live="1") == (200, "/ 4")


async def test_tabs_that_ask_while_it_is_made_wait_for_the_same() -> None:
    site = Site()
    site.slow = anyio.Event()
    shown: list[tuple[int, str]] = []

    async def tab() -> None:
        shown.append(await site.ask(x_live="1"))

    async with anyio.create_task_group() as tabs:
        for _ in range(20):
            tabs.start_soon(tab)
        await anyio.wait_all_tasks_blocked()
        site.slow.set()
    assert shown == [(200, "/ 1")] * 20


async def test_each_tab_is_told_by_its_own_tag_whether_anything_changed() -> None:
    site = Site()
    assert await site.ask(x_live="1", if_none_match='"old"') == (200, "/ 1")
    assert await site.ask(x_live="1", if_none_match='"1"') == (304, "")
    assert await site.ask(x_live="1") == (200, "/ 1")


async def test_a_page_that_a_person_opens_is_made_for_them_and_given_to_nobody_else() -> None:
    site = Site()
    assert await site.ask(x_live="1") == (200, "/ 1")
    assert [await site.ask() for _ in range(2)] == [(200, "/ 2"), (200, "/ 3")]
    assert await site.ask(x_live="1") == (200, "/ 1")


async def test_after_a_change_nobody_is_shown_what_was_begun_before_it() -> None:
    site = Site()
    assert await site.ask(x_live="1") == (200, "/ 1")
    site.now_s += 0.01
    assert await site.ask("/pause", "POST") == (200, "/pause 2")
    assert await site.ask(x_live="1") == (200, "/ 3")
    assert await site.ask(x_live="1") == (200, "/ 3")


@pytest.mark.parametrize("path", ["/exports/a.jsonl", "/api/v1/overview", "/static/style.css"])
async def test_what_is_no_page_is_never_held_back_or_kept(path: str) -> None:
    site = Site()
    assert [await site.ask(path, x_live="1") for _ in range(2)] == [(200, f"{path} 1"), (200, f"{path} 2")]
