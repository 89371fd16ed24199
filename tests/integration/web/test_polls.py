"""Tabs that poll the same page share one making of it; nobody is shown what was before a change of theirs."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest

from app.store.store import Store, open_store
from app.web.application import create_app
from app.web.hosts import Hosts
from app.web.site import Site
from tests.integration.web.kit import fill, fill_free
from tests.support.dashboard import Dashboard, dashboard


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    folder = tmp_path_factory.mktemp("polls")
    fill_free(folder)
    with dashboard(folder, "--no-auth") as running:
        yield running


@pytest.mark.parametrize("path", ["/", "/datasets/free", "/datasets/free/samples", "/datasets/free/samples/s1"])
def test_tabs_at_one_instant_are_shown_the_same_and_each_by_what_it_has(opened: Dashboard, path: str) -> None:
    tag = opened.ask(path, x_live="1").headers["etag"]
    with ThreadPoolExecutor(8) as tabs:
        shown = list(tabs.map(lambda _: opened.ask(path, x_live="1", if_none_match='"old"'), range(4)))
        again = list(tabs.map(lambda _: opened.ask(path, x_live="1", if_none_match=tag), range(4)))
    assert [one.status for one in shown] == [200] * 4
    for one in again:  # the foot tells of the disk, which may change between any two polls
        same = one.headers["etag"] == tag
        assert (one.status, one.raw == b"") == ((304, True) if same else (200, False))
        assert {"x-as-of", "content-security-policy", "server-timing"} <= one.headers.keys()


def test_a_change_is_shown_by_the_next_poll(opened: Dashboard) -> None:
    before = opened.ask("/datasets/free", x_live="1")
    assert opened.submit("/datasets/free/pause").status == 303
    paused = opened.ask("/datasets/free", x_live="1", if_none_match=before.headers["etag"])
    assert opened.send("/api/v1/datasets/free/resume", {}).status == 200
    resumed = opened.ask("/datasets/free", x_live="1", if_none_match=paused.headers["etag"])
    assert ["paused by a person" in one.body for one in (before, paused, resumed)] == [False, True, False]
    assert [one.status for one in (before, paused, resumed)] == [200, 200, 200]


def test_a_download_is_no_poll_and_an_unknown_page_is_one_for_all(opened: Dashboard) -> None:
    part = opened.ask("/datasets/free/part?id=s1&part=raw", x_live="1")
    assert (part.status, part.headers["content-type"]) == (200, "application/octet-stream")
    assert opened.ask("/api/v1/overview", x_live="1").json.keys() == {"data", "as_of", "seq"}
    assert [opened.ask("/datasets/none", x_live="1").status for _ in range(2)] == [404, 404]
    assert opened.ask("/?colour=red", x_live="1").status == 400


def test_every_answer_says_how_long_the_server_took(opened: Dashboard) -> None:
    for path in ("/", "/nothing", "/static/style.css", "/api/v1/overview"):
        said = opened.ask(path).headers["server-timing"]
        assert re.fullmatch(r"app;dur=\d+\.\d", said), path


def test_polls_read_once_a_second_what_persons_read_each_time(tmp_path: Path) -> None:
    """Within one process, so that the reads can be counted and the clock stands."""
    fill(tmp_path)
    reads = 0

    class Counted(Store):
        async def read(self, work: Any) -> Any:
            nonlocal reads
            reads += 1
            return await super().read(work)

    async def run() -> list[int]:
        counts = []
        async with open_store(str(tmp_path / "t.db")) as store:
            counted = Counted(**{name: getattr(store, name) for name in Store.__dataclass_fields__})
            app = create_app(Site(counted, Hosts("127.0.0.1", frozenset()), None))
            for live, times in ((True, 10), (False, 10)):
                before = reads
                async with anyio.create_task_group() as tabs:
                    for _ in range(times):
                        tabs.start_soon(_get, app, live)
                counts.append(reads - before)
        return counts

    assert anyio.run(run) == [1, 10]


async def _get(app: Any, live: bool) -> None:
    headers = [(b"host", b"127.0.0.1"), *([(b"x-live", b"1")] if live else [])]
    said: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        said.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": "/", "raw_path": b"/", "query_string": b"", "root_path": "", "headers": headers,
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
    }  # fmt: skip
    await app(scope, receive, send)
    assert said[0]["status"] == 200, json.dumps(str(said[0]))
